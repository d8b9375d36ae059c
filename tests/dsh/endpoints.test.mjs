// The plugin's interface in the host: who may ask, how much, and what it answers. The host gives a plugin's paths no fence.
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, test } from 'node:test'
import { Stage } from './lab/stage.mjs'
import { exploded } from './lab/upstream.mjs'

const stage = new Stage({ defaults: { retries: 0 } })
const q = { asked: stage.queue('asked', 2), spare: stage.queue('spare', 1) }
before(() => stage.open())
after(() => stage.close())

/** A request whose head is all ours: fetch would not send such headers. */
function raw(method, where, headers, body) {
  const url = new URL(stage.web.base)
  return new Promise((done, failed) => {
    const request = http.request({ host: url.hostname, port: url.port, method, path: where, headers: { host: url.host, ...headers } }, response => {
      const parts = []
      response.on('data', part => parts.push(part))
      response.on('end', () => done({ status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }))
    })
    request.on('error', failed)
    request.end(body)
  })
}
const state = '/ekiden/api/v1/state'

test('D3: a foreign Host is refused, which is what a rebound name would send', async () => {
  assert.equal((await raw('GET', state, {})).status, 200)
  for (const host of ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '[::2]:80']) {
    assert.equal((await raw('GET', state, { host })).status, 403, host)
  }
  const { port } = new URL(stage.web.base)
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
    assert.equal((await raw('GET', state, { host })).status, 200, host)
  }
})

test('D3: another origin and a cross-site request are refused', async () => {
  assert.equal((await raw('GET', state, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await raw('GET', state, { origin: 'null' })).status, 403)
  assert.equal((await raw('GET', state, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal((await raw('GET', state, { origin: stage.web.base, 'sec-fetch-site': 'same-origin' })).status, 200)
})

test('D3: a write needs JSON, so that no form of another page can make one', async () => {
  const form = await raw('POST', '/ekiden/api/v1/release', { 'content-type': 'text/plain' }, '{"all":true}')
  assert.ok([403, 415].includes(form.status), String(form.status))
  const good = await raw('POST', '/ekiden/api/v1/release', { 'content-type': 'application/json' }, '{"all":true}')
  assert.equal(good.status, 200)
})

test('D3: no other origin is invited', async () => {
  const { headers } = await raw('GET', state, { origin: stage.web.base })
  assert.equal(headers['access-control-allow-origin'], undefined)
})

test('D3: bodies are bounded', async () => {
  const large = JSON.stringify({ name: 'x'.repeat(2_000_000) })
  const { status } = await raw('POST', '/ekiden/api/v1/queues', { 'content-type': 'application/json', 'content-length': String(large.length) }, large).catch(error => ({ status: error.code }))
  assert.ok(status === 413 || status === 'ECONNRESET' || status === 'EPIPE', String(status))
  assert.equal((await raw('GET', state, {})).status, 200, 'and the host goes on')
})

test('D3: what is not there, and what is no method, is said so', async () => {
  assert.equal((await stage.web.api('GET', 'nothing')).status, 404)
  assert.equal((await stage.web.api('DELETE', 'state')).status, 405)
  const bad = await raw('POST', '/ekiden/api/v1/release', { 'content-type': 'application/json' }, '{')
  assert.equal(bad.status, 400)
  assert.equal(JSON.parse(bad.text).error.code, 'bad_body')
})

test('R1, R41: queues are made, renamed, ordered and deleted; the id stays, the last queue too', async () => {
  const made = await stage.web.api('POST', 'queues', { name: '另一条', id: 'other', routes: ['mock/asked-1'] })
  assert.equal(made.status, 201, made.text)
  const models = await stage.web.rpc('llm.models', {})
  const listed = () => models.groups.find(group => group.id === 'ekiden').models.map(model => model.name)
  assert.ok(listed().includes('另一条'), JSON.stringify(models.groups.find(group => group.id === 'ekiden')))
  assert.equal((await stage.web.api('PATCH', 'queues/other', { name: 'Renamed' })).status, 200)
  const session = await stage.web.session('ekiden', 'other')
  assert.equal((await stage.web.turn(session, 'hi')).reason.kind, 'completed')
  const asked = await stage.web.api('DELETE', 'queues/other')
  assert.equal(asked.status, 409)
  assert.equal(asked.json.error.code, 'not_confirmed')
  assert.match(asked.text, /1/)
  assert.equal((await stage.web.api('DELETE', 'queues/other?candidates=1')).status, 200)
  assert.equal((await stage.web.turn(session, 'still here?')).reason.kind, 'completed', 'the first queue answers for it')
  assert.ok((await stage.journal('queue_gone', entry => entry.asked === 'other')).length > 0)
})

test('R33: a call explains itself', async () => {
  stage.upstream.plan('asked-1', exploded())
  const session = await stage.session(q.asked)
  await stage.web.turn(session, 'hi')
  const { past } = (await stage.web.api('GET', 'calls')).json
  const call = past.find(one => one.session === session && one.purpose === 'main')
  assert.equal(call.queue, 'asked')
  assert.equal(call.route, 'mock/asked-2')
  assert.deepEqual(call.attempts.map(attempt => [attempt.route, attempt.class]), [['mock/asked-1', 'server_error'], ['mock/asked-2', null]])
  const { steps } = (await stage.web.api('GET', `calls/${call.call}`)).json
  assert.ok(steps.some(step => step.step === 'began' && step.route === 'mock/asked-1'), JSON.stringify(steps))
  assert.ok(steps.some(step => step.step === 'failed' && step.class === 'server_error'))
  const trace = await stage.web.api('GET', `calls/${call.call}/trace`)
  assert.equal(trace.status, 200)
  assert.ok(!trace.text.includes('hi there'))
})

test('R46: a value out of bounds is refused with the bound named', async () => {
  const { json: settings } = await stage.web.api('GET', 'settings')
  const change = (path, value) => stage.web.api('PATCH', 'settings', { changes: [{ do: 'set', path, value }] }, { 'if-match': `"${settings.hash}"` })
  const refused = await change('defaults.retries', 11)
  assert.equal(refused.status, 409, refused.text)
  assert.match(refused.text, /10/)
  const unknown = await change('defaults.retires', 1)
  assert.ok(unknown.status >= 400 && unknown.status < 500, unknown.text)
  assert.match(unknown.text, /retries/)
})

test('G12: secrets and words of calls are nowhere in what the interface tells', async () => {
  const session = await stage.session(q.spare)
  stage.upstream.plan('spare-1', exploded())
  await stage.web.turn(session, 'MARKER-PROMPT')
  for (const where of ['state', 'sessions', 'calls', 'journal', 'ledger', 'settings', 'export', `sessions/${session}`]) {
    const { text } = await stage.web.api('GET', where)
    assert.ok(!/MARKER-PROMPT|sk-mock-0123456789abcdef/.test(text), where)
  }
})
