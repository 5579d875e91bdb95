// Check the samples with the JavaScript reference implementation of the protocol.
//
//   node examples/interop/verify.mjs <clone of the reference>/js-sdk/dist/index.js
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

if (process.argv.length !== 3) {
  console.error('usage: node verify.mjs PATH_TO_SDK');
  process.exit(2);
}
const sdk = await import(pathToFileURL(resolve(process.argv[2])));
const folder = join(dirname(fileURLToPath(import.meta.url)), 'samples');
const read = (name) => sdk.parseJsonStrict(readFileSync(join(folder, name), 'utf8'));
const keys = Object.fromEntries(Object.entries(read('keys.json')).map(([id, text]) => [id, sdk.fromBase64Url(text)]));

let failed = 0;
for (const name of readdirSync(folder).filter((n) => n.endsWith('.json') && n !== 'keys.json').sort()) {
  let problem = '';
  try {
    const { messages, receipt } = read(name);
    const session = new sdk.Session({ sessionId: messages[0].session_id });
    for (const message of messages) {
      const faults = sdk.validateMessage(message);
      if (faults.length) throw new Error(faults.join('; '));
      session.applyMessage(message, (id) => keys[id] ?? null);
      if (message.body.reactivatable) session.makeDormant();
    }
    if (receipt.outcome.status === 'expired') session.expire();
    if (!sdk.validateChain(messages)) throw new Error('the chain does not link');
    const faults = sdk.validateAttestation(receipt);
    if (faults.length) throw new Error(faults.join('; '));
    for (const party of receipt.parties) {
      const { signature, ...record } = party;
      if (!sdk.verify(record, signature, keys[party.agent_id])) throw new Error(`record of ${party.agent_id}`);
      if (!sdk.verifyAttestationCountersignature(receipt, receipt.countersignatures[party.agent_id], keys[party.agent_id])) {
        throw new Error(`countersignature of ${party.agent_id}`);
      }
    }
    const binding = sdk.verifyReceiptSetBinding(receipt, messages);
    if (binding.state !== 'bound') throw new Error(`set binding: ${JSON.stringify(binding)}`);
    const status = receipt.outcome.status === 'withdrawn' ? 'rejected' : receipt.outcome.status;
    if (session.state !== status) throw new Error(`the session is ${session.state}, the receipt says ${receipt.outcome.status}`);
  } catch (e) {
    problem = String(e.message ?? e);
    failed++;
  }
  console.log(problem ? 'FAIL' : 'ok  ', name, problem);
}
process.exit(failed ? 1 : 0);
