// The real host: a fresh home, the plugin installed from its tarball, one process at a time unless a test wants two. It knows how to
// drive the host and how to read what it left; it judges nothing.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'

const lab = JSON.parse(fs.readFileSync(path.join(process.env.DSH_LAB, 'lab.json'), 'utf8'))
/** The packed plugin. */
const tarball = process.env.DSH_PLUGIN
/** How long an event may take before the test gives up. The machine may be slow; nothing waits that long by itself. */
const PATIENCE_MS = 30_000

/** The row that adds the tests' own plugin. */
export const probe = { insert: [{ id: 'lab-probe', name: path.join(import.meta.dirname, 'probe.mjs') }] }

/** A home of the host, with its settings and what the plugin keeps there. */
export class Home {
  constructor(upstream, models) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'dsh-home-'))
    this.workspace = path.join(this.folder, 'workspace')
    fs.mkdirSync(this.workspace)
    if (upstream) this.offer(upstream.url, models)
  }

  /** Writes the host's settings: these models, of one provider each that its name begins with. */
  offer(url, models, sections = {}) {
    const providers = {}
    for (const model of models) {
      const spec = typeof model === 'string' ? { id: model } : model
      const { provider = 'mock', profile, ...rest } = spec
      providers[provider] ??= { ...openAi(url), ...profile, models: [] }
      providers[provider].models.push(rest)
    }
    const first = typeof models[0] === 'string' ? { id: models[0] } : models[0]
    const settings = {
      'llm-pi-ai': { providers },
      'agent-default-model': { provider: first.provider ?? 'mock', model: first.id },
      'ui-onboarding': { welcomeNoticeVersion: '2026-08-13.1' },
      ...sections,
    }
    // Every JSON text is a YAML text.
    fs.writeFileSync(path.join(this.folder, 'settings.yaml'), `${JSON.stringify(settings, null, 1)}\n`)
    return this
  }

  environment(more = {}) {
    const env = { ...process.env, DSH_HOME: this.folder, DSH_TELEMETRY_DISABLED: '1', MOCK_API_KEY: 'sk-mock-0123456789abcdef', NO_COLOR: '1', ...more }
    env.PATH = [...lab.bin, process.env.PATH].join(path.delimiter)
    delete env.NODE_TEST_CONTEXT
    return env
  }

  /** Runs a command of the host to its end. */
  dsh(words, options = {}) {
    const ended = spawnSync(lab.node, [lab.dsh, ...words], {
      cwd: this.workspace, env: this.environment(options.env), encoding: 'utf8', timeout: PATIENCE_MS * 4, stdio: ['ignore', 'pipe', 'pipe'],
    })
    return { code: ended.status, out: ended.stdout, err: ended.stderr }
  }

  install(...profiles) {
    for (const profile of profiles) {
      const { code, out, err } = this.dsh(['plugin', '--profile', profile, 'add', tarball])
      if (code !== 0) throw new Error(`the plugin was not installed in ${profile}: ${out}${err}`)
    }
    return this
  }

  remove(profile) {
    const { code, out, err } = this.dsh(['plugin', '--profile', profile, 'remove', 'dsh-ekiden'])
    if (code !== 0) throw new Error(`the plugin was not removed from ${profile}: ${out}${err}`)
  }

  /** One headless turn, to its end. The host is asked as a process of its own, so that an upstream in this one can answer. */
  async headless(prompt, options = {}) {
    const child = spawn(lab.node, [lab.dsh, '--profile', 'headless', prompt], {
      cwd: this.workspace, env: this.environment(options.env), stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = gather(child)
    const code = await new Promise(done => child.once('exit', (status, signal) => done(status ?? signal)))
    return { code, out: said.out(), err: said.err() }
  }

  async web(options = {}) {
    return Web.start(this, options)
  }

  /** Where the plugin keeps its own. */
  state(...names) {
    return path.join(this.folder, 'ekiden', ...names)
  }

  /** Sets the plugin up before the host starts. */
  configure(settings) {
    fs.mkdirSync(this.state(), { recursive: true })
    fs.writeFileSync(this.state('settings.json'), `${JSON.stringify(settings, null, 2)}\n`)
    return this
  }

  /** The rows that the profile adds or changes; a host that runs takes a change at once. */
  rows(patches, profile = 'web') {
    fs.writeFileSync(path.join(this.folder, 'profiles', profile, 'cordis.patch.yml'), JSON.stringify(patches))
  }

  /** Every session's log, as events in order. */
  sessions() {
    const folder = path.join(this.folder, 'sessions')
    if (!fs.existsSync(folder)) return []
    const files = fs.readdirSync(folder, { recursive: true }).filter(name => /session\.jsonl/.test(name))
    return files.map(name => {
      let text = fs.readFileSync(path.join(folder, name))
      if (name.endsWith('zstd')) text = zlib.zstdDecompressSync(text)
      return text.toString().split('\n').filter(Boolean).map(line => JSON.parse(line))
    })
  }

  dispose() {
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

function openAi(url) {
  return {
    displayName: 'Mock', apiKeyEnv: 'MOCK_API_KEY', api: 'openai-completions', baseURL: url,
    compat: { supportsDeveloperRole: false, maxTokensField: 'max_tokens' },
    retryPolicy: { mode: 'normal', maxRetries: 0 },
  }
}

function gather(child) {
  const out = []
  const err = []
  child.stdout.on('data', part => out.push(part))
  child.stderr.on('data', part => err.push(part))
  return { out: () => Buffer.concat(out).toString(), err: () => Buffer.concat(err).toString() }
}

/** The host's web face, running. */
export class Web {
  #count = 0
  #socket
  #waiters = new Set()
  /** Every event of every session, as it came. */
  events = []

  static async start(home, { words = [], env = {} } = {}) {
    const web = new Web()
    web.home = home
    web.child = spawn(lab.node, [lab.dsh, 'web', '--no-open', '--port', '0', ...words], {
      cwd: home.workspace, env: home.environment(env), stdio: ['ignore', 'pipe', 'pipe'],
    })
    const orphaned = () => web.child.kill('SIGKILL')
    process.once('exit', orphaned)
    web.child.once('exit', () => process.off('exit', orphaned))
    web.said = gather(web.child)
    web.ended = new Promise(done => web.child.once('exit', (status, signal) => done(status ?? signal)))
    web.base = await web.#address()
    await web.#listen()
    return web
  }

  #address() {
    return new Promise((done, failed) => {
      const look = () => {
        const found = /dsh web: (http:\/\/\S+)/.exec(this.said.out() + this.said.err())
        if (found) done(found[1])
      }
      this.child.stdout.on('data', look)
      this.child.stderr.on('data', look)
      void this.ended.then(code => failed(new Error(`the host ended with ${code}: ${this.said.out()}${this.said.err()}`)))
    })
  }

  #listen() {
    this.#socket = new WebSocket(`${this.base.replace('http', 'ws')}/api/events.mux`)
    this.#socket.onmessage = message => {
      const frame = JSON.parse(message.data).payload
      this.events.push(frame)
      this.#changed()
    }
    this.#socket.onclose = () => this.#changed()
    return new Promise((done, failed) => {
      this.#socket.onopen = () => done()
      this.#socket.onerror = event => failed(new Error(`no event stream: ${event.message}`))
    })
  }

  #changed() {
    for (const waiter of [...this.#waiters]) waiter()
  }

  /** Waits until what is looked for is there: at each event of the host. */
  until(look, what) {
    const found = look()
    if (found) return Promise.resolve(found)
    return new Promise((done, failed) => {
      const waiter = () => {
        const seen = look()
        if (seen) finish(done, seen)
      }
      const finish = (settle, value) => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        settle(value)
      }
      const timer = setTimeout(() => finish(failed, new Error(`did not come: ${what}; ${this.said.err().slice(-2000)}`)), PATIENCE_MS)
      this.#waiters.add(waiter)
    })
  }

  async rpc(method, payload) {
    const body = { type: 'client-request', rpcId: `r${++this.#count}`, method, payload }
    const response = await fetch(`${this.base}/api/${method}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    const { result } = await response.json()
    if (!result?.ok) throw Object.assign(new Error(`${method}: ${JSON.stringify(result?.error)}`), { code: result?.error?.code })
    return result.value
  }

  /** A new session on that model. */
  async session(provider, model, cwd = this.home.workspace) {
    const { sessionId } = await this.rpc('session.create', { cwd })
    await this.select(sessionId, provider, model)
    return sessionId
  }

  select(sessionId, provider, model, reasoningEffort) {
    return this.rpc('session.selectModel', { sessionId, provider, model, ...(reasoningEffort ? { reasoningEffort } : {}) })
  }

  send(sessionId, text, mode = 'queue') {
    return this.rpc('session.prompt', { sessionId, mode, content: [{ type: 'text', text }] })
  }

  /** The events of a session that came live. */
  of(sessionId, type) {
    const events = this.events.filter(frame => frame.type === 'session/event' && frame.sessionId === sessionId).map(frame => frame.event)
    return type ? events.filter(event => event.type === type) : events
  }

  /** How the session's n-th turn ended. */
  async ended_turn(sessionId, turn = 1) {
    const end = await this.until(() => this.of(sessionId, 'turn/end')[turn - 1], `the end of turn ${turn}`)
    return this.seen(sessionId, end)
  }

  /** A whole turn: what the model said, and how it ended. */
  async turn(sessionId, text) {
    const before = this.of(sessionId, 'turn/end').length
    await this.send(sessionId, text)
    return this.ended_turn(sessionId, before + 1)
  }

  seen(sessionId, end) {
    const turn = end.data.turn
    const messages = this.of(sessionId, 'assistant/message').filter(event => event.data.turn === turn)
    return { reason: end.data.reason, turn, messages, text: messages.map(event => textOf(event.data.message)).join('') }
  }

  history(sessionId) {
    return this.rpc('session.history', { sessionId })
  }

  cancel(sessionId) {
    return this.rpc('session.cancel', { sessionId })
  }

  /** The plugin's own interface. */
  async api(method, where, body, headers = {}) {
    const response = await fetch(`${this.base}/ekiden/api/v1/${where}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    let json
    try {
      json = JSON.parse(text)
    } catch {
      json = undefined
    }
    return { status: response.status, json, text }
  }

  async stop() {
    this.#socket.close()
    this.child.kill('SIGTERM')
    return this.ended
  }
}

export function textOf(message) {
  return (message.content ?? []).filter(block => block.type === 'text').map(block => block.text).join('')
}

/** What in a host's output tells of a promise or an error that nobody caught. */
export function uncaught(text) {
  return text.split('\n').filter(line => /unhandled|uncaught|UnhandledPromise|MaxListenersExceeded|triggerUncaught/i.test(line))
}

export const paths = lab
