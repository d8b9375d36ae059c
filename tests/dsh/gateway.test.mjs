// The host pointed at the gateway, one way for each kind of provider that it has; docs/dsh.md says the same. What counts: the turn
// comes home through the queue, and calls of one session are one session.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Gateway } from './lab/gateway.mjs'
import { Home } from './lab/host.mjs'
import { Upstream, answerOf, exploded } from './lab/upstream.mjs'

let upstream, gateway, home, web

before(async () => {
  upstream = await Upstream.start()
  upstream.plan('bad', exploded())
  const provider = (name, dialect) => `
[providers.${name}]
base_url = "${upstream.url}"
dialect = "${dialect}"
api_key_env = "MOCK_API_KEY"
`
  gateway = await Gateway.start(`${provider('chat', 'openai-chat')}${provider('anthropic', 'anthropic-messages')}
[defaults]
retries = 0
[queues.default]
candidates = ["chat/bad", "chat/good"]
[queues.claude]
candidates = ["anthropic/good"]
[aliases]
"deepseek-v4-*" = "default"
`)
  const openAi = `${gateway.base}/v1`
  home = new Home().offer(openAi, [
    { provider: 'plain', id: 'default' },
    { provider: 'named', id: 'default', profile: { cacheRetention: 'long' } },
    { provider: 'newer', id: 'default', profile: { api: 'openai-responses', compat: {} } },
    { provider: 'claude', id: 'claude', profile: { api: 'anthropic-messages', baseURL: gateway.base, compat: {} } },
  ])
  web = await home.web({ env: { DEEPSEEK_BASE_URL: openAi, DEEPSEEK_API_KEY: 'any' } })
})

after(async () => {
  await web?.stop()
  await gateway?.stop()
  await upstream?.stop()
  home?.dispose()
})

/** Two turns of one session, and the sessions of the gateway that they were. */
async function twoTurns(provider, model, expected = answerOf('good')) {
  const known = new Set((await gateway.api('GET', 'sessions')).json.sessions.map(session => session.key))
  const session = await web.session(provider, model)
  assert.equal((await web.turn(session, 'first')).text, expected)
  assert.equal((await web.turn(session, 'second')).text, expected)
  const { sessions } = (await gateway.api('GET', 'sessions')).json
  const made = sessions.filter(one => !known.has(one.key) && !one.background)
  return { session, made: made.map(one => one.key) }
}

test('G4: openai-completions with cacheRetention long names its session', async () => {
  const { session, made } = await twoTurns('named', 'default')
  assert.equal(made.length, 1)
  assert.ok(made[0].endsWith(`.${session}`), made[0])
  assert.deepEqual(upstream.order('bad', 'good').slice(0, 2), ['bad', 'good'])
})

test('G4: plain openai-completions is known by how its conversation begins', async () => {
  const { made } = await twoTurns('plain', 'default')
  assert.ok(made.some(key => key.includes('.root-')), made.join(' '))
})

test('G1: openai-responses is told what to use instead', async () => {
  const session = await web.session('newer', 'default')
  const { reason } = await web.turn(session, 'first')
  assert.equal(reason.kind, 'error')
  assert.match(reason.error.message, /Responses API comes in a later version/)
})

test('G4: anthropic-messages is known by how its conversation begins', async () => {
  const { made } = await twoTurns('claude', 'claude')
  assert.ok(made.some(key => key.includes('.root-')), made.join(' '))
})

test('G4: the native adapter names its session', async () => {
  const { session, made } = await twoTurns('deepseek-official', 'deepseek-v4-flash')
  assert.ok(made.length === 1 && made[0].endsWith(`.${session}`), made.join(' '))
})
