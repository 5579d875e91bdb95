package session_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A world is two or three nodes and one sequencer over a network that delays,
// loses, duplicates and reorders, with clocks that differ, restarts and expiry.
// Some of the nodes now and then break the rules.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	now   time.Time
	keys  wire.KeyMap
	log   []*wire.Message // what the sequencer has admitted
	chain *wire.Chain
	nodes []*modelNode
	wires []packet
	sent  int
	pace  int // seconds a step takes at most
}

// A modelNode is one party: what it has read of the log, and its clock.
type modelNode struct {
	id   wire.AgentID
	key  wire.PrivateKey
	off  time.Duration
	log  *session.Transcript
	read int // messages of the log it has read

	closed bool // nothing in the log has counted since
}

// A packet is under way: a move to the sequencer, or message i of the log to a node.
type packet struct {
	to   *modelNode // nil: the sequencer
	m    *wire.Message
	i    int
	from *modelNode
}

const modelSession = "ses_model"

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: epoch, pace: 1 + int(seed/2%10), keys: wire.KeyMap{}, chain: wire.NewChain(modelSession, 0)}
	for i := range 2 + int(seed%2) {
		name := string(rune('a' + i))
		k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-1)))
		if err != nil {
			t.Fatal(err)
		}
		n := &modelNode{id: wire.AgentID(name), key: k, off: time.Duration(w.rng.IntN(100)-50) * time.Second}
		n.log = session.NewTranscript(modelSession, nil)
		w.keys[n.id] = k.Public()
		w.nodes = append(w.nodes, n)
	}
	return w
}

func (w *world) pick(n int) bool { return w.rng.IntN(n) == 0 }

// run lets the world go on for a while, then lets everybody read the whole log.
func (w *world) run(steps int) {
	for range steps {
		w.now = w.now.Add(time.Duration(w.rng.IntN(w.pace)) * time.Second)
		switch n := w.nodes[w.rng.IntN(len(w.nodes))]; w.rng.IntN(8) {
		case 0, 1, 2:
			w.move(n)
		case 3:
			w.poll(n)
		case 4:
			if w.pick(4) {
				w.restart(n)
			}
		default:
			w.deliver()
		}
	}
	for _, n := range w.nodes {
		for i := n.read; i < len(w.log); i++ {
			w.take(n, i, w.log[i])
		}
	}
}

var modelMoves = []string{
	`accept_session`, `accept_session`, `offer {"offer_id":"ID","terms":{"x":{"value":5}}}`, `counter {"offer_id":"ID","terms":{"x":{"value":6}}}`,
	`counter {"offer_id":"ID","conditions":[{"if":{"x":3},"then":{}},{"if":{"x":4},"then":{}}]}`,
	`accept`, `accept`, `accept`, `accept {"accepted_terms":{"x":3}}`, `commit`, `constrain {"constraints":{"x":{"max":5}}}`,
	`signal {"priority_ranking":["x"]}`, `signal {"reactivatable":true}`, `withdraw {"reactivatable":true}`, `decline_session`, `reject`, `inquire {"term_ids":["x"]}`,
}

// move lets a node make a move that its own view of the session allows, or, rarely,
// one that it does not.
func (w *world) move(n *modelNode) {
	s := n.log.Session()
	line := modelMoves[w.rng.IntN(len(modelMoves))]
	if o, by := s.Offer(); o != nil && by != n.id && w.pick(3) {
		line = `accept {"accepted_terms":{"x":3}}`
		if len(o.Branches) == 1 {
			line = `accept`
		}
	}
	if s.State() == session.Start {
		if n != w.nodes[0] {
			return
		}
		line = `open {"terms":{"x":{"type":"numeric"}},"timing":{"session_ttl":300,"offer_ttl":90,"max_rounds":6}}`
	}
	name, text, _ := strings.Cut(line, " ")
	if text == "" {
		text = "{}"
	}
	w.sent++
	body, err := wire.Parse([]byte(strings.Replace(text, "ID", fmt.Sprint("o", w.sent), 1)), wire.DocumentLimits)
	if err != nil {
		w.t.Fatal(err)
	}
	at := w.now.Add(n.off)
	if s.Now().After(at) {
		at = s.Now()
	}
	e := wire.Envelope{
		Type: wire.MessageType("negotiate." + name), ID: wire.MessageID(fmt.Sprint("m", w.sent)), Session: modelSession,
		Time: at, From: n.id, PrevHash: n.log.Tip(), Body: body,
	}
	if name == "open" {
		for _, other := range w.nodes[1:] {
			e.To = append(e.To, other.id)
		}
	}
	m, err := wire.Sign(e, n.key)
	if err != nil {
		w.t.Fatal(err)
	}
	if ends := name == "reject" || name == "withdraw" || name == "decline_session"; ends && !w.pick(8) {
		return
	}
	if n.log.Try(m, at) != nil && !w.pick(100) {
		return
	}
	for range 1 + w.rng.IntN(2) {
		w.wires = append(w.wires, packet{m: m, from: n})
	}
}

