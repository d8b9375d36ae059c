// The relay in the host, with the seed's rule that a commit is final (`rescue` off): who runs, how often, and what the agent hears.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, continues } from './lab/stage.mjs'
import { answerOf, badKey, callTool, cut, empty, exploded, hang, held, noModel, noMoney, ok, thinking, tooLong, truncated } from './lab/upstream.mjs'

const stage = new Stage()
const seedRule = { rescue: false }
const q = {
  first: stage.queue('first', 2, seedRule),
  later: stage.queue('later', 3, { ...seedRule, retries: 0 }),
  retried: stage.queue('retried', 2, seedRule),
  once: stage.queue('once', 2, { ...seedRule, retries: 0 }),
  flaky: stage.queue('flaky', 2, seedRule),
  four: stage.queue('four', 5, { ...seedRule, retries: 0 }),
  auto: stage.queue('auto', 2, { ...seedRule, retries: 0, continue_on_failover: 'auto' }),
  never: stage.queue('never', 2, { ...seedRule, retries: 0, continue_on_failover: 'never' }),
  held: stage.queue('held', 2, { ...seedRule, retries: 0 }),
  late: stage.queue('late', 2, { ...seedRule, retries: 0 }),
  thought: stage.queue('thought', 2, { ...seedRule, retries: 0, commit: 'first-output' }),
  stopped: stage.queue('stopped', 2, seedRule),
  hollow: stage.queue('hollow', 2, { ...seedRule, retries: 0 }),
  rotated: stage.queue('rotated', 2, { ...seedRule, retries: 0 }),
  long: stage.queue('long', 2, { ...seedRule, retries: 0 }),
  large: stage.queue('large', 2, { ...seedRule, retries: 0 }),
  quota: stage.queue('quota', 2, seedRule),
  key: stage.queue('key', 2, seedRule),
  gone: stage.queue('gone', 2, seedRule),
  all: stage.queue('all', 2, { ...seedRule, retries: 0, retry_when_all_quarantined: false }),
  again: stage.queue('again', 2, { ...seedRule, retries: 0 }),
  tools: stage.queue('tools', 2, { ...seedRule, retries: 0 }),
  off: stage.queue('off', 2, { ...seedRule, enabled: false }),
  budget: stage.queue('budget', 2, { ...seedRule, retries: 10, attempts_max: 4 }),
  none: stage.queue('none', 0),
  titled: stage.queue('titled', 2, { ...seedRule, retries: 0 }),
}
const plan = (...words) => stage.upstream.plan(...words)
const calls = queue => stage.upstream.order(...queue.models)

before(() => stage.open())
after(() => stage.close())

test('D1, R1, R2: the provider lists the queues, and the first candidate runs', async () => {
  const models = await stage.web.rpc('llm.listModels', {}).catch(() => undefined)
  if (models) assert.match(JSON.stringify(models), /"ekiden"/)
  const { text, reason, messages } = await stage.turn(q.first)
  assert.equal(text, answerOf('first-1'))
  assert.equal(reason.kind, 'completed')
  assert.deepEqual(calls(q.first), ['first-1'])
  assert.equal(messages[0].data.message.source.provider, 'ekiden')
})

test('R2, R3, R9: the order is the user’s, and each failover moves one on', async () => {
  plan('later-1', exploded())
  plan('later-2', badKey())
  const session = await stage.session(q.later)
  assert.equal((await stage.web.turn(session, 'one')).text, answerOf('later-3'))
  assert.deepEqual(calls(q.later), ['later-1', 'later-2', 'later-3'])
  assert.equal((await stage.web.turn(session, 'two')).text, answerOf('later-3'), 'both are out for this session')
  assert.equal(calls(q.later).length, 4)
})

test('R7: two retries of the same bytes, at once, then the failover', async () => {
  plan('retried-1', exploded())
  assert.equal((await stage.turn(q.retried)).text, answerOf('retried-2'))
  const tries = stage.upstream.of('retried-1')
  assert.equal(tries.length, 3)
  assert.deepEqual(tries[1].body, tries[0].body)
  assert.deepEqual(tries[2].body, tries[0].body)
})

test('R7: with no retries each candidate has one try', async () => {
  plan('once-1', exploded())
  await stage.turn(q.once)
  assert.deepEqual(calls(q.once), ['once-1', 'once-2'])
})

test('R7: success after a retry is verified and not quarantined', async () => {
  plan('flaky-1', [exploded(), exploded(), ok()])
  const session = await stage.session(q.flaky)
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('flaky-1'))
  const { quarantined, verified } = await stage.known(session)
  assert.deepEqual(quarantined, [])
  assert.deepEqual(verified.map(one => one.route), ['mock/flaky-1'])
})

