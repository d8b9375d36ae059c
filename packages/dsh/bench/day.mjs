// What a day of work leaves in memory, with everything that the plugin keeps: facts, journal, ledger
// in a folder of its own, the calls that are shown, the engine. Made by `npm run build` first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { QueueAdapter, guarded } from '../lib/adapter.js';
import { HostClock } from '../lib/clock.js';
import { Core } from '../lib/core.js';
import { openHome } from '../lib/home.js';
import { loaderFrom } from '../lib/load.js';
import { NameTable } from '../lib/names.js';

const CALLS = Number(process.argv[2] ?? 10_000);
const SESSIONS = 400;
const folder = mkdtempSync(join(tmpdir(), 'ekiden-day-'));
const clock = new HostClock('let-go');
const speaks = async function* () {
  for (let at = 0; at < 20; at += 1) yield { type: 'text-delta', index: 0, text: 'some words ' };
  yield { type: 'usage', usage: { inputTokens: 900, outputTokens: 40 } };
  yield { type: 'finish', reason: { kind: 'stop' } };
};
const breaks = async function* () {
  yield { type: 'finish', reason: { kind: 'error', failure: { code: 'SERVER', message: `500: broke, ${'and said so at length '.repeat(30)}` } } };
};
let asked = 0;
const stream = () => (asked++ % 9 === 0 ? breaks() : speaks());
const host = { listProviders: () => [{ id: 'a', name: 'A' }], listModels: async () => [], resolveModelInfo: async () => ({}) };
const home = openHome(folder, clock, host);
home.settings.change(undefined, [
  { do: 'add_queue', id: 'q', name: 'q', routes: ['a/one', 'a/two', 'a/three'] },
  { do: 'set', path: 'queues.q.continue_delay', value: '0s' },
]);
const core = new Core({
  clock, plans: home.plans, keeper: home.keeper, catalog: home.catalog, names: new NameTable(),
  loader: loaderFrom(new URL('../lib/', import.meta.url)), instance: 'day', stream: (call) => guarded(call, stream), fault: console.error,
});
await core.engine.ready();
const adapter = new QueueAdapter({ core, ...home, straight: stream });
const used = async () => {
  await home.keeper.flush();
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc();
    await new Promise((next) => setImmediate(next));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
};
const before = await used();
for (let call = 0; call < CALLS; call += 1) {
  const options = { provider: 'ekiden', model: 'q', messages: [], sessionId: `session-${call % SESSIONS}` };
  for await (const chunk of adapter.stream(options)) void chunk;
  if (call % 500 === 0) core.status();
}
const after = await used();
console.log(`${CALLS} calls of ${SESSIONS} sessions: ${(after - before).toFixed(1)} MB more than at the start `
  + `(${before.toFixed(1)} MB), WebAssembly ${(core.engine.memoryBytes / 1_048_576).toFixed(1)} MB of it`);
core.close();
home.close();
rmSync(folder, { recursive: true });
