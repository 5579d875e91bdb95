"""Judge the sample artifacts with the Python reference implementation.

    PYTHONPATH=<clone of the reference> python3 examples/interop/verify_artifacts.py [FILE...]

Prints one line for each sample and exits with 1 if one is refused that README.md does
not list as a known difference. Every function of the SDK that looks at the time is
given that of the sample.
"""
import base64
import glob
import json
import os
import sys
import warnings
from datetime import datetime

from concordia import a2a_carrier, approval_receipt, attestation, competence_proof, cosign, ctef, envelope, mandate, predicate, receipt_bundle
from concordia import cmpc, schema_validator, signing
from concordia.agent_profile.profile import AgentCapabilityProfile
from concordia.cmpc import schemas
from concordia.reputation.query import validate_query
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Refused(Exception):
    """The SDK does not accept the sample."""


class Unsupported(Exception):
    """The SDK has nothing that could judge the sample."""


def need(good, why="the verifier says no"):
    if not good:
        raise Refused(why)


def no_errors(errors):
    need(not errors, "; ".join(map(str, errors)))


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


class Sample:
    def __init__(self, case):
        self.input = case["input"]
        self.context = case["context"]
        self.now = instant(case["now"])
        self.accept = case["expected"] == "accept"
        self.texts = case["public_keys"]

    def key(self, agent):
        raw = base64.urlsafe_b64decode(self.texts[agent]) if agent in self.texts else b""
        if len(raw) == 65:
            return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
        return Ed25519PublicKey.from_public_bytes(raw) if raw else None

    def keys(self):
        return {agent: self.key(agent) for agent in self.texts}


def attestation_(s):
    verdict = attestation.verify_attestation(s.input, s.keys())
    no_errors(verdict.errors)
    need(verdict.set_binding_state == "bound", "the set is %s" % verdict.set_binding_state)
    need(set(verdict.verified_parties) == {p["agent_id"] for p in s.input["parties"]}, "parties that were not verified")
    then = receipt_bundle.evaluate_outcome_binding(dict(s.input, fulfillment=None), s.key)
    need(then[0] == "bound", "the outcome as it was issued is %s" % (then,))
    need(attestation.is_valid_now(s.input, s.now), "not valid now")
    said = (s.input.get("fulfillment") or {}).get("counterparty_attestation")
    if said:
        need(signing.verify_signature(said, said["signature"], s.key(said["agent_id"])), "the word of the counterparty")
    state = receipt_bundle.evaluate_outcome_binding(s.input, s.key)
    need(state[0] == "bound", "the outcome is %s" % (state,))
    for agent, text in s.input["countersignatures"].items():
        need(attestation.verify_attestation_countersignature(s.input, text, s.key(agent)), "countersignature of " + agent)


def approval(s):
    verdict = approval_receipt.verify_approval_receipt(
        s.input, s.context["offer"], now=s.now, issuer_public_key=s.key(s.input["approver"]["identity"]))
    need(verdict.valid, "%s: %s" % (verdict.failure_reason, verdict.errors))
    need(verdict.decision == s.input["scope"]["decision"], "another decision")


def fulfillment(s):
    no_errors(schema_validator.validate_fulfillment_attestation(s.input))
    block = s.input["signature"]
    need(signing.verify_signature(s.input, block["value"], s.key(block["signer_did"])), "the signature")


def revocation(s):
    schemas.validate_revocation_record(s.input)
    need(cmpc.verify_revocation_record(cmpc.RevocationRecord.from_dict(s.input), s.key(s.input["issuer_did"])), "the signature")


def cascade(s):
    need(cmpc.verify_cascade_decision_record(s.input, s.key(s.input["verifier"])))