test('R9: the n-th failover carries n messages to go on, three at most, after what was there', async () => {
  for (const model of q.four.models.slice(0, 4)) plan(model, exploded())
  await stage.turn(q.four, 'write it')
  const bodies = q.four.models.map(model => stage.upstream.of(model)[0])
  assert.deepEqual(bodies.map(call => continues(call)), [0, 1, 2, 3, 3])
  const original = bodies[0].body.messages
  for (const { body } of bodies) assert.deepEqual(body.messages.slice(0, original.length), original)
})

test('R9: auto goes on only where something was said, never does not', async () => {
  plan('auto-1', [exploded(), ok()])
  await stage.turn(q.auto)
  assert.equal(continues(stage.upstream.of('auto-2')[0]), 0)
  plan('never-1', exploded())
  await stage.turn(q.never)
  assert.equal(continues(stage.upstream.of('never-2')[0]), 0)
})

test('R10, R16: what a failed attempt said before commit is dropped whole', async () => {
  plan('held-1', thinking('secret thoughts of the first', 'cut'))
  plan('held-2', ok('Only this.'))
  const session = await stage.session({ id: 'held' })
  const { text, messages } = await stage.web.turn(session, 'hi')
  assert.equal(text, 'Only this.')
  assert.ok(!JSON.stringify(stage.web.of(session)).includes('secret thoughts'), 'reasoning is held too')
  assert.equal(messages.length, 1)
})

test('R10: after commit a failure is told as it is, and nobody goes on in its place', async () => {
  plan('late-1', cut('Half an answer '))
  const session = await stage.session(q.late)
  const { reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'error')
  assert.deepEqual(calls(q.late), ['late-1'])
  const { quarantined, verified } = await stage.known(session)
  assert.deepEqual(quarantined.map(one => one.route), ['mock/late-1'], 'judged at once')
  assert.deepEqual(verified, [])
})

test('R10: reasoning is held with first-output, and comes out whole with the answer', async () => {
  plan('thought-1', thinking('step by step', ok('Therefore.')))
  const { text, messages } = await stage.turn(q.thought)
  assert.equal(text, 'Therefore.')
  assert.match(JSON.stringify(messages[0].data.message.content), /step by step/)
})

test('R12: a stop is nobody’s failure: upstream is left, nothing is recorded', async () => {
  plan('stopped-1', hang())
  const session = await stage.session(q.stopped)
  await stage.web.send(session, 'hi')
  const call = await stage.upstream.arrived('stopped-1')
  await stage.web.cancel(session)
  assert.ok((await call.over).left)
  const { reason } = await stage.web.ended_turn(session)
  assert.equal(reason.kind, 'aborted')
  assert.deepEqual(calls(q.stopped), ['stopped-1'])
  const known = await stage.known(session)
  assert.deepEqual(known?.quarantined ?? [], [])
  assert.deepEqual((await stage.candidate(q.stopped, 1)).today, { successes: 0, failures: 0 })
})

test('R13: an empty answer is a failure', async () => {
  plan('hollow-1', empty())
  const session = await stage.session(q.hollow)
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('hollow-2'))
  assert.equal((await stage.known(session)).quarantined[0].class, 'empty_response')
})

test('R14: a truncation goes out as it is; after two in a row the next one starts: A A B B A A', async () => {
  for (const model of q.rotated.models) plan(model, truncated())
  const session = await stage.session(q.rotated)
  for (let turn = 0; turn < 6; turn++) {
    const { reason, text } = await stage.web.turn(session, `part ${turn}`)
    assert.equal(reason.kind, 'max-tokens')
    assert.equal(text, 'The first part, ')
  }
  const [a, b] = q.rotated.models
  assert.deepEqual(calls(q.rotated), [a, a, b, b, a, a])
  assert.deepEqual((await stage.known(session)).quarantined, [])
  assert.ok((await stage.journal('rotated', entry => entry.session === session)).length > 0)
  plan(a, ok())
  plan(b, ok())
  await stage.web.turn(session, 'whole')
  await stage.web.turn(session, 'whole again')
  assert.equal(calls(q.rotated).at(-1), a, 'a normal end clears the count')
})

test('R15: an overflow is not relayed: the host compacts and asks again', async () => {
  const [model, next] = q.long.models
  const session = await stage.session(q.long)
  for (let turn = 0; turn < 3; turn++) await stage.web.turn(session, `first words, number ${turn}`)
  plan(model, [tooLong(), ok()])
  const { reason, text } = await stage.web.turn(session, 'and now?')
  assert.equal(text, answerOf(model))
  assert.equal(reason.kind, 'completed')
  assert.deepEqual(stage.upstream.of(next), [], 'no failover')
  assert.ok(stage.upstream.of(model, 'compaction').length > 0, 'the history was compacted through the queue')
  const { quarantined } = await stage.known(session)
  assert.deepEqual(quarantined, [])
  assert.equal(continues(stage.upstream.of(model).at(-1)), 0)
})

