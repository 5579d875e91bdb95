// Judge the sample artifacts with the JavaScript reference implementation.
//
//   node examples/interop/verify_artifacts.mjs <clone of the reference>/js-sdk/dist/index.js [FILE...]
//
// Prints one line for each sample and exits with 1 if one is refused that README.md does
// not list as a known difference. Of kinds for which the SDK has no verifier, its own
// canonical form and signatures are used: "signature only". The one function that cannot
// be told the time, verifyPredicate, gets that of the sample from Date.now, which is
// replaced.
import { createPublicKey, verify as verifyRaw } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

if (process.argv.length < 3) {
  console.error('usage: node verify_artifacts.mjs PATH_TO_SDK [FILE...]');
  process.exit(2);
}
const sdk = await import(pathToFileURL(resolve(process.argv[2])));

class Unsupported extends Error {}

function need(good, why) {
  if (!good) throw new Error(why);
}

const noErrors = (errors) => need(errors.length === 0, errors.join('; '));

function without(v, ...names) {
  return Object.fromEntries(Object.entries(v).filter(([name]) => !names.includes(name)));
}

// signed verifies a signature over all of v but itself.
function signed(v, text, key, what = 'the signature') {
  if (key.length === 65) throw new Unsupported('it has no ES256');
  need(sdk.verify(v, text, key), what);
}

// only is the verdict on a kind of which the SDK can check the signature alone.
const only = 'accepted (signature only)';

const judges = {
  attestation(s) {
    for (const party of s.input.parties) signed(party, party.signature, s.key(party.agent_id), `record of ${party.agent_id}`);
    need(sdk.verifyReceiptSetBinding(s.input).state === 'bound', 'the set is not bound');
    need(sdk.isValidNow(s.input, s.now), 'not valid now');
    const said = s.input.fulfillment?.counterparty_attestation;
    if (said) signed(said, said.signature, s.key(said.agent_id), 'the word of the counterparty');
    for (const [agent, text] of Object.entries(s.input.countersignatures)) {
      const then = { ...s.input, fulfillment: null };
      need(sdk.verifyAttestationCountersignature(then, text, s.key(agent)), `countersignature of ${agent} as it was issued`);
    }
    for (const [agent, text] of Object.entries(s.input.countersignatures)) {
      need(sdk.verifyAttestationCountersignature(s.input, text, s.key(agent)), `countersignature of ${agent}`);
    }
    noErrors(sdk.validateAttestation(s.input));
  },
  approval_receipt(s) {
    const verdict = sdk.verifyApprovalReceipt(s.input, s.context.offer, { now: s.now, issuerPublicKey: s.key(s.input.approver.identity) });
    need(verdict.valid, `${verdict.failureReason}: ${verdict.errors.join('; ')}`);
    need(verdict.decision === s.input.scope.decision, 'another decision');
  },
  fulfillment(s) {
    noErrors(sdk.validateFulfillmentAttestation(s.input));
    signed(s.input, s.input.signature.value, s.key(s.input.signature.signer_did));
  },
  revocation(s) {
    signed(s.input, s.input.signature.value, s.key(s.input.issuer_did));
    return only;
  },
  cascade(s) {
    signed(without(s.input, 'decision_id'), s.input.signature.value, s.key(s.input.verifier));
    return only;
  },
  cascade_traversal() {
    throw new Unsupported('it follows no revocations');
  },
  mandate(s) {
    const issuer = s.key(s.input.issuer);
    if (issuer.length === 65) throw new Unsupported('it has no ES256');
    const verdict = sdk.verifyMandate(s.input, issuer, {
      now: s.now, sequenceKey: s.context.sequence_key ?? null, stateActive: s.context.state_active ?? null, action: s.context.action ?? null,
      delegationPublicKeys: s.keys,
    });
    need(verdict.valid, verdict.errors.join('; '));
  },
  predicate(s) {
    if (s.input.algorithm === 'ES256') throw new Unsupported('it has no ES256');
    const clock = Date.now;
    Date.now = () => s.now;
    try {
      const verdict = sdk.verifyPredicate(s.input);
      need(verdict.valid, `${verdict.failure_reason}: ${verdict.errors.join('; ')}`);
    } finally {
      Date.now = clock;
    }
  },
  agent_profile(s) {
    signed(without(s.input, 'verified'), s.input.signature, s.key(s.input.agent_id));
    return only;
  },
  receipt_bundle(s) {
    signed(without(s.input, 'agent_signature', 'concordia_receipt_bundle'), s.input.agent_signature, s.key(s.input.agent_id));
    for (const receipt of s.input.attestations) judges.attestation({ ...s, input: receipt });
    return 'accepted (its receipts and its signature only)';
  },
  competence_proof(s) {
    signed(without(s.input, 'agent_signature', 'concordia_competence_proof'), s.input.agent_signature, s.key(s.input.agent_id));
    for (const receipt of s.input.revealed_attestations) judges.attestation({ ...s, input: receipt });
    return 'accepted (its receipts and its signature only)';
  },
  cosign(s) {
    const { publisher_did: publisher } = s.context;
    const entries = s.input.parties.filter((p) => p.agent_id === s.input.counterparty_did);
    need(entries.length === 1 && publisher !== s.input.counterparty_did, 'the entries of the counterparty');
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(s.input.counterparty_did.slice('did:key:z'.length), 'base64url').subarray(2).toString('base64url') };
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    need(verifyRaw(null, sdk.canonicalCosignBytes(s.input), key, Buffer.from(entries[0].signature, 'base64url')), 'the signature');
    return only;
  },
  envelope(s) {
    signed(s.input, s.input.signature.value, s.key(s.input.signature.kid));
    return only;
  },
  record(s) {
    const material = s.input.verification_material;
    if (material.alg !== 'EdDSA') throw new Unsupported('it has no ES256');
    signed(s.input, s.input.signature, sdk.fromBase64Url(material.public_key_b64url));
  },
  reputation_query() {
    throw new Unsupported('it asks for no reputation');
  },
  reputation_response(s) {
    signed(without(s.input, 'service_signature'), s.input.service_signature, s.key(s.input.service_id));
    return only;
  },
  closure_predicate(s) {
    signed(s.input, s.input.signature, s.key(s.input.issuer));
    return only;
  },
  commitment(s) {
    signed(s.input, s.input.signature, s.key(s.input.committer_did));
    return only;
  },
  activation_proof(s) {
    signed(s.input, s.input.signature, s.key(s.input.issuer_did));
    return only;
  },
  unwind(s) {
    signed(s.input, s.input.signature, s.key(s.input.issuer_did));
    return only;
  },
  chain_session() {
    throw new Unsupported('it has no chain sessions');
  },
  closure() {
    throw new Unsupported('it has no chain sessions');
  },
  a2a_part(s) {
    const message = sdk.parseA2ADataPart(s.input, s.context.active_extensions);
    signed(message, message.signature, s.key(message.from.agent_id));
  },
};

