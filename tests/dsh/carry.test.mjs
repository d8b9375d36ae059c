// What comes from elsewhere: queues from the gateway and back, and the files of the plugin that seed 000 describes.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Gateway } from './lab/gateway.mjs'
import { Home } from './lab/host.mjs'
import { Upstream, answerOf, exploded, refuse } from './lab/upstream.mjs'

/** A home with the plugin, what the test puts there, and its host. */
async function at(prepare, work) {
  const upstream = await Upstream.start()
  const home = new Home(upstream, ['a', 'b', 'c', { id: 'large', contextWindow: 128_000, reasoningEfforts: { high: 'high' } }])
  home.install('web')
  let web
  try {
    await prepare(home)
    web = await home.web()
    await work(web, home, upstream)
    assert.equal(await web.stop(), 0)
  } finally {
    web?.child.kill('SIGKILL')
    await upstream.stop()
    home.dispose()
  }
}

test('R40: queues go from the plugin to the gateway and back in one file', async () => {
  const queues = {
    first: { name: '第一条', retries: 3, candidates: ['mock/a', { route: 'mock/large', max_sessions: 2, context_window: 64_000, effort: 'high', idle_timeout: '60s' }] },
    second: { candidates: ['mock/b'] },
  }
  await at(home => home.configure({ queues }), async (web, home, upstream) => {
    const ours = (await web.api('GET', 'export')).json
    assert.equal(ours.format, 'ekiden-queues')
    assert.deepEqual(ours.queues.map(queue => queue.name), ['第一条', 'second'])
    assert.ok(!JSON.stringify(ours).includes('"id"'))
    const gateway = await Gateway.start(`[providers.mock]\nbase_url = "${upstream.url}"\ndialect = "openai-chat"\napi_key_env = "MOCK_API_KEY"\n[queues.here]\ncandidates = ["mock/c"]\n`)
    try {
      const taken = await gateway.api('POST', 'import', ours)
      assert.equal(taken.status, 201, JSON.stringify(taken.json))
      assert.deepEqual(taken.json.imported.map(queue => [queue.name, queue.candidates]), [['第一条', 2], ['second', 1]])
      const theirs = (await gateway.api('GET', 'export')).json
      assert.deepEqual(theirs.queues.find(queue => queue.name === '第一条'), ours.queues[0])
      const back = await web.api('POST', 'import', theirs)
      assert.equal(back.status, 201, back.text)
      assert.deepEqual(back.json.imported.map(queue => queue.name).sort(), ['here', 'second (1)', '第一条 (1)'].sort(), 'added, and nothing that was there has changed')
      const now = (await web.api('GET', 'export')).json
      assert.deepEqual(now.queues.slice(0, 2), ours.queues)
      const copy = now.queues.find(queue => queue.name === '第一条 (1)')
      assert.deepEqual({ ...copy, name: '第一条' }, ours.queues[0])
    } finally {
      await gateway.stop()
    }
  })
})

test('R40: a candidate whose provider is unknown is kept, shown as missing and passed over; a bad file changes nothing', async () => {
  await at(home => home.configure({ queues: { first: { candidates: ['mock/a'] } }, continuation: { enabled: false } }), async (web, home) => {
    const file = { format: 'ekiden-queues', version: 1, queues: [{ name: 'far', settings: {}, candidates: [{ route: 'elsewhere/x', options: {} }, { route: 'mock/b', options: {} }] }] }
    const taken = await web.api('POST', 'import', file)
    assert.equal(taken.status, 201, taken.text)
    const [{ id }] = taken.json.imported
    const session = await web.session('ekiden', id)
    assert.equal((await web.turn(session, 'hi')).text, answerOf('b'))
    const { queues } = (await web.api('GET', 'state')).json
    assert.equal(queues.find(queue => queue.id === id).candidates[0].state, 'missing')
    const before = fs.readFileSync(home.state('settings.json'), 'utf8')
    for (const bad of [{ ...file, version: 2 }, { ...file, queues: [{ name: 'x', settings: { retries: 99 }, candidates: [] }] }, { queues: [] }, []]) {
      const refused = await web.api('POST', 'import', bad)
      assert.equal(refused.status, 400, refused.text)
    }
    const pointed = await web.api('POST', 'import', { ...file, queues: [...file.queues, { name: 'x', settings: { retries: 99 }, candidates: [] }] })
    assert.match(pointed.text, /queues\[1\]\.settings\.retries/)
    assert.equal(fs.readFileSync(home.state('settings.json'), 'utf8'), before)
  })
})

