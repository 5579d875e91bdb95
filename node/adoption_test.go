package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// settle has two parties agree in a session after so many offers in turns, of which each
// takes a while, and returns how many bytes the messages have.
func (w *world) settle(rounds int, each time.Duration, seller, buyer *party) (id wire.SessionID, size int) {
	w.Helper()
	id = w.begin(node.Opening{}, seller, buyer)
	turns := []*party{seller, buyer}
	for i := range rounds {
		w.forward(each)
		t := wire.TypeCounter
		if i == 0 {
			t = wire.TypeOffer
		}
		turns[i%2].move(id, t, price(1000-i))
		turns[(i+1)%2].has(id, 3+i)
	}
	turns[rounds%2].move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	buyer.settled(id)
	for _, m := range must[[]wire.Value](w)(seller.Messages(w.ctx, id, 0, 0)) {
		size += len(m.Canonical())
	}
	return id, size
}

// An interaction is measured as it was told, and beside it stands what the node's own deals
// came to: nothing as long as there are none.
func TestEfficiency(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	i := must[node.Interaction](w)(seller.StartDegraded(w.ctx, node.Starting{With: "bob@shop.example"}))
	tell := func(from wire.AgentID, content string) error {
		w.forward(10 * time.Minute)
		r, err := seller.TellDegraded(w.ctx, node.Telling{Interaction: i.ID, From: from, Content: content})
		i = r.Interaction
		return err
	}
	for _, said := range []struct {
		from    wire.AgentID
		content string
		rounds  int
	}{
		{"", "Do you want the camera?", 1}, {agent("seller"), "For 2000.", 1}, {"bob@shop.example", "What does it weigh?", 2},
		{"bob@shop.example", "1500?", 2}, {"", "1800 é", 3},
	} {
		w.must(tell(said.from, said.content))
		if i.Rounds != said.rounds {
			t.Errorf("after %q: %d rounds, want %d", said.content, i.Rounds, said.rounds)
		}
	}
	const size = 23 + 9 + 19 + 5 + 7 // bytes of the contents
	report := func(of *party) node.Efficiency {
		t.Helper()
		e := must[node.Efficiency](w)(of.Efficiency(w.ctx, i.ID))
		if e.Interaction.Rounds != 3 || e.Interaction.Messages != 5 || e.Interaction.Bytes != size || e.Seconds < 3000 || e.Seconds > 3060 {
			t.Errorf("measured: %+v", e)
		}
		return e
	}
	if e := report(seller); e.Deals != (node.Deals{}) || len(e.Since.Sessions) != 0 {
		t.Errorf("of nothing: %+v", e)
	}

	// One that comes to nothing, with more offers than all others, is no measure of deals.
	lost := w.begin(node.Opening{}, seller, buyer)
	for k := range 6 {
		by, other := seller, buyer
		if k%2 == 1 {
			by, other = buyer, seller
		}
		by.move(lost, map[bool]wire.MessageType{true: wire.TypeOffer, false: wire.TypeCounter}[k == 0], price(k))
		other.has(lost, 3+k)
	}
	seller.move(lost, wire.TypeReject, wire.Value{})
	seller.settled(lost)
	if e := report(seller); e.Deals != (node.Deals{Concluded: 1}) {
		t.Errorf("of one that was rejected: %+v", e.Deals)
	}

	// 1, 3 and 2 offers that take 100, 300 and 1000 seconds each.
	_, _ = w.settle(1, 100*time.Second, seller, buyer)
	_, long := w.settle(3, 300*time.Second, seller, buyer)
	_, middle := w.settle(2, 1000*time.Second, seller, buyer)
	e := report(seller)
	if d := e.Deals; d.Concluded != 4 || d.Agreed != 3 || d.Rounds != 2 || d.Messages != 5 || d.Bytes != middle || d.Seconds < 900 || d.Seconds > 960 {
		t.Errorf("of deals of 1, 3 and 2 rounds, of which the middle has %d bytes: %+v", middle, d)
	}
	// Of four: the upper of the two in the middle.
	_, _ = w.settle(4, 1000*time.Second, seller, buyer)
	if d := report(seller).Deals; d.Agreed != 4 || d.Rounds != 3 || d.Messages != 6 || d.Bytes != long || d.Seconds < 2000 || d.Seconds > 2060 {
		t.Errorf("of deals of 1, 3, 2 and 4 rounds, of which the third has %d bytes: %+v", long, d)
	}
	seller.restart()
	if d := report(seller).Deals; d.Agreed != 4 || d.Rounds != 3 {
		t.Errorf("after a restart: %+v", d)
	}
}

