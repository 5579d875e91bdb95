"""Check the samples with the Python reference implementation of the protocol.

    PYTHONPATH=<clone of the reference> python3 examples/interop/verify.py
"""
import base64
import glob
import json
import os
import sys

from concordia.attestation import verify_attestation
from concordia.receipt_bundle import evaluate_outcome_binding
from concordia.session import Session
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "samples")
keys = {
    name: Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(text))
    for name, text in json.load(open(os.path.join(folder, "keys.json"))).items()
}
failed = 0
for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
    if os.path.basename(path) == "keys.json":
        continue
    sample = json.load(open(path))
    receipt = sample["receipt"]
    session = Session(session_id=sample["messages"][0]["session_id"])
    problem = ""
    try:
        for message in sample["messages"]:
            session.apply_message(message, keys.get)
            if message["body"].get("reactivatable"):
                session.make_dormant()
        if receipt["outcome"]["status"] == "expired":
            session.expire()
        state = session.state.value
        verdict = verify_attestation(receipt, keys, sample["messages"])
        binding = evaluate_outcome_binding(receipt, keys.get)
        if not verdict.valid:
            problem = "; ".join(verdict.errors)
        elif binding[0] != "bound":
            problem = "outcome: %s" % (binding,)
        elif receipt["outcome"]["status"] not in (state, "withdrawn"):
            problem = "the session is %s, the receipt says %s" % (state, receipt["outcome"]["status"])
    except Exception as e:
        problem = "%s: %s" % (type(e).__name__, e)
    print("%-4s %s %s" % ("FAIL" if problem else "ok", os.path.basename(path), problem))
    failed += bool(problem)
sys.exit(1 if failed else 0)
