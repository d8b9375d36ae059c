// Turns that go on by themselves, for every model of the host (R42, R43), and what a turn's tail says (R44).
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { textOf } from './lab/host.mjs'
import { Stage, spoken } from './lab/stage.mjs'
import { badKey, exploded, hang, ok, slow, truncated } from './lab/upstream.mjs'

const stage = new Stage({
  continuation: { enabled: true, truncations_max: 3, failures_max: 1 },
  defaults: { continue_delay: '800ms', retries: 0, wait_max: '0s', retry_when_all_quarantined: false, cooldown: '60s' },
})
const q = {
  failed: stage.queue('failed', 1, { continue_delay: '0s' }),
  whole: stage.queue('whole', 1, { continue_delay: '0s' }),
  cut: stage.queue('cut', 1, { rotate_after: 0 }),
  tail: stage.queue('tail', 2),
}
stage.models('plain', 'plain-cut', 'plain-bad', 'plain-key', 'plain-both', 'plain-stop', 'plain-word', 'plain-long', 'plain-ok')
stage.extra = { far: { candidates: ['lab-offline/far', 'mock/plain'], wait_max: '0s' } }

before(() => stage.open({ probe: true }))
after(() => stage.close())

/** The texts of a session's user messages, those that the host adds left out. */
function userMessages(session) {
  return stage.web.of(session, 'user/message').filter(event => event.data.message?.source?.kind === 'user' || event.data.source?.kind === 'user')
    .map(event => textOf(event.data.message ?? event.data))
}

/** The ends of turns, once there are that many. */
async function ends(session, count) {
  await stage.web.ended_turn(session, count)
  return stage.web.of(session, 'turn/end').map(event => event.data.reason.kind)
}

/** A turn of another session that outlasts the wait before a turn is continued. */
async function outlasting() {
  stage.upstream.plan('plain-ok', slow(1_600))
  await stage.web.turn(await stage.web.session('mock', 'plain-ok'), 'meanwhile')
}

/** That many turns have ended. */
function settled(session, count) {
  return stage.web.until(() => {
    const list = stage.web.of(session, 'turn/end')
    return list.length >= count
  }, `the end of turn ${count}`)
}

test('R42: a truncated turn goes on with a message as if the user had sent it, until it is whole', async () => {
  stage.upstream.plan('plain-cut', [truncated('One, '), truncated('two, '), ok('three.')])
  const session = await stage.web.session('mock', 'plain-cut')
  await stage.web.send(session, 'count')
  assert.deepEqual(await ends(session, 3), ['max-tokens', 'max-tokens', 'completed'])
  assert.deepEqual(userMessages(session), ['count', '继续', '继续'])
  assert.equal(spoken(stage.upstream.of('plain-cut').at(-1).body.messages.at(-1)), '继续')
})

test('R42: limits are counted apart, and a message of the user begins them anew', async () => {
  stage.upstream.plan('plain-both', truncated('more, '))
  const session = await stage.web.session('mock', 'plain-both')
  await stage.web.send(session, 'write')
  await ends(session, 4)
  const truncations = stage.upstream.of('plain-both').length
  assert.equal(truncations, 4, 'the turn and three more')
  stage.upstream.plan('plain-both', exploded())
  await stage.web.send(session, 'go on')
  assert.deepEqual((await ends(session, 6)).slice(4), ['error', 'error'], 'one for a failure, whatever the truncations used up')
  const journal = await stage.journal('turn_continued', entry => entry.session === session && entry.cause === 'failure')
  assert.deepEqual(journal.map(entry => entry.count), [1])
  assert.equal((await stage.journal('turn_continued', entry => entry.session === session)).length, 4)
})

test('R42: a failed turn of any model goes on once', async () => {
  stage.upstream.plan('plain-bad', [exploded(), ok()])
  const session = await stage.web.session('mock', 'plain-bad')
  await stage.web.send(session, 'try')
  assert.deepEqual(await ends(session, 2), ['error', 'completed'])
  assert.deepEqual(userMessages(session), ['try', '继续'])
})

test('R42: a failed turn of a queue goes on once', async () => {
  stage.upstream.plan('failed-1', exploded())
  const session = await stage.session(q.failed)
  await stage.web.send(session, 'try')
  assert.deepEqual(await ends(session, 2), ['error', 'error'])
})

test('R42: a stop ends the wait, and nothing more is sent', async () => {
  stage.upstream.plan('plain-stop', [truncated('One, '), hang()])
  const session = await stage.web.session('mock', 'plain-stop')
  await stage.web.send(session, 'count')
  await stage.upstream.arrived('plain-stop', 2)
  await stage.web.cancel(session)
  assert.deepEqual(await ends(session, 2), ['max-tokens', 'aborted'])
  assert.equal(userMessages(session).length, 2)
})

test('R42: a message of the user during the wait comes instead', async () => {
  stage.upstream.plan('plain-word', [truncated('One, '), ok('As you say.')])
  const session = await stage.web.session('mock', 'plain-word')
  await stage.web.send(session, 'count')
  await stage.web.ended_turn(session, 1)
  await stage.web.send(session, 'rather stop')
  assert.deepEqual(await ends(session, 2), ['max-tokens', 'completed'])
  await outlasting()
  assert.deepEqual(userMessages(session), ['count', 'rather stop'])
})

test('R43: a bad key and this machine’s own network are not gone on from, and the latter is journalled', async () => {
  stage.upstream.plan('plain-key', badKey())
  const key = await stage.web.session('mock', 'plain-key')
  await stage.web.send(key, 'try')
  const net = await stage.web.session('lab-offline', 'far')
  await stage.web.send(net, 'try')
  await settled(key, 1)
  await settled(net, 1)
  assert.equal((await stage.journal('turn_not_continued', entry => entry.session === net && entry.why === 'local_network')).length, 1)
  await outlasting()
  assert.equal(userMessages(key).length, 1)
  assert.equal(userMessages(net).length, 1)
})

test('R43: through a queue, this machine’s own network quarantines nobody and is not passed on', async () => {
  const session = await stage.session('far')
  const { reason } = await stage.web.turn(session, 'try')
  assert.equal(reason.kind, 'error')
  assert.deepEqual((await stage.known(session)).quarantined, [])
  assert.deepEqual(stage.upstream.of('plain'), [])
})

test('R44: the tail names the model that ran the turn, and only where a queue ran it', async () => {
  stage.upstream.plan('tail-1', exploded())
  const session = await stage.session(q.tail)
  await stage.web.turn(session, 'one')
  const { json } = await stage.web.api('GET', `sessions/${session}/notes`)
  assert.deepEqual(json.notes.map(note => [note.turn, note.route]), [[1, 'mock/tail-2']])
  await stage.web.select(session, 'mock', 'plain')
  await stage.web.turn(session, 'two')
  const after = (await stage.web.api('GET', `sessions/${session}/notes`)).json
  assert.deepEqual(after.notes.map(note => note.turn), [1], 'a turn by another model has no tail')
})
