// A host of scripted models around the built plugin, without its files.
import { QueueAdapter, guarded } from '../lib/adapter.js';
import { HostClock } from '../lib/clock.js';
import { Core } from '../lib/core.js';
import { loaderFrom } from '../lib/load.js';
import { NameTable } from '../lib/names.js';

export function queue(id, routes, { commit }) {
  const candidates = routes.map((route) => {
    const [provider, model] = route.split('/');
    return { provider, model, present: true };
  });
  const policy = `on 0 0 16 30000 3000 60000 3600000 always 3 0 ${commit} 8388608 2 tell on off 600000 `
    + '14400000 30000 5000 1800000 60000 300000 on off all in-call 0 60000 600000 0 wait off 0 1000 30000 2000';
  return {
    id, name: id, digest: '1', candidates, continueText: '继续', rescue: true,
    words: (names) => [policy, candidates.length, ...candidates.map((one) =>
      `${names.route(one)} present - - - 0 0 0 120000 0 0`)].join(' '),
  };
}

export async function makeHost(queues) {
  const clock = new HostClock('let-go');
  const models = new Map();
  const stream = (options) => models.get(`${options.provider}/${options.model}`)(options);
  const nothing = () => {};
  const keeper = { recall: () => [], keep: nothing, note: nothing, attempted: nothing, ended: nothing, flush: async () => {} };
  const plans = {
    all: () => queues, find: (id) => ({ queue: queues.find((one) => one.id === id), asked: 'id' }),
    continuation: () => ({ enabled: false, onTruncation: false, onFailure: false, truncationsMax: 0, failuresMax: 0, delayMs: 0, text: '' }),
    day: () => ({ number: 1, endsMs: Date.now() + 86_400_000 }), enabled: () => true, onChange: () => nothing,
    direct: () => ({ policy: 'none' }),
  };
  const catalog = { info: () => undefined, present: () => true, rescan: async () => {} };
  const core = new Core({
    clock, plans, keeper, catalog, names: new NameTable(), loader: loaderFrom(new URL('../lib/', import.meta.url)),
    instance: 'bench', stream: (call, options) => guarded(call, () => stream(options)), fault: console.error,
  });
  await core.engine.ready();
  return { core, models, stream, adapter: new QueueAdapter({ core, plans, catalog, keeper, straight: stream }) };
}
