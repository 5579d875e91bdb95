package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// transcriptFaults are the corpus cases that a rule of this package has to refuse:
// the index of the message and the refusal. Index -1 is the text as a whole. The
// others break rules of the session or of the receipt, which come later.
var transcriptFaults = map[string]string{
	"transcript-generated-deep-nesting":     "-1 json-depth",
	"transcript-raw-duplicate-members":      "-1 json-duplicate",
	"transcript-raw-lone-surrogate":         "-1 json-unicode",
	"transcript-raw-minus-zero":             "-1 json-number",
	"transcript-raw-minus-zero-float":       "-1 json-number",
	"transcript-raw-unsafe-integer":         "-1 json-number",
	"transcript-raw-unsafe-integer-rounded": "-1 json-number",
	"transcript-missing-id":                 "3 envelope at /id",
	"transcript-missing-prev-hash":          "4 envelope at /prev_hash",
	"transcript-missing-session-id":         "5 envelope at /session_id",
	"transcript-missing-timestamp":          "6 envelope at /timestamp",
	"transcript-timestamp-without-offset":   "5 envelope at /timestamp",
	"transcript-unknown-type":               "6 message-type at /type",
	"transcript-signature-junk-characters":  "7 signature-form at /signature",
	"transcript-signature-trailing-bits":    "4 signature-form at /signature",
	"transcript-signature-s-plus-l":         "7 signature at /signature",
	"transcript-signed-by-other-key":        "4 signature at /signature",
	"transcript-tampered":                   "3 signature at /signature",
	"transcript-small-order-key":            "1 key-form at /from/agent_id",
	"transcript-genesis-wrong":              "0 prev-hash at /prev_hash",
	"transcript-reordered":                  "4 prev-hash at /prev_hash",
	"transcript-forked":                     "5 prev-hash at /prev_hash",
	"transcript-duplicate-message-id":       "6 message-id at /id",
	"transcript-message-from-other-session": "6 session at /session_id",
	"transcript-replayed-session":           "0 session at /session_id",
	"transcript-timestamp-1999":             "4 timestamp-backdated at /timestamp",
	"transcript-timestamp-far-future":       "7 timestamp-future at /timestamp",
}

// textKeys decodes the key of an agent when it is asked for.
type textKeys struct{ keys wire.Value }

func (k textKeys) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	text, ok := k.keys.Get(string(agent))
	if !ok {
		return wire.KeyMap(nil).Key(agent, at)
	}
	return wire.DecodePublicKey(text.Text())
}

// TestInterop reads the transcripts that the Python and JS reference SDKs made:
// each message of a sound one is read, verifies and links, and what is unsound for
// a reason of this package is refused at that message for that reason.
func TestInterop(t *testing.T) {
	dir := outside(t, "interop")
	index := parse(t, readFile(t, dir, "index.json"))
	files, _ := index.Get("files")
	counts, seen := make(map[string]int), make(map[string]bool)
	messages := 0
	for _, f := range files.Elems() {
		if textAt(f, "kind") != "transcript" {
			continue
		}
		id := textAt(f, "id")
		c := parse(t, readFile(t, dir, textAt(f, "file")))
		n, got := readTranscript(t, c)
		want := transcriptFaults[id]
		if want != "" && textAt(c, "expected") == "accept" {
			t.Errorf("%s: the corpus wants it accepted", id)
		}
		if got != want && !(strings.HasPrefix(want, "-1") && strings.HasPrefix(got, want+" at /")) {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
		counts[textAt(c, "expected")]++
		messages += n
		seen[id] = true
	}
	for id := range transcriptFaults {
		if !seen[id] {
			t.Errorf("%s: the corpus lacks it", id)
		}
	}
	if counts["accept"] < 30 || counts["reject"] < 40 {
		t.Errorf("the corpus has only %v", counts)
	}
	t.Logf("%d transcripts to accept, %d to reject, %d messages verified and linked", counts["accept"], counts["reject"], messages)
}

// readTranscript reads the transcript of a case as far as it goes.
func readTranscript(t *testing.T, c wire.Value) (n int, fault string) {
	t.Helper()
	keys, _ := c.Get("public_keys")
	now, err := wire.ParseTime(textAt(c, "now"))
	if err != nil {
		t.Fatal(err)
	}
	input, ok := c.Get("input")
	if !ok {
		raw := textAt(c, "raw")
		if g, ok := c.Get("generator"); ok {
			count, _ := g.Get("count")
			times, _ := count.Int()
			raw = textAt(g, "prefix") + strings.Repeat(textAt(g, "open"), int(times)) + textAt(g, "middle") +
				strings.Repeat(textAt(g, "close"), int(times)) + textAt(g, "suffix")
		}
		if input, err = wire.Parse([]byte(raw), wire.DocumentLimits); err != nil {
			return 0, "-1 " + refusal(err)
		}
	}
	chain := wire.NewChain(wire.SessionID(textAt(c, "context", "session_id")), 0)
	list, _ := input.Get("messages")
	for i, v := range list.Elems() {
		u, err := wire.ReadMessage(v)
		if err != nil {
			return i, fmt.Sprint(i, " ", refusal(err))
		}
		m, err := u.Verify(textKeys{keys})
		if err != nil {
			return i, fmt.Sprint(i, " ", refusal(err))
		}
		if err := chain.Check(m, now); err != nil {
			return i, fmt.Sprint(i, " ", refusal(err))
		}
		chain.Append(m)
	}
	if list.Len() == 0 || chain.Len() != list.Len() {
		t.Fatalf("%s: %d of %d messages", textAt(c, "id"), chain.Len(), list.Len())
	}
	return chain.Len(), ""
}
