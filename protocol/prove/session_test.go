package prove_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// twoParty is the machine of SPEC §5.2 for two parties. ACTIVE is split by whose offer
// is live, so that who may accept is a matter of the state: an offer is its sender's own
// consent. ownOffers lets a party accept what it has offered itself, as the reference
// does.
func twoParty(ownOffers bool) *protocol.Automaton {
	const none, byI, byR = "ACTIVE, no offer", "ACTIVE, offer of the initiator", "ACTIVE, offer of the responder"
	a := &protocol.Automaton{
		Name: "concordia session of two", Initial: session.Start,
		States: []protocol.State{session.Start, session.Proposed, none, byI, byR, session.Agreed, session.Rejected, session.Expired, session.Dormant},
		Public: map[protocol.State]string{none: "ACTIVE", byI: "ACTIVE", byR: "ACTIVE"},
		Ends: map[protocol.State]protocol.End{
			session.Agreed: protocol.Success, session.Rejected: protocol.Failure, session.Expired: protocol.Abandoned,
		},
		Terms: &protocol.Terms{Invariants: []protocol.Invariant{
			{Precedes: &protocol.Precedes{First: protocol.Label(wire.TypeOpen), Then: protocol.Label(wire.TypeAccept)}},
			{AtMost: &protocol.AtMost{Label: protocol.Label(wire.TypeAccept), N: 1}},
			{Requires: &protocol.Requires{Label: protocol.Label(wire.TypeAccept)}},
			{NeverAfter: &protocol.NeverAfter{Label: protocol.Label(wire.TypeCounter), After: protocol.Label(wire.TypeAccept)}},
			{NeverAfter: &protocol.NeverAfter{Label: protocol.Label(wire.TypeWithdraw), After: protocol.Label(wire.TypeAccept)}},
		}},
	}
	add := func(from protocol.State, on wire.MessageType, by protocol.Role, to protocol.State, guard protocol.Guard) {
		a.Transitions = append(a.Transitions, protocol.Transition{From: from, On: protocol.Label(on), By: by, If: guard, To: to})
	}
	clock := func(from protocol.State, on protocol.Label, to protocol.State) {
		a.Transitions = append(a.Transitions, protocol.Transition{From: from, On: on, By: protocol.Clock, To: to})
	}
	add(session.Start, wire.TypeOpen, session.Initiator, session.Proposed, "")
	add(session.Proposed, wire.TypeAcceptSession, session.Responder, none, "")
	add(session.Proposed, wire.TypeDeclineSession, session.Responder, session.Rejected, "")
	clock(session.Proposed, "session_ttl elapsed", session.Expired)
	for _, s := range []protocol.State{none, byI, byR} {
		for _, offer := range []wire.MessageType{wire.TypeOffer, wire.TypeCounter} {
			add(s, offer, session.Initiator, byI, "")
			add(s, offer, session.Responder, byR, "")
		}
		for _, talk := range []wire.MessageType{wire.TypeSignal, wire.TypeInquire, wire.TypeConstrain} {
			add(s, talk, session.Party, s, "")
		}
		add(s, wire.TypeReject, session.Party, session.Rejected, "")
		add(s, wire.TypeWithdraw, session.Party, session.Rejected, "")
		clock(s, "session_ttl elapsed", session.Expired)
		if s != none {
			clock(s, "offer_ttl elapsed", none)
		}
	}
	for live, acceptor := range map[protocol.State]protocol.Role{byI: session.Responder, byR: session.Initiator} {
		if ownOffers {
			add(live, wire.TypeAccept, session.Initiator, session.Agreed, "")
			add(live, wire.TypeAccept, session.Responder, session.Agreed, "")
			continue
		}
		add(live, wire.TypeAccept, acceptor, session.Agreed, "")
	}
	for _, s := range []protocol.State{session.Rejected, session.Expired} {
		for _, by := range []protocol.Role{session.Initiator, session.Responder} {
			add(s, wire.TypeSignal, by, session.Dormant, "reactivatable")
		}
	}
	add(session.Dormant, wire.TypeOffer, session.Initiator, byI, "")
	add(session.Dormant, wire.TypeOffer, session.Responder, byR, "")
	// "any party" of the table is each of them, so that projections tell them apart.
	var each []protocol.Transition
	for _, t := range a.Transitions {
		if t.By != session.Party {
			each = append(each, t)
			continue
		}
		for _, by := range parties[session.Party] {
			t.By = by
			each = append(each, t)
		}
	}
	a.Transitions = each
	return a
}

var parties = prove.Groups{session.Party: {session.Initiator, session.Responder}}

