// Two agents sell and buy a used camera by MCP alone, as main.go has it, with the official
// TypeScript client. Each has a process of its own, with a directory and a key of its own,
// and they reach each other over one relay. At the end both stores have the same
// transcript and receipt, which verify offline.
//
//	npm ci
//	node agents.mjs [--revision 2026-07-28] [--http] [--concordia COMMAND]
//
// Without --revision the client initializes, as up to revision 2025-11-25; with --http the
// processes are nodes that serve MCP over HTTP, else concordia mcp on standard input and
// output.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs, promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const run = promisify(execFile)
const { values: flags } = parseArgs({
  options: {
    revision: { type: 'string', default: '2025-11-25' },
    http: { type: 'boolean', default: false },
    concordia: { type: 'string', default: 'concordia' },
  },
})
const later = flags.revision >= '2026-07-28'
const dir = await mkdtemp(join(tmpdir(), 'two-agents-'))
const ends = [] // what to do in the end, last first

try {
  const relay = await serve(['relay', 'serve', '--listen', '127.0.0.1:0', '--dir', 'mail'], /^listening on (\S+)/)
  const seller = await agent('seller', relay)
  const buyer = await agent('buyer', relay)
  const id = await deal(seller, buyer)
  await check(id, seller, buyer)
} finally {
  for (const end of ends.reverse()) await end()
  await rm(dir, { recursive: true })
}

// serve starts a server and returns what a line of its output has that says where it is.
async function serve(args, where) {
  const server = spawn(flags.concordia, args, { cwd: dir, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise((resolve) => server.once('close', resolve))
  ends.push(() => (server.kill(), ended))
  for await (const line of createInterface({ input: server.stdout })) {
    const found = where.exec(line)
    if (found) {
      server.stdout.resume() // so that it is never blocked
      return found[1]
    }
  }
  throw new Error(`concordia ${args.join(' ')} ended`)
}

// agent makes a key and connects a client to a process with it, in a new directory.
async function agent(name, relay) {
  await run(flags.concordia, ['id', 'new', `${name}.key`], { cwd: dir })
  const settings = ['--dir', name, '--key', `${name}.key`, '--relay', relay, '--loopback']
  let transport
  if (flags.http) {
    const url = await serve(['node', 'serve', ...settings, '--mcp', '127.0.0.1:0'], /^mcp (\S+)/)
    const token = (await readFile(join(dir, name, 'mcp.token'), 'utf8')).trim()
    transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } })
  } else {
    transport = new StdioClientTransport({ command: flags.concordia, args: ['mcp', ...settings], cwd: dir, stderr: 'ignore' })
  }
  const client = new Client({ name: 'two-agents', version: '1' }, later ? { versionNegotiation: { mode: { pin: flags.revision } } } : undefined)
  await client.connect(transport)
  ends.push(() => client.close())
  assert.equal(client.getNegotiatedProtocolVersion(), flags.revision)
  return { name, client }
}

// call calls a tool that has to do what it is asked.
async function call(who, tool, args = {}) {
  const result = await who.client.callTool({ name: tool, arguments: args }, { timeout: 90_000 })
  if (result.isError) throw new Error(`${tool} by the ${who.name} was refused: ${result.structuredContent.error}`)
  const { state = '', next = '' } = result.structuredContent
  console.log(`${who.name.padEnd(6)} ${tool.padEnd(24)}  ${state.padEnd(8)}  ${next}`)
  return result.structuredContent
}

// deal is what the two agents do. What one learns of the other it learns by its tools.
async function deal(seller, buyer) {
  const { agent_id } = await call(buyer, 'concordia_contacts')
  const { session_id } = await call(seller, 'concordia_open_session', {
    responder_id: agent_id, category: 'electronics.cameras', value_range: '1000-5000_USD',
    terms: {
      item: { type: 'text', value: 'Used mirrorless camera, 24 MP' },
      price: { type: 'numeric', constraints: { min: 1500, max: 2500, currency: 'USD' } },
      delivery: { type: 'categorical', enum: ['pickup', 'shipping'] },
    },
  })
  const offer = (price, delivery) => ({ session_id, terms: { price: { value: price, currency: 'USD' }, delivery: { value: delivery } } })
  await call(buyer, 'concordia_wait', { after: 0 })
  await call(buyer, 'concordia_invitations')
  await call(buyer, 'concordia_join', { session_id })
  await call(buyer, 'concordia_accept_session', { session_id })
  await call(seller, 'concordia_wait', { session_id, until: 'active' })
  await call(seller, 'concordia_propose', offer(2200, 'pickup'))
  await call(buyer, 'concordia_wait', { session_id, until: 'turn' })
  await call(buyer, 'concordia_counter', offer(1900, 'shipping'))
  await call(seller, 'concordia_wait', { session_id, until: 'turn' })
  await call(seller, 'concordia_counter', offer(2050, 'shipping'))
  await call(buyer, 'concordia_wait', { session_id, until: 'turn' })
  await call(buyer, 'concordia_accept', { session_id }) // the offer that the buyer was shown
  for (const who of [seller, buyer]) await call(who, 'concordia_wait', { session_id, until: 'receipt' })
  return session_id
}

// check compares what both agents have, by MCP and in their stores, and verifies it offline.
async function check(id, ...both) {
  let first
  for (const { name, client } of both) {
    const { contents } = await client.readResource({ uri: `concordia://session/${id}/transcript` })
    const told = JSON.parse(contents[0].text)
    // The commands of the owner share the directory with the agent's process.
    const { stdout: stored } = await run(flags.concordia, ['session', 'export', id, '--dir', name], { cwd: dir })
    assert.deepEqual(JSON.parse(stored), told)
    assert.equal(told.messages.length, 6)
    assert.equal(Object.keys(told.receipt.countersignatures).length, 2)
    assert.deepEqual(told, (first ??= told))
    await writeFile(join(dir, `${name}.json`), contents[0].text)
    const { stdout } = await run(flags.concordia, ['verify', `${name}.json`], { cwd: dir })
    console.log(`$ concordia verify ${name}.json\n${stdout.trimEnd()}`)
  }
}
