package transcript

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/concordia-node/concordia/wire"
)

// A Salvaged says what Salvage brought over from a damaged store.
type Salvaged struct {
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
	Orphans  int `json:"orphans"` // messages found whose predecessors are lost
	Receipts int `json:"receipts"`
	Dropped  int `json:"receipts_dropped"` // no copy found verifies, or the session is lost
}

// Salvage reads what is left in a damaged store file into an empty one. It does
// not trust the file's structure: it looks for messages and receipts in its bytes,
// verifies the messages under keys, and links them by their hashes from the first
// message of each session on. Of the receipts that name such a session it writes
// those that verify accepts: anything that looks like one may have stood in a
// message. What is missing can be asked of the other parties.
func Salvage(ctx context.Context, damaged string, into *Store, keys wire.Keys, verify func(receipt wire.Value) error) (Salvaged, error) {
	var s Salvaged
	data, err := os.ReadFile(damaged)
	if err != nil {
		return s, fmt.Errorf("salvaging: %w", err)
	}
	next := make(map[wire.SessionID]map[wire.Hash]*wire.Message) // by prev_hash
	receipts := make(map[wire.SessionID]map[string][]wire.Value) // by id: a store may hold earlier copies
	seen := make(map[wire.Hash]bool)
	for v := range objects(data) {
		if seen[v.Hash()] {
			continue
		}
		seen[v.Hash()] = true
		if _, isMessage := v.Get("concordia"); !isMessage {
			session, _ := v.Get("session_id")
			att, _ := v.Get("attestation_id")
			id := wire.SessionID(session.Text())
			if receipts[id] == nil {
				receipts[id] = make(map[string][]wire.Value)
			}
			receipts[id][att.Text()] = append(receipts[id][att.Text()], v)
			continue
		}
		u, err := wire.ReadMessage(v)
		if err != nil {
			continue
		}
		m, err := u.Verify(keys)
		if err != nil {
			continue
		}
		if next[m.Session] == nil {
			next[m.Session] = make(map[wire.Hash]*wire.Message)
		}
		next[m.Session][m.PrevHash] = m
	}
	for id, messages := range next {
		var tip wire.Hash
		n := 0
		for m := messages[tip]; m != nil; m = messages[tip] {
			if err := into.Append(ctx, m); err != nil {
				return s, fmt.Errorf("salvaging session %q: %w", id, err)
			}
			tip = m.Hash()
			n++
		}
		s.Messages += n
		s.Orphans += len(messages) - n
		if n == 0 {
			continue
		}
		s.Sessions++
		for att, copies := range receipts[id] {
			i := slices.IndexFunc(copies, func(receipt wire.Value) bool { return verify(receipt) == nil })
			if i < 0 {
				continue
			}
			if err := into.PutReceipt(ctx, id, att, copies[i]); err != nil {
				return s, fmt.Errorf("salvaging session %q: %w", id, err)
			}
			s.Receipts++
		}
	}
	for _, found := range receipts {
		s.Dropped += len(found)
	}
	s.Dropped -= s.Receipts
	return s, nil
}

// objects yields the messages and receipts that stand somewhere in data.
func objects(data []byte) func(yield func(wire.Value) bool) {
	return func(yield func(wire.Value) bool) {
		for i := 0; i < len(data); i++ {
			n := bytes.Index(data[i:], []byte(`{"`))
			if n < 0 {
				return
			}
			i += n
			rest := data[i:min(len(data), i+wire.MaxMessageSize)]
			// A look at the text first: most braces begin something smaller.
			if end := bytes.IndexByte(rest, 0); end >= 0 {
				rest = rest[:end]
			}
			if !bytes.Contains(rest, []byte(`"concordia`)) {
				continue
			}
			text, err := jsontext.NewDecoder(bytes.NewReader(rest)).ReadValue()
			if err != nil && err != io.EOF || len(text) == 0 {
				continue
			}
			v, err := wire.Parse(text, wire.DocumentLimits)
			if err != nil {
				continue
			}
			_, isMessage := v.Get("concordia")
			_, isReceipt := v.Get("concordia_attestation")
			if !isMessage && !isReceipt {
				continue
			}
			if !yield(v) {
				return
			}
			i += len(text) - 1
		}
	}
}
