// The host without a page: one turn and out. There are no endpoints there, and what waits is disposed of in the middle.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Home, uncaught } from './lab/host.mjs'
import { Upstream, answerOf, cut, exploded, ok, truncated } from './lab/upstream.mjs'

let upstream, home

before(async () => {
  upstream = await Upstream.start()
  home = new Home().offer(upstream.url, ['a', 'b'], { 'agent-default-model': { provider: 'ekiden', model: 'first' } })
  home.install('headless').configure({
    defaults: { retries: 1, continue_delay: '200ms' },
    queues: { first: { candidates: ['mock/a', 'mock/b'] } },
  })
})
after(async () => {
  await upstream.stop()
  home.dispose()
})

/** One run from a clean slate. */
async function run(...plans) {
  upstream.calls.length = 0
  for (const [model, steps] of plans) upstream.plan(model, steps)
  const ended = await home.headless('Say hello')
  assert.deepEqual(uncaught(ended.err), [], ended.err)
  return ended
}

test('D1, R7: a turn through the queue, over a failing candidate', async () => {
  const { code, out, err } = await run(['a', exploded()], ['b', ok()])
  assert.equal(code, 0, err)
  assert.equal(out, `${answerOf('b')}\n`)
  assert.deepEqual(upstream.order('a', 'b'), ['a', 'a', 'b'])
})

test('R17: a quarantine outlives the process and is of its session alone', async () => {
  const { code, err } = await run(['a', ok()], ['b', ok()])
  assert.equal(code, 0, err)
  assert.deepEqual(upstream.order('a', 'b'), ['a'], 'a new session begins at the head')
})

test('D6: cut after output, the next candidate’s text alone is printed', async () => {
  const { code, out, err } = await run(['a', cut('Half of it ')], ['b', ok()])
  assert.equal(code, 0, err)
  assert.equal(out, `${answerOf('b')}\n`)
})

for (const [name, steps, wanted] of [['failed', exploded(), 1], ['was truncated', truncated(), undefined]]) {
  test(`R42: a turn that ${name} wants to go on while the process ends, and nothing breaks`, async () => {
    const { code, err } = await run(['a', steps], ['b', steps])
    if (wanted !== undefined) assert.equal(code, wanted, err)
    assert.ok(!/inactive context/.test(err), err)
  })
}
