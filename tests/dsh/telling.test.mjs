// What the plugin tells of itself in the host: speeds, tallies, who runs, the journal, the ledger, the day, the service, the events.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, gate } from './lab/stage.mjs'
import { answerOf, exploded, gated, held, limited, ok, thinking } from './lab/upstream.mjs'

// A zone in which it is about noon, so that its day can be turned by setting the hour.
const offset = 12 - new Date().getUTCHours()
const zone = offset === 0 ? 'UTC' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`
const stage = new Stage({
  time_zone: zone, reset_hour: 15, aliases: { 'fast-*': 'aliased' },
  defaults: { retries: 0, rescue: false },
})
const q = {
  aliased: stage.queue('aliased', 1),
  spoken: stage.queue('spoken', 1),
  running: stage.queue('running', 2),
  tallied: stage.queue('tallied', 2),
  cooled: stage.queue('cooled', 2),
  back: stage.queue('back', 2),
  paid: stage.queue('paid', 2),
  served: stage.queue('served', 2),
  day: stage.queue('day', 2),
}
before(() => stage.open({ probe: true }))
after(() => stage.close())

test('R1: an alias of the user leads to its queue', async () => {
  const session = await stage.web.session('ekiden', 'fast-one')
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('aliased-1'))
})

test('R30: speed is output tokens from the first token to the end, summed over the turns of a session', async () => {
  const pause = () => new Promise(done => setTimeout(done, 250))
  stage.upstream.plan('spoken-1', async answer => {
    await pause()
    answer.head()
    await answer.text('One two ')
    await pause()
    await answer.text('three.')
    answer.end('stop', 50)
  })
  const session = await stage.session(q.spoken)
  await stage.web.turn(session, 'a')
  await stage.web.turn(session, 'b')
  const [speed] = (await stage.known(session)).speeds
  assert.equal(speed.tokens, 100)
  assert.ok(speed.ms >= 480 && speed.ms < 980, `${speed.ms} ms: the wait for the first token is left out`)
  assert.ok(Math.abs(speed.per_second - 100_000 / speed.ms) <= 0.5, String(speed.per_second))
})

test('R31: who runs now is shown while it runs, and a failover shows at once', async () => {
  const open = gate()
  stage.upstream.plan('running-1', exploded())
  stage.upstream.plan('running-2', gated(open.promise))
  const session = await stage.session(q.running)
  await stage.web.send(session, 'hi')
  await stage.upstream.arrived('running-2')
  const known = await stage.known(session)
  assert.deepEqual([known.running, known.running_now], [1, 'mock/running-2'])
  open.resolve()
  await stage.web.ended_turn(session)
  assert.deepEqual([(await stage.known(session)).running, (await stage.known(session)).running_now], [0, 'mock/running-2'])
})

test('R29: tallies are of the route, over all sessions and queues', async () => {
  stage.upstream.plan('tallied-1', exploded())
  await stage.turn(q.tallied)
  await stage.turn(q.tallied)
  assert.deepEqual((await stage.candidate(q.tallied, 1)).today, { successes: 0, failures: 2 })
  assert.deepEqual((await stage.candidate(q.tallied, 2)).today, { successes: 2, failures: 0 })
})

test('R19: a route’s cooldown is let go for everybody, and that is said', async () => {
  stage.upstream.plan('cooled-1', [limited('retry after 40s'), ok()])
  await stage.turn(q.cooled)
  const released = await stage.web.api('POST', 'release', { route: 'mock/cooled-1' })
  assert.deepEqual([released.json.released, released.json.for_everybody], ['route', true])
  assert.equal((await stage.turn(q.cooled)).text, answerOf('cooled-1'))
})

test('R20, R47: what titles learn goes to the background bucket, which is shown as such', async () => {
  stage.upstream.plan('back-1', exploded(), 'title')
  const session = await stage.session(q.back)
  await stage.web.turn(session, 'a title')
  await stage.upstream.arrived('back-2', 1, 'title')
  const look = async () => (await stage.web.api('GET', 'sessions')).json.sessions.find(one => one.background)
  let bucket
  const began = performance.now()
  do bucket = await look()
  while (!bucket?.quarantined.some(one => one.route === 'mock/back-1') && performance.now() - began < 5_000)
  assert.ok(bucket.quarantined.some(one => one.route === 'mock/back-1'))
  assert.deepEqual((await stage.known(session)).quarantined, [])
})

test('R34: the ledger has a row for each attempt, and tells waste apart', async () => {
  stage.upstream.plan('paid-1', thinking('thoughts that are dropped', 'cut'))
  const session = await stage.session(q.paid)
  await stage.web.turn(session, 'hi')
  const began = performance.now()
  let sums
  do sums = (await stage.web.api('GET', `ledger?by=route&session=${session}`)).json.sums
  while (sums.length < 2 && performance.now() - began < 5_000)
  const of = route => sums.find(one => JSON.stringify(one).includes(route))
  assert.equal(of('mock/paid-1').waste.attempts, 1, JSON.stringify(sums))
  assert.equal(of('mock/paid-2').waste.attempts, 0)
  assert.equal(of('mock/paid-2').all.attempts >= 1, true)
})

test('R32: the journal says what happened and why, keeps its limit, and can be switched off', async () => {
  const kinds = (await stage.web.api('GET', 'journal')).json.entries.map(entry => entry.what)
  for (const kind of ['quarantined', 'failed_over', 'cooled', 'warmed']) assert.ok(kinds.includes(kind), `${kind} in ${kinds}`)
  await stage.set('journal.entries_max', 3)
  await stage.turn(q.tallied)
  const entries = async () => (await stage.web.api('GET', 'journal')).json.entries
  const began = performance.now()
  while ((await entries()).length > 3 && performance.now() - began < 5_000);
  assert.ok((await entries()).length <= 3)
  await stage.set('journal.enabled', false)
  const before = (await entries())[0]?.number
  await stage.turn(q.tallied)
  assert.equal((await entries())[0]?.number, before)
  await stage.set('journal.enabled', true)
})

test('H6: other plugins find the service under both names', async () => {
  const ask = async query => (await fetch(`${stage.web.base}/lab-probe/service?${query}`)).json()
  const { same, status } = await ask('do=status')
  assert.equal(same, true)
  assert.ok(status.queues.some(queue => queue.id === 'served'))
  stage.upstream.plan('served-1', exploded())
  const session = await stage.session(q.served)
  await stage.web.turn(session, 'hi')
  assert.equal((await ask('do=reset')).done.ok, true)
  assert.deepEqual((await stage.known(session)).quarantined, [])
  assert.equal((await ask('do=set')).done.ok, true)
  const { settings } = (await stage.web.api('GET', 'settings')).json
  assert.equal(settings.find(one => one.path === 'defaults.cooldown').value, '77s')
  const refused = await ask('do=bad')
  assert.equal(refused.done.ok, false)
})

test('section 7: changes come as events, one for each', async () => {
  const stop = new AbortController()
  const response = await fetch(`${stage.web.base}/ekiden/api/v1/events`, { signal: stop.signal })
  assert.match(response.headers.get('content-type'), /text\/event-stream/)
  const session = await stage.session(q.aliased)
  await stage.web.turn(session, 'hi')
  let text = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part
    if (/event: ?call_ended/.test(text)) break
  }
  stop.abort()
  for (const event of ['call_opened', 'attempt', 'call_ended']) assert.match(text, new RegExp(`event: ?${event}`))
})

test('R17: when the day turns, quarantines, marks, tallies and speeds are gone', async () => {
  stage.upstream.plan('day-1', [exploded(), ok()])
  const session = await stage.session(q.day)
  await stage.web.turn(session, 'before')
  assert.equal((await stage.known(session)).quarantined.length, 1)
  const { day } = (await stage.web.api('GET', 'state')).json
  await stage.set('reset_hour', 11)
  const turned = (await stage.web.api('GET', 'state')).json
  assert.equal(turned.day.number, day.number + 1)
  const known = await stage.known(session)
  assert.deepEqual([known?.quarantined ?? [], known?.verified ?? [], known?.speeds ?? []], [[], [], []])
  assert.deepEqual((await stage.candidate(q.day, 2)).today, { successes: 0, failures: 0 })
  assert.equal((await stage.web.turn(session, 'after')).text, answerOf('day-1'), 'the first one begins again')
})
