package relay_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
)

// 100 goroutines append to one session until each has had its word: one chain, every
// loser is told the tip, and in the end nobody's word is missing.
func TestOneChain(t *testing.T) {
	const writers, each = 100, 1
	w := newWorld(t, relay.Limits{Undelivered: 1 << 20, UndeliveredSender: 1 << 20})
	w.active("s", "alice", "bob")
	body, _ := wire.Encode(wire.M{"term_ids": []string{"price"}})
	var conflicts atomic.Int64
	var all sync.WaitGroup
	for i := range writers {
		name := []string{"alice", "bob"}[i%2]
		who := w.agent(name)
		all.Go(func() {
			var tip wire.Hash
			var length int
			for n := 0; n < each; {
				m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprintf("m%d-%d", i, n)), Session: "s",
					Time: epoch, From: who.ID, PrevHash: tip, Body: body}, key(name))
				if err != nil {
					t.Error(err)
					return
				}
				_, err = w.Append(w.ctx, who, m.Value())
				e, refused := errors.AsType[*relay.Error](err)
				switch {
				case err == nil:
					tip, length = m.Hash(), length+1
					n++
				case refused && e.Code == relay.CodeChainConflict && e.Tip.Len > length-1 && e.Length == uint64(e.Tip.Len) && e.Tip.Tip != tip:
					conflicts.Add(1)
					tip, length = e.Tip.Tip, e.Tip.Len
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	chain := wire.NewChain("s", 0)
	keys := wire.KeyMap{"alice": key("alice").Public(), "bob": key("bob").Public()}
	for from := uint64(1); ; {
		list := w.read("bob", "s", from, 1000, 1<<20)
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			u, err := wire.ParseMessage(e.Text)
			if err != nil {
				t.Fatal(err)
			}
			m, err := u.Verify(keys)
			if err != nil {
				t.Fatal(err)
			}
			if err := chain.Check(m, epoch); err != nil || e.Number != from || e.Sender != m.From {
				t.Fatalf("entry %d of %s: %v", e.Number, e.Sender, err)
			}
			chain.Append(m)
			from++
		}
	}
	if chain.Len() != writers*each || conflicts.Load() == 0 {
		t.Errorf("%d messages, %d conflicts", chain.Len(), conflicts.Load())
	}
}

// A load is many sessions of two agents, and messages of 1 KB that were signed before.
type load struct {
	path     string
	boxes    *relay.Mailboxes
	agents   []relay.Agent
	messages [][]*wire.Message // of each session, that are next
	lengths  []int             // of its log, with them
	tips     []wire.Hash
}

func newLoad(tb testing.TB, sessions, each int) *load {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "mail.db")
	mail, err := boltmail.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { mail.Close() })
	limits := relay.Limits{
		Undelivered: 1 << 40, UndeliveredSender: 1 << 40, Entries: 1 << 40, SessionSize: 1 << 40, InitiatorSize: 1 << 50,
		LivePerInitiator: 1 << 40, Invitations: 1 << 40, InvitationsSender: 1 << 40, FreeSpace: 1,
	}
	w := &world{TB: tb, now: epoch}
	boxes, err := relay.NewMailboxes(context.Background(), mail, relay.Options{
		Limits: limits, Now: func() time.Time { return epoch }, Random: locked{&w.mu, rand.NewChaCha8([32]byte{})},
	})
	if err != nil {
		tb.Fatal(err)
	}
	l := &load{path: path, boxes: boxes, messages: make([][]*wire.Message, sessions), lengths: make([]int, sessions), tips: make([]wire.Hash, sessions)}
	w.Mailboxes, w.ctx, w.agents, w.logs = boxes, context.Background(), map[string]relay.Agent{}, map[wire.SessionID]bool{}
	for i := range sessions {
		name := fmt.Sprint("agent_", i)
		l.agents = append(l.agents, w.agent(name))
		w.reserve(loadSession(i), name, wire.AgentID(fmt.Sprint("peer_", i)))
		w.join(loadSession(i), fmt.Sprint("peer_", i))
	}
	l.sign(tb, each)
	return l
}

func loadSession(i int) wire.SessionID { return wire.SessionID(fmt.Sprintf("ses_%032x", i)) }

// sign makes the next messages of each session, each of 1 KB.
func (l *load) sign(tb testing.TB, each int) {
	body, _ := wire.Encode(wire.M{"terms": wire.M{"price": wire.M{"value": 2050.5, "currency": "USD"}, "note": wire.M{"value": strings.Repeat("x", 580)}}})
	var all sync.WaitGroup
	for i, agent := range l.agents {
		all.Go(func() {
			k := key(string(agent.ID))
			l.messages[i] = nil
			for range each {
				id := wire.HashOf(fmt.Sprint(i, " ", l.lengths[i])).Hex()[:32] // in no order, as ids are
				m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID("msg_" + id), Session: loadSession(i), Time: epoch,
					From: agent.ID, PrevHash: l.tips[i], Body: body}, k)
				if err != nil {
					tb.Error(err)
					return
				}
				l.tips[i] = m.Hash()
				l.lengths[i]++
				l.messages[i] = append(l.messages[i], m)
			}
		})
	}
	all.Wait()
}

