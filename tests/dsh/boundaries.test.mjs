// The boundaries that seed 000 names, line by line, with its own rules where they differ from ours by default: no parole before the
// day turns, and nothing is rescued after it was let through.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, before, test } from 'node:test'
import { Stage } from './lab/stage.mjs'
import { answerOf, callTool, cut, exploded, limited, ok, refuse, slow, truncated } from './lab/upstream.mjs'

const stage = new Stage({
  defaults: { retries: 0, parole_after: '0s', rescue: false, continue_delay: '300ms' },
  continuation: { enabled: true, failures_max: 1, truncations_max: 10 },
})
const q = {
  walls: stage.queue('walls', 2),
  limits: stage.queue('limits', 2),
  flat: stage.queue('flat', 2, { cooldown: '0s' }),
  loosed: stage.queue('loosed', 2),
  shown: stage.queue('shown', 2),
  spoken: stage.queue('spoken', 2),
  polite: stage.queue('polite', 1),
  effort: stage.queue('effort', 2),
}
// A second queue over the same models as the first.
const twin = { id: 'twin', models: q.walls.models }
stage.models('outside',
  { id: 'levelled', reasoningEfforts: { low: 'low', high: 'high' }, contextWindow: 65_536, maxTokens: 4_096 })
stage.extra = {
  twin: { continue_delay: '0s', candidates: q.walls.routes },
  levels: { continue_delay: '0s', candidates: [{ route: 'mock/levelled', effort: 'high' }] },
  unknown: { continue_delay: '0s', candidates: [{ route: 'mock/outside', effort: 'high' }] },
}
before(() => stage.open({ standard: q.shown }))
after(() => stage.close())

test('boundary 1 (R17, R29): quarantine is of a session × queue; the tallies are everybody’s', async () => {
  stage.upstream.plan('walls-1', exploded())
  const one = await stage.session(q.walls)
  await stage.web.turn(one, 'a')
  await stage.web.turn(one, 'b')
  assert.equal(stage.upstream.of('walls-1').length, 1, 'out for this session and queue')
  const two = await stage.session(q.walls)
  await stage.web.turn(two, 'c')
  assert.equal(stage.upstream.of('walls-1').length, 2, 'another session tries it')
  await stage.web.select(one, 'ekiden', twin.id)
  await stage.web.turn(one, 'd')
  assert.equal(stage.upstream.of('walls-1').length, 3, 'the same session tries it in another queue')
  assert.equal((await stage.candidate(q.walls, 1)).today.failures, 3)
  assert.equal((await stage.candidate(twin, 1)).today.failures, 3)
  assert.equal((await stage.candidate(q.walls, 2)).today.successes, 4)
})

test('boundary 2 (R21): a limit is in no list and on no disk, and a restart forgets it', async () => {
  stage.upstream.plan('limits-1', [limited('retry after 40s'), ok()])
  stage.upstream.plan('flat-1', refuse(429, 'rate-limited'))
  const session = await stage.session(q.limits)
  await stage.web.turn(session, 'a')
  assert.equal((await stage.candidate(q.limits, 1)).state, 'cooling')
  const flat = await stage.session(q.flat)
  await stage.web.turn(flat, 'a')
  assert.equal((await stage.known(flat)).quarantined.length, 1, 'with a cooldown of 0 the old rule holds')
  await stage.restart()
  assert.equal((await stage.candidate(q.limits, 1)).state, 'ready')
  assert.equal((await stage.known(flat)).quarantined.length, 1, 'a quarantine is on the disk')
  assert.equal((await stage.web.turn(session, 'b')).text, answerOf('limits-1'))
})

test('boundary 3 (R19): a release by row lets one session go, in all its queues, and no other; everything goes by hand alone', async () => {
  stage.upstream.plan('loosed-1', exploded())
  const [one, two] = [await stage.session(q.loosed), await stage.session(q.loosed)]
  await stage.web.turn(one, 'a')
  await stage.web.turn(two, 'a')
  const released = await stage.web.api('POST', 'release', { session: one })
  assert.deepEqual([released.json.released, released.json.for_everybody], ['session', false])
  assert.deepEqual((await stage.known(one)).quarantined, [])
  assert.equal((await stage.known(two)).quarantined.length, 1)
  await stage.web.api('POST', 'release', { session: two, queue: 'loosed', route: 'mock/loosed-1' })
  assert.deepEqual((await stage.known(two)).quarantined, [])
})

test('boundaries 4 and 5: only sessions that ran here are shown; what the host does not know of is kept', async () => {
  const outside = await stage.web.session('mock', 'outside')
  await stage.web.turn(outside, 'not by a queue')
  const inside = await stage.session(q.shown)
  await stage.web.turn(inside, 'by a queue')
  const { sessions } = (await stage.web.api('GET', 'sessions')).json
  const keys = sessions.map(session => session.key)
  assert.ok(keys.includes(inside))
  assert.ok(!keys.includes(outside))
})

