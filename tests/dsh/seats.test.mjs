// Sharing a narrow upstream: seats of sessions, what a full candidate is to others, and the rest after a seat is given back.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, gate } from './lab/stage.mjs'
import { answerOf, callTool, exploded, gated, held, ok, truncated } from './lab/upstream.mjs'

const cap = { max_sessions: 1 }
const stage = new Stage({ defaults: { retries: 0, lease_rest: '0s', rescue: false } })
const q = {
  kept: stage.queue('kept', 2, {}, [cap]),
  given: stage.queue('given', 2, {}, [cap]),
  ended: stage.queue('ended', 2, {}, [cap]),
  moved: stage.queue('moved', 2, {}, [cap]),
  rested: stage.queue('rested', 2, { lease_rest: '60s' }, [cap]),
  waited: stage.queue('waited', 1, { lease_rest: '1s', wait_max: '30s' }, [cap]),
  back: stage.queue('back', 3, {}, [cap]),
  idle: stage.queue('idle', 2, { lease_idle: '1s' }, [cap]),
  alone: stage.queue('alone', 1, { wait_max: '30s' }, [cap]),
  titles: stage.queue('titles', 2, {}, [cap]),
  child: stage.queue('child', 2, {}, [{ max_sessions: 2 }]),
}
before(() => stage.open({ standard: q.child }))
after(() => stage.close())
const calls = queue => stage.upstream.order(...queue.models)

test('D2, R24: the host’s end of a session ends its lease: a sub-agent leaves no seat behind', async () => {
  let taken
  stage.upstream.plan('child-1', async answer => {
    const { messages } = answer.body
    const text = JSON.stringify(messages)
    if (text.includes('please delegate')) {
      if (messages.some(message => message.role === 'tool')) return ok('Delegated.')(answer)
      return callTool('subagent', { description: 'a child', prompt: 'TASK-FOR-CHILD', run_in_background: false })(answer)
    }
    taken = (await stage.candidate(q.child, 1)).seats_taken
    return ok('The child is done.')(answer)
  })
  const session = await stage.session(q.child)
  assert.equal((await stage.web.turn(session, 'please delegate')).reason.kind, 'completed')
  assert.equal(taken, 2, 'the child had a seat of its own')
  assert.equal((await stage.candidate(q.child, 1)).seats_taken, 1)
})

test('R24, R25: a session keeps its seat across turns and truncations, and others pass the full one over without a failure', async () => {
  const one = await stage.session(q.kept)
  const two = await stage.session(q.kept)
  stage.upstream.plan('kept-1', [ok(), truncated(), ok()])
  await stage.web.turn(one, 'a')
  assert.equal((await stage.web.turn(two, 'b')).text, answerOf('kept-2'))
  await stage.web.turn(one, 'c')
  await stage.web.turn(one, 'd')
  assert.deepEqual(calls(q.kept), ['kept-1', 'kept-2', 'kept-1', 'kept-1'])
  assert.deepEqual((await stage.known(two)).quarantined, [], 'it is not broken')
  const { seats_taken, max_sessions } = await stage.candidate(q.kept, 1)
  assert.deepEqual([seats_taken, max_sessions], [1, 1])
})

test('R24: a judged failure gives the seat back', async () => {
  const one = await stage.session(q.given)
  const two = await stage.session(q.given)
  stage.upstream.plan('given-1', [ok(), exploded(), ok()])
  await stage.web.turn(one, 'a')
  assert.equal((await stage.web.turn(one, 'b')).text, answerOf('given-2'))
  assert.equal((await stage.web.turn(two, 'c')).text, answerOf('given-1'))
})

test('R24: the end of a session gives its seat back', async () => {
  const one = await stage.session(q.ended)
  const two = await stage.session(q.ended)
  await stage.web.turn(one, 'a')
  assert.equal((await stage.web.api('POST', `sessions/${one}/end`)).status, 200)
  assert.equal((await stage.web.turn(two, 'b')).text, answerOf('ended-1'))
})

