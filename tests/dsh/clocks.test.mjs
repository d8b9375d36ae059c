// What takes its time: stalls, cooldowns, stand-ins, paroles. The waits are the product's own, made short.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, continues, gate } from './lab/stage.mjs'
import { answerOf, exploded, gated, hang, hangAfterHead, hangAfterText, held, limited, ok, refuse } from './lab/upstream.mjs'

const stage = new Stage({ defaults: { retries: 0, rescue: false, idle_timeout: '1s', parole_after: '0s' } })
const q = {
  silent: stage.queue('silent', 2, { retries: 2 }),
  headed: stage.queue('headed', 2),
  thinker: stage.queue('thinker', 2, { commit: 'first-output' }),
  broken: stage.queue('broken', 2),
  patient: stage.queue('patient', 1, { idle_timeout: '0s' }),
  limited: stage.queue('limited', 2, { cooldown: '60s' }),
  worded: stage.queue('worded', 2, { wait_max: '0s' }),
  short: stage.queue('short', 2, { retries: 1 }),
  flat: stage.queue('flat', 2, { cooldown: '0s' }),
  stand: stage.queue('stand', 2, { inline_wait: '0s', idle_timeout: '0s' }),
  shared: stage.queue('shared', 2, { cooldown: '60s' }),
  paroled: stage.queue('paroled', 2, { parole_after: '1s', judged_memory: '0s' }),
  never: stage.queue('never', 2),
  delayed: stage.queue('delayed', 2, { continue_delay: '400ms', retries: 1 }),
  waiting: stage.queue('waiting', 1, { wait_max: '10s', inline_wait: '0s' }),
  last: stage.queue('last', 1, { wait_max: '0s' }),
}
before(() => stage.open())
after(() => stage.close())
const calls = queue => stage.upstream.order(...queue.models)

for (const [name, step] of [['silent', hang()], ['headed', hangAfterHead()]]) {
  test(`R11: a candidate that says nothing (${name}) is left without waiting for it, not retried, and judged as a stall`, async () => {
    stage.upstream.plan(`${name}-1`, step)
    const session = await stage.session(name)
    assert.equal((await stage.web.turn(session, 'hi')).text, answerOf(`${name}-2`))
    const [first] = stage.upstream.of(`${name}-1`)
    assert.ok((await first.over).left)
    assert.equal(stage.upstream.of(`${name}-1`).length, 1)
    const { quarantined, speeds } = await stage.known(session)
    assert.deepEqual(quarantined.map(one => one.class), ['stall'])
    assert.deepEqual(speeds.filter(one => one.route === `mock/${name}-1`), [], 'no speed of it')
    assert.ok((await stage.journal('stalled', entry => entry.route === `mock/${name}-1`)).length === 1)
  })
}

test('R11: thoughts are progress: the clock starts anew with each', async () => {
  stage.upstream.plan('thinker-1', async answer => {
    answer.head()
    for (let thought = 0; thought < 4; thought++) {
      answer.delta({ reasoning_content: `thought ${thought} ` })
      await new Promise(done => setTimeout(done, 400))
    }
    await answer.text('After longer than the clock allows.')
    answer.end()
  })
  assert.equal((await stage.turn(q.thinker)).text, 'After longer than the clock allows.')
  assert.deepEqual(calls(q.thinker), ['thinker-1'])
})

test('R11, R10: a stall after commit is told as it is', async () => {
  stage.upstream.plan('broken-1', hangAfterText())
  const session = await stage.session(q.broken)
  assert.equal((await stage.web.turn(session, 'hi')).reason.kind, 'error')
  assert.deepEqual(calls(q.broken), ['broken-1'])
})

test('R11: an idle clock of 0 waits as long as the user does', async () => {
  const open = gate()
  stage.upstream.plan('patient-1', gated(open.promise))
  const session = await stage.session(q.patient)
  await stage.web.send(session, 'hi')
  await stage.upstream.arrived('patient-1')
  const other = await stage.session(q.headed)
  stage.upstream.plan('headed-1', hang())
  await stage.web.turn(other, 'a stall of another passes meanwhile')
  open.resolve()
  assert.equal((await stage.web.ended_turn(session)).text, answerOf('patient-1'))
})

test('R21: a rate limit is no quarantine: the route cools for everybody, and nothing of it is on the disk', async () => {
  stage.upstream.plan('limited-1', refuse(429, 'Too many requests', { code: 'rate_limit_exceeded' }))
  const session = await stage.session(q.limited)
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('limited-2'))
  assert.deepEqual((await stage.known(session)).quarantined, [])
  const { state, ends_in_ms } = await stage.candidate(q.limited, 1)
  assert.equal(state, 'cooling')
  assert.ok(ends_in_ms > 50_000 && ends_in_ms <= 60_000, String(ends_in_ms))
  const other = await stage.session(q.limited)
  assert.equal((await stage.web.turn(other, 'hi')).text, answerOf('limited-2'))
  assert.deepEqual(calls(q.limited), ['limited-1', 'limited-2', 'limited-2'])
})

