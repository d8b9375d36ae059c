// One host with the plugin, the queues of one test file in it, and the upstream behind them. Each queue has models of its own, so
// that no test learns from another's failures. At its end it looks at what every run must leave behind.
import assert from 'node:assert/strict'
import { Home, probe, uncaught } from './host.mjs'
import { Upstream } from './upstream.mjs'

export class Stage {
  #queues = {}
  #models = []
  /** Further queues, as the settings have them. */
  extra = {}

  /** @param settings sections of the plugin's settings beside its queues */
  constructor(settings = {}) {
    this.settings = { continuation: { enabled: false }, ...settings }
  }

  /** A queue with so many candidates of its own: `id-1`, `id-2` …; `options` by position are a candidate's own. */
  queue(id, candidates, keys = {}, options = []) {
    const models = Array.from({ length: candidates }, (_, at) => `${id}-${at + 1}`)
    const routes = models.map(model => `mock/${model}`)
    this.#queues[id] = {
      continue_delay: '0s', ...keys,
      candidates: routes.map((route, at) => (options[at] ? { route, ...options[at] } : route)),
    }
    this.#models.push(...models)
    return { id, models, routes }
  }

  /** Further models of the host, for what is no queue. */
  models(...specs) {
    this.#models.push(...specs)
    return specs
  }

  async open(options = {}) {
    this.upstream = await Upstream.start()
    // Sub-agents run on the default model, whatever their parent runs on.
    const sections = options.standard ? { 'agent-default-model': { provider: 'ekiden', model: options.standard.id } } : {}
    this.home = new Home().offer(this.upstream.url, this.#models.length > 0 ? this.#models : ['spare'], sections)
    this.home.install('web').configure({ ...this.settings, queues: { ...this.#queues, ...this.extra } })
    if (options.probe) this.home.rows([probe])
    this.web = await this.home.web(options)
    return this
  }

  /** Ends the host, does what is asked in between, and starts it again on the same home. */
  async restart(between = () => {}) {
    await this.#ended()
    await between()
    this.web = await this.home.web()
  }

  async #ended() {
    const code = await this.web.stop()
    const said = this.web.said.err() + this.web.said.out()
    assert.deepEqual(uncaught(said), [], said)
    assert.equal(code, 0, said)
    assert.doesNotMatch(said, /INVALID_(ADAPTER|CATALOG|MODEL|PREPARED)/, 'D5: the host’s validators have nothing to say')
  }

  /** A session on a queue. */
  session(queue) {
    return this.web.session('ekiden', typeof queue === 'string' ? queue : queue.id)
  }

  /** A whole turn of a new session. */
  async turn(queue, text = 'Say hello') {
    return this.web.turn(await this.session(queue), text)
  }

  /** The state of a queue's n-th candidate. */
  async candidate(queue, number) {
    const { json } = await this.web.api('GET', 'state')
    return json.queues.find(one => one.id === queue.id).candidates[number - 1]
  }

  /** Sets one key, as a page would. */
  async set(path, value) {
    const { json } = await this.web.api('GET', 'settings')
    const changed = await this.web.api('PATCH', 'settings', { changes: [{ do: 'set', path, value }] }, { 'if-match': `"${json.hash}"` })
    assert.equal(changed.status, 200, changed.text)
  }

  /** What the plugin knows of a session. */
  async known(session) {
    return (await this.web.api('GET', `sessions/${encodeURIComponent(session)}`)).json
  }

  /** The journal's entries of a kind, newest first, once one of them is as is looked for: they are written by the batch. */
  async journal(what, good = () => true) {
    const began = performance.now()
    let entries
    do entries = (await this.web.api('GET', `journal?what=${what}`)).json.entries
    while (!entries.some(good) && performance.now() - began < 5_000)
    return entries.filter(good)
  }

  async close() {
    try {
      if (this.web) {
        await this.#ended()
        for (const log of this.home.sessions()) assert.deepEqual(log.map(event => event.type).filter(type => /ekiden|relay|failover|fallback/.test(type)), [])
      }
    } finally {
      await this.upstream?.stop()
      this.home?.dispose()
    }
  }
}

/** The user messages at the end of a request that say to go on. */
export function continues(call, text = '继续') {
  const messages = call.body.messages
  let count = 0
  while (spoken(messages.at(-1 - count)) === text) count++
  return count
}

/** The text of a message of a request. */
export function spoken(message) {
  if (!message) return undefined
  if (typeof message.content === 'string') return message.content
  return (message.content ?? []).map(part => part.text ?? '').join('')
}

/** A promise with its key: what waits for it goes on when it is opened. */
export function gate() {
  return Promise.withResolvers()
}
