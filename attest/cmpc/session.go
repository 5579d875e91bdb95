package cmpc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A ChainSession is the state of a session in which several parties commit under
// one condition (SPEC §9.11.4). It is signed by nobody.
type ChainSession struct {
	ID           string
	Participants []string
	Predicate    string // of the closure predicate
	State        State
	CreatedAt    time.Time
	Deadline     time.Time // the first moment at which it can no longer be activated
	ActivatedAt  time.Time // zero if it was not
	DissolvedAt  time.Time // or expired; zero if it was not
	Commitments  []string
	Unwind       string // of the unwind record; "" if there is none
	Activation   string // of the activation proof; "" if there is none

	value    wire.Value
	misdated error // a timestamp that is no instant
}

// The rules of chain sessions.
var (
	RuleChainSession = &wire.Rule{Section: "9.11.4", Name: "chain-session", Class: wire.ClassSchema, Text: "a chain session has the members of its schema and, if at all, only transitions besides"}
	RulePublished    = &wire.Rule{Section: "9.11.4", Name: "chain-published", Class: wire.ClassSchema, Text: "the published form of a chain session has no transitions"}
	RuleChainLists   = &wire.Rule{Section: "9.11.4", Name: "chain-lists", Class: wire.ClassSchema, Text: "a chain session lists each participant and each commitment once"}
	RuleChainLive    = &wire.Rule{Section: "9.11.4", Name: "chain-live", Class: wire.ClassTransition, Text: "a session that is proposed or open was neither activated nor dissolved"}
)

var sessionRules = []*wire.Rule{RuleChainSession, RulePublished, RuleChainLists, RuleChainLive}

// ReadChainSession checks the shape of a chain session. It verifies nothing.
//
// The published schema forbids the member transitions, yet the reference SDK writes
// it after the first transition and reads it back. It is read here and never
// believed: see the checks "transitions" and "published".
func ReadChainSession(v wire.Value) (*ChainSession, error) {
	if v.Depth() > wire.MaxDepth {
		return nil, wire.RuleDepth.At("")
	}
	r, err := attest.Shape(v.Without("transitions"), "chain_session", RuleChainSession)
	if err != nil {
		return nil, err
	}
	var at instants
	s := &ChainSession{
		ID: r.Text("chain_session_id"), Participants: r.Strings("participants"), Predicate: r.Text("closure_predicate_ref"),
		State: State(r.Text("state")), CreatedAt: at.read(r, "created_at"), Deadline: at.read(r, "activation_deadline"),
		ActivatedAt: at.nullable(r, "activated_at"), DissolvedAt: at.nullable(r, "dissolved_at"),
		Commitments: r.Strings("commitments"),
		Unwind:      nullable(r, "unwind_record_id"), Activation: nullable(r, "activation_proof_id"), value: v,
	}
	s.misdated = at.misfit
	return s, r.Err()
}

// takesPart reports whether an agent is a participant, in whichever spelling.
func (s *ChainSession) takesPart(agent wire.AgentID) bool {
	plain := wire.PlainDIDKey(agent)
	return slices.ContainsFunc(s.Participants, func(p string) bool { return wire.PlainDIDKey(wire.AgentID(p)) == plain })
}

// checkIssuer looks who issued something about a session. The public text authorizes
// nobody: a participant may, and whoever the relying party trusts to.
func (s *ChainSession) checkIssuer(issuer, trusted wire.AgentID) error {
	switch {
	case s == nil:
		return noSession()
	case s.takesPart(issuer), trusted != "" && wire.PlainDIDKey(issuer) == wire.PlainDIDKey(trusted):
		return nil
	}
	return &wire.Unchecked{Why: "the issuer takes no part in the chain session, and it is not known whether it may speak for it"}
}

// allows reports whether the session is still open to what id names, or was brought
// into its final state by it.
func (s *ChainSession) allows(final State, named, id string) bool {
	return s.State == Open && (named == "" || named == id) || s.State == final && named == id
}

