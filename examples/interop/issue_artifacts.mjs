// Issue an artifact of every kind that the JavaScript reference implementation issues.
//
//   node examples/interop/issue_artifacts.mjs <clone of the reference>/js-sdk/dist/index.js DIR
//   concordia verify --case DIR
//
// Each file is a case like the samples, judged at the time it was made. The seed of each
// key is the agent's name padded with spaces to 32 bytes.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

if (process.argv.length !== 4) {
  console.error('usage: node issue_artifacts.mjs PATH_TO_SDK DIR');
  process.exit(2);
}
const sdk = await import(pathToFileURL(resolve(process.argv[2])));
const folder = process.argv[3];

const [authority, agent, deputy] = ['did:web:authority.example', 'did:web:agent.example', 'did:web:deputy.example'];
const keys = Object.fromEntries(['seller', 'buyer', authority, agent, deputy].map(
  (name) => [name, sdk.KeyPair.fromPrivateKey(new TextEncoder().encode(name.padEnd(32)))]));
const publicKeys = Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, key.publicKeyB64()]));

const text = (ms) => new Date(ms).toISOString().slice(0, 19) + 'Z';
const began = Date.now();
const [now, soon] = [text(began), text(began + 86400e3)];

mkdirSync(folder, { recursive: true });
let count = 0;
function write(id, kind, input, context = {}) {
  const doc = { id, kind, input, context, expected: 'accept', now: text(began + 5e3), public_keys: publicKeys };
  writeFileSync(join(folder, id + '.json'), JSON.stringify(doc));
  count++;
}

const session = new sdk.Session();
session.addParty('seller', sdk.PartyRole.INITIATOR, keys.seller);
session.addParty('buyer', sdk.PartyRole.RESPONDER, keys.buyer);
for (const [from, type, body, more] of [
  ['seller', 'negotiate.open', { terms: { price: { type: 'numeric', label: 'Price' } } }, { to: [{ agent_id: 'buyer' }] }],
  ['buyer', 'negotiate.accept_session', {}],
  ['seller', 'negotiate.offer', { offer_id: 'off_1', terms: { price: { value: 350 } }, complete: true }, { reasoning: 'Six chairs.' }],
  ['buyer', 'negotiate.accept', { offer_id: 'off_1' }],
]) {
  const message = {
    concordia: '0.1.0', type, id: `msg_${randomUUID().slice(0, 8)}`, session_id: session.sessionId, timestamp: now, from: { agent_id: from },
    prev_hash: session.prevHash, body, ...more,
  };
  message.signature = sdk.sign(message, keys[from]);
  session.applyMessage(message, (id) => keys[id]?.publicKey ?? null);
}
const receipt = sdk.generateAttestation(session, { seller: keys.seller, buyer: keys.buyer }, { category: 'furniture.chairs' });
write('transcript', 'transcript', { messages: session.transcript, receipt }, { parties: { seller: 'initiator', buyer: 'responder' } });
write('attestation', 'attestation', receipt, { require: ['outcome_bound'] });
write('a2a-part', 'a2a_part', sdk.buildA2ADataPart(session.transcript[0]), { active_extensions: [sdk.A2A_EXTENSION_URI] });

const block = (draft, who, more = {}) => ({ ...draft, signature: { alg: 'Ed25519', value: sdk.sign(draft, keys[who]), ...more } });
const offer = { offer_id: 'off_1', terms: { price: { value: 350 } } };
for (const decision of ['approve', 'deny']) {
  write(`approval-${decision}`, 'approval_receipt', block({
    artifact_type: 'ApprovalReceipt', id: 'urn:concordia:approval_receipt:1', issued_at: now, expires_at: soon, approver: { identity: authority },
    scope: {
      decision, offer_hash: 'sha256:' + createHash('sha256').update(sdk.canonicalizeJcs(offer)).digest('hex'), amount: '350 EUR', threshold_crossed: 'over_300',
    },
    references: [{ type: 'negotiation_session', id: 'urn:concordia:session:1', relationship: 'approves' }],
  }, authority), { offer });
}
write('fulfillment', 'fulfillment', block({
  attestation_type: 'FulfillmentAttestation', id: 'urn:concordia:fulfillment:1', issued_at: now, agreement_attestation_id: receipt.attestation_id,
  fulfillment: { status: 'fulfilled_clean' }, references: [{ type: 'receipt', id: receipt.attestation_id, relationship: 'fulfills' }],
}, authority, { signer_did: authority }), { agreement_attestation_id: receipt.attestation_id });

const constraints = { type: 'object', properties: { price: { type: 'number', maximum: 500 } }, required: ['price'] };
const windowed = sdk.makeValidityWindow({ mode: sdk.TemporalMode.WINDOWED, notBefore: now, notAfter: soon });
const mandate = (more) => sdk.mandateToDict(sdk.signMandate(
  sdk.createMandate({ issuer: authority, subject: agent, constraints, validity: windowed, ...more }), keys[authority]));
write('mandate-windowed', 'mandate', mandate({}), { action: { price: 350 } });
write('mandate-sequence', 'mandate', mandate({ validity: sdk.makeValidityWindow({ mode: sdk.TemporalMode.SEQUENCE, sequenceKey: 'trip' }) }),
  { action: { price: 350 }, sequence_key: 'trip' });
write('mandate-state_bound', 'mandate', mandate({ validity: sdk.makeValidityWindow({ mode: sdk.TemporalMode.STATE_BOUND, stateCondition: 'open' }) }),
  { action: { price: 350 }, state_active: true });
const link = (delegator, delegate, scopeRestriction = null) => sdk.signDelegation(
  sdk.makeDelegationLink({ delegator, delegate, scopeRestriction, delegatedAt: now }), keys[delegator]);
write('mandate-delegated', 'mandate', mandate({ subject: deputy, delegationChain: [link(authority, agent, { max_spend: 400 }), link(agent, deputy)] }),
  { action: { price: 350, max_spend: 350 } });

for (const [name, condition] of Object.entries({ authority_gate: { result: 'satisfied' }, policy_gate: { result: 'denied', all: [] }, non_deterministic_test: { asks: 'a person' } })) {
  write(`predicate-${name}`, 'predicate', sdk.signPredicate({
    predicate_id: `urn:concordia:predicate:${name}`, type: `urn:concordia:predicate-type:${name}:v1`, authority, issuer: authority, subject: agent, condition,
    issued_at: now, expires_at: soon, references: [], algorithm: 'EdDSA', status: 'active', signature: '',
  }, keys[authority]).toDict());
}
console.log(`${count} cases`);
