package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// concordia runs a command line and returns what it prints.
func concordia(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, &out, &errs); got != code {
		t.Errorf("concordia %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String()
}

// breached returns a transcript file in which the responder, who accepted the
// session, goes on with next.
func breached(t *testing.T, next wire.MessageType) string {
	t.Helper()
	var keys [2]wire.PrivateKey
	var ids [2]wire.AgentID
	for i := range keys {
		key, err := wire.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys[i], ids[i] = key, wire.DIDKey(key.Public())
	}
	log := session.NewTranscript("ses_breach", nil)
	sign := func(who int, kind wire.MessageType, body wire.M) *wire.Message {
		v, err := wire.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wire.Sign(wire.Envelope{
			Type: kind, ID: wire.MessageID(kind.Short()), Session: "ses_breach", Time: time.Now(),
			From: ids[who], To: []wire.AgentID{ids[1-who]}, PrevHash: log.Tip(), Body: v,
		}, keys[who])
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var doc session.Document
	for i, kind := range []wire.MessageType{wire.TypeOpen, wire.TypeAcceptSession} {
		body := wire.M{}
		if kind == wire.TypeOpen {
			body["terms"] = wire.M{"price": wire.M{"type": "numeric"}}
		}
		m := sign(i, kind, body)
		if err := log.Admit(m, time.Now()); err != nil {
			t.Fatal(err)
		}
		doc.Messages = append(doc.Messages, m.Value())
	}
	doc.Evidence = sign(1, next, wire.M{"term_ids": []string{"price"}}).Value()
	v, err := doc.Value()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "transcript.json")
	if err := os.WriteFile(path, []byte(v.Canonical()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A session that a breach closed is shown as verify finds it.
func TestShowBreach(t *testing.T) {
	path := breached(t, wire.TypeAccept)
	shown := concordia(t, cli.OK, "session", "show", path)
	for _, want := range []string{`^session ses_breach +REJECTED`, `(?m)^breach by did:key:\S+, of \S+ \(SPEC §`} {
		if !regexp.MustCompile(want).MatchString(shown) {
			t.Errorf("session show has no %s:\n%s", want, shown)
		}
	}
	if verified := concordia(t, cli.OK, "verify", path); !strings.Contains(verified, "REJECTED") {
		t.Errorf("verify says\n%s", verified)
	}
	if text := concordia(t, cli.OK, "session", "show", "--json", path); !strings.Contains(text, `"breach": {`) {
		t.Errorf("session show --json has no breach:\n%s", text)
	}
	// A legal move is evidence of nothing.
	if shown := concordia(t, cli.Rejected, "session", "show", breached(t, wire.TypeInquire)); !strings.Contains(shown, "stopped:") {
		t.Errorf("session show says\n%s", shown)
	}
}

// A receipt is salvaged however old it is, and not if it was altered.
func TestSalvageReceipts(t *testing.T) {
	dir := t.TempDir()
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	old := &app{now: func() time.Time { return past }, rand: rand.Reader, out: printer{w: io.Discard}}
	if err := old.demo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "seller", storeName)
	if text := concordia(t, cli.OK, "session", "salvage", path, filepath.Join(dir, "old.db")); !strings.Contains(text, "and 1 receipts\n") {
		t.Errorf("an old receipt: %s", text)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.ReplaceAll(data, []byte(`"rounds":3`), []byte(`"rounds":4`))
	if err := os.WriteFile(path, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	text := concordia(t, cli.OK, "session", "salvage", path, filepath.Join(dir, "altered.db"))
	if !strings.Contains(text, "and 0 receipts\n") || !strings.Contains(text, "and 1 receipts that do not verify") {
		t.Errorf("an altered receipt: %s", text)
	}
}

// The receipt that an agent keeps before the others have signed it spoils nothing.
func TestReceiptNotYetSigned(t *testing.T) {
	dir := t.TempDir()
	a := &app{now: time.Now, rand: rand.Reader, out: printer{w: io.Discard}}
	if err := a.demo(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "seller", storeName)
	store, err := transcript.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := store.Sessions()
	if err != nil || len(heads) != 1 {
		t.Fatalf("the demonstration left sessions %v, %v", heads, err)
	}
	receipts, err := store.Receipts(heads[0].Session)
	if err != nil || len(receipts) != 1 {
		t.Fatalf("the demonstration left receipts %v, %v", receipts, err)
	}
	id, _ := receipts[0].Get("attestation_id")
	err = store.PutReceipt(t.Context(), heads[0].Session, id.Text(), receipts[0].Without("countersignatures"))
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	concordia(t, cli.OK, "agreement", "show", path)
}
