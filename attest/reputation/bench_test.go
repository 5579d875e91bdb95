package reputation_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// A market is what receipts of n deals are like between agents of whom some deal much
// more than others: the n-th agent about 1/n as often as the first (Zipf).
type market struct {
	random *rand.Rand
	zipf   *rand.Zipf
	base   wire.Value
	keys   []wire.PublicKey
	dealt  []int // how often each did
}

func newMarket(tb testing.TB, agents int) *market {
	tb.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	m := &market{random: random, zipf: rand.NewZipf(random, 1.1, 4, uint64(agents-1)), base: deal(tb, "1", "ann", "bob"), dealt: make([]int, agents)}
	for range agents {
		var seed [wire.SeedSize]byte
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		k, err := wire.NewPrivateKey(seed[:])
		if err != nil {
			tb.Fatal(err)
		}
		m.keys = append(m.keys, k.Public())
	}
	return m
}

// deal makes receipt i, of two agents.
func (m *market) deal(tb testing.TB, i int) *reputation.Evidence {
	tb.Helper()
	a := int(m.zipf.Uint64())
	return m.between(tb, i, a, (a+1+m.random.IntN(len(m.keys)-1))%len(m.keys))
}

// between makes receipt i, of these two.
func (m *market) between(tb testing.TB, i, a, b int) *reputation.Evidence {
	tb.Helper()
	v := m.base.With("attestation_id", wire.Text(fmt.Sprintf("att_%064x", i))).With("session_id", wire.Text(fmt.Sprintf("ses_%032x", i))).
		With("timestamp", wire.Text(wire.FormatTime(now.Add(-time.Duration(m.random.IntN(400*24*3600))*time.Second))))
	parties, _ := v.Get("parties")
	for j, n := range []int{a, b} {
		p, _ := parties.At(fmt.Sprint(j))
		parties = parties.WithElem(j, p.With("agent_id", wire.Text(string(wire.DIDKey(m.keys[n])))))
		m.dealt[n]++
	}
	r, err := attest.ReadAttestation(v.With("parties", parties))
	if err != nil {
		tb.Fatal(err)
	}
	return reputation.Unsigned(r, []wire.PublicKey{m.keys[a], m.keys[b]})
}

// quantile returns the time below which that share of them lie.
func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[min(int(q*float64(len(times))), len(times)-1)]
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// BenchmarkQuery answers queries about agents, each as often as it is a party of a
// receipt, and reports the median, the worst percentile and the agent with most
// receipts; and what the ledger takes.
func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newMarket(b, max(n/10, 100))
			before := heap()
			l := new(reputation.Ledger)
			var adding time.Duration
			for i := range n {
				e := m.deal(b, i)
				start := time.Now()
				l.Add(e)
				adding += time.Since(start)
			}
			size := float64(heap()-before) / float64(n)
			q, err := reputation.ReadQuery(query(b, "subject", wire.M{"category": "goods", "role": "initiator"}))
			if err != nil {
				b.Fatal(err)
			}
			by := service(b)
			ask := func(k wire.PublicKey) time.Duration {
				by.Keys = wire.KeyMap{"subject": k}
				start := time.Now()
				if _, err := l.Answer(q, by); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			var times []time.Duration
			for b.Loop() {
				who := int(m.zipf.Uint64())
				if m.random.IntN(2) == 0 {
					who = m.random.IntN(len(m.keys))
				}
				times = append(times, ask(m.keys[who]))
			}
			most := slices.Index(m.dealt, slices.Max(m.dealt))
			b.ReportMetric(float64(quantile(times, 0.5).Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(quantile(times, 0.99).Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(ask(m.keys[most]).Microseconds())/1000, "most-ms")
			b.ReportMetric(float64(m.dealt[most]), "most-receipts")
			b.ReportMetric(float64(adding.Nanoseconds())/float64(n), "ns/add")
			b.ReportMetric(size, "B/receipt")
			runtime.KeepAlive(l)
		})
	}
}

// BenchmarkVerifyReceipt is what a receipt costs before it is evidence: four signatures.
func BenchmarkVerifyReceipt(b *testing.B) {
	v := deal(b, "1", "ann", "bob")
	f := attest.Verifier{Keys: wire.KeyMap{"ann": keyOf(b, "ann").Public(), "bob": keyOf(b, "bob").Public()}, Now: now}
	for b.Loop() {
		if _, report := reputation.VerifyReceipt(f, v); report.Err() != nil {
			b.Fatal(report.Err())
		}
	}
}

// A ledger keeps nothing of a receipt but what it counts: the text of a large one is not
// held in memory.
func TestReceiptsAreNotKept(t *testing.T) {
	m := newMarket(t, 100)
	m.base = m.base.With("summary", wire.Text(strings.Repeat("x", 1000)))
	references := make([]wire.M, attest.MaxReferences)
	for i := range references {
		references[i] = wire.M{"type": "receipt", "id": fmt.Sprintf("%0200d", i), "relationship": "references"}
	}
	m.base = m.base.With("references", encode(t, references))
	before := heap()
	l := new(reputation.Ledger)
	const n = 3000
	for i := range n {
		l.Add(m.deal(t, i))
	}
	if size := (heap() - before) / n; size > 1500 {
		t.Errorf("%d bytes for each receipt of %d", size, len(m.base.Canonical()))
	}
	runtime.KeepAlive(l)
}