// What there was in sessions with the other side after an interaction began is found by
// what happened there.
func TestEfficiencySince(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	w.settle(1, time.Second, seller, buyer) // before
	w.forward(time.Second)
	i := must[node.Interaction](w)(seller.StartDegraded(w.ctx, node.Starting{With: agent("buyer")}))
	w.settle(1, time.Second, seller, other) // with somebody else
	since := func() node.Since {
		t.Helper()
		return must[node.Efficiency](w)(seller.Efficiency(w.ctx, i.ID)).Since
	}
	if got := since(); !cmp.Equal(got, node.Since{}) {
		t.Errorf("at first: %+v", got)
	}
	id := w.begin(node.Opening{}, seller, buyer)
	sessions := []wire.SessionID{id}
	if got := since(); !cmp.Equal(got, node.Since{Sessions: sessions, Active: true}) {
		t.Errorf("while it is active: %+v", got)
	}
	seller.move(id, wire.TypeOffer, price(5))
	buyer.has(id, 3)
	if got := since(); !cmp.Equal(got, node.Since{Sessions: sessions, Active: true, Offers: true}) {
		t.Errorf("with an offer: %+v", got)
	}
	buyer.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	if got := since(); !cmp.Equal(got, node.Since{Sessions: sessions, Active: true, Offers: true, Agreed: true, Receipt: true}) {
		t.Errorf("with a receipt: %+v", got)
	}
}

