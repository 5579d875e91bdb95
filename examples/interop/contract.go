package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A vector asks a profile of the public contract about a sample, or about a part of
// one (SPEC §12.5).
type vector struct {
	profile string
	record  string // record_type
	input   wire.Value
	context wire.M
}

// keyFor returns the public key of whom a member of the sample names.
func keyFor(v wire.Value, path ...string) string {
	id, _ := v.At(path...)
	return signer(id.Text()).Public().String()
}

func keysOf(names ...string) wire.M {
	keys := wire.M{}
	for _, name := range names {
		keys[name] = signer(name).Public()
	}
	return keys
}

// unsigned returns what is signed of most artifacts.
func unsigned(v wire.Value) wire.Value { return v.Without("signature") }

// history returns what is signed of a bundle or a proof.
func history(v wire.Value, version string) wire.Value {
	return v.Without("agent_signature").Without(version)
}

// plain is a vector about one signature and the digest of what it covers.
func plain(profile, record string, v, covered wire.Value, by ...string) vector {
	return vector{profile, record, v, wire.M{"canonical_sha256": covered.Hash(), "public_key_b64url": keyFor(v, by...)}}
}

// with returns the vector with more in its context.
func (q vector) with(more wire.M) vector {
	q.context = maps.Clone(q.context)
	maps.Copy(q.context, more)
	return q
}

// vectors returns what the contract can be asked about a sample. It knows nothing of
// ES256, of envelopes, records and parts, of evaluating closures and of what revocations
// reach.
func (a artifact) vectors() []vector {
	v := a.input
	algorithm, _ := v.Get("algorithm")
	if algorithm.Text() == string(wire.ES256) || a.unlisted {
		return nil
	}
	switch a.kind {
	case "approval_receipt":
		return []vector{
			{"receipt-v1", "approval_receipt", v, wire.M{"now": wire.FormatTime(judged), "offer": a.context["offer"],
				"public_keys_b64url": wire.M{"issuer": keyFor(v, "approver", "identity")}}},
			{"offer-binding-v1", "approval_receipt", v, wire.M{"offer": a.context["offer"], "checks": []wire.M{{
				"kind": "jcs-sha256-pointer", "source": "context.offer", "target": wire.M{"object": "input", "pointer": "/scope/offer_hash"},
			}}}},
		}
	case "fulfillment":
		joined := wire.M{}
		for _, name := range []string{"charge_ref", "action_ref"} {
			if ref, ok := v.Get(name); ok {
				joined[name] = ref
			}
		}
		text, _ := v.At("signature", "value")
		return []vector{plain("fulfillment-attestation-v1", "fulfillment_attestation", v, unsigned(v), "signature", "signer_did").with(wire.M{
			"join_keys": joined, "forbid_raw_deal_terms": true, "seed_ed25519_ascii": string(key(authority).Seed()), "signature_b64url": text,
		})}
	case "revocation":
		return []vector{{"revocation-v1", "revocation_record", v, wire.M{"public_keys_b64url": wire.M{"issuer": keyFor(v, "issuer_did")}}}}
	case "cascade":
		id, _ := v.Get("decision_id")
		expected := "sha256:" + id.Text()
		return []vector{
			{"cascade-decision-v1", "cascade_decision_record", v, wire.M{"expected_decision_id": expected, "public_keys_b64url": wire.M{"issuer": keyFor(v, "verifier")}}},
			{"decision-object-v1", "decision_object", unsigned(v).Without("decision_id"), wire.M{"expected_decision_id": expected}},
		}
	case "attestation":
		keys := keysOf("seller", "buyer")
		list := []vector{{"attestation-v1", "attestation", v, wire.M{
			"forbid_raw_deal_terms": true, "public_keys_b64url": keys, "expected_verified_parties": []string{"buyer", "seller"},
		}}}
		if later, _ := v.Get("fulfillment"); later.Kind() == wire.Null { // else the contract wants it to be signed, too
			list = append(list, vector{"attestation-countersign-v1", "attestation", v, wire.M{
				"canonical_sha256": attest.Countersigned(v).Hash(), "countersigners": []string{"seller", "buyer"}, "public_keys_b64url": keys,
			}})
		}
		return list
	case "predicate":
		return []vector{plain("predicate-v1", "predicate", v, unsigned(v), "issuer").with(wire.M{"now": wire.FormatTime(judged)})}
	case "mandate":
		profile := "mandate-v1"
		if _, delegated := v.Get("delegation_chain"); delegated {
			profile = "delegation-chain-v1"
		}
		return []vector{vector{profile, "mandate", v, wire.M{
			"canonical_sha256": unsigned(v).Hash(), "now": wire.FormatTime(judged), "issuer_public_key_b64url": keyFor(v, "issuer"),
			"delegation_public_keys_b64url": keysOf(authority, agent),
		}}.with(a.context)}
	case "agent_profile":
		return []vector{plain("agent-profile-v1", "agent_profile", v, attest.SignedProfile(v), "agent_id").with(wire.M{"canonical_fields": []string{
			"type", "version", "agent_id", "name", "description", "capabilities", "negotiation_profile", "trust_signals", "endpoints", "location", "ttl", "updated_at",
		}})}
	case "receipt_bundle":
		return []vector{plain("receipt-bundle-v1", "receipt_bundle", v, history(v, "concordia_receipt_bundle"), "agent_id")}
	case "competence_proof":
		return []vector{plain("competence-proof-v1", "competence_proof", v, history(v, "concordia_competence_proof"), "agent_id")}
	case "cosign":
		did, _ := v.Get("counterparty_did")
		return []vector{{"cosign-v1", "cosign_receipt", v, wire.M{
			"canonical_sha256": v.StripSignatures().Hash(), "counterparty_did": did, "counterparty_public_key_b64url": key("buyer").Public(),
			"publisher_did": a.context["publisher_did"],
		}}}
	case "commitment":
		return []vector{plain("conditional-commitment-v1", "conditional_commitment", v, unsigned(v), "committer_did")}
	case "activation_proof":
		return []vector{plain("atomic-activation-proof-v1", "atomic_activation_proof", v, unsigned(v), "issuer_did")}
	case "unwind":
		return []vector{plain("unwind-record-v1", "unwind_record", v, unsigned(v), "issuer_did")}
	case "closure_predicate":
		return []vector{plain("closure-predicate-v1", "closure_predicate", v, unsigned(v), "issuer").with(wire.M{
			"chain_session": a.context["chain_session"], "digest_checks": []wire.M{},
		})}
	case "chain_session":
		if _, moves := v.Get("initial_session"); moves {
			return []vector{{"chain-session-transition-v1", "chain_session_transition", v, wire.M{}}}
		}
		return []vector{{"chain-session-v1", "chain_session", v, wire.M{"canonical_sha256": v.Hash()}}}
	}
	return nil
}

