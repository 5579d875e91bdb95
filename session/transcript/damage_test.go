package transcript_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// damaged returns the bytes of a store with three sessions of ten messages.
func damaged(t *testing.T) []byte {
	t.Helper()
	path := storePath(t)
	s, err := transcript.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []wire.SessionID{"ses_a", "ses_b", "ses_c"} {
		chain(t, s, id, 10)
	}
	receipt, _ := wire.Encode(wire.M{"concordia_attestation": "0.5.0", "attestation_id": "att_1", "session_id": "ses_b"})
	if err := s.PutReceipt(t.Context(), "ses_b", "att_1", receipt); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readAll reads everything in a store file. It must not panic, whatever the file.
func readAll(path string) (messages int, err error) {
	s, err := transcript.Open(path, &transcript.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	heads, err := s.Sessions()
	if err != nil {
		return 0, err
	}
	for _, h := range heads {
		list, err := s.Read(h.Session, 0, 1000)
		if err != nil {
			return messages, err
		}
		messages += len(list)
		if _, err := s.Receipts(h.Session); err != nil {
			return messages, err
		}
	}
	return messages, nil
}

// A truncated or altered file is refused or read, and never a panic; what is left
// of it can be salvaged.
func TestDamage(t *testing.T) {
	data := damaged(t)
	keys := wire.KeyMap{"alice": key(t, "alice").Public()}
	path := filepath.Join(t.TempDir(), "damaged.db")
	check := func(what string, bad []byte, atLeast int) {
		t.Helper()
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = readAll(path)
		into := open(t, storePath(t))
		s, err := transcript.Salvage(t.Context(), path, into, keys, accept)
		if err != nil || s.Messages < atLeast {
			t.Errorf("%s: salvaged %+v: %v", what, s, err)
		}
		if err := into.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check("the whole file", data, 30)
	for size := 0; size < len(data); size += len(data) / 9 {
		check("truncated", data[:size], 0)
	}
	// The pages that say where everything is are worthless: everything is found.
	headless := append(make([]byte, 8192), data[8192:]...)
	check("without its first pages", headless, 30)
	for i := 17; i < len(data); i += len(data) / 40 {
		flipped := append([]byte(nil), data...)
		flipped[i] ^= 0x40
		check("a bit flipped", flipped, 10)
	}
}