test('R21: the wait that an error names holds, in words and as an instant', async () => {
  const until = new Date(Date.now() + 40_000).toISOString()
  stage.upstream.plan('worded-1', refuse(429, `rate limited until ${until}`))
  stage.upstream.plan('worded-2', [limited('rate-limited, try again in 20 seconds'), ok()])
  const session = await stage.session(q.worded)
  await stage.web.turn(session, 'hi')
  const [one, two] = [await stage.candidate(q.worded, 1), await stage.candidate(q.worded, 2)]
  assert.ok(one.ends_in_ms > 30_000 && one.ends_in_ms <= 40_000, String(one.ends_in_ms))
  assert.ok(two.ends_in_ms > 10_000 && two.ends_in_ms <= 20_000, String(two.ends_in_ms))
})

test('R23: a wait of at most three seconds is waited for, and the same bytes go again', async () => {
  stage.upstream.plan('short-1', [limited('Rate limit reached, retry after 1s'), ok()])
  assert.equal((await stage.turn(q.short)).text, answerOf('short-1'))
  const [first, second] = stage.upstream.of('short-1')
  assert.deepEqual(second.body, first.body)
  assert.ok(second.at - first.at >= 900)
})

test('R21: a cooldown of 0 makes a limit a quarantine', async () => {
  stage.upstream.plan('flat-1', refuse(429, 'Too many requests'))
  const session = await stage.session(q.flat)
  await stage.web.turn(session, 'hi')
  assert.deepEqual((await stage.known(session)).quarantined.map(one => one.class), ['rate_limited'])
})

test('R22: when the time is up, the run that stands in holds it back until it ends', async () => {
  const open = gate()
  stage.upstream.plan('stand-1', [limited('retry after 1s'), ok()])
  stage.upstream.plan('stand-2', held(open.promise, 'standing ', 'in.'))
  const session = await stage.session(q.stand)
  await stage.web.send(session, 'hi')
  await stage.upstream.arrived('stand-2')
  const limitedAt = stage.upstream.of('stand-1')[0].at
  let candidate
  do candidate = await stage.candidate(q.stand, 1)
  while (candidate.state === 'cooling' && performance.now() - limitedAt < 10_000)
  assert.notEqual(candidate.state, 'cooling')
  assert.deepEqual((await stage.known(session)).stands_in_for, ['mock/stand-1'], 'the limit is over, and it waits for this run')
  open.resolve()
  assert.equal((await stage.web.ended_turn(session)).text, 'standing in.')
  assert.equal((await stage.web.turn(session, 'next')).text, answerOf('stand-1'), 'its run is over: back to the head')
})

test('R5: alone and cooling it is waited for within wait_max', async () => {
  stage.upstream.plan('waiting-1', [limited('retry after 1s'), ok()])
  const session = await stage.session(q.waiting)
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('waiting-1'))
  const [first, second] = stage.upstream.of('waiting-1')
  assert.ok(second.at - first.at >= 900, `${second.at - first.at} ms`)
})

test('R5, R45: without a wait the host is told when to come back', async () => {
  stage.upstream.plan('last-1', limited('retry after 20s'))
  const session = await stage.session(q.last)
  const { reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.error.code, 'RATE_LIMIT')
  assert.match(reason.error.message, /last-1/)
  assert.ok(reason.error.providerRetryAfterMs > 0 || /\d+ ?s/.test(reason.error.message), JSON.stringify(reason.error))
})

test('R18: after parole_after one call tries again, and success lifts the quarantine', async () => {
  stage.upstream.plan('paroled-1', [exploded(), ok()])
  const session = await stage.session(q.paroled)
  await stage.web.turn(session, 'hi')
  const began = performance.now()
  let text
  do text = (await stage.web.turn(session, 'again')).text
  while (text !== answerOf('paroled-1') && performance.now() - began < 15_000)
  assert.equal(text, answerOf('paroled-1'))
  assert.deepEqual((await stage.known(session)).quarantined, [])
  assert.ok((await stage.journal('on_trial', entry => entry.route === 'mock/paroled-1' && entry.mode === 'parole')).length === 1)
})

test('R9: only what goes on waits before it: retries do not', async () => {
  stage.upstream.plan('delayed-1', exploded())
  await stage.turn(q.delayed)
  const [first, second] = stage.upstream.of('delayed-1')
  const [third] = stage.upstream.of('delayed-2')
  assert.ok(third.at - second.at >= 380, `${third.at - second.at} ms before the failover`)
  assert.ok(second.at - first.at < third.at - second.at, 'the retry came at once')
  assert.equal(continues(third), 1)
})