// Of a session of two, the automaton alone says: nobody accepts twice, or without a live
// offer; nothing but an accept makes an agreement, and nothing undoes it; every
// state can come to an end.
func TestSessionProven(t *testing.T) {
	c := compiled(t, twoParty(false))
	if found := prove.Check(c, nil); prove.HasErrors(found) {
		t.Errorf("Check() = %v", found)
	}
	claims := prove.Prove(c)
	if len(claims) < 8 {
		t.Errorf("%d claims", len(claims))
	}
	for _, claim := range claims {
		if len(claim.Failed) > 0 {
			t.Errorf("%s: %v", claim.Text, claim.Failed)
		}
	}
	if moves := c.Moves(c.Index(session.Agreed)); len(moves) != 0 {
		t.Errorf("after an agreement there may be %s", prove.Labels(moves))
	}
	// Nobody accepts without a live offer: none of what accepts starts elsewhere.
	for i := range c.Len() {
		for _, m := range c.Moves(i) {
			if m.On == protocol.Label(wire.TypeAccept) && !strings.Contains(string(c.State(i)), "offer of the") {
				t.Errorf("%s accepts in %s", m.By, c.State(i))
			}
		}
	}
}

// Who accepts a deal has not always accepted the session: one that was declined or has
// expired before can be revived, and an offer is then answered at once.
func TestSessionRevived(t *testing.T) {
	a := twoParty(false)
	a.Terms.Invariants = []protocol.Invariant{{Precedes: &protocol.Precedes{First: protocol.Label(wire.TypeAcceptSession), Then: protocol.Label(wire.TypeAccept)}}}
	found := prove.Check(compiled(t, a), nil)
	i := slices.IndexFunc(found, func(f prove.Finding) bool { return f.Code == prove.BreaksPrecedes })
	if i < 0 {
		t.Fatalf("Check() = %v", found)
	}
	replays(t, compiled(t, a), found[i].Trace)
	const want = `initiator: negotiate.open, @"session_ttl elapsed", initiator: negotiate.signal [reactivatable], initiator: negotiate.offer, responder: negotiate.accept`
	if got := found[i].Trace.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// The reference lets a party accept its own counter, which is no agreement of two.
func TestSessionReferenceIsNoRefinement(t *testing.T) {
	spec, reference := compiled(t, twoParty(false)), compiled(t, twoParty(true))
	x := prove.Refines(reference, spec)
	if x == nil {
		t.Fatal("it refines")
	}
	const want = "initiator: negotiate.open, responder: negotiate.accept_session, initiator: negotiate.counter, initiator: negotiate.accept"
	if x.Clause != prove.Outputs || x.Trace.String() != want {
		t.Errorf("got %v\nwant %s", x, want)
	}
	if slices.Contains(x.Allowed, protocol.Move{By: session.Initiator, On: protocol.Label(wire.TypeAccept)}) {
		t.Errorf("allowed: %s", prove.Labels(x.Allowed))
	}
	if err := x.Verify(reference, spec); err != nil {
		t.Error(err)
	}
	if x := prove.Refines(spec, reference); x != nil {
		t.Errorf("the specification does not refine the reference: %v", x)
	}
}

// Each party's side of a session can talk to the other's; a house that never counters is
// still a responder, one that accepts its own offer is not.
func TestSessionProjections(t *testing.T) {
	for _, profile := range []bool{false, true} {
		i := compiled(t, prove.Project(twoParty(profile), session.Initiator, parties))
		r := compiled(t, prove.Project(twoParty(profile), session.Responder, parties))
		for _, sides := range [][2]*protocol.Compiled{{i, r}, {r, i}} {
			if x, err := prove.Compatible(sides[0], sides[1]); x != nil || err != nil {
				t.Errorf("own offers %v: Compatible() = %v, %v", profile, x, err)
			}
		}
	}
	side := prove.Project(twoParty(false), session.Responder, parties)
	house := *side
	house.Transitions = slices.DeleteFunc(slices.Clone(side.Transitions), func(t protocol.Transition) bool {
		return t.By == protocol.Agent && t.On == protocol.Label(wire.TypeCounter)
	})
	if x := prove.Refines(compiled(t, &house), compiled(t, side)); x != nil {
		t.Errorf("a house without counters: %v", x)
	}
	if x := prove.Refines(compiled(t, side), compiled(t, &house)); x == nil || x.Clause != prove.Outputs {
		t.Errorf("a responder for a house without counters: %v", x)
	}
	own := compiled(t, prove.Project(twoParty(true), session.Responder, parties))
	initiator := compiled(t, prove.Project(twoParty(false), session.Initiator, parties))
	if x, err := prove.Compatible(own, initiator); err != nil || x == nil || x.Clause != prove.Outputs {
		t.Errorf("one side of the reference, one of the specification: %v, %v", x, err)
	}
}

// The machine that runs has sides that fit together, too.
func TestSessionMachine(t *testing.T) {
	i := compiled(t, prove.Project(&session.Machine, session.Initiator, parties))
	r := compiled(t, prove.Project(&session.Machine, session.Responder, parties))
	if x, err := prove.Compatible(i, r); x != nil || err != nil {
		t.Errorf("Compatible() = %v, %v", x, err)
	}
	for _, f := range prove.Check(compiled(t, &session.Machine), nil) {
		if f.Severity == prove.Error {
			t.Errorf("%s\n%s", f, f.Trace)
		}
	}
}