// run appends all messages with so many goroutines, parsed from their bytes as a server
// does, and returns how many there were.
func (l *load) run(tb testing.TB, writers int) (n int) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(writers, len(l.messages)) {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(l.messages) {
					return
				}
				for _, m := range l.messages[i] {
					v, err := wire.Parse([]byte(m.Value().Canonical()), wire.DocumentLimits)
					if err == nil {
						_, err = l.boxes.Append(context.Background(), l.agents[i], v)
					}
					if err != nil {
						tb.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for _, list := range l.messages {
		n += len(list)
	}
	return n
}

// BenchmarkAppend appends messages of 1 KB in process: parsed, made canonical,
// verified, hashed and on disk. It says how much processor time a message takes, and
// how many bare verifications of its signature that is: the rest of the machine has no
// part in it. What all cores could do is GOMAXPROCS divided by it.
func BenchmarkAppend(b *testing.B) {
	const sessions, each = 512, 40
	for _, writers := range []int{64, 256, 512} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			var n int
			var busy, took, verify time.Duration
			for b.Loop() {
				l := newLoad(b, sessions, each)
				verify += bareVerify(l)
				runtime.GC()
				start, cpu := time.Now(), processorTime()
				n += l.run(b, writers)
				busy, took = busy+processorTime()-cpu, took+time.Since(start)
				verify += bareVerify(l)
			}
			each := busy / time.Duration(n)
			b.ReportMetric(float64(n)/took.Seconds(), "msgs/s")
			b.ReportMetric(float64(each)/1000, "cpu-µs/msg")
			b.ReportMetric(float64(each)*float64(2*b.N)/float64(verify), "verifies/msg")
			b.ReportMetric(float64(runtime.GOMAXPROCS(0))/each.Seconds(), "msgs/s-if-alone")
		})
	}
}

// bareVerify returns how much processor time it takes to verify the signature of a
// message of 1 KB and nothing else.
func bareVerify(l *load) time.Duration {
	const n = 2000
	k := key("agent_0")
	text := []byte(l.messages[0][0].Value().Canonical())
	sig, _ := k.Sign(text)
	pub := ed25519.PublicKey(k.Public().Bytes())
	cpu := processorTime()
	for range n {
		ed25519.Verify(pub, text, sig[:])
	}
	return (processorTime() - cpu) / n
}

// BenchmarkStored appends to and reads from a relay that holds few messages, and the
// same relay when it holds many: what an entry costs does not depend on how many there
// are. It takes minutes; most of the time goes into signing.
func BenchmarkStored(b *testing.B) {
	const sessions = 256
	l := newLoad(b, sessions, 0)
	total := 0
	grow := func(n int) time.Duration { // returns the processor time of a message
		var busy time.Duration
		done := 0
		for done < n {
			l.sign(b, min(40, 1+(n-done)/sessions))
			cpu := processorTime()
			k := l.run(b, sessions)
			busy, done = busy+processorTime()-cpu, done+k
		}
		total += done
		return busy / time.Duration(done)
	}
	read := func() time.Duration { // of ten entries, anywhere
		const n = 5000
		random := rand.New(rand.NewPCG(1, 2))
		cpu := processorTime()
		for range n {
			i := random.IntN(sessions)
			list, err := l.boxes.Read(context.Background(), l.agents[i].ID, loadSession(i), 1+uint64(random.IntN(l.lengths[i]-9)), 10, 1<<20)
			if err != nil || len(list) != 10 {
				b.Fatalf("%d entries, %v", len(list), err)
			}
		}
		return (processorTime() - cpu) / n
	}
	for b.Loop() {
		grow(10_000)
		first, firstRead, verify := grow(10_000), read(), bareVerify(l)
		for total < storedMessages-10_000 {
			grow(min(50_000, storedMessages-10_000-total))
		}
		last, cold, lastRead, verifyLast := grow(10_000), read(), read(), bareVerify(l)
		info, err := os.Stat(l.path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(total), "stored")
		b.ReportMetric(float64(info.Size())/float64(total), "B/msg")
		b.ReportMetric(float64(first)/float64(verify), "append-verifies@20k")
		b.ReportMetric(float64(last)/float64(verifyLast), "append-verifies@end")
		b.ReportMetric(float64(firstRead)/float64(verify), "read10-verifies@20k")
		b.ReportMetric(float64(cold)/float64(verifyLast), "read10-verifies@end-cold") // pages that were not touched since they were written
		b.ReportMetric(float64(lastRead)/float64(verifyLast), "read10-verifies@end")
	}
}
