package attest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// One fault in the chain each, signed again by everybody.
func TestDelegation(t *testing.T) {
	const stranger = "agent_stranger"
	for _, test := range []struct {
		rule string
		path []string
		text string
	}{
		{"", []string{"delegation_chain", "0", "note"}, `"links are open"`},
		{"mandate at /delegation_chain/0/delegate", []string{"delegation_chain", "0", "delegate"}, `"agent lead"`},
		{"mandate at /delegation_chain/1/delegated_at", []string{"delegation_chain", "1", "delegated_at"}, `""`},
		{"mandate at /delegation_chain/1/scope_restriction", []string{"delegation_chain", "1", "scope_restriction"}, `null`},
		{"delegation-root at /delegation_chain/0/delegator", []string{"delegation_chain", "0", "delegator"}, `"agent_stranger"`},
		{"delegation-tail at /delegation_chain/1/delegate", []string{"delegation_chain", "1", "delegate"}, `"agent_stranger"`},
		{"delegation-continuity at /delegation_chain/1/delegator", []string{"delegation_chain", "1", "delegator"}, `"agent_stranger"`},
		{"delegation-continuity at /delegation_chain/1/delegator", []string{"delegation_chain", "0", "delegate"}, `"agent_stranger"`},
		{"delegation-signature at /delegation_chain/1/signature", []string{"delegation_chain", "1", "algorithm"}, `"ES256"`},
		{"", []string{"delegation_chain", "1", "delegated_at"}, `"2026-09-14T07:58:00Z"`}, // the skew
		{"delegation-order at /delegation_chain/1/delegated_at", []string{"delegation_chain", "1", "delegated_at"}, `"2026-09-14T07:57:59Z"`},
		{"", []string{"delegation_chain", "1", "delegated_at"}, `"2026-09-14T10:02:00Z"`},
		{"not-yet-valid at /delegation_chain/1/delegated_at", []string{"delegation_chain", "1", "delegated_at"}, `"2026-09-14T10:02:01Z"`},
		{"", []string{"delegation_chain", "0", "scope_restriction"}, `{"type":"object","required":["amount"]}`},
		{"", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":1500}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_amount":1}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":"2000"}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":true}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":2000,"note":"x"}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"title":"says nothing"}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction/max_spend", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":2000,"type":"object"}`},
		{"scope-restriction at /delegation_chain/0/scope_restriction/type", []string{"delegation_chain", "0", "scope_restriction"}, `{"type":"thing"}`},
		{"delegated-action at /delegation_chain/0/scope_restriction", []string{"delegation_chain", "0", "scope_restriction"}, `{"max_spend":1499.99}`},
	} {
		v := signMandate(t, edit(t, mandate(t), test.text, test.path...))
		f := verifier(t, board, lead, buyer, stranger)
		if _, report := f.VerifyMandate(v, use(t)); verdict(report) != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, verdict(report), test.rule)
		}
	}
}

// A link counts under the key of its delegator alone, whoever signs the mandate.
func TestDelegationSignature(t *testing.T) {
	f := verifier(t, board, lead, buyer)
	link := mustAt(t, mandate(t), "delegation_chain", "1")
	forged := link.With("signature", signature(t, link.Without("signature"), buyer))
	v := signAs(t, withLink(t, mandate(t), 1, forged), "issuer")
	if _, report := f.VerifyMandate(v, use(t)); verdict(report) != "delegation-signature at /delegation_chain/1/signature" {
		t.Error(report.Err())
	}
	// A failure is found although a key before it is not known.
	if _, report := verifier(t, lead).VerifyMandate(v, use(t)); report.Outcome() != wire.Failed {
		t.Error(report.Outcome(), report.Err())
	}
}

func withLink(t *testing.T, v wire.Value, i int, link wire.Value) wire.Value {
	return v.With("delegation_chain", mustAt(t, v, "delegation_chain").WithElem(i, link))
}

func chainOf(t *testing.T, n int) wire.Value {
	links := make([]string, n)
	who := func(i int) string {
		switch i {
		case 0:
			return board
		case n:
			return buyer
		}
		return fmt.Sprintf("agent_%d", i)
	}
	for i := range links {
		links[i] = fmt.Sprintf(`{"delegator":%q,"delegate":%q,"delegated_at":"2026-09-14T08:00:00Z","algorithm":"EdDSA","signature":"x"}`, who(i), who(i+1))
	}
	return signMandate(t, edit(t, mandate(t), "["+strings.Join(links, ",")+"]", "delegation_chain"))
}

func TestDelegationLength(t *testing.T) {
	known := []string{board}
	for i := range attest.MaxDelegations {
		known = append(known, fmt.Sprintf("agent_%d", i+1))
	}
	f := verifier(t, known...)
	for _, test := range []struct {
		links int
		rule  string
	}{
		{1, ""},
		{attest.MaxDelegations, ""},
		{attest.MaxDelegations + 1, "delegation at /delegation_chain"},
	} {
		if _, report := f.VerifyMandate(chainOf(t, test.links), use(t)); verdict(report) != test.rule {
			t.Errorf("%d links: %v", test.links, report.Err())
		}
	}
}

func TestDelegated(t *testing.T) {
	f := verifier(t, board, lead)
	if _, report := f.VerifyMandate(mandate(t), use(t), attest.Delegated()); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
	for _, v := range []wire.Value{mandate(t).Without("delegation_chain"), edit(t, mandate(t), `[]`, "delegation_chain")} {
		if _, report := f.VerifyMandate(signMandate(t, v), use(t), attest.Delegated()); verdict(report) != "delegated at /delegation_chain" {
			t.Error(report.Err())
		}
	}
}
