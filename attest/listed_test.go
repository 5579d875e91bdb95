package attest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// What the revocation endpoint of a mandate or predicate says decides, if somebody
// asks it (SPEC §9.9, §9.10).
func TestListed(t *testing.T) {
	kinds := []struct {
		name, id, endpoint, at string
		value, bare, forged    wire.Value
		verify                 func(attest.Verifier, wire.Value) wire.Report
	}{{
		name: "mandate", id: "urn:concordia:mandate:1", endpoint: "https://board.example/revoked", at: "mandate-revoked at /revocation_endpoint",
		value: mandate(t), bare: signMandate(t, mandate(t).Without("revocation_endpoint")),
		forged: edit(t, mandate(t), `"https://board.example/other"`, "revocation_endpoint"),
		verify: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := f.VerifyMandate(v, use(t))
			return report
		},
	}, {
		name: "predicate", id: "urn:concordia:predicate:lot-77", endpoint: "https://certifier.example/revoked", at: "predicate-revoked at /revocation_endpoint",
		value: predicate(t), bare: signPredicate(t, predicate(t).Without("revocation_endpoint")),
		forged: edit(t, predicate(t), `"https://certifier.example/other"`, "revocation_endpoint"),
		verify: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := f.VerifyPredicate(v)
			return report
		},
	}}
	for _, k := range kinds {
		asked := 0
		answer := func(revoked bool, err error) attest.Verifier {
			asked = 0
			f := verifier(t, board, lead, buyer, certifier)
			f.Listed = func(endpoint, id string) (bool, error) {
				asked++
				if endpoint != k.endpoint || id != k.id {
					t.Errorf("%s: asked %s for %s", k.name, endpoint, id)
				}
				return revoked, err
			}
			return f
		}
		if got := verdict(k.verify(answer(false, nil), k.value)); got != "" || asked != 1 {
			t.Errorf("%s, not listed: %q, asked %d times", k.name, got, asked)
		}
		if got := verdict(k.verify(answer(true, nil), k.value)); got != k.at || asked != 1 {
			t.Errorf("%s, listed: %q, asked %d times, want %q", k.name, got, asked, k.at)
		}
		for _, err := range []error{errors.New("down"), &wire.Unchecked{Why: "down", Moot: true}} {
			for _, revoked := range []bool{true, false} {
				report := k.verify(answer(revoked, err), k.value)
				if report.Outcome() != wire.NotChecked || asked != 1 {
					t.Errorf("%s, nobody answers: %v, asked %d times, want not checked", k.name, report.Outcome(), asked)
				}
			}
		}
		if got := verdict(k.verify(answer(true, nil), k.bare)); got != "" || asked != 0 {
			t.Errorf("%s without an endpoint: %q, asked %d times", k.name, got, asked)
		}
		// Whoever cannot sign makes nobody connect to anything.
		if report := k.verify(answer(true, nil), k.forged); report.Outcome() != wire.Failed || asked != 0 {
			t.Errorf("%s, forged: %v, asked %d times", k.name, report.Outcome(), asked)
		}
		f := answer(true, nil)
		f.Keys = nil
		if report := k.verify(f, k.value); report.Outcome() != wire.NotChecked || asked != 0 {
			t.Errorf("%s of somebody unknown: %v, asked %d times", k.name, report.Outcome(), asked)
		}
		f = answer(true, nil)
		f.Listed = nil
		if got := verdict(k.verify(f, k.value)); got != "" {
			t.Errorf("%s, nobody asks: %q", k.name, got)
		}
	}
}

// silent is keys that could not be asked for the board's.
type silent struct{ wire.Keys }

func (s silent) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if agent == board {
		return wire.PublicKey{}, &wire.Unchecked{Why: "no answer"}
	}
	return s.Keys.Key(agent, at)
}

// A key that could not be asked for does not hide that another signature is wrong.
func TestUnaskedKeyHidesNothing(t *testing.T) {
	f := verifier(t, lead, buyer)
	f.Keys = silent{f.Keys}
	if _, report := f.VerifyMandate(mandate(t), use(t)); report.Outcome() != wire.NotChecked {
		t.Errorf("without a key: %v, want not checked", report.Outcome())
	}
	forged := edit(t, mandate(t), `"2026-09-14T08:31:00Z"`, "delegation_chain", "1", "delegated_at")
	if _, report := f.VerifyMandate(forged, use(t)); !errors.Is(report.Err(), attest.RuleDelegationSignature) {
		t.Errorf("with a forged link besides: %v, want %v", report.Err(), attest.RuleDelegationSignature)
	}
}
