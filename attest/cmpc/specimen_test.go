package cmpc_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/internal/mutate"
	"github.com/concordia-node/concordia/wire"
)

const alpha, beta, notary = "did:web:alpha", "did:web:beta", "did:web:notary"

// judged is when artifacts are verified; they were issued an hour before.
var judged = time.Date(2026, 9, 14, 10, 0, 0, 0, time.UTC)

const commitmentText = `{
	"commitment_id":"urn:concordia:commitment:a","chain_session_id":"urn:concordia:chain-session:1","committer_did":"did:web:alpha",
	"predicate_reference":"urn:concordia:predicate:1","commitment_terms":{"quantity":12.5},"mandate_proof_id":"urn:concordia:mandate:1",
	"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T11:00:00Z","algorithm":"EdDSA","signature":"x"}`

const activationText = `{
	"activation_proof_id":"urn:concordia:activation-proof:1","chain_session_id":"urn:concordia:chain-session:1",
	"closure_predicate_id":"urn:concordia:predicate:1","predicate_evaluation":{"result":"satisfied"},
	"commitment_ids":["urn:concordia:commitment:b","urn:concordia:commitment:a"],"activated_at":"2026-09-14T09:00:00Z",
	"issuer_did":"did:web:alpha","algorithm":"EdDSA","signature":"x"}`

const unwindText = `{
	"unwind_record_id":"urn:concordia:unwind:1","chain_session_id":"urn:concordia:chain-session:1","dissolution_reason":"timeout",
	"dissolution_details":{"missing":["did:web:beta"]},"affected_commitment_ids":["urn:concordia:commitment:a"],
	"issuer_did":"did:web:alpha","issued_at":"2026-09-14T09:00:00Z","counterparty_acknowledgment":null,"algorithm":"EdDSA","signature":"x"}`

const predicateText = `{
	"predicate_id":"urn:concordia:predicate:1","type":"urn:concordia:predicate-type:closure_language:v1","authority":"did:web:alpha","issuer":"did:web:notary",
	"subject":"urn:concordia:chain-session:1","condition":{"expression":{"op":">","left":{"op":"count"},"value":1}},
	"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T11:00:00Z","references":[{"uri":"urn:concordia:chain-session:1"}],
	"status":"active","algorithm":"EdDSA","signature":"x","note":"an open object"}`

const sessionText = `{
	"chain_session_id":"urn:concordia:chain-session:1","participants":["did:web:alpha","did:web:beta"],
	"closure_predicate_ref":"urn:concordia:predicate:1","state":"OPEN","created_at":"2026-09-14T08:00:00Z","activation_deadline":"2026-09-14T12:00:00Z",
	"activated_at":null,"dissolved_at":null,"commitments":["urn:concordia:commitment:a","urn:concordia:commitment:b"],
	"unwind_record_id":null,"activation_proof_id":"urn:concordia:activation-proof:1"}`

// A specimen is a sound artifact, and how it is signed and verified.
type specimen struct {
	text   string
	signer string // "" if nobody signs it
	verify func(attest.Verifier, wire.Value, *cmpc.ChainSession) wire.Report

	// tolerated says, for each mutation that does not make the artifact unsound,
	// why: "drop /note" → "open".
	tolerated map[string]string
}

func toActivated(f attest.Verifier, v wire.Value, _ *cmpc.ChainSession) wire.Report {
	_, report := cmpc.VerifyChainSession(f, v, cmpc.Activated, cmpc.Published())
	return report
}

var specimens = map[string]specimen{
	"commitment": {commitmentText, alpha, func(f attest.Verifier, v wire.Value, of *cmpc.ChainSession) wire.Report {
		_, report := cmpc.VerifyCommitment(f, v, of)
		return report
	}, map[string]string{"drop /commitment_terms/quantity": terms, "mistype /commitment_terms/quantity": terms}},
	"activation": {activationText, alpha, func(f attest.Verifier, v wire.Value, of *cmpc.ChainSession) wire.Report {
		_, report := cmpc.VerifyActivation(f, v, of)
		return report
	}, map[string]string{"drop /predicate_evaluation/result": "it is the issuer's own account"}},
	"unwind": {unwindText, alpha, func(f attest.Verifier, v wire.Value, of *cmpc.ChainSession) wire.Report {
		_, report := cmpc.VerifyUnwind(f, v, of)
		return report
	}, map[string]string{
		"drop /dissolution_details/missing": "free", "mistype /dissolution_details/missing": "free",
		"mistype /dissolution_details/missing/0": "free",
	}},
	"predicate": {predicateText, notary, func(f attest.Verifier, v wire.Value, of *cmpc.ChainSession) wire.Report {
		_, report := cmpc.VerifyClosurePredicate(f, v, of, cmpc.ClosureSigned())
		return report
	}, map[string]string{
		"drop /note": "open", "mistype /note": "open",
		"drop /references/0/uri": "open", "mistype /references/0/uri": "open",
		"drop /condition/expression": parameters, "mistype /condition/expression": parameters,
		"drop /condition/expression/op": parameters, "mistype /condition/expression/op": parameters,
		"drop /condition/expression/left": parameters, "mistype /condition/expression/left": parameters,
		"drop /condition/expression/left/op": parameters, "mistype /condition/expression/left/op": parameters,
		"drop /condition/expression/value": parameters, "mistype /condition/expression/value": parameters,
	}},
	"session": {sessionText, "", toActivated, nil},
}

