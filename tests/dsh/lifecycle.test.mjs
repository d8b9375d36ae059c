// What becomes of the host when the plugin is removed, reloaded, or broken, and when two hosts share one home. Each test has a home
// of its own.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Home, probe, uncaught } from './lab/host.mjs'

import { trapping } from './lab/trap.mjs'
import { Upstream, answerOf, exploded, gated, hang, ok } from './lab/upstream.mjs'

const models = ['a', 'b', 'plain']
const settings = {
  continuation: { enabled: false },
  defaults: { retries: 0, continue_delay: '0s', rescue: false },
  queues: { first: { candidates: ['mock/a', 'mock/b'] } },
}

/** A home with the plugin, and what the test does with it. */
async function at(work, { install = true } = {}) {
  const upstream = await Upstream.start()
  const home = new Home(upstream, models)
  const open = new Set()
  home.start = async options => {
    const web = await home.web(options)
    open.add(web)
    return web
  }
  try {
    if (install) home.install('web').configure(settings)
    await work(home, upstream)
  } finally {
    for (const web of open) web.child.kill('SIGKILL')
    await upstream.stop()
    home.dispose()
  }
}

async function stopped(web) {
  const code = await web.stop()
  const said = web.said.err() + web.said.out()
  assert.deepEqual(uncaught(said), [], said)
  assert.equal(code, 0, said)
}

async function counts(web) {
  return (await fetch(`${web.base}/lab-probe`)).json()
}

/** Asks until it is so: nothing tells when the host has taken a change of its files. */
async function becomes(ask, good) {
  const began = performance.now()
  let seen
  while (!good(seen = await ask()) && performance.now() - began < 20_000) await new Promise(done => setTimeout(done, 50))
  return seen
}

test('D4: with the plugin removed the host runs, loads every session, and says clearly what is gone', () => at(async (home, upstream) => {
  let web = await home.start()
  upstream.plan('a', exploded())
  const session = await web.session('ekiden', 'first')
  assert.equal((await web.turn(session, 'hi')).text, answerOf('b'))
  await stopped(web)
  home.remove('web')
  web = await home.start()
  const { events } = await web.history(session)
  assert.ok(events.some(({ event }) => event.type === 'assistant/message'), 'the session is loaded')
  await assert.rejects(web.send(session, 'are you there?'), /no adapter serves provider .{0,2}ekiden/)
  const other = await web.session('mock', 'plain')
  assert.equal((await web.turn(other, 'hi')).text, answerOf('plain'))
  await stopped(web)
}))

test('D4: switched off while the host runs it leaves no listener, no timer and no provider behind, and comes back', () => at(async (home, upstream) => {
  home.rows([probe, { id: 'ekiden', disabled: true }])
  const web = await home.start()
  const session = await web.session('mock', 'plain')
  await web.turn(session, 'warm')
  const without = await counts(web)
  assert.ok(!without.providers.includes('ekiden'))
  home.rows([probe])
  const on = await becomes(() => counts(web), seen => seen.providers.includes('ekiden'))
  assert.ok(on.providers.includes('ekiden'))
  assert.ok(Object.entries(on.listeners).some(([event, count]) => count > (without.listeners[event] ?? 0)), 'it listens')
  upstream.plan('a', exploded())
  await web.select(session, 'ekiden', 'first')
  assert.equal((await web.turn(session, 'hi')).text, answerOf('b'))
  home.rows([probe, { id: 'ekiden', disabled: true }])
  const off = await becomes(() => counts(web), seen => !seen.providers.includes('ekiden') && (seen.resources.Timeout ?? 0) <= (without.resources.Timeout ?? 0))
  assert.deepEqual(off.listeners, without.listeners)
  assert.deepEqual(off.process, without.process)
  for (const kind of ['Timeout', 'FSEventWrap', 'StatWatcher', 'TCPServerWrap']) {
    assert.ok((off.resources[kind] ?? 0) <= (without.resources[kind] ?? 0), `${kind}: ${off.resources[kind]} after, ${without.resources[kind]} before`)
  }
  assert.equal((await web.api('GET', 'state')).status === 200 && (await web.api('GET', 'state')).json?.queues !== undefined, false, 'its paths are gone')
  await assert.rejects(web.turn(session, 'and now?'), { code: 'model-unavailable' })
  await web.select(session, 'mock', 'plain')
  assert.equal((await web.turn(session, 'hi')).text, answerOf('plain'))
  home.rows([probe])
  await becomes(() => counts(web), seen => seen.providers.includes('ekiden'))
  await web.select(session, 'ekiden', 'first')
  assert.equal((await web.turn(session, 'back')).text, answerOf('b'), 'what it knew before it knows again')
  assert.equal(upstream.of('a').length, 1)
  await stopped(web)
}))