// Samples that are refused, and the reason: README.md tells why.
const later = 'countersignature of buyer';
const differences = {
  'attestation-fulfilled': later, 'attestation-disputed': later, 'bundle-fulfilled': later, 'proof-fulfilled': later,
  'attestation-with-another-extension': "$.references[0].extensions: violates 'additionalProperties' constraint: false",
};

const folder = join(dirname(fileURLToPath(import.meta.url)), 'samples', 'artifacts');
let paths = process.argv.slice(3);
if (paths.length === 0) paths = readdirSync(folder).sort().map((name) => join(folder, name));

let refused = 0;
for (const path of paths) {
  const { id, kind, input, context, now, public_keys: texts } = sdk.parseJsonStrict(readFileSync(path, 'utf8'));
  const keys = Object.fromEntries(Object.entries(texts).map(([agent, text]) => [agent, sdk.fromBase64Url(text)]));
  const sample = { input, context, now: Date.parse(now), keys, key: (agent) => keys[agent] ?? new Uint8Array() };
  let verdict;
  try {
    verdict = judges[kind](sample) ?? 'accepted';
    if (differences[id]) {
      verdict = 'accepted, which README.md says it is not';
      refused++;
    }
  } catch (e) {
    if (e instanceof Unsupported) {
      verdict = `not supported by this SDK: ${e.message}`;
    } else if (differences[id] && e.message === differences[id]) {
      verdict = `known difference: ${e.message}`;
    } else {
      verdict = `refused: ${e.message ?? e}`;
      refused++;
    }
  }
  console.log(`${id}: ${verdict}`);
}
process.exit(refused ? 1 : 0);
