// The other policies of a queue, in the host (spec section 4): health, chain, persist.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage } from './lab/stage.mjs'
import { answerOf, badKey, exploded, hang, noMoney, ok } from './lab/upstream.mjs'

const stage = new Stage()
const q = {
  health: stage.queue('health', 2, { policy: 'health' }),
  dead: stage.queue('dead', 2, { policy: 'health' }),
  chain: stage.queue('chain', 3, { policy: 'chain', breaker_cooldown: '1s' }),
  other: stage.queue('other', 2, { policy: 'chain' }),
  persist: stage.queue('persist', 2, { policy: 'persist', backoff: '100ms', backoff_max: '100ms' }),
  never: stage.queue('never', 1, { policy: 'persist', backoff: '100ms' }),
  paused: stage.queue('paused', 1, { policy: 'persist', backoff: '30s' }),
  rounds: stage.queue('rounds', 1, { policy: 'persist', backoff: '50ms', backoff_max: '50ms', max_rounds: 2 }),
}
before(() => stage.open())
after(() => stage.close())
const calls = queue => stage.upstream.order(...queue.models)

test('H1, H3, H5: a failure cools for everybody from the next call on, and the current one stays', async () => {
  stage.upstream.plan('health-1', [exploded(), ok()])
  const [one, two] = [await stage.session(q.health), await stage.session(q.health)]
  await stage.web.turn(one, 'a')
  assert.equal((await stage.web.turn(two, 'b')).text, answerOf('health-2'))
  assert.equal((await stage.web.turn(one, 'c')).text, answerOf('health-2'))
  assert.equal(stage.upstream.of('health-1').length, 1)
  assert.deepEqual((await stage.known(one))?.quarantined ?? [], [], 'no quarantine')
})

test('H2: a bad key cools at once to the maximum', async () => {
  stage.upstream.plan('dead-1', badKey())
  await stage.turn(q.dead)
  const { state, ends_in_ms } = await stage.candidate(q.dead, 1)
  assert.equal(state, 'cooling')
  assert.ok(ends_in_ms > 500_000 && ends_in_ms <= 600_000, String(ends_in_ms))
})

test('C3, C4, C5: a failure of its classes switches inside the call; after the cooldown one real call tries the head again', async () => {
  stage.upstream.plan('chain-1', [exploded(), ok()])
  const session = await stage.session(q.chain)
  assert.equal((await stage.web.turn(session, 'a')).text, answerOf('chain-2'))
  const began = performance.now()
  let text
  do text = (await stage.web.turn(session, 'b')).text
  while (text !== answerOf('chain-1') && performance.now() - began < 15_000)
  assert.equal(text, answerOf('chain-1'))
})

test('C3: a failure of another class goes up', async () => {
  stage.upstream.plan('other-1', noMoney())
  assert.equal((await stage.turn(q.other)).reason.kind, 'error')
  assert.deepEqual(calls(q.other), ['other-1'])
})

test('P1: when the queue is through, a transient failure waits and goes round again on the same call', async () => {
  stage.upstream.plan('persist-1', [exploded(), exploded(), ok()])
  stage.upstream.plan('persist-2', exploded())
  const { text, messages } = await stage.turn(q.persist)
  assert.equal(text, answerOf('persist-1'))
  assert.equal(messages.length, 1)
  assert.deepEqual(calls(q.persist), ['persist-1', 'persist-2', 'persist-1', 'persist-2', 'persist-1'])
})

test('P1: max_rounds ends it', async () => {
  stage.upstream.plan('rounds-1', exploded())
  assert.equal((await stage.turn(q.rounds)).reason.kind, 'error')
  assert.equal(calls(q.rounds).length, 3)
})

test('P3: never for a bad key', async () => {
  stage.upstream.plan('never-1', badKey())
  assert.equal((await stage.turn(q.never)).reason.kind, 'error')
  assert.deepEqual(calls(q.never), ['never-1'])
})

test('P5: a pause ends a waiting call with its last failure, and new ones do not persist until they are resumed', async () => {
  stage.upstream.plan('paused-1', exploded())
  const session = await stage.session(q.paused)
  await stage.web.send(session, 'hi')
  await stage.upstream.arrived('paused-1')
  assert.equal((await stage.web.api('POST', 'pause', { session })).status, 200)
  const { reason } = await stage.web.ended_turn(session)
  assert.equal(reason.kind, 'error')
  assert.match(reason.error.message, /server_error|exploded/)
  assert.equal((await stage.web.turn(session, 'again')).reason.kind, 'error')
  assert.equal(calls(q.paused).length, 2)
  assert.equal((await stage.web.api('POST', 'resume', { session })).status, 200)
})

test('P5: a call that waits can be stopped by its id', async () => {
  stage.upstream.plan('paused-1', [exploded(), hang()])
  const session = await stage.session(q.paused)
  await stage.web.send(session, 'hi')
  await stage.upstream.arrived('paused-1', 3)
  const { open } = (await stage.web.api('GET', 'calls')).json
  const call = open.find(one => one.session === session && one.purpose === 'main')
  assert.equal((await stage.web.api('POST', `calls/${call.call}/stop`, {})).status, 200)
  assert.equal((await stage.web.ended_turn(session)).reason.kind, 'error')
})