test('seed 000: its settings and its state are read once, become ours, and are not touched', async () => {
  const seedSettings = {
    resetHour: 3, sameModelRetries: 1, continueDelaySec: 0, idleTimeoutSec: 45, cooldownSec: 30, limitCooldownSec: 7, continueText: '接着写',
    retrySameModelOnce: false, autoContinue: false, hiddenProviders: ['secret'], eventLogLimit: 50, showSubagentSessions: true,
    editedTemplate: 'default',
    templates: [
      { id: 'default', name: '默认模板', order: [{ provider: 'mock', model: 'a', concurrency: 2 }, { provider: 'mock', model: 'large', reasoningEffort: 'high', contextWindow: 100_000 }] },
      { id: 't-2', name: '写作', order: [{ provider: 'mock', model: 'c' }] },
    ],
  }
  // Its logical day is a date; whatever day it is, what was out for that day alone is not out for good.
  const today = new Date(Date.now() - 3 * 3_600_000).toLocaleDateString('sv-SE')
  const seedState = {
    day: today,
    sessions: { 'session-old': { templates: { default: { quarantine: { 'mock/a': { code: 'QUOTA', message: 'Insufficient Balance', at: Date.now() - 1_000 } }, good: {} } } } },
    counts: { 'mock/a': { fail: 2, ok: 1 } }, speeds: {},
  }
  const folder = home => path.join(home.folder, 'dsh-model-failover')
  const texts = [`${JSON.stringify(seedSettings, null, 2)}\n`, `${JSON.stringify(seedState, null, 2)}\n`]
  await at(home => {
    fs.mkdirSync(folder(home))
    fs.writeFileSync(path.join(folder(home), 'settings.json'), texts[0])
    fs.writeFileSync(path.join(folder(home), 'state.json'), texts[1])
  }, async (web, home, upstream) => {
    const { json } = await web.api('GET', 'state')
    assert.deepEqual(json.queues.map(queue => [queue.id, queue.name]), [['default', '默认模板'], ['t-2', '写作']])
    assert.deepEqual(json.queues[0].candidates.map(one => [one.route, one.max_sessions ?? null]), [['mock/a', 2], ['mock/large', null]])
    const { settings } = (await web.api('GET', 'settings')).json
    const value = name => settings.find(one => one.path === name)?.value
    assert.equal(value('reset_hour'), 3)
    assert.equal(value('defaults.retries'), 1)
    assert.equal(value('defaults.continue_text'), '接着写')
    assert.equal(value('defaults.idle_timeout'), '45s')
    assert.equal(value('continuation.enabled'), false)
    upstream.plan('a', exploded())
    const session = await web.session('ekiden', 'default')
    assert.equal((await web.turn(session, 'hi')).text, answerOf('large'))
    assert.equal(upstream.of('a').length, 2)
    assert.equal(upstream.of('large')[0].body.reasoning_effort, 'high')
    const kept = ['settings.json', 'state.json'].map(name => fs.readFileSync(path.join(folder(home), name), 'utf8'))
    assert.deepEqual(kept, texts)
    const old = (await web.api('GET', 'sessions/session-old')).json
    assert.deepEqual(old.quarantined?.map(one => [one.queue, one.route]), [['default', 'mock/a']], JSON.stringify(old))
  })
})

test('R39: a test of a queue asks each candidate straight, at most eight tokens, and keeps nothing', async () => {
  await at(home => home.configure({ queues: { first: { candidates: ['mock/a', 'mock/b', 'mock/c'] } } }), async (web, home, upstream) => {
    upstream.plan('b', refuse(401, 'Incorrect API key provided: sk-mock-0123456789abcdef', { code: 'invalid_api_key' }), 'probe')
    const { json } = await web.api('POST', 'queues/first/test', {})
    assert.deepEqual(json.candidates.map(one => [one.route, one.ok]), [['mock/a', true], ['mock/b', false], ['mock/c', true]])
    assert.equal(json.candidates[1].class, 'auth')
    assert.ok(!JSON.stringify(json).includes('sk-mock-0123456789abcdef'))
    const [probe] = upstream.of('a', 'probe')
    assert.ok((probe.body.max_tokens ?? probe.body.max_completion_tokens) <= 8)
    const { queues } = (await web.api('GET', 'state')).json
    assert.deepEqual(queues[0].candidates.map(one => one.today), Array(3).fill({ successes: 0, failures: 0 }))
  })
})

test('R36: the queue declares the window of its first candidate that has one, and an override holds', async () => {
  const queues = {
    first: { candidates: ['mock/large', 'mock/a'] },
    own: { candidates: [{ route: 'mock/large', context_window: 50_000 }] },
  }
  await at(home => home.configure({ queues, continuation: { enabled: false } }), async web => {
    await web.api('POST', 'catalog/rescan', {})
    const { json } = await web.api('GET', 'state')
    assert.deepEqual(json.queues.map(queue => queue.context_window), [128_000, 50_000])
    const session = await web.session('ekiden', 'own')
    await web.turn(session, 'hi')
    assert.match(JSON.stringify(web.of(session, 'request/context')), /50000/)
  })
})
