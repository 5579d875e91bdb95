package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/crashtest"
	"github.com/concordia-node/concordia/wire"
)

// crashEnv makes this test binary the process that is killed.
const crashEnv = "CONCORDIA_TEST_STORE_IN"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashEnv); path != "" {
		fmt.Println("error", addForEver(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// addForEver adds artifacts, some at a time, and deletes every third of them. It says on
// standard output what was acknowledged.
func addForEver(path string) error {
	s, err := store.Open(path, nil)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards standard output: lines are whole
	say := func(what string, hash wire.Hash) {
		mu.Lock()
		fmt.Println(what, hash)
		mu.Unlock()
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				list, err := crashBatch()
				if err == nil {
					_, err = s.Add(context.Background(), now, false, list...)
				}
				if err != nil {
					failed <- err
					return
				}
				for _, c := range list {
					say("has", c.Value.Hash())
				}
				gone := list[0].Value.Hash()
				say("may", gone)
				if _, err := s.Delete(context.Background(), gone); err != nil {
					failed <- err
					return
				}
				say("not", gone)
			}
		}()
	}
	return <-failed
}

// crashBatch makes mandates of which the issuer gives two the same id.
func crashBatch() ([]store.Candidate, error) {
	var list []store.Candidate
	id := fmt.Sprint("urn:concordia:mandate:", rand.Uint64())
	for i := range 3 {
		v, err := wire.Encode(wire.M{"mandate_id": id, "issuer": "did:web:alice", "issued_at": "2026-09-14T09:00:00Z", "uses": i, "signature": "x"})
		if err != nil {
			return nil, err
		}
		list = append(list, store.Candidate{Value: v, Kind: "mandate", Report: wire.Report{wire.Find("signature", false, nil)}})
	}
	return list, nil
}

// A process that is killed at any moment loses nothing that it acknowledged, brings
// nothing back that it deleted, and leaves an index that fits what is stored.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "artifacts.db")
	said := map[wire.Hash]string{}
	for round := range kills {
		killed(t, path, said)
		s, err := store.Open(path, nil)
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		there := map[wire.Hash]bool{}
		byID := map[string]int{}
		entries := list(t, s, store.Filter{})
		for _, e := range entries {
			there[e.Hash] = true
			byID[e.ID]++
		}
		for hash, what := range said {
			if what == "has" && !there[hash] || what == "not" && there[hash] {
				t.Fatalf("after kill %d: %s: acknowledged as %q, stored %v", round, hash, what, there[hash])
			}
		}
		for _, e := range entries {
			if len(e.Conflicts) != byID[e.ID]-1 {
				t.Fatalf("after kill %d: %d of an id, %d conflicts", round, byID[e.ID], len(e.Conflicts))
			}
		}
		byHash := func(a, b store.Entry) bool { return a.Hash == b.Hash }
		for _, f := range []store.Filter{{Kind: "mandate"}, {Agent: "did:web:alice"}} {
			if other := list(t, s, f); !slices.EqualFunc(entries, other, byHash) {
				t.Fatalf("after kill %d: %d artifacts, %d of them by %+v", round, len(entries), len(other), f)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d artifacts acknowledged", kills, len(said))
}

// killed runs the process on the store, kills it after a random number of
// acknowledgements, and notes the last word on each artifact.
func killed(t *testing.T, path string, said map[wire.Hash]string) {
	t.Helper()
	crashtest.Kill(t, crashEnv, path, 300, func(line string) error {
		var what, text string
		if _, err := fmt.Sscan(line, &what, &text); err != nil {
			return err
		}
		hash, err := wire.ParseHash(text)
		if err == nil {
			said[hash] = what
		}
		return err
	})
}