test('boundary 4 (R42): the sessions of sub-agents are told apart, hidden unless they are asked for, and left to their parents', async () => {
  stage.upstream.plan('shown-1', async answer => {
    const text = JSON.stringify(answer.body.messages)
    if (text.includes('TASK-FOR-CHILD') && !answer.body.messages.some(message => message.role === 'tool' || JSON.stringify(message).includes('please delegate'))) {
      return truncated('The child was cut, ')(answer)
    }
    if (answer.body.messages.some(message => message.role === 'tool')) return ok('Delegated.')(answer)
    return callTool('subagent', { description: 'a child', prompt: 'TASK-FOR-CHILD', run_in_background: false })(answer)
  })
  const session = await stage.session(q.shown)
  const { reason } = await stage.web.turn(session, 'please delegate')
  assert.equal(reason.kind, 'completed')
  const list = async () => (await stage.web.api('GET', 'sessions')).json.sessions
  assert.ok((await list()).every(one => one.sub_agent !== true))
  await stage.set('appearance.subagent_sessions', true)
  assert.equal((await list()).filter(one => one.sub_agent === true).length, 1)
  const asked = stage.upstream.of('shown-1').filter(call => JSON.stringify(call.body.messages.at(-1)).includes('继续'))
  assert.deepEqual(asked, [], 'nobody told the child to go on')
})

test('boundary 6 (R10): after visible output nobody takes over', async () => {
  stage.upstream.plan('spoken-1', cut())
  const session = await stage.session(q.spoken)
  await stage.web.send(session, 'hi')
  const { reason } = await stage.web.ended_turn(session, 1)
  assert.equal(reason.kind, 'error')
  await stage.web.ended_turn(session, 2)
  assert.deepEqual(stage.upstream.order(...q.spoken.models), ['spoken-1', 'spoken-2'], 'the next turn, which goes on by itself, is another call')
})

test('boundary 8 (R42): an answer that ends normally is not asked about, whatever it says', async () => {
  stage.upstream.plan('polite-1', ok('抱歉我做不到。'))
  const session = await stage.session(q.polite)
  await stage.web.turn(session, 'do it')
  stage.upstream.plan('outside', slow(900))
  await stage.web.turn(await stage.web.session('mock', 'outside'), 'meanwhile')
  assert.equal(stage.upstream.of('polite-1').length, 1)
})

test('boundaries 9 and 11 (R37, R38): the catalog is the host’s models; a hidden provider is gone from it and comes back with one request', async () => {
  const catalog = async () => (await stage.web.api('GET', 'catalog')).json
  const providers = list => list.providers.filter(provider => !provider.hidden).map(provider => provider.id)
  assert.ok(providers(await catalog()).includes('mock'))
  await stage.set('hidden_providers', ['mock'])
  const hidden = await catalog()
  assert.ok(!providers(hidden).includes('mock'), JSON.stringify(hidden))
  assert.ok(hidden.providers.some(provider => provider.id === 'mock' && provider.hidden), 'it is told beside the list')
  await stage.set('hidden_providers', [])
  assert.equal((await stage.web.api('POST', 'catalog/rescan', {})).status, 200)
  assert.ok(providers(await catalog()).includes('mock'))
})

test('boundary 10 (R6): its own route is no candidate', async () => {
  const { json } = await stage.web.api('GET', 'catalog')
  assert.ok(!JSON.stringify(json.providers).includes('"ekiden"'))
  const made = await stage.web.api('POST', 'queues', { name: 'loop', id: 'loop', routes: ['ekiden/walls'] })
  assert.equal(made.status, 400, made.text)
})

test('boundary 11 (R37): the catalog outlives a restart, and one that cannot be read is made anew', async () => {
  const file = stage.home.state('catalog.json')
  await stage.web.api('POST', 'catalog/rescan', {})
  assert.ok(fs.existsSync(file))
  await stage.restart(() => fs.writeFileSync(file, '{"version": 999, "providers": "?"}'))
  await stage.web.api('POST', 'catalog/rescan', {})
  const { json } = await stage.web.api('GET', 'catalog')
  assert.ok(JSON.stringify(json.providers).includes('levelled'))
})

test('boundaries 12 and 13 (R35): a row’s effort is sent where the model declares it, and nowhere else', async () => {
  await stage.web.api('POST', 'catalog/rescan', {})
  await stage.turn('levels')
  assert.equal(stage.upstream.of('levelled').at(-1).body.reasoning_effort, 'high')
  await stage.turn('unknown')
  assert.equal(stage.upstream.of('outside').at(-1).body.reasoning_effort, undefined)
})

test('boundary 14 (R35): the queue declares no effort, and the host refuses one', async () => {
  const { groups } = await stage.web.rpc('llm.models', {})
  const own = groups.find(group => group.id === 'ekiden').models.find(model => model.id === 'effort')
  assert.equal(own.reasoning, undefined)
  const session = await stage.session(q.effort)
  const refused = await stage.web.select(session, 'ekiden', 'effort', 'max').then(() => undefined, error => error)
  const told = refused ? refused.message : JSON.stringify((await stage.web.turn(session, 'hi')).reason)
  assert.match(told, /does not support reasoning effort|UNSUPPORTED_REASONING_EFFORT/)
})
