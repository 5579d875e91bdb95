package conformance

import (
	"strings"

	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// kinds tell what an artifact is by members that only its kind has. The first that
// fits decides; whether the artifact is a sound one is for its judge.
var kinds = []struct {
	kind string
	is   func(wire.Value) bool
}{
	{"attestation", has("concordia_attestation")},
	{"receipt_bundle", has("concordia_receipt_bundle")},
	{"competence_proof", has("merkle_proofs", "revealed_attestations")},
	{"approval_receipt", says("artifact_type", "ApprovalReceipt")},
	{"fulfillment", says("attestation_type", "FulfillmentAttestation")},
	{"cascade_traversal", has("revocation", "artifacts", "target")},
	{"revocation", has("revocation_id", "revoked_artifact_id")},
	{"cascade", has("decision_id", "ancestor_reads")},
	{"mandate", has("mandate_id", "issuer")},
	{"closure", has("predicate", "chain_session", "commitments")},
	{"chain_session", has("initial_session", "attempt_transition")},
	{"chain_session", has("chain_session_id", "participants", "state")},
	{"commitment", has("commitment_id", "committer_did")},
	{"activation_proof", has("activation_proof_id", "predicate_evaluation")},
	{"unwind", has("unwind_record_id", "dissolution_reason")},
	{"closure_predicate", isClosurePredicate},
	{"predicate", has("predicate_id", "condition")},
	{"agent_profile", says("type", "concordia.agent_profile")},
	{"reputation_query", says("type", reputation.QueryType)},
	{"reputation_response", says("type", reputation.ResponseType)},
	{"envelope", has("envelope_version", "provider")},
	{"cosign", has("counterparty_did", "parties")},
	{"a2a_part", has("data", "mediaType")},
	{"transcript", has("messages")},
	{"record", has("verification_material", "signature")},
	{"message", has("concordia")},
}

// isClosurePredicate tells a closure predicate by its subject from other predicates.
func isClosurePredicate(v wire.Value) bool {
	subject, _ := v.Get("subject")
	return has("predicate_id", "condition")(v) && strings.HasPrefix(subject.Text(), "urn:concordia:chain-session:")
}

func has(names ...string) func(wire.Value) bool {
	return func(v wire.Value) bool {
		for _, name := range names {
			if _, ok := v.Get(name); !ok {
				return false
			}
		}
		return true
	}
}

func says(name, text string) func(wire.Value) bool {
	return func(v wire.Value) bool {
		member, _ := v.Get(name)
		return member.Text() == text
	}
}

// KindOf returns what kind of artifact v claims to be, or "" (SPEC §12.3). An array
// of messages is a transcript.
func KindOf(v wire.Value) string {
	for _, k := range kinds {
		if k.is(v) {
			return k.kind
		}
	}
	for _, first := range v.Elems() {
		if kind, _ := first.Get("type"); strings.HasPrefix(kind.Text(), "negotiate.") {
			return "transcript"
		}
		break
	}
	return ""
}

// Kinds returns the kinds that are judged, in the order of SPEC §12.3.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		if judges[k.kind] != nil {
			names = append(names, k.kind)
		}
	}
	return names
}

// JudgeAs checks the artifact of a subject as one of that kind. It returns
// ErrNotBuilt for a kind without a judge.
func JudgeAs(kind string, s Subject) (wire.Report, error) {
	return (&Case{Kind: kind, Subject: s}).Judge()
}
