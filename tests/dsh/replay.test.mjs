// One engine: what the host's run told it, and what it answered, is told again to the native build, which answers the same bytes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Home, uncaught } from './lab/host.mjs'
import { Upstream, cut, empty, exploded, limited, ok, thinking, tooLong, truncated } from './lab/upstream.mjs'

test('R33: a recorded history of the host replays natively, byte for byte', async () => {
  const upstream = await Upstream.start()
  const home = new Home(upstream, ['a', 'b', 'c', 'd'])
  home.install('web').configure({
    defaults: { retries: 1, continue_delay: '50ms', wait_max: '2s' },
    continuation: { truncations_max: 2 },
    queues: {
      first: { candidates: ['mock/a', { route: 'mock/b', max_sessions: 1 }, 'mock/c'] },
      second: { rescue: false, parole_after: '1s', candidates: ['mock/c', 'mock/d'] },
    },
  })
  const file = path.join(home.folder, 'history.txt')
  home.rows([{ id: 'ekiden', config: { record: file } }])
  const web = await home.web()
  try {
    upstream.plan('a', [exploded(), exploded(), ok(), cut(), thinking('so', ok()), limited('retry after 1s'), ok(), tooLong(), ok(), truncated()])
    upstream.plan('c', [empty(), empty(), cut(), ok()])
    const sessions = [await web.session('ekiden', 'first'), await web.session('ekiden', 'second'), await web.session('ekiden', 'first')]
    for (let round = 0; round < 4; round++) {
      // Turns of several sessions at once, so that calls cross.
      await Promise.all(sessions.map(session => web.turn(session, `round ${round}`)))
    }
    await web.api('POST', 'release', { session: sessions[0] })
    await web.turn(sessions[0], 'after the release')
  } finally {
    const code = await web.stop()
    assert.deepEqual(uncaught(web.said.err()), [])
    assert.equal(code, 0)
    await upstream.stop()
  }
  const lines = fs.readFileSync(file, 'utf8')
  for (const kind of ['queue', 'call', 'turn-ended']) assert.match(lines, new RegExp(`^${kind} `, 'm'))
  assert.ok(!/round|release the|Say/.test(lines), 'no word of a prompt')
  const native = spawnSync(process.env.EKIDEN_LINES, ['history', file], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  assert.equal(native.status, 0, native.stderr)
  assert.ok(native.stdout.split('\n').length > 50)
  assert.equal(native.stdout, fs.readFileSync(`${file}.answers`, 'utf8'))
  home.dispose()
})