const (
	terms      = "the parties' own"
	parameters = "for the profile to judge"
)

// issue returns the specimen's text, parsed and signed.
func (s specimen) issue(tb testing.TB) wire.Value { return s.sign(tb, parse(tb, s.text)) }

func (s specimen) sign(tb testing.TB, v wire.Value) wire.Value {
	if text, _ := v.Get("signature"); s.signer == "" || text.Kind() != wire.String {
		return v
	}
	return v.With("signature", signature(tb, v.Without("signature"), s.signer))
}

func (s specimen) judge(tb testing.TB, v wire.Value) wire.Report {
	return s.verify(verifier(tb), v, session(tb))
}

// Every member of every artifact is looked at: without it, or with a value of
// another type in its place, and signed again, the artifact is refused, or the
// specimen says why not.
func TestEveryMember(t *testing.T) {
	for name, s := range specimens {
		t.Run(name, func(t *testing.T) {
			v := s.issue(t)
			if report := s.judge(t, v); report.Outcome() != wire.Passed {
				t.Fatalf("the specimen itself: %v", report.Err())
			}
			seen := map[string]bool{}
			for m := range mutate.All(v.Canonical()) {
				seen[m.String()] = true
				report := s.judge(t, s.sign(t, parse(t, m.Text)))
				if passed, why := report.Outcome() == wire.Passed, s.tolerated[m.String()]; passed != (why != "") {
					t.Errorf("%v: passed is %v, tolerated because %q: %v", m, passed, why, report.Err())
				}
			}
			for m := range s.tolerated {
				if !seen[m] {
					t.Errorf("there is no mutation %q", m)
				}
			}
		})
	}
}

// Every timestamp is read strictly: what is no instant of SPEC §4.1 is refused.
func TestInstants(t *testing.T) {
	for name, s := range specimens {
		for m := range mutate.Instants(s.text) {
			if report := s.judge(t, s.sign(t, parse(t, m.Text))); report.Outcome() == wire.Passed {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// One flipped bit of what was signed, or of a signature, is refused.
func TestFlippedBit(t *testing.T) {
	for name, s := range specimens {
		if s.signer == "" {
			continue
		}
		v := s.issue(t)
		for i := range v.Canonical() {
			text := []byte(v.Canonical())
			text[i] ^= 1 << (i % 8)
			w, err := wire.Parse(text, wire.DocumentLimits)
			if err == nil && !w.Equal(v) && s.judge(t, w).Outcome() == wire.Passed {
				t.Errorf("%s: bit %d of byte %d", name, i%8, i)
			}
		}
	}
}

func key(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func signature(tb testing.TB, v wire.Value, who string) wire.Value {
	tb.Helper()
	sig, err := key(tb, who).Sign([]byte(v.Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	return wire.Text(sig.String())
}

func parse(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatalf("%.200s: %v", text, err)
	}
	return v
}

// edit returns v with the value at path replaced, or added.
func edit(tb testing.TB, v wire.Value, text string, path ...string) wire.Value {
	tb.Helper()
	if len(path) == 0 {
		return parse(tb, text)
	}
	child, _ := v.At(path[0])
	child = edit(tb, child, text, path[1:]...)
	if v.Kind() == wire.Array {
		i, err := strconv.Atoi(path[0])
		if err != nil {
			tb.Fatal(err)
		}
		return v.WithElem(i, child)
	}
	return v.With(path[0], child)
}

func verifier(tb testing.TB) attest.Verifier {
	keys := wire.KeyMap{}
	for _, who := range []string{alpha, beta, notary} {
		keys[wire.AgentID(who)] = key(tb, who).Public()
	}
	return attest.Verifier{Keys: keys, Now: judged}
}

func session(tb testing.TB) *cmpc.ChainSession {
	tb.Helper()
	s, err := cmpc.ReadChainSession(parse(tb, sessionText))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// broke says which rule an error breaks, and where; "" is no error.
func broke(err error) string {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Name + " at " + v.At
	}
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}
