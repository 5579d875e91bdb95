package conformance

import (
	"errors"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

var cascadeDecision = artifactKind(input(attest.ReadCascadeDecision),
	func(q Question, d *attest.CascadeDecision) (*attest.DecisionSubject, error) {
		f, err := q.verifier(q.oneKey("public_keys_b64url", "issuer"), false)
		return &attest.DecisionSubject{Verifier: f, Decision: d}, err
	}, attest.DecisionChecks(),
	map[string]func(Question, *attest.CascadeDecision) error{
		"expected": func(q Question, _ *attest.CascadeDecision) error {
			want, given, err := q.text("expected_decision_id")
			if err != nil || !given {
				return err
			}
			if id, _ := q.Input.Get("decision_id"); "sha256:"+id.Text() != want {
				return attest.RuleDecisionExpected.At("/decision_id")
			}
			return nil
		},
	})

var fulfillmentAttestation = artifactKind(input(attest.ReadFulfillmentAttestation),
	func(q Question, a *attest.FulfillmentAttestation) (*attest.FulfillmentSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &attest.FulfillmentSubject{Verifier: f, Attestation: a}, err
	}, attest.FulfillmentChecks(),
	map[string]func(Question, *attest.FulfillmentAttestation) error{
		"digest":     digest[*attest.FulfillmentAttestation](unsigned),
		"seed":       madeFromSeed,
		"join-keys":  joinKeys,
		"deal-terms": dealTerms[*attest.FulfillmentAttestation],
	})

var (
	ruleSeed = &wire.Rule{Section: "12.5", Name: "expected-seed", Class: wire.ClassSignature, Text: "key and signature are those that the seed of the context makes"}
	ruleJoin = &wire.Rule{Section: "12.5", Name: "expected-join-key", Class: wire.ClassBinding, Text: "the join keys are those that the context expects"}
)

var errSeed = errors.New("want 32 bytes")

// madeFromSeed makes key and signature anew from a published seed, where the
// context has one: Ed25519 has one signature for each message.
func madeFromSeed(q Question, _ *attest.FulfillmentAttestation) error {
	seed, given, err := q.text("seed_ed25519_ascii")
	if err != nil || !given {
		return err
	}
	key, err := wire.NewPrivateKey([]byte(seed))
	if err != nil {
		return ruleContext.Because("/context/seed_ed25519_ascii", errSeed)
	}
	if text, err := q.needText("public_key_b64url"); err != nil || text != key.Public().String() {
		return ruleSeed.Because("/context/public_key_b64url", err)
	}
	want, given, err := q.text("signature_b64url")
	if err != nil || !given {
		return err
	}
	preimage, err := q.twice.canonical(unsigned(q.Input))
	if err != nil {
		return err
	}
	sig, err := key.Sign(preimage)
	if err != nil {
		return err
	}
	if got, _ := q.Input.At("signature", "value"); sig.String() != want || got.Text() != want {
		return ruleSeed.At("/signature/value")
	}
	return nil
}

func joinKeys(q Question, _ *attest.FulfillmentAttestation) error {
	if keys, _ := q.Context.Get("join_keys"); keys.Kind() != wire.Object && keys.Kind() != wire.Absent && keys.Kind() != wire.Null {
		return ruleContext.Because("/context/join_keys", errors.New("want an object"))
	}
	for _, name := range []string{"charge_ref", "action_ref"} {
		want, given, err := q.text("join_keys", name)
		if err != nil {
			return err
		}
		if !given {
			continue
		}
		if got, _ := q.Input.Get(name); got.Kind() != wire.String || got.Text() != want {
			return ruleJoin.At("/" + name)
		}
	}
	return nil
}

// cosignedReceipt reads a receipt by the counterparty that the context names: the
// contract asks for no more of its shape than the parties.
var cosignedReceipt = artifactKind(
	func(q Question) (*attest.CosignedReceipt, error) {
		did, err := q.needText("counterparty_did")
		if err != nil {
			return nil, err
		}
		return attest.ReadCosignedParties(q.Input, wire.AgentID(did))
	},
	func(q Question, c *attest.CosignedReceipt) (*attest.CosignSubject, error) {
		// The DIDs are the keys. The key of the context is the counterparty's, which is
		// "expected-key", and not that of a publisher with any other id.
		f, err := q.verifier(wire.DIDKeys{}, false)
		publisher, missing := q.needText("publisher_did")
		if missing != nil {
			return nil, missing
		}
		return &attest.CosignSubject{Verifier: f, Receipt: c, Publisher: wire.AgentID(publisher)}, err
	}, attest.CosignChecks(),
	map[string]func(Question, *attest.CosignedReceipt) error{
		"expected-key": expectedKey,
		"digest":       digest[*attest.CosignedReceipt](wire.Value.StripSignatures),
	})

// expectedKey compares the key of the context with the one inside the DID.
func expectedKey(q Question, _ *attest.CosignedReceipt) error {
	did, err := q.needText("counterparty_did")
	if err != nil {
		return err
	}
	inside, err := wire.ParseDIDKey(wire.AgentID(did))
	if err != nil {
		return err
	}
	key, err := q.oneKey("counterparty_public_key_b64url").Key("", time.Time{})
	if err != nil {
		return err
	}
	if key != inside || wire.ReferenceDIDKey(inside) != wire.AgentID(did) {
		return ruleBound.Because("/context/counterparty_public_key_b64url", errors.New("it is not the key inside the DID"))
	}
	return nil
}
