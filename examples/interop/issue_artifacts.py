"""Issue an artifact of every kind with the Python reference implementation.

    PYTHONPATH=<clone of the reference> python3 examples/interop/issue_artifacts.py DIR
    concordia verify --case DIR

Each file is a case like the samples, judged at the time it was made. The seed of each
key is the agent's name padded with spaces to 32 bytes.
"""
import hashlib
import json
import os
import sys
from datetime import datetime, timedelta, timezone

from concordia import a2a_carrier, cmpc, cosign, envelope, mandate, predicate, receipt_bundle, signing
from concordia.agent import Agent
from concordia.agent_profile.profile import AgentCapabilityProfile
from concordia.attestation import generate_attestation
from concordia.competence_proof import CompetenceProof
from concordia.models.mandate import DelegationLink, Mandate, TemporalMode, ValidityWindow
from concordia.offer import BasicOffer
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

AUTHORITY, AGENT, DEPUTY, CURVE = "did:web:authority.example", "did:web:agent.example", "did:web:deputy.example", "did:web:curve.example"
ALPHA, BETA = "did:web:alpha.example", "did:web:beta.example"
PROVIDER = "did:web:provider.example"


def pair(name):
    seed = name.ljust(32).encode()
    if name == CURVE:
        private = ec.derive_private_key(int.from_bytes(seed, "big"), ec.SECP256R1())
        return signing.ES256KeyPair(private, private.public_key())
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return signing.KeyPair(private, private.public_key())


NAMES = ("seller", "buyer", AUTHORITY, AGENT, DEPUTY, CURVE, ALPHA, BETA, PROVIDER)
KEYS = {name: pair(name) for name in NAMES}
PUBLIC = {name: key.public_key_b64() for name, key in KEYS.items()}
PUBLIC[PROVIDER + "#key-1"], PUBLIC[CURVE + "#key-1"] = PUBLIC[PROVIDER], PUBLIC[CURVE]

now = datetime.now(timezone.utc).replace(microsecond=0)
cases = {}


