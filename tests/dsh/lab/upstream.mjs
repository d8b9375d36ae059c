// An upstream that does as it is told, model by model. It speaks OpenAI's chat dialect (of Anthropic's it knows a plain
// answer), judges nothing, and never goes on by itself: what waits, waits until the test lets it go or the client leaves.
import http from 'node:http'
import { once } from 'node:events'

/** How long a call may be due before the test gives up. */
const PATIENCE_MS = 30_000

/** The words of an answer that no step gives another text. */
export const answerOf = model => `Hello from ${model}. Done.`

export class Upstream {
  #server = http.createServer((request, response) => this.#serve(request, response))
  #scripts = new Map()
  #waiters = new Set()
  /** Every call in the order in which it came. */
  calls = []

  static async start() {
    const upstream = new Upstream()
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}/v1`
  }

  async stop() {
    this.#server.closeAllConnections()
    await new Promise(done => this.#server.close(done))
  }

  /** What the model does with the calls of a kind that come from now on; the last step stays. Without a plan it answers. */
  plan(model, steps, kind = 'turn') {
    this.#scripts.set(`${kind} ${model}`, { steps: [steps].flat(), at: 0 })
    return this
  }

  /** The calls of a model, of the agent's turns unless another kind is asked for. */
  of(model, kind = 'turn') {
    return this.calls.filter(call => call.model === model && call.kind === kind)
  }

  /** The models of the turns' calls, in order. */
  order(...models) {
    return this.calls.filter(call => call.kind === 'turn' && models.includes(call.model)).map(call => call.model)
  }

  /** Waits until the model has been called that often. */
  arrived(model, times = 1, kind = 'turn') {
    return this.#until(() => this.of(model, kind)[times - 1])
  }

  #until(look) {
    const found = look()
    if (found) return Promise.resolve(found)
    return new Promise((done, failed) => {
      const waiter = { look, done: seen => (clearTimeout(timer), done(seen)) }
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter)
        failed(new Error(`no such call came; ${this.calls.slice(-5).map(call => `${call.kind} ${call.model}`).join(', ')}`))
      }, PATIENCE_MS)
      this.#waiters.add(waiter)
    })
  }

  #changed() {
    for (const waiter of [...this.#waiters]) {
      const found = waiter.look()
      if (!found) continue
      this.#waiters.delete(waiter)
      waiter.done(found)
    }
  }

  #plain(request, response, body) {
    this.calls.push({ model: body.model, kind: kindOf(body), body, headers: request.headers, url: request.url })
    this.#changed()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of anthropic(body.model)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
  }

  async #serve(request, response) {
    const parts = []
    request.on('error', () => {})
    response.on('error', () => {})
    for await (const part of request) parts.push(part)
    if (request.method === 'GET') return response.end(JSON.stringify({ object: 'list', data: [] }))
    const body = JSON.parse(Buffer.concat(parts).toString() || '{}')
    if (request.url.endsWith('/messages')) return this.#plain(request, response, body)
    const kind = kindOf(body)
    const call = { model: body.model, kind, body, headers: request.headers, at: performance.now(), left: false, over: undefined }
    call.over = new Promise(done => response.once('close', () => {
      call.left = !response.writableFinished
      done(call)
    }))
    this.calls.push(call)
    const script = this.#scripts.get(`${kind} ${body.model}`)
    const step = script ? script.steps[Math.min(script.at++, script.steps.length - 1)] : ok()
    this.#changed()
    try {
      await step(new Answer(response, body, call))
    } catch (error) {
      if (!response.destroyed) throw error
    }
  }
}

/** A whole answer in Anthropic's dialect. */
function* anthropic(model) {
  const usage = { input_tokens: 11, output_tokens: 5 }
  yield { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage } }
  yield { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  yield { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: answerOf(model) } }
  yield { type: 'content_block_stop', index: 0 }
  yield { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }
  yield { type: 'message_stop' }
}

/** For whom the host calls. Its own inner calls are told by what they say: a compaction bears the tools of the turn. */
function kindOf(body) {
  const text = JSON.stringify(body.messages?.at(-1)?.content ?? '')
  if (text.includes('acting as a compaction engine')) return 'compaction'
  if (body.tools?.length > 0) return 'turn'
  if (body.messages?.length === 1 && /^("hi"|\[\{"type":"text","text":"hi"\}\])$/.test(text)) return 'probe'
  return 'title'
}

class Answer {
  constructor(response, body, call) {
    this.response = response
    this.body = body
    this.call = call
    this.model = body.model
    this.id = `chatcmpl-${Math.random().toString(36).slice(2, 10)}`
  }

  refuse(status, error, headers = {}) {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers })
    this.response.end(JSON.stringify({ error }))
  }

  head() {
    this.response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    this.response.flushHeaders()
  }

  delta(delta, finish = null) {
    this.event({ choices: [{ index: 0, delta, finish_reason: finish }] })
  }

  event(members) {
    const event = { id: this.id, object: 'chat.completion.chunk', created: 1, model: this.model, ...members }
    this.response.write(`data: ${JSON.stringify(event)}\n\n`)
  }

  async text(text) {
    for (const word of text.match(/\S+\s*/g) ?? []) {
      this.delta({ content: word })
      // A turn of the loop, so that the words leave as chunks of their own.
      await new Promise(setImmediate)
    }
  }

  end(finish = 'stop', output = 5) {
    this.delta({}, finish)
    this.event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: output, total_tokens: 11 + output } })
    this.response.end('data: [DONE]\n\n')
  }

  left() {
    return this.call.over
  }
}

// The steps. Each is what the upstream does with one call.

export const ok = text => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  await answer.text(text ?? answerOf(answer.model))
  answer.end()
}

export const refuse = (status, message, members = {}, headers = {}) => async answer => {
  answer.refuse(status, { message, ...members }, headers)
}

export const limited = (message = 'Rate limit reached, retry after 20s') =>
  refuse(429, message, { type: 'rate_limit_error', code: 'rate_limit_exceeded' })
export const exploded = () => refuse(500, 'upstream exploded', { type: 'server_error' })
export const badKey = () => refuse(401, 'Incorrect API key provided', { code: 'invalid_api_key' })
export const noMoney = () => refuse(402, 'Insufficient Balance', { code: 'insufficient_quota' })
export const noModel = () => refuse(404, 'The model does not exist', { code: 'model_not_found' })
export const tooLong = (status = 400) =>
  refuse(status, "This model's maximum context length is 8192 tokens.", { code: 'context_length_exceeded' })

/** No answer at all. */
export const hang = () => async answer => { await answer.left() }

/** The head, then nothing. */
export const hangAfterHead = () => async answer => {
  answer.head()
  await answer.left()
}

/** Some text, then nothing. */
export const hangAfterText = (text = 'Half an ') => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  await answer.text(text)
  await answer.left()
}

/** Some text, then the connection is cut. */
export const cut = (text = 'Half an answer ') => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  await answer.text(text)
  answer.response.destroy()
}

/** A whole answer without a word. */
export const empty = () => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  answer.end('stop', 0)
}

/** An answer that the output limit ends. */
export const truncated = (text = 'The first part, ') => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  await answer.text(text)
  answer.end('length')
}

/** Thoughts, then what the next step gives: an answer, or `cut` for an end without one. */
export const thinking = (thoughts, then = ok()) => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  for (const word of thoughts.match(/\S+\s*/g) ?? []) {
    answer.delta({ reasoning_content: word })
    await new Promise(setImmediate)
  }
  if (then === 'cut') return answer.response.destroy()
  if (then === 'hang') return answer.left()
  await then({ ...bound(answer), head() {} })
}

/** One call of a tool. */
export const callTool = (name, members) => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  const text = JSON.stringify(members)
  answer.delta({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: '' } }] })
  answer.delta({ tool_calls: [{ index: 0, function: { arguments: text.slice(0, 5) } }] })
  answer.delta({ tool_calls: [{ index: 0, function: { arguments: text.slice(5) } }] })
  answer.end('tool_calls')
}

/** Text, a wait for the test, more text. The gate is a promise. */
export const held = (gate, before, after) => async answer => {
  answer.head()
  answer.delta({ role: 'assistant' })
  await answer.text(before)
  await Promise.race([gate, answer.left()])
  if (answer.response.destroyed) return
  await answer.text(after)
  answer.end()
}

/** An answer that takes its time: what waits shorter than that has had its chance when it is over. */
export const slow = ms => async answer => {
  await new Promise(done => setTimeout(done, ms))
  if (!answer.response.destroyed) await ok()(answer)
}

/** Nothing until the test lets it go, then what the step gives. */
export const gated = (gate, then = ok()) => async answer => {
  await Promise.race([gate, answer.left()])
  if (!answer.response.destroyed) await then(answer)
}

function bound(answer) {
  const names = ['refuse', 'delta', 'event', 'text', 'end', 'left']
  const methods = names.map(name => [name, answer[name].bind(answer)])
  return { ...answer, ...Object.fromEntries(methods) }
}
