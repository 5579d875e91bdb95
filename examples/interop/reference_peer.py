"""One agent that the Python reference implementation of the protocol plays, for a program that carries its messages.

    PYTHONPATH=<clone of the reference> python3 examples/interop/reference_peer.py AGENT SEED

SEED is the agent's, in hexadecimal. Each line of standard input is an object with the member "do", one of the commands
below, and its arguments; the line of the answer is an object with what it came to, or {"error", "why"} with the name of
what the reference raised. Everything that is signed or judged, the reference signs or judges.
"""
import json
import sys

from concordia.agent import Agent
from concordia.attestation import countersign_attestation, generate_attestation, is_valid_now, verify_attestation, verify_attestation_countersignature
from concordia.message import validate_chain
from concordia.offer import BasicOffer
from concordia.receipt_bundle import evaluate_outcome_binding
from concordia.schema_validator import validate_message
from concordia.session import Session
from concordia.signing import KeyPair, public_key_from_b64url, sign_message, verify_signature
from concordia.types import AgentIdentity, Flexibility, PartyRole, PreferenceSignal
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(sys.argv[2]))
agent = Agent(sys.argv[1], KeyPair(private, private.public_key()))
keys = {agent.agent_id: private.public_key()}
issued = []


def standing(**more):
    session = agent.session
    return dict(more, state=session.state.value, tip=session.prev_hash, messages=len(session.transcript), chained=validate_chain(session.transcript))


def open_(peer, key, terms):
    """Open a session in which a peer with a key is to respond."""
    keys[peer] = public_key_from_b64url(key)
    session = agent.open_session(AgentIdentity(agent_id=peer), terms)
    session.add_party(peer, PartyRole.RESPONDER, keys[peer])
    return standing(message=session.transcript[-1])


def join(session, peer, key):
    """Respond in a session that a peer with a key opens."""
    keys[peer] = public_key_from_b64url(key)
    session = Session(session_id=session)
    session.add_party(peer, PartyRole.INITIATOR, keys[peer])
    agent.join_session(session)
    return standing()


def hear(message):
    """Verify a message of the peer and apply it."""
    errors = validate_message(message)
    verified = agent.verify_message(message, keys[message["from"]["agent_id"]])
    agent.session.apply_message(message, keys.get)
    return standing(errors=errors, verified=verified)


moves = {
    "accept_session": agent.accept_session,
    "offer": lambda terms, reasoning=None: agent.send_offer(BasicOffer(terms=terms), reasoning),
    "counter": lambda terms, reasoning=None: agent.send_counter(BasicOffer(terms=terms), reasoning),
    "signal": lambda term: agent.signal(PreferenceSignal(priority_ranking=[term], flexibility={term: Flexibility.FIRM})),
    "constrain": agent.constrain,
    "resolve": agent.resolve,
    "accept": agent.accept_offer,
    "commit": agent.commit,
    "reject": agent.reject_offer,
    "withdraw": agent.withdraw,
}


def say(move, **how):
    """Make a move and apply it."""
    return standing(message=moves[move](**how))


def receipt():
    """Issue the receipt, once, with the own signatures."""
    if not issued:
        issued.append(generate_attestation(agent.session, {agent.agent_id: agent.key_pair}))
    return {"receipt": issued[0]}


def unsigned(receipt):
    parties = [{k: v for k, v in party.items() if k != "signature"} for party in receipt["parties"]]
    return dict(receipt, parties=parties, countersignatures=None)


def differences(a, b, at=""):
    """Return where two values differ. What is null is not there."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [d for name in sorted(a.keys() | b.keys()) for d in differences(a.get(name), b.get(name), at + "/" + name)]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for n in range(len(a)) for d in differences(a[n], b[n], "%s/%d" % (at, n))]
    return [] if a == b else [at]


def countersign(proposal):
    """Check what others signed of a receipt, compare it with the own one, and add the own signatures."""
    signed = []
    for party in proposal["parties"]:
        who = party["agent_id"]
        if who == agent.agent_id:
            party["signature"] = sign_message({k: v for k, v in party.items() if k != "signature"}, agent.key_pair)
        elif verify_signature(party, party["signature"], keys[who]) and verify_attestation_countersignature(proposal, proposal["countersignatures"][who], keys[who]):
            signed.append(who)
    proposal["countersignatures"][agent.agent_id] = countersign_attestation(proposal, agent.key_pair)
    return {"receipt": proposal, "signed": signed, "differ": differences(unsigned(receipt()["receipt"]), unsigned(proposal))}


def verify(receipt):
    """Verify a receipt against the own transcript."""
    verdict = verify_attestation(receipt, keys, agent.session.transcript)
    outcome, why = evaluate_outcome_binding(receipt, keys.get)
    return {"errors": verdict.errors, "binding": verdict.set_binding_state, "outcome": outcome, "outcome_error": why, "now": is_valid_now(receipt)}


commands = {"open": open_, "join": join, "hear": hear, "say": say, "receipt": receipt, "countersign": countersign, "verify": verify}
for line in sys.stdin:
    command = json.loads(line)
    try:
        answer = commands[command.pop("do")](**command)
    except Exception as e:
        answer = {"error": type(e).__name__, "why": str(e)}
    print(json.dumps(answer), flush=True)