test('R15: overflow under other statuses is told by its text; a 422 of another kind fails over', async () => {
  plan('large-1', [ok(), tooLong(422), ok()])
  const session = await stage.session(q.large)
  await stage.web.turn(session, 'first')
  await stage.web.turn(session, 'second')
  assert.deepEqual(stage.upstream.of('large-2'), [])
})

test('section 3: quota, a bad key and a model that is gone are tried again, judged, and passed on', async () => {
  for (const [queue, step, wanted] of [[q.quota, noMoney(), 'quota_exhausted'], [q.key, badKey(), 'auth'], [q.gone, noModel(), 'not_found']]) {
    plan(queue.models[0], step)
    const session = await stage.session(queue)
    assert.equal((await stage.web.turn(session, 'hi')).text, answerOf(queue.models[1]))
    assert.equal(stage.upstream.of(queue.models[0]).length, 3, 'a pool of accounts may stand behind it')
    const { quarantined } = await stage.known(session)
    assert.deepEqual(quarantined.map(one => [one.route, one.class]), [[queue.routes[0], wanted]])
  }
})

test('R5, R45: when all failed the error names each candidate with its class, and the host does not run it again', async () => {
  plan('all-1', exploded())
  plan('all-2', badKey())
  const session = await stage.session(q.all)
  const { reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'error')
  assert.match(reason.error.message, /all-1/)
  assert.match(reason.error.message, /all-2/)
  assert.match(reason.error.message, /server_error/)
  assert.match(reason.error.message, /auth/)
  assert.equal(calls(q.all).length, 2, 'D5: no retry policy of the host ran the queue again')
  const second = await stage.web.turn(session, 'again')
  assert.equal(second.reason.kind, 'error')
  assert.equal(calls(q.all).length, 2, 'all are quarantined, and retry_when_all_quarantined is off')
})

test('R5: with all quarantined the next call tries them once more in order, and success lifts the quarantine', async () => {
  plan('again-1', [exploded(), ok()])
  plan('again-2', exploded())
  const session = await stage.session(q.again)
  assert.equal((await stage.web.turn(session, 'hi')).reason.kind, 'error')
  assert.equal((await stage.web.turn(session, 'once more')).text, answerOf('again-1'))
  assert.deepEqual(calls(q.again), ['again-1', 'again-2', 'again-1'])
  const { quarantined } = await stage.known(session)
  assert.deepEqual(quarantined.map(one => one.route), ['mock/again-2'])
})

test('R10: a tool call commits, runs, and the turn goes on with its result', async () => {
  plan('tools-1', exploded())
  plan('tools-2', [callTool('todo_write', { todos: [] }), ok('Done with the tool.')])
  const session = await stage.session(q.tools)
  const { text, reason } = await stage.web.turn(session, 'use it')
  assert.equal(reason.kind, 'completed')
  assert.match(text, /Done with the tool\.$/)
  const last = stage.upstream.of('tools-2').at(-1).body.messages
  assert.ok(last.some(message => message.role === 'tool'), 'the result came back')
  assert.equal(stage.upstream.of('tools-1').length, 1, 'the second step starts where the first one ended')
})

test('R0: a queue that is switched off is one try on its first candidate, and nothing is recorded', async () => {
  plan('off-1', exploded())
  const session = await stage.session(q.off)
  assert.equal((await stage.web.turn(session, 'hi')).reason.kind, 'error')
  assert.deepEqual(calls(q.off), ['off-1'])
  assert.deepEqual((await stage.known(session))?.quarantined ?? [], [])
})

test('R8: attempts per call are bounded, and an untried candidate keeps its one', async () => {
  plan('budget-1', exploded())
  assert.equal((await stage.turn(q.budget)).text, answerOf('budget-2'))
  assert.deepEqual(calls(q.budget), ['budget-1', 'budget-1', 'budget-1', 'budget-2'])
})

test('R1: an empty queue says where to add candidates', async () => {
  const { reason } = await stage.turn(q.none)
  assert.equal(reason.kind, 'error')
  assert.match(reason.error.message, /none/)
  assert.match(reason.error.message, /candidate|候选/)
})

test('R1: an unknown model is refused with the nearest names', async () => {
  const session = await stage.web.session('ekiden', 'frist')
  const { reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'error')
  assert.match(reason.error.message, /first/)
})

test('R47: titles and compactions go by their purpose: no seat, no mark, no tally of the session', async () => {
  plan('titled-1', exploded(), 'title')
  const session = await stage.session(q.titled)
  await stage.web.turn(session, 'a title, please')
  const title = await stage.upstream.arrived('titled-2', 1, 'title')
  assert.equal(continues(title), 0, 'an inner call is never told to go on')
  assert.equal(title.body.max_tokens, 64, 'the limit that the caller asked for is kept')
  const { quarantined, verified } = await stage.known(session)
  assert.deepEqual(quarantined, [])
  assert.deepEqual(verified.map(one => one.route), ['mock/titled-1'])
})
