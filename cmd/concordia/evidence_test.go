package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A fulfillment attestation may have members of its own, those of another kind among
// them. What is verified as one kind must not be kept as another: who signed that,
// nobody has looked at.
func TestKindOfEvidence(t *testing.T) {
	kept := map[string]string{"receipt": "attestation", "fulfillment": "fulfillment", "bundle": "receipt_bundle"}
	for _, test := range []struct{ text, want string }{
		{`{"concordia_attestation":"0.5.0"}`, "receipt"},
		{`{"concordia_receipt_bundle":"0.1.0","attestations":[]}`, "bundle"},
		{`{"attestation_type":"FulfillmentAttestation"}`, "fulfillment"},
		{`{"attestation_type":"FulfillmentAttestation","artifact_type":"ApprovalReceipt","approver":{"identity":"victim"}}`, ""},
		{`{"attestation_type":"FulfillmentAttestation","merkle_proofs":[],"revealed_attestations":[]}`, ""},
		{`{"attestation_type":"Other","mandate_id":"urn:concordia:mandate:1","issuer":"victim"}`, ""},
		{`{"messages":[]}`, ""},
		{`[]`, ""},
	} {
		v, err := wire.Parse([]byte(test.text), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		got := kindOfEvidence(v)
		if got != test.want || got != "" && conformance.KindOf(v) != kept[got] {
			t.Errorf("kindOfEvidence(%s) = %q, want %q; it is kept as %q", test.text, got, test.want, conformance.KindOf(v))
		}
	}
}

// Who is named on the command line is named in either spelling of a did:key: a revoker
// who writes the other one still revokes.
func TestAmong(t *testing.T) {
	k, err := dealer("a")
	if err != nil {
		t.Fatal(err)
	}
	plain, reference := wire.DIDKey(k.Public()), wire.ReferenceDIDKey(k.Public())
	for _, test := range []struct {
		ids   []string
		agent wire.AgentID
		want  bool
	}{
		{nil, "a", false}, {[]string{"b", "a"}, "a", true}, {[]string{"b"}, "a", false},
		{[]string{string(plain)}, reference, true}, {[]string{string(reference)}, plain, true}, {[]string{string(plain)}, plain + "x", false},
	} {
		if got := among(test.ids, test.agent); got != test.want {
			t.Errorf("among(%v, %s) = %v, want %v", test.ids, test.agent, got, test.want)
		}
	}
}

// The name of a file in a directory may be a stranger's, like what is in it. No report
// of it makes a terminal do anything.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"a\x1b[2J\nb.json": 100, "c\x1b[2J\nd.json": wire.MaxDocumentSize + 1} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Skip("no such names here:", err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(t.TempDir(), "kept")
	for _, args := range [][]string{
		{"verify", dir}, {"store", "import", dir, "--store", kept}, {"reputation", "ingest", dir, "--store", kept}, {"verify", dir + "\x1b[2J"},
	} {
		var stdout, stderr strings.Builder
		if code := run(args, &stdout, &stderr); code != 1 && code != 3 {
			t.Errorf("%v: exit code %d", args, code)
		}
		if text := stdout.String() + stderr.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b`) || strings.Contains(text, "\nb.json") || strings.Contains(text, "\nd.json") {
			t.Errorf("%v: %q", args, text)
		}
	}
}

// What a command line names and JSON cannot say is refused: it would be signed as
// something else.
func TestRevokeInvalidID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.key")
	var stdout, stderr strings.Builder
	if code := run([]string{"id", "new", path}, &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	stdout.Reset()
	if code := run([]string{"attest", "revoke", "urn:concordia:mandate:\xff", "--type", "mandate", "--reason", "x", "--key", path}, &stdout, &stderr); code != 2 || stdout.Len() > 0 {
		t.Errorf("exit code %d, %q", code, stdout.String())
	}
}

// An id may be the hash of another artifact. Who names it means either, and deletes
// neither.
func TestHashForAnID(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	do := func(want int, args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		if code := run(args, &stdout, &stderr); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, stdout.String(), stderr.String())
		}
		return stdout.String()
	}
	make := func(name, id string) wire.Hash {
		t.Helper()
		draft := `{"id":"` + id + `","agreement_attestation_id":"urn:concordia:attestation:att_1","fulfillment":{"status":"failed"}}`
		if err := os.WriteFile(path("draft"), []byte(draft), 0o600); err != nil {
			t.Fatal(err)
		}
		text := do(0, "attest", "fulfillment", "--key", path("a.key"), "--in", path("draft"))
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := wire.Parse([]byte(text), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		return v.Hash()
	}
	do(0, "id", "new", path("a.key"))
	mine := make("mine.json", "urn:concordia:fulfillment:1").String()
	theirs := make("theirs.json", mine).String()
	do(0, "store", "import", path("mine.json"), path("theirs.json"), "--store", path("kept"))
	if text := do(0, "store", "show", mine, "--store", path("kept")); !strings.Contains(text, theirs) || strings.Count(text, mine) < 2 {
		t.Errorf("show: %s", text)
	}
	do(2, "store", "delete", mine, "--store", path("kept"))
	do(0, "store", "delete", theirs, "--store", path("kept"))
	do(0, "store", "delete", mine, "--store", path("kept"))
}

// A passphrase is read from whatever the command line names, and that may never end.
func TestReadPassphraseIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pass")
	for _, test := range []struct {
		text string
		want int // its length, 0 if it is refused
	}{
		{strings.Repeat("x", maxPassphrase) + "\r\nmore", maxPassphrase},
		{strings.Repeat("x", maxPassphrase), maxPassphrase},
		{"x\n" + strings.Repeat("y", 2*maxPassphrase), 1},
		{strings.Repeat("x", maxPassphrase+1), 0},
		{"\n", 0},
	} {
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readPassphrase(path); len(got) != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("%d bytes: a passphrase of %d, %v; want %d", len(test.text), len(got), err, test.want)
		}
	}
}
