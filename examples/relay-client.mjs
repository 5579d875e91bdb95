// Two agents meet on a Concordia relay: they register, open a session, append a signed
// chain of messages, receive and check it, and acknowledge. Written from RFC 0001 and the
// relay's /openapi.json alone, with what node has (20 or later), without packages:
//
//   node --experimental-websocket relay-client.mjs http://127.0.0.1:8417
//
// Exit code 0: all as it should be; 1: it was not; 2: wrong usage.
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";

// canonical writes JSON as SPEC §9.2.1 (RFC 8785) has it.
function canonical(x) {
  if (Array.isArray(x)) return "[" + x.map(canonical).join(",") + "]";
  if (x === null || typeof x !== "object") return JSON.stringify(x);
  return "{" + Object.keys(x).sort().map((k) => JSON.stringify(k) + ":" + canonical(x[k])).join(",") + "}";
}

const hash = (x) => "sha256:" + createHash("sha256").update(canonical(x)).digest("hex");
const base64url = (bytes) => bytes.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
const now = () => new Date().toISOString().slice(0, 19) + "Z";
const genesis = "sha256:" + "0".repeat(64);

class Refusal extends Error {
  constructor(error) {
    super(`${error.code}: ${error.message}`);
    Object.assign(this, error);
  }
}

// A Party is an agent with its key and its place at a relay.
class Party {
  constructor(relay, id) {
    this.relay = relay;
    this.id = id;
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    this.key = privateKey;
    this.public = Buffer.from(publicKey.export({ format: "jwk" }).x, "base64url");
    this.waiting = new Map(); // ref: the request that waits for its answer
    this.pushed = []; // frames that nobody has taken
    this.takers = [];
  }

  signed(object) {
    return { ...object, signature: base64url(sign(null, Buffer.from(canonical(object)), this.key)) };
  }

  // post asks for an operation over HTTP.
  async post(operation, body = {}) {
    const headers = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = "Bearer " + this.token;
    const answer = await fetch(`${this.relay}/v1/${operation}`, { method: "POST", headers, body: JSON.stringify(body) });
    const object = await answer.json();
    if (!answer.ok) throw new Refusal(object.error);
    return object;
  }

  async register() {
    const challenge = await this.post("challenge");
    const { token } = await this.post("register", this.signed({
      type: "concordia.relay.registration", relay: challenge.relay, nonce: challenge.nonce,
      timestamp: now(), agent_id: this.id, public_key: base64url(this.public),
    }));
    this.token = token;
  }

  // connect opens a websocket. The token goes into a subprotocol, for this kind of client
  // cannot set headers.
  connect() {
    const socket = new WebSocket(this.relay.replace(/^http/, "ws") + "/v1/socket", ["concordia.relay.v1", "bearer." + this.token]);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.ref === undefined) {
        const taker = this.takers.shift();
        if (taker) taker(frame);
        else this.pushed.push(frame);
        return;
      }
      const { resolve, reject } = this.waiting.get(frame.ref);
      this.waiting.delete(frame.ref);
      if (frame.error) reject(new Refusal(frame.error));
      else resolve(frame.ok);
    };
    return new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("no websocket"));
    });
  }

  // ask asks for an operation over the websocket.
  ask(op, body = {}) {
    const ref = randomBytes(8).toString("hex");
    this.socket.send(JSON.stringify({ ...body, op, ref }));
    return new Promise((resolve, reject) => this.waiting.set(ref, { resolve, reject }));
  }

  // next returns the next frame of a kind that the relay sends unasked.
  async next(kind) {
    for (;;) {
      const frame = this.pushed.shift() ?? (await new Promise((resolve) => this.takers.push(resolve)));
      if (frame.push === kind) return frame;
    }
  }

  // say appends the next message of a session.
  async say(chain, type, body) {
    const entry = this.signed({
      concordia: "0.1.0", type, id: "msg_" + randomBytes(16).toString("hex"), session_id: chain.session,
      timestamp: now(), from: { agent_id: this.id }, prev_hash: chain.tip, body,
    });
    const done = await this.ask("append", { entry });
    check(done.hash === hash(entry), "the relay says another hash than that of what was sent");
    return entry;
  }

  // hear takes the next entry of a session, checks that its sender signed it and that it
  // continues the chain, and acknowledges it.
  async hear(chain, keys) {
    const frame = await this.next("entry");
    check(frame.session_id === chain.session, "an entry of another session");
    check(frame.number === chain.number + 1, `entry ${frame.number} after ${chain.number}`);
    chain.number = frame.number;
    if (frame.own) {
      chain.tip = frame.own.hash;
    } else {
      const { signature, ...unsigned } = frame.entry;
      const x = keys[frame.entry.from.agent_id].toString("base64url");
      const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
      check(verify(null, Buffer.from(canonical(unsigned)), key, Buffer.from(signature, "base64url")), "its sender did not sign an entry");
      check(frame.entry.prev_hash === chain.tip, "an entry does not continue the chain");
      chain.tip = hash(frame.entry);
    }
    await this.ask("ack", { session_id: chain.session, number: frame.number });
    return frame;
  }
}