func TestProposals(t *testing.T) {
	w := newWorld(t)
	p := w.party("seller", nil)
	const bob = "bob@shop.example"
	made := must[node.Proposal](w)(p.ProposeProtocol(w.ctx, node.Proposing{ID: "proto_prop_1", To: bob}))
	for name, want := range map[string]string{
		"type": "concordia.protocol_proposal", "proposal_id": "proto_prop_1", "proposer_agent_id": string(agent("seller")), "target_agent_id": bob,
	} {
		if got, _ := made.Document.Get(name); got.Text() != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	w.forward(time.Hour)
	if again := must[node.Proposal](w)(p.ProposeProtocol(w.ctx, node.Proposing{ID: "proto_prop_1", To: bob})); !again.Document.Equal(made.Document) {
		t.Errorf("asked again: %s", again.Document)
	}
	named := node.Starting{ID: "degraded_1", With: bob, Proposal: "proto_prop_1"}
	i := must[node.Interaction](w)(p.StartDegraded(w.ctx, named))
	if i.Status != node.PeerUnknown || i.Mode != node.Degraded {
		t.Errorf("started: %+v", i)
	}
	apart := must[node.Interaction](w)(p.StartDegraded(w.ctx, node.Starting{With: bob, Status: node.PeerIncompatible}))

	for _, test := range []struct {
		name string
		do   func() error
		want node.Code
	}{
		{"a proposal to oneself", func() error { _, err := p.ProposeProtocol(w.ctx, node.Proposing{To: agent("seller")}); return err }, node.CodeBadRequest},
		{"a proposal to nobody", func() error { _, err := p.ProposeProtocol(w.ctx, node.Proposing{To: "Bob Smith"}); return err }, node.CodeBadRequest},
		{"a proposal under another's id", func() error {
			_, err := p.ProposeProtocol(w.ctx, node.Proposing{ID: "proto_prop_1", To: "eve"})
			return err
		}, node.CodeBadRequest},
		{"an id that is none", func() error { _, err := p.ProposeProtocol(w.ctx, node.Proposing{ID: "a b", To: bob}); return err }, node.CodeBadRequest},
		{"an answer to what was not proposed", func() error {
			_, err := p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_2", Accepted: true})
			return err
		}, node.CodeNotFound},
		{"an answer of somebody else", func() error {
			_, err := p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_1", From: "eve", Accepted: true})
			return err
		}, node.CodeBadRequest},
		{"an answer of oneself", func() error {
			_, err := p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_1", From: agent("seller"), Accepted: true})
			return err
		}, node.CodeBadRequest},
		{"too long a reason", func() error {
			_, err := p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_1", Reason: strings.Repeat("x", node.MaxToldText+1)})
			return err
		}, node.CodeBadRequest},
		{"an interaction with oneself", func() error { _, err := p.StartDegraded(w.ctx, node.Starting{With: agent("seller")}); return err }, node.CodeBadRequest},
		{"an interaction of another status", func() error {
			_, err := p.StartDegraded(w.ctx, node.Starting{With: bob, Status: node.PeerConcordia})
			return err
		}, node.CodeBadRequest},
		{"an interaction of a proposal that is none", func() error {
			_, err := p.StartDegraded(w.ctx, node.Starting{With: bob, Proposal: "proto_prop_2"})
			return err
		}, node.CodeNotFound},
		{"an interaction of a proposal to somebody else", func() error {
			_, err := p.StartDegraded(w.ctx, node.Starting{With: "eve", Proposal: "proto_prop_1"})
			return err
		}, node.CodeBadRequest},
		{"an interaction under another's id", func() error {
			_, err := p.StartDegraded(w.ctx, node.Starting{ID: "degraded_1", With: "eve", Proposal: "proto_prop_1"})
			return err
		}, node.CodeBadRequest},
	} {
		if err := test.do(); code(err) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if again := must[node.Interaction](w)(p.StartDegraded(w.ctx, named)); !cmp.Equal(again, i) {
		t.Errorf("started again: %+v", again)
	}

	for _, test := range []struct {
		name     string
		accepted bool
		mode     node.Mode
		status   node.PeerStatus
		tell     node.Code
	}{
		{"no", false, node.Degraded, node.PeerDeclined, ""},
		{"yes, after all", true, node.Upgraded, node.PeerConcordia, node.CodeBadRequest},
		{"and no again", false, node.Degraded, node.PeerDeclined, ""},
	} {
		answered := must[node.Proposal](w)(p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_1", From: bob, Accepted: test.accepted, Reason: "words"}))
		if a := answered.Answer; a == nil || a.Accepted != test.accepted || a.Reason != "words" {
			t.Errorf("%s: %+v", test.name, answered)
		}
		p.restart()
		e := must[node.Efficiency](w)(p.Efficiency(w.ctx, "degraded_1"))
		if e.Interaction.Mode != test.mode || e.Interaction.Status != test.status {
			t.Errorf("%s: %+v", test.name, e.Interaction)
		}
		if _, err := p.TellDegraded(w.ctx, node.Telling{Interaction: "degraded_1", Content: "hello"}); code(err) != test.tell {
			t.Errorf("%s: something is said: %v", test.name, err)
		}
		if e := must[node.Efficiency](w)(p.Efficiency(w.ctx, apart.ID)); e.Interaction.Mode != node.Degraded || e.Interaction.Status != node.PeerIncompatible {
			t.Errorf("%s: one that does not name the proposal: %+v", test.name, e.Interaction)
		}
		_, err := p.StartDegraded(w.ctx, node.Starting{With: bob, Proposal: "proto_prop_1"})
		if want := map[bool]node.Code{true: node.CodeBadRequest}[test.accepted]; code(err) != want {
			t.Errorf("%s: another one: %v", test.name, err)
		}
	}
	later := must[node.Interaction](w)(p.StartDegraded(w.ctx, node.Starting{With: bob, Proposal: "proto_prop_1"}))
	if later.Status != node.PeerDeclined {
		t.Errorf("of a proposal that was declined: %+v", later)
	}
}

// What is told is bounded: by text, by messages, by bytes; told again it is there once.
func TestTold(t *testing.T) {
	w := newWorld(t)
	p := w.party("seller", nil)
	start := func() node.InteractionID {
		return must[node.Interaction](w)(p.StartDegraded(w.ctx, node.Starting{With: "bob"})).ID
	}
	few := start()
	tell := func(id node.InteractionID, m wire.MessageID, from wire.AgentID, content string) (node.Interaction, error) {
		r, err := p.TellDegraded(w.ctx, node.Telling{Interaction: id, ID: m, From: from, Content: content})
		if err == nil && (r.Told.Content != content || m != "" && r.Told.ID != m || r.Told.Round < 1) {
			t.Errorf("told %.100q, and there is %+v", content, r.Told)
		}
		return r.Interaction, err
	}
	for range 2 {
		if i, err := tell(few, "msg_1", "bob", "words"); err != nil || i.Messages != 1 {
			t.Errorf("told: %+v, %v", i, err)
		}
	}
	for _, test := range []struct {
		name    string
		id      node.InteractionID
		message wire.MessageID
		from    wire.AgentID
		content string
		want    node.Code
	}{
		{"no interaction", "degraded_none", "", "", "x", node.CodeNotFound},
		{"no interaction, by a key of another", few + "\x00i", "", "", "x", node.CodeNotFound},
		{"somebody else", few, "", "eve", "x", node.CodeBadRequest},
		{"nothing", few, "", "", "", node.CodeBadRequest},
		{"too much", few, "", "", strings.Repeat("x", node.MaxToldText+1), node.CodeBadRequest},
		{"no text", few, "", "", "\xff", node.CodeBadRequest},
		{"other words under the same id", few, "msg_1", "bob", "others", node.CodeBadRequest},
		{"the same of another under the same id", few, "msg_1", "", "words", node.CodeBadRequest},
	} {
		if _, err := tell(test.id, test.message, test.from, test.content); code(err) != test.want {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	large := start()
	most := strings.Repeat("é", node.MaxToldText/2)
	for range node.MaxToldBytes / node.MaxToldText {
		_, err := tell(large, "", "", most)
		w.must(err)
	}
	rest := strings.Repeat("x", node.MaxToldBytes%node.MaxToldText)
	if _, err := tell(large, "", "", rest+"x"); code(err) != node.CodeRefused {
		t.Errorf("a byte too many: %v", err)
	}
	if i, err := tell(large, "", "", rest); err != nil || i.Bytes != node.MaxToldBytes {
		t.Errorf("all that there is room for: %+v, %v", i, err)
	}
	many := start()
	for k := range node.MaxTold {
		_, err := tell(many, wire.MessageID(fmt.Sprint("msg_", k)), "", "x")
		w.must(err)
	}
	if _, err := tell(many, "", "", "x"); code(err) != node.CodeRefused {
		t.Errorf("a message too many: %v", err)
	}
	if i, err := tell(many, "msg_7", "", "x"); err != nil || i.Messages != node.MaxTold {
		t.Errorf("one that is there already: %+v, %v", i, err)
	}
	p.restart()
	list := must[[]node.Told](w)(p.Told(w.ctx, few, 0, 0))
	if len(list) != 1 || list[0].From != "bob" || list[0].Content != "words" || list[0].Round != 1 || list[0].ID != "msg_1" {
		t.Errorf("after a restart: %+v", list)
	}
	if list = must[[]node.Told](w)(p.Told(w.ctx, many, node.MaxTold-3, 2)); len(list) != 2 || list[0].ID != "msg_997" {
		t.Errorf("a page: %+v", list)
	}
	if _, err := p.Told(w.ctx, "degraded_none", 0, 0); code(err) != node.CodeNotFound {
		t.Errorf("of none: %v", err)
	}
}

// There are so many proposals and interactions; then old ones go, and what was told with
// them.
func TestAdoptionBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	p := w.party("seller", nil)
	for k := range node.MaxProposals + 1 {
		w.forward(time.Second)
		must[node.Proposal](w)(p.ProposeProtocol(w.ctx, node.Proposing{ID: node.ProposalID(fmt.Sprint("proto_prop_", k)), To: "bob"}))
	}
	for id, want := range map[node.ProposalID]node.Code{"proto_prop_0": node.CodeNotFound, "proto_prop_1": ""} {
		if _, err := p.AnswerProposal(w.ctx, node.Answering{ID: id, Accepted: true}); code(err) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
	start := func(k int, proposal node.ProposalID) node.InteractionID {
		t.Helper()
		w.forward(time.Second)
		i := must[node.Interaction](w)(p.StartDegraded(w.ctx, node.Starting{ID: node.InteractionID(fmt.Sprint("degraded_", k)), With: "bob", Proposal: proposal}))
		return i.Replaced
	}
	for k := range node.MaxInteractions {
		proposal := node.ProposalID("")
		if k == 50 {
			proposal = "proto_prop_2"
		}
		if gone := start(k, proposal); gone != "" {
			t.Fatalf("%s has gone", gone)
		}
	}
	w.forward(time.Second)
	for _, id := range []node.InteractionID{"degraded_0", "degraded_50"} {
		_, err := p.TellDegraded(w.ctx, node.Telling{Interaction: id, ID: "msg_1", Content: "x"})
		w.must(err)
	}
	must[node.Proposal](w)(p.AnswerProposal(w.ctx, node.Answering{ID: "proto_prop_2", Accepted: true}))
	for k, want := range []node.InteractionID{"degraded_50", "degraded_1", "degraded_2"} {
		if gone := start(node.MaxInteractions+k, ""); gone != want {
			t.Errorf("%s has gone, want %s", gone, want)
		}
		if _, err := p.Efficiency(w.ctx, want); code(err) != node.CodeNotFound {
			t.Errorf("%s has gone: %v", want, err)
		}
	}
	// One of the same name begins anew.
	if gone := start(50, ""); gone != "degraded_3" {
		t.Errorf("%s has gone", gone)
	}
	if list := must[[]node.Told](w)(p.Told(w.ctx, "degraded_50", 0, 0)); len(list) != 0 {
		t.Errorf("what was told in one that has gone: %+v", list)
	}
	if r, err := p.TellDegraded(w.ctx, node.Telling{Interaction: "degraded_50", ID: "msg_1", Content: "y"}); err != nil || r.Interaction.Messages != 1 {
		t.Errorf("told under an id of one that has gone: %+v, %v", r, err)
	}
}

// An id that is used again once its proposal is gone is no answer of whom the first one was
// made for.
func TestProposalIDsUsedAgain(t *testing.T) {
	w := newWorld(t)
	p := w.party("seller", nil)
	propose := func(id node.ProposalID, to wire.AgentID) {
		must[node.Proposal](w)(p.ProposeProtocol(w.ctx, node.Proposing{ID: id, To: to}))
		w.forward(time.Second)
	}
	propose("p", "bob")
	i := must[node.Interaction](w)(p.StartDegraded(w.ctx, node.Starting{With: "bob", Proposal: "p"}))
	for n := range node.MaxProposals {
		propose(node.ProposalID(fmt.Sprint("p", n)), "dora")
	}
	propose("p", "carl")
	must[node.Proposal](w)(p.AnswerProposal(w.ctx, node.Answering{ID: "p", Accepted: true}))
	if e := must[node.Efficiency](w)(p.Efficiency(w.ctx, i.ID)); e.Interaction.Mode != node.Degraded {
		t.Errorf("%+v", e.Interaction)
	}
}
