package reputation

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A Ledger is a set of evidence, with an index of who dealt with whom. The zero Ledger
// is empty. It takes about a kilobyte a receipt, whatever the size of the receipt was,
// and has no limit of its own: whoever fills it decides. It is not safe for use by
// several goroutines while one of them adds.
type Ledger struct {
	nodes    map[wire.PublicKey]node
	agents   []agent
	entries  map[wire.Hash]*entry
	ids      map[string]*namesakes // by bare attestation id
	sessions map[string]*namesakes
	texts    map[string]string // categories and value ranges, each once
}

// A node is the index of an agent.
type node int32

// An agent is one key.
type agent struct {
	key     wire.PublicKey
	id      wire.AgentID   // the least that it was called
	entries []*entry       // where it is a dealer, oldest first: see compare
	peers   map[node]int32 // how many agreements with each, that are not revoked
}

// An entry is a receipt in a ledger.
type entry struct {
	*receipt
	nodes     []node // of its dealers
	revoked   bool
	confirmed []heard    // at most one of each dealer
	ids, meet *namesakes // of its id and of its session
}

type heard struct {
	by    node
	words wire.Hash
}

// Namesakes are what shares an id or a session. There is one entry as a rule.
type namesakes struct {
	entries    int
	statements map[node]statement // on an id
}

// compare orders receipts by their time, those of one second by their id and content.
func compare(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.time, b.time), strings.Compare(a.id, b.id), bytes.Compare(a.core[:], b.core[:]))
}

// Len returns how many receipts there are.
func (l *Ledger) Len() int { return len(l.entries) }

// Add takes evidence in and reports whether it is new. What came before stays: that a
// receipt is revoked, or what a dealer said later of its fulfillment.
func (l *Ledger) Add(e *Evidence) bool {
	l.init()
	added := false
	if e.receipt != nil {
		added = l.addReceipt(e)
	}
	for _, s := range e.statements {
		on := l.namesakes(l.ids, s.agreement)
		by := l.node(s.by)
		if had, ok := on.statements[by]; ok && !s.supplants(had) {
			continue
		}
		if on.statements == nil {
			on.statements = make(map[node]statement, 1)
		}
		on.statements[by] = s
		added = true
	}
	return added
}

func (l *Ledger) init() {
	if l.nodes == nil {
		l.nodes, l.entries = make(map[wire.PublicKey]node), make(map[wire.Hash]*entry)
		l.ids, l.sessions = make(map[string]*namesakes), make(map[string]*namesakes)
		l.texts = make(map[string]string)
	}
}

func (l *Ledger) addReceipt(e *Evidence) (added bool) {
	x, known := l.entries[e.receipt.core]
	if !known {
		x = l.enter(e.receipt)
		added = true
	}
	if e.revoked && !x.revoked {
		x.revoked, added = true, true
		l.link(x, -1)
	}
	for _, c := range e.confirmed {
		h := heard{l.node(c.by), c.words}
		i := slices.IndexFunc(x.confirmed, func(o heard) bool { return o.by == h.by })
		switch {
		case i < 0:
			x.confirmed, added = append(x.confirmed, h), true
		case bytes.Compare(h.words[:], x.confirmed[i].words[:]) < 0: // one is enough, the same one whoever came first
			x.confirmed[i], added = h, true
		}
	}
	return added
}

// enter makes an entry of a receipt that is new.
func (l *Ledger) enter(r *receipt) *entry {
	own := *r
	own.category, own.valueRange = l.text(r.category), l.text(r.valueRange)
	own.dealers = slices.Clone(r.dealers)
	x := &entry{receipt: &own, ids: l.namesakes(l.ids, bare(r.id)), meet: l.namesakes(l.sessions, r.session)}
	x.ids.entries++
	x.meet.entries++
	l.entries[r.core] = x
	for _, d := range own.dealers {
		n := l.node(d.key)
		x.nodes = append(x.nodes, n)
		a := &l.agents[n]
		if a.id == "" || d.id < a.id {
			a.id = d.id
		}
		at, _ := slices.BinarySearchFunc(a.entries, x, compare)
		a.entries = slices.Insert(a.entries, at, x)
	}
	l.link(x, 1)
	return x
}

// link enters an agreement into the graph, or takes it out.
func (l *Ledger) link(x *entry, by int32) {
	if x.status != attest.StatusAgreed {
		return
	}
	for _, n := range x.nodes {
		a := &l.agents[n]
		for _, m := range x.nodes {
			if m == n {
				continue
			}
			if a.peers == nil {
				a.peers = make(map[node]int32, 1)
			}
			if a.peers[m] += by; a.peers[m] == 0 {
				delete(a.peers, m)
			}
		}
	}
}

// node returns the index of a key, a new one if need be.
func (l *Ledger) node(k wire.PublicKey) node {
	n, ok := l.nodes[k]
	if !ok {
		n = node(len(l.agents))
		l.nodes[k], l.agents = n, append(l.agents, agent{key: k})
	}
	return n
}

func (l *Ledger) namesakes(of map[string]*namesakes, name string) *namesakes {
	s, ok := of[name]
	if !ok {
		s = new(namesakes)
		of[name] = s
	}
	return s
}

func (l *Ledger) text(s string) string {
	if known, ok := l.texts[s]; ok {
		return known
	}
	l.texts[s] = s
	return s
}