def cascade_traversal(s):
    record = cmpc.RevocationRecord.from_dict(s.input["revocation"])
    need(cmpc.verify_revocation_record(record, s.key(record.issuer_did)), "the revocation")
    reached = cmpc.cascade_revocation(record, [cmpc.CandidateArtifact(**a) for a in s.input["artifacts"]]).inadmissible
    need((s.input["target"] in [r.artifact_id for r in reached]) != s.accept, "it reaches %s" % [r.artifact_id for r in reached])


def mandate_(s):
    verdict = mandate.verify_mandate(
        s.input, s.key(s.input["issuer"]), now=s.now, sequence_key=s.context.get("sequence_key"), state_active=s.context.get("state_active"),
        action=s.context.get("action"), delegation_public_keys=s.keys())
    need(verdict.valid, "%s: %s" % (verdict.failure_reason, verdict.errors))


def predicate_(s):
    if s.input["algorithm"] == "ES256":
        need(signing.verify_signature(s.input, s.input["signature"], s.key(s.input["issuer"]), alg="ES256"), "the signature")
        raise Unsupported("verify_predicate knows no ES256; verify_signature accepts it")
    verdict = predicate.verify_predicate(s.input, now=s.now)
    need(verdict.valid, "%s: %s" % (verdict.failure_reason, verdict.errors))
    claim = s.context.get("ctef")
    if claim:
        need(ctef.predicate_to_ctef_claim(s.input, verified_at=claim["verified_at"]) == claim, "another CTEF claim")


def agent_profile(s):
    profile = AgentCapabilityProfile.from_dict(s.input)
    need(profile.verify_signature(s.key(s.input["agent_id"])), "the signature")


def receipt_bundle_(s):
    verdict = receipt_bundle.verify_bundle(s.input, s.key)
    no_errors(verdict.errors)
    count = len(s.input["attestations"])
    need(verdict.valid and verdict.outcome_bound_count == verdict.set_bound_count == count, "not all are bound")


def competence(s):
    verdict = competence_proof.verify_competence_proof(s.input, s.key)
    no_errors(verdict.errors)
    need(verdict.valid and verdict.merkle_proofs_valid, "the inclusion proofs")
    need(verdict.aggregate_verified == s.context["require_aggregate"], "aggregate_verified is %s" % verdict.aggregate_verified)


def cosigned(s):
    did = s.input["counterparty_did"]
    signatures = [p["signature"] for p in s.input["parties"] if p["agent_id"] == did]
    need(len(signatures) == 1, "%d entries of the counterparty" % len(signatures))
    raw = base64.urlsafe_b64decode(signatures[0] + "=" * (-len(signatures[0]) % 4))
    key = Ed25519PublicKey.from_public_bytes(cosign.public_key_bytes_from_did_key(did))
    key.verify(raw, cosign.canonical_cosign_bytes(s.input))


def envelope_(s):
    block = s.input["signature"]
    need(envelope.verify_envelope_signature(s.input, s.key(block["kid"]), alg=block["alg"]), "the signature")


def record(s):
    material = s.input["verification_material"]
    key = s.key(s.context["signer"])
    if material["key_type"] == "Ed25519":
        key = signing.public_key_from_b64url(material["public_key_b64url"])
        need(signing.KeyPair(None, key).verification_material() == material, "the SDK would write other material")
    need(signing.verify_signature(s.input, s.input["signature"], key, alg=material["alg"]), "the signature")


def commitment(s):
    schemas.validate_conditional_commitment(s.input)
    need(cmpc.verify_conditional_commitment(cmpc.ConditionalCommitment.from_dict(s.input), s.key(s.input["committer_did"])), "the signature")


def activation_proof(s):
    schemas.validate_atomic_activation_proof(s.input)
    need(cmpc.verify_atomic_activation_proof(cmpc.AtomicActivationProof.from_dict(s.input), s.key(s.input["issuer_did"])), "the signature")


def unwind(s):
    schemas.validate_unwind_record(s.input)
    need(cmpc.verify_unwind_record(cmpc.UnwindRecord.from_dict(s.input), s.key(s.input["issuer_did"])), "the signature")


