package cmpc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

func issuer(tb testing.TB, who string) attest.Issuer {
	return attest.Issuer{
		Agent: wire.AgentID(who), Key: key(tb, who), Now: judged, Keys: verifier(tb).Keys,
		Random: strings.NewReader(strings.Repeat(who+"0123456789abcdef", 64)),
	}
}

// proposed is a session of two and its predicate: both must commit.
func proposed(tb testing.TB) (*cmpc.ChainSession, wire.Value) {
	tb.Helper()
	const id = "urn:concordia:chain-session:pool"
	predicate, err := cmpc.Close(issuer(tb, notary), parse(tb, `{"subject":"`+id+`","type":"urn:concordia:predicate-type:closure_language:v1",
		"condition":{"expression":{"op":">=","left":{"op":"sum","field":"commitment_terms.quantity"},"value":10}},"expires_at":"2026-09-15T00:00:00Z"}`))
	if err != nil {
		tb.Fatal(err)
	}
	of, _ := predicate.Get("predicate_id")
	s, err := cmpc.Propose(id, of.Text(), []wire.AgentID{alpha, beta}, judged.Add(time.Hour), judged)
	if err != nil {
		tb.Fatal(err)
	}
	return s, predicate
}

func commit(tb testing.TB, s *cmpc.ChainSession, who, terms string) wire.Value {
	tb.Helper()
	i := issuer(tb, who)
	i.Random = strings.NewReader(strings.Repeat(terms+who, 8))
	v, err := cmpc.Commit(i, parse(tb, `{"commitment_terms":`+terms+`}`), s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// Two commit, the predicate is satisfied, and everybody can verify that it took
// effect.
func TestLife(t *testing.T) {
	s, predicate := proposed(t)
	f := verifier(t)
	a, b := commit(t, s, alpha, `{"quantity":4}`), commit(t, s, beta, `{"quantity":6}`)
	open, err := s.Opened(f, []wire.Value{a, b})
	if err != nil {
		t.Fatal(err)
	}
	proof, err := cmpc.Activate(issuer(t, alpha), open, predicate, []wire.Value{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if _, report := cmpc.VerifyActivation(f, proof, open); report.Err() != nil {
		t.Error(report.Err())
	}
	done, err := open.Activated(f, proof)
	if err != nil {
		t.Fatal(err)
	}
	if _, report := cmpc.VerifyChainSession(f, done.Value(), "", cmpc.Published()); report.Err() != nil || done.State != cmpc.Activated || done.ActivatedAt != judged {
		t.Errorf("activated: %v %+v", report.Err(), done)
	}
	unwind, err := cmpc.Dissolve(issuer(t, beta), parse(t, `{"dissolution_reason":"explicit_withdrawal"}`), open)
	if err != nil {
		t.Fatal(err)
	}
	if over, err := open.Dissolved(f, unwind); err != nil || over.State != cmpc.Dissolved {
		t.Errorf("dissolved: %v", err)
	}
	if _, err := done.Dissolved(f, unwind); err == nil {
		t.Error("what took effect was dissolved")
	}
	if _, err := open.Lapsed(judged); !errors.Is(err, cmpc.RuleExpiring) {
		t.Errorf("it lapsed before its deadline: %v", err)
	}
	if over, err := open.Lapsed(open.Deadline); err != nil || over.State != cmpc.Expired {
		t.Errorf("it did not lapse at its deadline: %v", err)
	}
}

// What is not proven takes no effect.
func TestLifeRefuses(t *testing.T) {
	s, predicate := proposed(t)
	f := verifier(t)
	a, b := commit(t, s, alpha, `{"quantity":4}`), commit(t, s, beta, `{"quantity":6}`)
	few := commit(t, s, beta, `{"quantity":5}`)
	stranger, err := cmpc.Commit(issuer(t, notary), parse(t, `{"chain_session_id":"`+s.ID+`","predicate_reference":"`+s.Predicate+`",
		"expires_at":"`+wire.FormatTime(s.Deadline)+`","commitment_terms":{"quantity":7}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what        string
		commitments []wire.Value
		rule        *wire.Rule
	}{
		{"one commitment", []wire.Value{a}, cmpc.RuleOpening},
		{"two of the same", []wire.Value{a, commit(t, s, alpha, `{"quantity":6}`)}, cmpc.RuleChainLists},
		{"a forged one", []wire.Value{a, edit(t, b, `{"quantity":7}`, "commitment_terms")}, cmpc.RuleCommitmentSignature},
		{"a stranger's", []wire.Value{a, stranger}, cmpc.RuleCommitmentSession},
	} {
		if _, err := s.Opened(f, test.commitments); !errors.Is(err, test.rule) {
			t.Errorf("opened with %s: %v", test.what, err)
		}
	}
	open, err := s.Opened(f, []wire.Value{a, b})
	if err != nil {
		t.Fatal(err)
	}
	short, err := s.Opened(f, []wire.Value{a, few})
	if err != nil {
		t.Fatal(err)
	}
	late := issuer(t, alpha)
	late.Now = open.Deadline
	for _, test := range []struct {
		what        string
		by          attest.Issuer
		of          *cmpc.ChainSession
		predicate   wire.Value
		commitments []wire.Value
		rule        *wire.Rule
	}{
		{"an unsatisfied predicate", issuer(t, alpha), short, predicate, []wire.Value{a, few}, cmpc.RuleClosure},
		{"a commitment of another opening", issuer(t, alpha), short, predicate, []wire.Value{a, b}, cmpc.RuleCommitmentListed},
		{"a commitment missing", issuer(t, alpha), open, predicate, []wire.Value{b, b}, cmpc.RuleActivationCommitments},
		{"a forged predicate", issuer(t, alpha), open, edit(t, predicate, `{}`, "condition"), []wire.Value{a, b}, cmpc.RuleClosureSignature},
		{"the deadline passed", late, open, predicate, []wire.Value{a, b}, cmpc.RuleActivationSession},
	} {
		if _, err := cmpc.Activate(test.by, test.of, test.predicate, test.commitments); !errors.Is(err, test.rule) {
			t.Errorf("activated with %s: %v", test.what, err)
		}
	}
	if _, err := cmpc.Activate(issuer(t, notary), open, predicate, []wire.Value{a, b}); err != nil {
		t.Errorf("who takes no part issues what each verifier has to trust it for: %v", err)
	}
	if _, err := cmpc.Commit(issuer(t, alpha), parse(t, `{"committer_did":"did:web:beta","commitment_terms":{}}`), s); !errors.Is(err, attest.ErrOtherIssuer) {
		t.Errorf("committed for another: %v", err)
	}
	// What somebody else drafted commits to the session at hand, or to nothing.
	for _, draft := range []string{
		`{"commitment_terms":{},"chain_session_id":"urn:concordia:chain-session:other"}`,
		`{"commitment_terms":{},"predicate_reference":"urn:concordia:predicate:other"}`,
	} {
		if _, err := cmpc.Commit(issuer(t, alpha), parse(t, draft), s); !errors.Is(err, cmpc.RuleCommitmentSession) {
			t.Errorf("committed to %s: %v", draft, err)
		}
	}
	if _, err := cmpc.Commit(issuer(t, notary), parse(t, `{"commitment_terms":{}}`), s); !errors.Is(err, cmpc.RuleCommitmentSession) {
		t.Errorf("committed where it takes no part: %v", err)
	}
}
