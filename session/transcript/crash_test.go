package transcript_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/internal/crashtest"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// crashEnv makes this test binary the process that is killed.
const crashEnv = "CONCORDIA_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashEnv); path != "" {
		appendForEver(path)
	}
	os.Exit(m.Run())
}

const crashSessions = 8

// appendForEver appends to crashSessions sessions at once, each from where the
// store has it, and says on standard output what was acknowledged.
func appendForEver(path string) {
	store, err := transcript.Open(path, nil)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	k, _ := wire.NewPrivateKey([]byte("alice" + strings.Repeat(".", wire.SeedSize-5)))
	body, _ := wire.Encode(wire.M{"term_ids": []string{strings.Repeat("price", 100)}})
	var mu sync.Mutex // guards standard output: lines are whole
	var group sync.WaitGroup
	for i := range crashSessions {
		session := wire.SessionID(fmt.Sprint("ses_", i))
		head, err := store.Head(session)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		group.Go(func() {
			for n, tip := head.Len, head.Tip; ; n++ {
				m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprint("m", n)),
					Session: session, Time: epoch, From: "alice", PrevHash: tip, Body: body}, k)
				if err == nil {
					err = store.Append(context.Background(), m)
				}
				mu.Lock()
				if err != nil {
					fmt.Println("error", err)
				} else {
					fmt.Println("ack", session, n+1, m.Hash())
				}
				mu.Unlock()
				if err != nil {
					return
				}
				tip = m.Hash()
			}
		})
	}
	group.Wait()
	os.Exit(1)
}

// A process that is killed at any moment loses nothing that it acknowledged, and
// leaves a file that opens and chains that verify.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "transcripts.db")
	acked := make(map[wire.SessionID]transcript.Head)
	keys := wire.KeyMap{"alice": key(t, "alice").Public()}
	verified := make(map[wire.SessionID]*wire.Chain)
	for round := range kills {
		killed(t, path, acked)
		store, err := transcript.Open(path, nil)
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		for session, want := range acked {
			c := verified[session]
			if c == nil {
				c = wire.NewChain(session, 0)
				verified[session] = c
			}
			messages, err := store.Read(session, c.Len(), 1<<20)
			if err != nil {
				t.Fatalf("after kill %d: %v", round, err)
			}
			for _, v := range messages {
				u, err := wire.ReadMessage(v)
				if err != nil {
					t.Fatal(err)
				}
				m, err := u.Verify(keys)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Check(m, epoch); err != nil {
					t.Fatalf("after kill %d: %v", round, err)
				}
				c.Append(m)
				if c.Len() == want.Len && c.Tip() != want.Tip {
					t.Fatalf("after kill %d: message %d of %s is not the one acknowledged", round, want.Len, session)
				}
			}
			if c.Len() < want.Len {
				t.Fatalf("after kill %d: %s has %d messages, %d were acknowledged", round, session, c.Len(), want.Len)
			}
			if head, err := store.Head(session); err != nil || head.Len != c.Len() || head.Tip != c.Tip() {
				t.Fatalf("after kill %d: head %v of %s does not fit its log: %v", round, head, session, err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for _, head := range acked {
		total += head.Len
	}
	t.Logf("%d kills, %d messages acknowledged, none lost", kills, total)
}

// killed runs the process on the store, kills it after a random number of
// acknowledgements, and notes what it acknowledged.
func killed(t *testing.T, path string, acked map[wire.SessionID]transcript.Head) {
	t.Helper()
	crashtest.Kill(t, crashEnv, path, 200, func(line string) error {
		var session, hash string
		var length int
		if _, err := fmt.Sscanf(line, "ack %s %d %s", &session, &length, &hash); err != nil {
			return err
		}
		tip, err := wire.ParseHash(hash)
		if err == nil {
			acked[wire.SessionID(session)] = transcript.Head{Session: wire.SessionID(session), Len: length, Tip: tip}
		}
		return err
	})
}
