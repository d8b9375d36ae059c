// A plugin of the tests: it counts what the host holds, so that what another plugin leaves behind is seen. `config.file` is loaded by
// its path, as a row of the profile's patch file.
export const name = 'lab-probe'

export function apply(ctx) {
  ctx.inject(['webServer'], served => {
    const handler = (request, response) => response.end(JSON.stringify(counts(ctx)))
    served.effect(() => served.webServer.register({ kind: 'exact', path: '/lab-probe', handler }))
  })
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
