package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

var epoch = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

func key(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// message signs a message of the session that follows prev.
func message(tb testing.TB, session wire.SessionID, id wire.MessageID, prev wire.Hash) *wire.Message {
	tb.Helper()
	body, err := wire.Encode(wire.M{"term_ids": []string{"price"}})
	if err != nil {
		tb.Fatal(err)
	}
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeInquire, ID: id, Session: session, Time: epoch, From: "alice", PrevHash: prev, Body: body,
	}, key(tb, "alice"))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func open(tb testing.TB, path string) *transcript.Store {
	tb.Helper()
	s, err := transcript.Open(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func storePath(tb testing.TB) string { return filepath.Join(tb.TempDir(), "transcripts.db") }

// chain appends n messages to the session and returns them.
func chain(tb testing.TB, s *transcript.Store, session wire.SessionID, n int) []*wire.Message {
	tb.Helper()
	var list []*wire.Message
	var tip wire.Hash
	for i := range n {
		m := message(tb, session, wire.MessageID(fmt.Sprint("m", i)), tip)
		if err := s.Append(tb.Context(), m); err != nil {
			tb.Fatal(err)
		}
		tip = m.Hash()
		list = append(list, m)
	}
	return list
}

func TestAppendAndRead(t *testing.T) {
	path := storePath(t)
	s := open(t, path)
	a, b := chain(t, s, "ses_a", 5), chain(t, s, "ses_b", 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	heads, err := s.Sessions()
	if err != nil || len(heads) != 2 {
		t.Fatalf("Sessions() = %v, %v", heads, err)
	}
	if want := (transcript.Head{Session: "ses_a", Len: 5, Tip: a[4].Hash()}); heads[0] != want {
		t.Errorf("head of ses_a = %v, want %v", heads[0], want)
	}
	if want := (transcript.Head{Session: "ses_b", Len: 2, Tip: b[1].Hash()}); heads[1] != want {
		t.Errorf("head of ses_b = %v, want %v", heads[1], want)
	}
	for _, test := range []struct{ from, most, first, n int }{{0, 10, 0, 5}, {0, 2, 0, 2}, {3, 10, 3, 2}, {5, 10, 0, 0}, {9, 1, 0, 0}} {
		got, err := s.Read("ses_a", test.from, test.most)
		if err != nil || len(got) != test.n {
			t.Fatalf("Read(%d, %d) gave %d messages: %v", test.from, test.most, len(got), err)
		}
		for i, v := range got {
			if !v.Equal(a[test.first+i].Value()) {
				t.Errorf("Read(%d, %d)[%d] is another message", test.from, test.most, i)
			}
		}
	}
	if got, err := s.Read("ses_none", 0, 10); err != nil || len(got) != 0 {
		t.Errorf("an unknown session has %d messages: %v", len(got), err)
	}
	size := 0
	for i := 0; i <= 6; i++ {
		if got, err := s.Size("ses_a", i); err != nil || got != size {
			t.Errorf("the first %d messages have %d bytes (%v), want %d", i, got, err, size)
		}
		if i < len(a) {
			size += len(a[i].Value().Canonical())
		}
	}
}

// SPEC §9.3
func TestAppendRefuses(t *testing.T) {
	s := open(t, storePath(t))
	a := chain(t, s, "ses_a", 3)
	for _, test := range []struct {
		name string
		m    *wire.Message
		want *wire.Rule
	}{
		{"too far back", message(t, "ses_a", "new", a[1].Hash()), wire.RulePrevHash},
		{"genesis again", message(t, "ses_a", "new", wire.Hash{}), wire.RulePrevHash},
		{"id used by another message", message(t, "ses_a", "m1", a[2].Hash()), wire.RuleMessageID},
		{"first message not at genesis", message(t, "ses_b", "new", a[2].Hash()), wire.RulePrevHash},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := s.Append(t.Context(), test.m); !errors.Is(err, test.want) {
				t.Errorf("Append = %v, want %v", err, test.want)
			}
		})
	}
	err := s.Append(t.Context(), message(t, "ses_a", "new", a[1].Hash()))
	if tip, ok := errors.AsType[*wire.TipError](err); !ok || tip.Tip != a[2].Hash() || tip.Len != 3 {
		t.Errorf("the loser is told %v", err)
	}
	// The same message again is the same answer, wherever it is in the log.
	for _, m := range a {
		if err := s.Append(t.Context(), m); err != nil {
			t.Errorf("appending %s again: %v", m.ID, err)
		}
	}
	if head, _ := s.Head("ses_a"); head.Len != 3 {
		t.Errorf("the log has %d messages", head.Len)
	}
	for _, test := range []struct {
		m    *wire.Message
		want bool
	}{{a[1], true}, {message(t, "ses_a", "m1", a[2].Hash()), false}, {message(t, "ses_a", "m9", a[2].Hash()), false}} {
		if has, err := s.Has(test.m); has != test.want || err != nil {
			t.Errorf("Has(%s) = %t, %v", test.m.ID, has, err)
		}
	}
}

// A session id that is a prefix of another is another session.
func TestSessionsAreApart(t *testing.T) {
	s := open(t, storePath(t))
	chain(t, s, "ses_1", 2)
	chain(t, s, "ses_12", 3)
	receipt, _ := wire.Encode(wire.M{"x": 1})
	if err := s.PutReceipt(t.Context(), "ses_12", "att", receipt); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Receipts("ses_1"); err != nil || len(got) != 0 {
		t.Errorf("ses_1 has receipts %v, %v", got, err)
	}
	if got, err := s.Receipts("ses_12"); err != nil || len(got) != 1 || !got[0].Equal(receipt) {
		t.Errorf("ses_12 has receipts %v, %v", got, err)
	}
}

// Of many who append at one tip, one wins, and the chain is one chain.
func TestConcurrentAppends(t *testing.T) {
	const writers, rounds = 100, 5
	s := open(t, storePath(t))
	for round := range rounds {
		head, err := s.Head("ses_a")
		if err != nil {
			t.Fatal(err)
		}
		var won, lost atomic.Int32
		var group sync.WaitGroup
		for w := range writers {
			m := message(t, "ses_a", wire.MessageID(fmt.Sprintf("r%d-w%d", round, w)), head.Tip)
			group.Go(func() {
				switch err := s.Append(context.Background(), m); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, wire.RulePrevHash):
					lost.Add(1)
				default:
					t.Errorf("Append: %v", err)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 || lost.Load() != writers-1 {
			t.Errorf("round %d: %d won, %d lost", round, won.Load(), lost.Load())
		}
	}
	messages, err := s.Read("ses_a", 0, rounds)
	if err != nil || len(messages) != rounds {
		t.Fatalf("read %d messages: %v", len(messages), err)
	}
	c := wire.NewChain("ses_a", 0)
	for i, v := range messages {
		u, err := wire.ReadMessage(v)
		if err != nil {
			t.Fatal(err)
		}
		m, err := u.Verify(wire.KeyMap{"alice": key(t, "alice").Public()})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(m, epoch); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		c.Append(m)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Run("read-only, absent", func(t *testing.T) {
		if s, err := transcript.Open(storePath(t), &transcript.Options{ReadOnly: true}); err == nil {
			s.Close()
			t.Error("opened")
		}
	})
	t.Run("not a database", func(t *testing.T) {
		path := storePath(t)
		if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := transcript.Open(path, nil); err == nil {
			s.Close()
			t.Error("opened")
		}
	})
	t.Run("in use", func(t *testing.T) {
		path := storePath(t)
		open(t, path)
		if s, err := transcript.Open(path, &transcript.Options{LockTimeout: time.Millisecond}); err == nil {
			s.Close()
			t.Error("opened twice")
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			s := open(b, storePath(b))
			k := key(b, "alice")
			body, _ := wire.Encode(wire.M{"term_ids": []string{strings.Repeat("price", 200)}})
			var next atomic.Int64
			b.SetParallelism(writers)
			b.RunParallel(func(pb *testing.PB) {
				session := wire.SessionID(fmt.Sprint("ses_", next.Add(1)))
				var tip wire.Hash
				for i := 0; pb.Next(); i++ {
					m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprint(i)),
						Session: session, Time: epoch, From: "alice", PrevHash: tip, Body: body}, k)
					if err != nil {
						b.Error(err)
						return
					}
					if err := s.Append(context.Background(), m); err != nil {
						b.Error(err)
						return
					}
					tip = m.Hash()
				}
			})
		})
	}
}
