// A plugin of the tests, loaded by its path as a row of the profile's patch file. It counts what the host holds, so that what another
// plugin leaves behind is seen; and it brings a provider whose machine cannot resolve a name and says so, which the host's own do not.
export const name = 'lab-probe'
export const inject = ['llm']

export function apply(ctx) {
  ctx.llm.registerAdapter(['lab-offline'], offline)
  ctx.inject(['webServer'], served => {
    const handler = (request, response) => response.end(JSON.stringify(counts(ctx)))
    served.effect(() => served.webServer.register({ kind: 'exact', path: '/lab-probe', handler }))
    const service = (request, response) => response.end(JSON.stringify(asked(ctx, new URL(request.url, 'http://lab').searchParams.get('do'))))
    served.effect(() => served.webServer.register({ kind: 'exact', path: '/lab-probe/service', handler: service }))
  })
}

/** What another plugin can do with the service on the context. */
function asked(ctx, what) {
  const [service, same] = [ctx.root.get('ekiden'), ctx.root.get('modelFailover')]
  switch (what) {
    case 'status': return { same: service !== undefined && service.status().instance === same?.status().instance, status: service.status() }
    case 'reset': return { done: same.reset() }
    case 'set': return { done: service.updateSettings({ defaults: { cooldown: '77s' } }) }
    default: return { done: service.updateSettings({ defaults: { cooldown: 'long' } }) }
  }
}

/** Listeners by event, resources by kind, as the runtime has them. */
function counts(ctx) {
  const listeners = {}
  const hooks = (ctx.root.events ?? ctx.events)._hooks
  for (const event of Reflect.ownKeys(hooks)) {
    if (hooks[event].length > 0) listeners[String(event)] = hooks[event].length
  }
  const resources = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  const own = ['exit', 'beforeExit', 'unhandledRejection', 'uncaughtException', 'SIGTERM', 'SIGINT']
  const ofProcess = Object.fromEntries(own.map(event => [event, process.listenerCount(event)]))
  return { listeners, resources, process: ofProcess, providers: ctx.root.get('llm')?.listProviders().map(provider => provider.id) }
}

const offline = {
  providerInfo: id => ({ id, name: 'Offline' }),
  providerRetryPolicy: () => ({ mode: 'normal', maxRetries: 0, retryableCodes: ['NONE'], initialDelayMs: 1, maxDelayMs: 1, jitter: 0 }),
  listModels: async provider => [{ provider, id: 'far', name: 'Far' }],
  resolveModel: async (provider, id) => ({ provider, id, name: 'Far' }),
  async *stream() {
    const failure = { code: 'TRANSPORT', message: 'request failed: getaddrinfo ENOTFOUND api.example.com' }
    yield { type: 'finish', reason: { kind: 'error', failure } }
  },
}
