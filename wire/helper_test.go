package wire_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// parse returns the value of a text that must be readable.
func parse(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatalf("Parse(%s): %v", brief(text), err)
	}
	return v
}

// encode returns the value of Go data that must have one.
func encode(tb testing.TB, x any) wire.Value {
	tb.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		tb.Fatalf("Encode(%v): %v", x, err)
	}
	return v
}

// refusal says which rule err breaks and where: "json-number at /a". The place is
// left out if it is the root; "" means no error.
func refusal(err error) string {
	v, ok := errors.AsType[*wire.Violation](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return "not a Violation: " + err.Error()
	case v.At == "":
		return v.Rule.Name
	}
	return v.Rule.Name + " at " + v.At
}

// wantRefusal fails the test unless err breaks rule at the pointer.
func wantRefusal(tb testing.TB, what string, err error, rule *wire.Rule, at string) {
	tb.Helper()
	if want := refusal(rule.At(at)); refusal(err) != want || !errors.Is(err, rule) {
		tb.Errorf("%s: got %q, want %q", what, refusal(err), want)
	}
}

// brief shortens a text for a message.
func brief(text string) string {
	if len(text) > 100 {
		return text[:60] + "..." + text[len(text)-30:]
	}
	return text
}

// outside returns the path of outside data, which is no part of this repository:
// in the folder CONCORDIA_TESTDATA, else in ../shared beside the repository. It
// skips the test where the data is absent.
func outside(tb testing.TB, elem ...string) string {
	tb.Helper()
	root := os.Getenv("CONCORDIA_TESTDATA")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("outside data is absent (set CONCORDIA_TESTDATA to its folder): %v", err)
	}
	return path
}

// readFile returns the content of a file that must be there.
func readFile(tb testing.TB, elem ...string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// nested returns text in depth arrays.
func nested(depth int, text string) string {
	return strings.Repeat("[", depth) + text + strings.Repeat("]", depth)
}

// textAt returns the string at the end of a path, or "".
func textAt(v wire.Value, path ...string) string {
	m, _ := v.At(path...)
	return m.Text()
}

// fill completes an envelope with what a test does not care for.
func fill(tb testing.TB, e wire.Envelope) wire.Envelope {
	tb.Helper()
	e.Type = cmp.Or(e.Type, wire.TypeOffer)
	e.ID = cmp.Or(e.ID, "msg_1")
	e.Session = cmp.Or(e.Session, "ses_1")
	e.From = cmp.Or(e.From, "agent_seller")
	if e.Time.IsZero() {
		e.Time = testTime
	}
	if e.Body.Kind() == wire.Absent {
		e.Body = parse(tb, `{"terms":{}}`)
	}
	return e
}

// sign makes a message of the seller.
func sign(tb testing.TB, e wire.Envelope) *wire.Message {
	tb.Helper()
	m, err := wire.Sign(fill(tb, e), testKey(tb, "seller"))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func signed(tb testing.TB, e wire.Envelope) wire.Value { return sign(tb, e).Value() }

// resign signs an object anew, whatever it is, so that only what is wrong with it
// can be the reason to refuse it.
func resign(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	sig, err := testKey(tb, "seller").Sign([]byte(v.Without("signature").Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	return v.With("signature", wire.Text(sig.String()))
}

// everyAgent gives all agents one key: then nothing but the signature stands
// between two senders.
type everyAgent struct{ key wire.PublicKey }

func (a everyAgent) Key(wire.AgentID, time.Time) (wire.PublicKey, error) { return a.key, nil }

var sellerKeys = func() everyAgent {
	k, err := wire.NewPrivateKey([]byte("seller" + strings.Repeat(".", wire.SeedSize-len("seller"))))
	if err != nil {
		panic(err)
	}
	return everyAgent{k.Public()}
}()

// verify reads and verifies a message.
func verify(text string, keys wire.Keys) (*wire.Message, error) {
	u, err := wire.ParseMessage([]byte(text))
	if err != nil {
		return nil, err
	}
	return u.Verify(keys)
}

// full is an envelope with every optional member.
func full(tb testing.TB) wire.Envelope {
	return wire.Envelope{
		Type: wire.TypeCounter, ID: "msg_2", Session: "ses_9", Time: testTime.Add(700 * time.Millisecond), From: "agent_seller",
		Principal: "Rosso & Söhne", PrevHash: wire.HashOf("x"), Body: parse(tb, `{"terms":{"price":{"value":1.50}}}`),
		To: []wire.AgentID{"agent_buyer", "agent_witness"}, InReplyTo: "msg_1", Thread: "t 1", TTL: time.Hour, Reasoning: "<fair>\n",
	}
}