def text(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


NOW, SOON = text(now), text(now + timedelta(days=1))


def case(name, kind, artifact, **context):
    cases[name] = dict(id=name, kind=kind, input=artifact, context=context, expected="accept")


def negotiate(offer_first):
    seller, buyer = Agent("seller", KEYS["seller"]), Agent("buyer", KEYS["buyer"])
    session = seller.open_session(buyer.identity, {"price": {"type": "numeric", "label": "Price"}})
    buyer.join_session(session)
    buyer.accept_session()
    offer = BasicOffer(terms={"price": {"value": 350}}, offer_id="off_1")
    if offer_first:
        seller.send_offer(offer)
        buyer.accept_offer("off_1")
    else:
        buyer.reject_offer("too dear")
    return session, generate_attestation(session, {"seller": KEYS["seller"], "buyer": KEYS["buyer"]}, category="furniture.chairs")


def block_signed(draft, who):
    return dict(draft, signature={"alg": "Ed25519", "value": signing.sign_message(draft, KEYS[who])})


sessions = [negotiate(agreed) for agreed in (True, False, True, True, True)]
receipts = [receipt for _, receipt in sessions]
session, receipt = sessions[0]
case("transcript", "transcript", {"messages": session.transcript, "receipt": receipt}, parties={"seller": "initiator", "buyer": "responder"})
case("a2a-part", "a2a_part", a2a_carrier.build_a2a_data_part(session.transcript[0]), active_extensions=[a2a_carrier.A2A_EXTENSION_URI])
case("attestation", "attestation", receipt, require=["outcome_bound"])
for n in (1, 4, 5):
    case("bundle-of-%d" % n, "receipt_bundle", receipt_bundle.ReceiptBundle.create("seller", receipts[:n], KEYS["seller"]).to_dict())
ids = [r["attestation_id"] for r in receipts]
for n in (0, 2, 5):
    case("proof-revealing-%d" % n, "competence_proof", CompetenceProof.create("seller", receipts, KEYS["seller"], ids[:n]).to_dict(),
         require_aggregate=n == 5)
for name, who in (("envelope", PROVIDER), ("envelope-es256", CURVE)):
    case(name, "envelope", envelope.build_trust_evidence_envelope(receipt, KEYS[who], who, who + "#key-1", "seller"))
case("cosigned", "cosign", cosign.build_cosigned_receipt(
    {"session_id": session.session_id, "counterparty_did": cosign.did_key_for(KEYS["buyer"]), "outcome": "agreed", "rounds": 1, "duration_seconds": 1,
     "terms_count": 1, "concessions_made": 0, "fulfillment_status": "pending"}, "seller", counterparty_signer=cosign.keypair_signer(KEYS["buyer"])),
    publisher_did="seller")

offer = {"offer_id": "off_1", "terms": {"price": {"value": 350}}}
for decision in ("approve", "deny"):
    case("approval-" + decision, "approval_receipt", block_signed({
        "artifact_type": "ApprovalReceipt", "id": "urn:concordia:approval_receipt:1", "issued_at": NOW, "expires_at": SOON, "approver": {"identity": AUTHORITY},
        "scope": {"decision": decision, "offer_hash": "sha256:" + hashlib.sha256(signing.canonical_json(offer)).hexdigest(), "amount": "350 EUR", "threshold_crossed": "over_300"},
        "references": [{"type": "negotiation_session", "id": "urn:concordia:session:1", "relationship": "approves"}]}, AUTHORITY), offer=offer)
settled = {
    "attestation_type": "FulfillmentAttestation", "id": "urn:concordia:fulfillment:1", "issued_at": NOW, "agreement_attestation_id": ids[0],
    "fulfillment": {"status": "fulfilled_clean"}, "references": [{"type": "receipt", "id": ids[0], "relationship": "fulfills"}]}
settled = block_signed(settled, AUTHORITY)
settled["signature"]["signer_did"] = AUTHORITY
case("fulfillment", "fulfillment", settled, agreement_attestation_id=ids[0])

for kind in ("mandate", "commitment", "approval_receipt", "predicate", "attestation", "chain_session"):
    urn = "urn:concordia:%s:revoked" % kind.replace("_", "-")
    record = cmpc.sign_revocation_record(cmpc.RevocationRecord(
        revocation_id="urn:concordia:revocation:" + kind, revoked_artifact_id=urn, revoked_artifact_type=kind, revocation_scope="cascade_to_dependents",
        issuer_did=AUTHORITY, issued_at=NOW, effective_at=NOW, reason="the key was lost", references=[{"type": kind, "id": urn, "relationship": "revokes"}]), KEYS[AUTHORITY])
    case("revocation-" + kind, "revocation", record.to_dict())
reached = cmpc.cascade_revocation(
    record, [], signing_key=KEYS[AUTHORITY],
    boundary=cmpc.CascadeBoundary(boundary_id="gateway-1", verifier=AUTHORITY, policy_version="1", source_digest="sha256:00", coordinate=7))
case("decision", "cascade", reached.decisions[0].to_dict())

limits = {"type": "object", "properties": {"price": {"type": "number", "maximum": 500}}, "required": ["price"]}
windows = {
    "windowed": ValidityWindow(TemporalMode.WINDOWED, not_before=NOW, not_after=SOON),
    "sequence": ValidityWindow(TemporalMode.SEQUENCE, sequence_key="trip"),
    "state_bound": ValidityWindow(TemporalMode.STATE_BOUND, state_condition="open"),
}
for name, window in windows.items():
    case("mandate-" + name, "mandate", mandate.sign_mandate(Mandate.create(AUTHORITY, AGENT, limits, window), KEYS[AUTHORITY]).to_dict(),
         action={"price": 350}, sequence_key="trip", state_active=True)
case("mandate-es256", "mandate", mandate.sign_mandate(Mandate.create(CURVE, AGENT, limits, windows["windowed"], algorithm="ES256"), KEYS[CURVE]).to_dict(),
     action={"price": 350})
links = [mandate.sign_delegation(DelegationLink(AUTHORITY, AGENT, {"max_spend": 400}, NOW), KEYS[AUTHORITY]),
         mandate.sign_delegation(DelegationLink(AGENT, DEPUTY, None, NOW), KEYS[AGENT])]
case("mandate-delegated", "mandate", mandate.sign_mandate(Mandate.create(AUTHORITY, DEPUTY, limits, windows["windowed"], delegation_chain=links), KEYS[AUTHORITY]).to_dict(),
     action={"price": 350, "max_spend": 350})

for name, condition in (("authority_gate", {"result": "satisfied"}), ("policy_gate", {"result": "denied", "all": []}), ("non_deterministic_test", {"asks": "a person"})):
    case("predicate-" + name, "predicate", predicate.sign_predicate({
        "predicate_id": "urn:concordia:predicate:" + name, "type": "urn:concordia:predicate-type:%s:v1" % name, "authority": AUTHORITY, "issuer": AUTHORITY, "subject": AGENT,
        "condition": condition, "issued_at": NOW, "expires_at": SOON, "references": [], "algorithm": "EdDSA", "status": "active", "signature": ""}, KEYS[AUTHORITY]).to_dict())

profile = AgentCapabilityProfile(agent_id=AGENT, name="Chairs")
profile.signature = signing.sign_message(profile.to_canonical_dict(), KEYS[AGENT])
case("profile", "agent_profile", profile.to_dict())
record = {"anything": [1, {"signature": "inside"}], "verification_material": KEYS[AUTHORITY].verification_material()}
case("record", "record", dict(record, signature=signing.sign_message(record, KEYS[AUTHORITY])), signer=AUTHORITY)

CHAIN, CLOSES = "urn:concordia:chain-session:pool", "urn:concordia:predicate:pool"
commitments = [cmpc.sign_conditional_commitment(cmpc.ConditionalCommitment(
    commitment_id="urn:concordia:commitment:" + who[8:], chain_session_id=CHAIN, committer_did=who, predicate_reference=CLOSES,
    commitment_terms={"quantity": 5}, mandate_proof_id=None, issued_at=NOW, expires_at=SOON), KEYS[who]).to_dict() for who in (ALPHA, BETA)]
for commitment in commitments:
    case(commitment["commitment_id"].rpartition(":")[2], "commitment", commitment)
pool = {
    "chain_session_id": CHAIN, "participants": [ALPHA, BETA], "closure_predicate_ref": CLOSES, "state": "OPEN", "created_at": NOW, "activation_deadline": SOON,
    "activated_at": None, "dissolved_at": None, "commitments": [c["commitment_id"] for c in commitments], "unwind_record_id": None, "activation_proof_id": None}
case("chain-session", "chain_session", pool)
case("closure", "closure", {"chain_session": pool, "commitments": commitments, "predicate": {
    "predicate_id": CLOSES, "type": cmpc.BILATERAL_CHAIN_CLOSURE_V1,
    "parameters": {"expected_participants": [ALPHA, BETA], "aggregate_quantity_required": 10, "activation_deadline_iso": SOON}}})
case("activation", "activation_proof", cmpc.sign_atomic_activation_proof(cmpc.AtomicActivationProof(
    activation_proof_id="urn:concordia:activation-proof:pool", chain_session_id=CHAIN, closure_predicate_id=CLOSES, predicate_evaluation={"result": "satisfied"},
    commitment_ids=pool["commitments"], activated_at=NOW, issuer_did=ALPHA), KEYS[ALPHA]).to_dict(), chain_session=pool)
case("unwind", "unwind", cmpc.sign_unwind_record(cmpc.UnwindRecord(
    unwind_record_id="urn:concordia:unwind:pool", chain_session_id=CHAIN, dissolution_reason="timeout", dissolution_details={}, affected_commitment_ids=pool["commitments"],
    issuer_did=BETA, issued_at=NOW, counterparty_acknowledgment=None), KEYS[BETA]).to_dict(), chain_session=pool)

if len(sys.argv) != 2:
    sys.exit("usage: issue_artifacts.py DIR")
os.makedirs(sys.argv[1], exist_ok=True)
for name, c in cases.items():
    with open(os.path.join(sys.argv[1], name + ".json"), "w") as f:
        json.dump(dict(c, now=text(now + timedelta(seconds=5)), public_keys=PUBLIC), f)
print("%d cases" % len(cases))