// chainVector asks about a session: its messages and the receipt that closes them.
func chainVector(doc session.Document) vector {
	hashes := make([]wire.Hash, len(doc.Messages))
	for i, m := range doc.Messages {
		hashes[i] = m.Hash()
	}
	return vector{"message-chain-v1", "message_chain", must(doc.Value()), wire.M{
		"public_keys_b64url":     keysOf("seller", "buyer", "neighbour"),
		"expected_message_count": len(doc.Messages), "expected_message_hashes": hashes,
	}}
}

// writeSuite writes a suite of what the contract can be asked about the samples, for
// any conformance runner, to conformance/vectors in a folder.
func writeSuite(dir string, vectors map[string][]vector) error {
	const base = "conformance/vectors"
	write := func(name string, content any) error {
		v, err := wire.Encode(content)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(v.Canonical()+"\n"), 0o644)
	}
	listed := []string{}
	for _, name := range slices.Sorted(maps.Keys(vectors)) {
		for _, q := range vectors[name] {
			id := name + "-" + strings.TrimSuffix(q.profile, "-v1")
			file := base + "/positive/" + id + ".json"
			listed = append(listed, file)
			if err := write(file, wire.M{
				"schema_version": conformance.VectorVersion, "id": id, "title": name + " under " + q.profile, "source_fixture": "examples/interop/" + name,
				"record_type": q.record, "verification_profile": q.profile, "input": q.input, "context": q.context, "expected": "accept",
			}); err != nil {
				return err
			}
		}
	}
	return write(base+"/manifest.json", wire.M{
		"schema_version": conformance.ManifestVersion, "suite_version": "v1-draft", "generated_by": "go run ./examples/interop -vectors DIR",
		"counts": wire.M{"positive": len(listed), "mutation": 0, "canary": 0},
		"files":  wire.M{"positive": listed, "mutation": []string{}, "canary": []string{}},
	})
}