func (t *instants) nullable(r wire.Reader, name string) time.Time {
	if nullable(r, name) == "" {
		return time.Time{}
	}
	return t.read(r, name)
}

// Value returns the session as it was received.
func (s *ChainSession) Value() wire.Value { return s.value }

// A SessionSubject is a chain session with what it is verified by.
type SessionSubject struct {
	attest.Verifier
	Session *ChainSession
	To      State // the state it is to pass to at Now; "" if none
}

// SessionChecks are the checks of a chain session in order (SPEC §9.11.4).
func SessionChecks() []wire.Check[*SessionSubject] {
	return []wire.Check[*SessionSubject]{
		{Name: "id", Run: func(s *SessionSubject) error {
			return attest.CheckNamed(RuleChainSession, s.Session.value, "chain_session_id", "participants", "closure_predicate_ref", "commitments", "unwind_record_id", "activation_proof_id")
		}},
		{Name: "instants", Run: func(s *SessionSubject) error { return s.Session.misdated }},
		{Name: "lists", Run: (*SessionSubject).checkLists},
		{Name: "live", Run: (*SessionSubject).checkLive},
		{Name: "freshness", Run: func(s *SessionSubject) error { return s.CheckAnchor(s.Session.CreatedAt, "/created_at") }},
		{Name: "transitions", Run: (*SessionSubject).checkTransitions},
		{Name: "transition", Run: (*SessionSubject).checkTransition},
	}
}

// Published is the check of who wants the published form of a chain session, which
// has no transitions (SPEC §9.11.4).
func Published() wire.Check[*SessionSubject] {
	return wire.Check[*SessionSubject]{Name: "published", Run: func(s *SessionSubject) error {
		if _, ok := s.Session.value.Get("transitions"); ok {
			return RulePublished.At("/transitions")
		}
		return nil
	}}
}

// VerifyChainSession checks a chain session and, unless to is "", that it may pass
// to that state at f.Now.
func VerifyChainSession(f attest.Verifier, v wire.Value, to State, more ...wire.Check[*SessionSubject]) (*ChainSession, wire.Report) {
	return attest.Judge(v, ReadChainSession, func(s *ChainSession) *SessionSubject {
		return &SessionSubject{Verifier: f, Session: s, To: to}
	}, append(SessionChecks(), more...))
}

// checkLists refuses duplicates: counted twice, one commitment would open a session
// of two, and so would one agent in two spellings.
func (s *SessionSubject) checkLists() error {
	if i := attest.Twice(s.Session.Participants); i >= 0 {
		return RuleChainLists.Because(fmt.Sprintf("/participants/%d", i), errTwice)
	}
	if i := twice(s.Session.Commitments); i >= 0 {
		return RuleChainLists.Because(fmt.Sprintf("/commitments/%d", i), errTwice)
	}
	return nil
}

func (s *SessionSubject) checkLive() error {
	switch c := s.Session; {
	case c.State != Proposed && c.State != Open:
	case !c.ActivatedAt.IsZero():
		return RuleChainLive.At("/activated_at")
	case !c.DissolvedAt.IsZero():
		return RuleChainLive.At("/dissolved_at")
	}
	return nil
}

// checkTransitions verifies the records that the session brings along, and that
// they end in its state.
func (s *SessionSubject) checkTransitions() error {
	records, ok := s.Session.value.Get("transitions")
	if !ok {
		return &wire.Unchecked{Why: "it brings no transitions", Moot: true}
	}
	last, err := verifyRecords(records, "/transitions")
	if err != nil {
		return err
	}
	if last != s.Session.State {
		return RuleTransitionChain.Because("/transitions", errors.New("they end in another state than the session"))
	}
	return nil
}

func (s *SessionSubject) checkTransition() error {
	if s.To == "" {
		return &wire.Unchecked{Why: "no transition is asked for", Moot: true}
	}
	return s.Session.CheckTransition(s.To, s.Now)
}