// poll asks the sequencer for what comes next.
func (w *world) poll(n *modelNode) {
	for i := n.read; i < min(len(w.log), n.read+3); i++ {
		w.wires = append(w.wires, packet{to: n, m: w.log[i], i: i})
	}
}

// deliver hands over some packet that is under way, or loses it.
func (w *world) deliver() {
	if len(w.wires) == 0 {
		return
	}
	i := w.rng.IntN(len(w.wires))
	p := w.wires[i]
	if !w.pick(5) { // else it is delivered again later
		w.wires = append(w.wires[:i], w.wires[i+1:]...)
	}
	switch {
	case w.pick(6): // lost
	case p.to != nil:
		w.take(p.to, p.i, p.m)
	case w.chain.Admit(p.m, w.now) == nil && w.member(p.m.From):
		w.chain.Append(p.m)
		w.log = append(w.log, p.m)
		w.wires = append(w.wires, packet{to: p.from, m: p.m, i: len(w.log) - 1})
	}
}

func (w *world) member(id wire.AgentID) bool { _, ok := w.keys[id]; return ok }

// take lets a node read message i of the log, if that is the next one for it.
func (w *world) take(n *modelNode, i int, m *wire.Message) {
	if i != n.read {
		return
	}
	n.read++
	later := w.now.Add(24 * time.Hour) // a reader does not judge when a message was admitted
	if n.closed || n.log.Replay(m, later) == nil {
		return
	}
	n.closed = true // by a breach, or by a message that came too late
	if err := n.log.Breach(m, later); err != nil && n.log.Session().At(m.Time).State() != session.Expired {
		w.t.Fatalf("neither a move nor a breach: %v", err)
	}
}

// restart makes a node forget everything but what it has read.
func (w *world) restart(n *modelNode) {
	n.log, n.read, n.closed = session.NewTranscript(modelSession, nil), 0, false
	for i, m := range w.log {
		if w.pick(3) {
			break
		}
		w.take(n, i, m)
	}
}

// result is what all nodes have to agree on.
func (n *modelNode) result(t testing.TB, at time.Time) string {
	s := n.log.Session().At(at)
	out := fmt.Sprintf("%s after %d messages, %d rounds, head %s", s.State(), s.Len(), s.Rounds(), s.Tip())
	if b := s.Breach(); b != nil {
		out += fmt.Sprintf(", breach of %s by %s", b.Rule.Name, b.By)
	}
	if a, err := s.Agreement(); err == nil {
		v, err := a.Value()
		if err != nil {
			t.Fatal(err)
		}
		out += ", agreement " + v.Canonical()
	}
	if d, err := n.log.Receipt(at); err == nil {
		v, err := d.Value()
		if err != nil {
			t.Fatal(err)
		}
		out += ", receipt " + v.Canonical()
	}
	return out
}

// Whatever the network does, whoever restarts, whoever breaks the rules: nodes that
// have read the same log agree on the state, the agreement and the receipt, at every
// time.
func TestModel(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	states := map[protocol.State]int{}
	breaches := 0
	for seed := range uint64(modelRuns) {
		w := newWorld(t, seed)
		w.run(60 + w.rng.IntN(240))
		for _, at := range []time.Time{w.now, w.now.Add(10 * time.Minute)} {
			first := w.nodes[0].result(t, at)
			for _, n := range w.nodes[1:] {
				if got := n.result(t, at); got != first {
					t.Fatalf("seed %d:\n%s says %s\n%s says %s", seed, w.nodes[0].id, first, n.id, got)
				}
			}
		}
		states[w.nodes[0].log.Session().At(w.now.Add(10*time.Minute)).State()]++
		if w.nodes[0].log.Session().Breach() != nil {
			breaches++
		}
	}
	t.Logf("%v, %d breaches", states, breaches)
	for _, s := range session.Machine.States {
		if states[s] == 0 && s != session.Start && s != session.Proposed && s != session.Active {
			t.Errorf("no run ended %s: the model does not get there", s)
		}
	}
	if breaches == 0 {
		t.Error("no run had a breach")
	}
}