test('R24: a candidate that leaves its queue gives its seats back', async () => {
  const one = await stage.session(q.moved)
  await stage.web.turn(one, 'a')
  assert.equal((await stage.candidate(q.moved, 1)).seats_taken, 1)
  const { json } = await stage.web.api('GET', 'settings')
  const changes = [{ do: 'remove_candidate', queue: 'moved', route: 'mock/moved-1' }]
  const changed = await stage.web.api('PATCH', 'settings', { changes }, { 'if-match': `"${json.hash}"` })
  assert.equal(changed.status, 200, changed.text)
  assert.equal((await stage.web.turn(one, 'b')).text, answerOf('moved-2'))
})

test('R4: a seat that becomes free during a call is taken before later candidates', async () => {
  const one = await stage.session(q.back)
  const two = await stage.session(q.back)
  const open = gate()
  stage.upstream.plan('back-1', [ok(), ok(), ok()])
  await stage.web.turn(one, 'a')
  stage.upstream.plan('back-2', gated(open.promise, exploded()))
  await stage.web.send(two, 'b')
  await stage.upstream.arrived('back-2')
  await stage.web.api('POST', `sessions/${one}/end`)
  open.resolve()
  assert.equal((await stage.web.ended_turn(two)).text, answerOf('back-1'))
  assert.deepEqual(calls(q.back), ['back-1', 'back-2', 'back-1'])
})

test('R5, R27: full and alone it is waited for, never exceeded', async () => {
  const one = await stage.session(q.alone)
  const two = await stage.session(q.alone)
  const open = gate()
  stage.upstream.plan('alone-1', [held(open.promise, 'one ', 'is done.'), ok()])
  await stage.web.send(one, 'a')
  await stage.upstream.arrived('alone-1')
  await stage.web.send(two, 'b')
  await stage.web.until(() => stage.web.of(two, 'turn/start').length > 0, 'the second turn')
  assert.equal(stage.upstream.of('alone-1').length, 1)
  open.resolve()
  await stage.web.ended_turn(one)
  await stage.web.api('POST', `sessions/${one}/end`)
  assert.equal((await stage.web.ended_turn(two)).text, answerOf('alone-1'))
})

test('R26: an idle seat is taken back only when somebody wants in', async () => {
  const one = await stage.session(q.idle)
  const two = await stage.session(q.idle)
  await stage.web.turn(one, 'a')
  const began = performance.now()
  let text
  do text = (await stage.web.turn(two, 'b')).text
  while (text !== answerOf('idle-1') && performance.now() - began < 20_000)
  assert.equal(text, answerOf('idle-1'))
  assert.equal((await stage.candidate(q.idle, 1)).seats_taken, 1)
})

test('R27: after the last seat came back the route rests for others, and not for the one that gave it', async () => {
  const one = await stage.session(q.rested)
  const two = await stage.session(q.rested)
  stage.upstream.plan('rested-1', ok())
  await stage.web.turn(one, 'a')
  await stage.web.api('POST', `sessions/${one}/end`)
  assert.equal((await stage.candidate(q.rested, 1)).state, 'resting')
  assert.equal((await stage.web.turn(two, 'b')).text, answerOf('rested-2'))
  assert.equal((await stage.web.turn(one, 'c')).text, answerOf('rested-1'))
})

test('R27: where nothing else can run a rest is waited out', async () => {
  const one = await stage.session(q.waited)
  const two = await stage.session(q.waited)
  await stage.web.turn(one, 'a')
  await stage.web.api('POST', `sessions/${one}/end`)
  assert.equal((await stage.web.turn(two, 'b')).text, answerOf('waited-1'))
  const [first, second] = stage.upstream.of('waited-1')
  assert.ok(second.at - first.at >= 900, `${second.at - first.at} ms`)
})

test('R47: an inner call takes no seat', async () => {
  const one = await stage.session(q.titles)
  await stage.web.turn(one, 'a title, please')
  await stage.upstream.arrived('titles-1', 1, 'title')
  assert.equal((await stage.candidate(q.titles, 1)).seats_taken, 1, 'the turn’s own alone')
})