def closure_predicate(s):
    schemas.validate_closure_predicate(s.input)
    need(signing.verify_signature(s.input, s.input["signature"], s.key(s.input["issuer"])), "the signature")


TIMES = ("created_at", "activation_deadline", "activated_at", "dissolved_at")


def chain_session_of(v):
    schemas.validate_chain_session(v)
    return cmpc.ChainSession.from_dict({k: instant(x) if k in TIMES else x for k, x in v.items()})


def chain_session(s):
    if "initial_session" not in s.input:
        chain_session_of(s.input)
        return
    session = chain_session_of(s.input["initial_session"])
    session.transition_to(cmpc.ChainSessionState(s.input["attempt_transition"]), now=instant(s.input["transition_now"]))
    need(cmpc.verify_transcript(session), "its transitions")


def closure(s):
    p = s.input["predicate"]
    schemas.validate_closure_predicate(p)
    result = cmpc.evaluate_predicate(
        cmpc.EvaluablePredicate(predicate_id=p["predicate_id"], type_urn=p["type"], parameters=p["condition"]),
        chain_session_of(s.input["chain_session"]), s.input["commitments"], now=s.now)
    need(result.satisfied, "%s %s" % (result.reason, result.evidence))


def reputation_query(s):
    no_errors(validate_query(s.input))


def reputation_response(s):
    said = {name: v for name, v in s.input.items() if name != "service_signature"}
    need(signing.verify_signature(said, s.input["service_signature"], s.key(s.input["service_id"])), "the signature")


def a2a_part(s):
    message = a2a_carrier.parse_a2a_data_part(s.input, active_extensions=s.context["active_extensions"])
    need(signing.verify_signature(message, message["signature"], s.key(message["from"]["agent_id"])), "the signature")


JUDGES = {
    "attestation": attestation_, "approval_receipt": approval, "fulfillment": fulfillment, "revocation": revocation,
    "cascade": cascade, "cascade_traversal": cascade_traversal, "mandate": mandate_, "predicate": predicate_,
    "agent_profile": agent_profile, "receipt_bundle": receipt_bundle_, "competence_proof": competence, "cosign": cosigned,
    "envelope": envelope_, "record": record, "commitment": commitment, "activation_proof": activation_proof, "unwind": unwind,
    "closure_predicate": closure_predicate, "chain_session": chain_session, "closure": closure, "a2a_part": a2a_part,
    "reputation_query": reputation_query, "reputation_response": reputation_response,
}

# Samples that the SDK refuses, and the one thing it says then: README.md tells why.
LATER = "countersignature for 'seller' failed verification"
DIFFERENCES = {
    "attestation-fulfilled": LATER, "attestation-disputed": LATER, "bundle-fulfilled": LATER, "proof-fulfilled": LATER,
    "attestation-with-another-extension": "$.references[0].extensions: violates 'additionalProperties'",
}

warnings.simplefilter("ignore")  # references to types that the SDK does not list
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples", "artifacts")
refused = 0
for path in sys.argv[1:] or sorted(glob.glob(os.path.join(folder, "*.json"))):
    with open(path) as f:
        case = json.load(f)
    try:
        JUDGES[case["kind"]](Sample(case))
        verdict = "accepted"
        if case["id"] in DIFFERENCES:
            verdict = "accepted, which README.md says it is not"
            refused += 1
    except Unsupported as e:
        verdict = "not supported by this SDK: %s" % e
    except Exception as e:
        verdict = "refused: %s%s" % ("" if isinstance(e, Refused) else type(e).__name__ + ": ", e)
        if DIFFERENCES.get(case["id"], "no difference") in str(e) and "; " not in str(e):
            verdict = "known difference: %s" % e
        else:
            refused += 1
    print("%s: %s" % (case["id"], verdict))
sys.exit(1 if refused else 0)