function check(good, otherwise) {
  if (!good) throw new Error(otherwise);
}

async function main(relay) {
  const info = await (await fetch(relay + "/.well-known/concordia-relay")).json();
  check(info.protocol === "concordia-relay/1", "another protocol: " + info.protocol);
  console.log("relay speaks", info.protocol);

  const unique = randomBytes(8).toString("hex");
  const seller = new Party(relay, "seller_" + unique);
  const buyer = new Party(relay, "buyer_" + unique);
  const keys = { [seller.id]: seller.public, [buyer.id]: buyer.public };
  for (const party of [seller, buyer]) {
    await party.register();
    await party.connect();
  }
  console.log("both are registered and connected");

  const session = "ses_" + randomBytes(16).toString("hex");
  const created = await seller.ask("create", { session_id: session, to: [buyer.id], category: "goods.used" });
  check(created.state === "pending", "state " + created.state);
  const invitation = await buyer.next("invitation");
  check(invitation.session_id === session && invitation.from === seller.id, "another invitation");
  const joined = await buyer.ask("join", { session_id: session });
  check(joined.state === "active", "state " + joined.state);
  console.log("the buyer was invited and has joined");

  const chains = new Map([seller, buyer].map((p) => [p, { session, number: 0, tip: genesis }]));
  const parties = [seller, buyer];
  for (let i = 0; i < 6; i++) {
    const who = parties[i % 2];
    await who.say(chains.get(who), "negotiate.signal", { signal: "turn " + (i + 1) });
    for (const party of parties) {
      const frame = await party.hear(chains.get(party), keys);
      if (frame.entry) console.log(`entry ${frame.number} says "${frame.entry.body.signal}"`);
    }
  }
  check(chains.get(seller).tip === chains.get(buyer).tip, "two chains");

  const conflict = await seller.say({ session, tip: genesis }, "negotiate.signal", { signal: "a fork" }).catch((e) => e);
  check(conflict.code === "chain_conflict" && conflict.tip === chains.get(seller).tip, "a fork: " + conflict);
  console.log("a fork is refused:", conflict.code);

  const again = await buyer.post("read", { session_id: session, from: 1 });
  check(again.length === 6 && again.entries.length === 6, "the log is not that long");
  const document = await seller.post("transcript", { session_id: session });
  let tip = genesis;
  for (const m of document.messages) {
    check(m.prev_hash === tip, "the transcript is no chain");
    tip = hash(m);
  }
  check(tip === chains.get(seller).tip, "the transcript ends elsewhere");
  console.log(`the transcript has ${document.messages.length} messages`);

  await buyer.ask("close", { session_id: session });
  for (;;) {
    const change = await seller.next("session");
    if (change.state !== "ended") continue;
    check(change.why === "closed", "why " + change.why);
    break;
  }
  console.log("the session is closed");
  for (const party of parties) party.socket.close();
}

const [url] = process.argv.slice(2);
if (!url) {
  console.error("usage: node --experimental-websocket relay-client.mjs URL");
  process.exit(2);
}
main(url.replace(/\/$/, "")).then(
  () => process.exit(0),
  (error) => {
    console.error("relay-client:", error.message);
    process.exit(1);
  },
);