test('D4: switched off in the middle of a call the call ends, and the host goes on', () => at(async (home, upstream) => {
  home.rows([probe])
  const web = await home.start()
  upstream.plan('a', hang())
  const session = await web.session('ekiden', 'first')
  await web.send(session, 'hi')
  const call = await upstream.arrived('a')
  home.rows([probe, { id: 'ekiden', disabled: true }])
  const { reason } = await web.ended_turn(session)
  assert.notEqual(reason.kind, 'completed')
  assert.ok((await call.over).left, 'upstream is let go')
  const other = await web.session('mock', 'plain')
  assert.equal((await web.turn(other, 'hi')).text, answerOf('plain'))
  await stopped(web)
}))

for (const [name, bytes] of [['traps', trapping], ['is no WebAssembly', () => new TextEncoder().encode('not an engine')]]) {
  test(`D4: an engine that ${name} leaves the host running, and its queues answer a clear error`, () => at(async home => {
    const file = path.join(home.folder, 'profiles', 'web', 'node_modules', 'dsh-ekiden', 'lib', 'ekiden.wasm')
    // The package manager may have linked the file from its store, which is to stay as it is.
    fs.rmSync(fs.realpathSync(file))
    fs.writeFileSync(file, bytes())
    let web = await home.start()
    const session = await web.session('ekiden', 'first')
    const { reason } = await web.turn(session, 'hi')
    assert.equal(reason.kind, 'error')
    assert.match(reason.error.message, /engine|引擎/)
    const other = await web.session('mock', 'plain')
    assert.equal((await web.turn(other, 'hi')).text, answerOf('plain'))
    await stopped(web)
    web = await home.start()
    assert.ok((await web.history(session)).events.length > 0)
    await stopped(web)
  }))
}

test('D4, G12: two hosts on one home both serve, and neither corrupts what the other keeps', () => at(async (home, upstream) => {
  const [one, two] = [await home.start(), await home.start()]
  upstream.plan('a', exploded())
  const sessions = []
  for (const web of [one, two, one, two]) {
    const session = await web.session('ekiden', 'first')
    assert.equal((await web.turn(session, 'hi')).text, answerOf('b'))
    sessions.push(session)
  }
  await Promise.all([stopped(one), stopped(two)])
  const web = await home.start()
  const { json } = await web.api('GET', 'state')
  assert.equal(json.queues[0].id, 'first')
  const known = await Promise.all(sessions.map(async session => (await web.api('GET', `sessions/${session}`)).json.quarantined?.length ?? 0))
  assert.deepEqual(known, [1, 1, 1, 1], 'what each learnt is kept')
  await stopped(web)
}))

test('R17, G12: kill -9 loses no quarantine older than a second, and no file is corrupt', () => at(async (home, upstream) => {
  let web = await home.start()
  upstream.plan('a', exploded())
  const session = await web.session('ekiden', 'first')
  await web.turn(session, 'hi')
  upstream.plan('b', gated(new Promise(done => setTimeout(done, 1_100))))
  await web.turn(session, 'a turn that takes a second')
  web.child.kill('SIGKILL')
  await web.ended
  web = await home.start()
  const { json } = await web.api('GET', `sessions/${session}`)
  assert.deepEqual(json.quarantined.map(one => one.route), ['mock/a'])
  await stopped(web)
}))

test('G7: a settings file that cannot be read leaves the queues as they were, and says where it is wrong', () => at(async home => {
  const web = await home.start()
  const good = fs.readFileSync(home.state('settings.json'), 'utf8')
  fs.writeFileSync(home.state('settings.json'), good.replace('"retries": 0', '"retires": 0'))
  const { json } = await becomes(() => web.api('GET', 'state'), ({ json: seen }) => seen.settings.refused.length > 0)
  assert.match(JSON.stringify(json.settings.refused), /retries/)
  assert.equal((await web.turn(await web.session('ekiden', 'first'), 'hi')).text, answerOf('a'))
  await stopped(web)
}))

test('D4: the log of a session holds nothing that the bare host does not know', () => at(async (home, upstream) => {
  let web = await home.start()
  upstream.plan('a', exploded())
  const session = await web.session('ekiden', 'first')
  await web.turn(session, 'hi')
  const plain = await web.session('mock', 'plain')
  await web.turn(plain, 'hi')
  await stopped(web)
  const [ours, theirs] = [session, plain].map(id => new Set(home.sessions().find(log => log.some(event => JSON.stringify(event).includes(id))).map(event => event.type)))
  // How the log packs chunks that came together.
  theirs.add('text-chunks')
  assert.deepEqual([...ours].filter(type => !theirs.has(type)), [])
}))
