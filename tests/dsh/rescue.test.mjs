// D6 and D7: what broke after it was let through starts anew with the next candidate, and what a provider remembers of its own
// answers reaches it again through the queue.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Stage, gate } from './lab/stage.mjs'
import { answerOf, callTool, cut, exploded, ok, thinking } from './lab/upstream.mjs'

const stage = new Stage({ defaults: { retries: 0 } })
const q = {
  rescued: stage.queue('rescued', 2),
  twice: stage.queue('twice', 3),
  last: stage.queue('last', 2),
  thought: stage.queue('thought', 2),
  lone: stage.queue('lone', 1),
  tool: stage.queue('tool', 2),
  replayed: stage.queue('replayed', 2),
}
before(() => stage.open())
after(() => stage.close())

/** What the log keeps as the answer of each step. */
function answers(session) {
  return stage.web.of(session, 'assistant/message').map(event => event.data.message.content.filter(block => block.type === 'text').map(block => block.text).join(''))
}

test('D6: cut after output, the step starts anew on the next candidate, and only its text remains', async () => {
  stage.upstream.plan('rescued-1', cut('Half of something '))
  stage.upstream.plan('rescued-2', ok('The whole of it.'))
  const session = await stage.session(q.rescued)
  const { text, reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'completed')
  assert.equal(text, 'The whole of it.')
  assert.deepEqual(answers(session), ['The whole of it.'])
  assert.deepEqual(stage.upstream.order(...q.rescued.models), q.rescued.models)
  const { quarantined } = await stage.known(session)
  assert.deepEqual(quarantined.map(one => one.route), ['mock/rescued-1'])
  assert.equal(stage.web.of(session, 'llm/retry').length, 1, 'the host’s own event tells its page to drop the text')
  const second = await stage.web.turn(session, 'again')
  assert.equal(second.text, 'The whole of it.')
  assert.ok(!JSON.stringify(stage.upstream.of('rescued-2').at(-1).body).includes('Half of something'), 'the partial text is in no later request')
})

test('D6: a second one that breaks is passed too', async () => {
  stage.upstream.plan('twice-1', cut('First half '))
  stage.upstream.plan('twice-2', cut('Second half '))
  const session = await stage.session(q.twice)
  assert.equal((await stage.web.turn(session, 'hi')).text, answerOf('twice-3'))
  assert.deepEqual(answers(session), [answerOf('twice-3')])
})

test('D6: where nobody is left the failure is told once', async () => {
  stage.upstream.plan('last-1', cut('a '))
  stage.upstream.plan('last-2', cut('b '))
  const session = await stage.session(q.last)
  const { reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'error')
  assert.deepEqual(stage.upstream.order(...q.last.models), q.last.models, 'each ran once')
})

test('D6: alone in its queue a candidate is not run again', async () => {
  stage.upstream.plan('lone-1', cut('a '))
  const session = await stage.session(q.lone)
  assert.equal((await stage.web.turn(session, 'hi')).reason.kind, 'error')
  assert.equal(stage.upstream.of('lone-1').length, 1)
})

test('R10, D6: reasoning is let through as it comes while a rescue is possible', async () => {
  const more = gate()
  stage.upstream.plan('thought-1', async answer => {
    await thinking('visible thoughts', 'hang')({ ...answer, head: () => answer.head(), delta: (...words) => answer.delta(...words), left: () => more.promise })
    await answer.text('Therefore.')
    answer.end()
  })
  const session = await stage.session(q.thought)
  await stage.web.send(session, 'think')
  await stage.web.until(() => JSON.stringify(stage.web.of(session, 'assistant/chunk')).includes('visible'), 'thoughts before the answer')
  more.resolve()
  const { text } = await stage.web.ended_turn(session)
  assert.equal(text, 'Therefore.')
})

test('D6: a tool call that broke off is dropped with its step', async () => {
  stage.upstream.plan('tool-1', async answer => {
    answer.head()
    answer.delta({ tool_calls: [{ index: 0, id: 'call_9', type: 'function', function: { name: 'todo_write', arguments: '{"to' } }] })
    answer.response.destroy()
  })
  stage.upstream.plan('tool-2', [callTool('todo_write', { todos: [] }), ok('Written.')])
  const session = await stage.session(q.tool)
  const { text, reason } = await stage.web.turn(session, 'hi')
  assert.equal(reason.kind, 'completed')
  assert.match(text, /Written\.$/)
  assert.ok(!JSON.stringify(stage.web.of(session, 'assistant/message')).includes('call_9'))
})

test('D7: reasoning goes back to the candidate that thought it, with its own fields, and to no other', async () => {
  stage.upstream.plan('replayed-1', [thinking('my own thought', callTool('todo_write', { todos: [] })), ok('Done.'), exploded()])
  const session = await stage.session(q.replayed)
  await stage.web.turn(session, 'use it')
  const own = stage.upstream.of('replayed-1').at(-1).body.messages.find(message => message.role === 'assistant')
  assert.match(JSON.stringify(own), /my own thought/, 'the native replay state came through the queue')
  assert.ok(own.reasoning_content !== undefined, `as a field of its own: ${JSON.stringify(own)}`)
  await stage.web.turn(session, 'and now the other')
  const other = stage.upstream.of('replayed-2').at(-1).body.messages.find(message => message.role === 'assistant')
  assert.equal(other.reasoning_content, undefined)
})
