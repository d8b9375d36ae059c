// What a chunk costs in the plugin, before and after commit: the time through a queue less the time
// straight from the same source. And what a day of work leaves in memory. Node 24; made by
// `npm run build` first. It proves nothing by itself: `xtask dsh` looks at the figures.
import { makeHost, queue } from './host.mjs';

const PIECES = 20_000;
const ROUNDS = 15;

/** A source with so many pieces of text, after so many of reasoning. */
const source = (reasoning, text) => async function* () {
  for (let at = 0; at < reasoning; at += 1) yield { type: 'reasoning-delta', index: 0, text: 'thinking of it ' };
  for (let at = 0; at < text; at += 1) yield { type: 'text-delta', index: 1, text: 'some words of it ' };
  yield { type: 'usage', usage: { inputTokens: 10, outputTokens: text } };
  yield { type: 'finish', reason: { kind: 'stop' } };
};

/** Milliseconds of this thread's own time: others share the machine. */
async function read(stream) {
  const before = process.threadCpuUsage();
  for await (const chunk of stream) void chunk;
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** A quiet round. */
const quiet = (numbers) => numbers.sort((one, other) => one - other)[numbers.length >> 2];

/** Microseconds a chunk more than without the plugin. */
async function cost(commit, reasoning, text) {
  const host = await makeHost([queue('q', ['a/one'], { commit })]);
  host.models.set('a/one', source(reasoning, text));
  const options = { provider: 'ekiden', model: 'q', messages: [], sessionId: 's' };
  const through = [];
  const straight = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    straight.push(await read(host.stream({ provider: 'a', model: 'one', messages: [] })));
    through.push(await read(host.adapter.stream(options)));
  }
  host.core.close();
  return ((quiet(through) - quiet(straight)) * 1_000) / (reasoning + text);
}

/** Megabytes more after so many calls of so many sessions, in which most things that can happen do. */
async function day(calls) {
  const host = await makeHost([queue('q', ['a/one', 'b/two', 'c/three'], { commit: 'first-token' })]);
  const fails = async function* () {
    yield { type: 'finish', reason: { kind: 'error', failure: { code: 'SERVER', message: '500: broke' } } };
  };
  let at = 0;
  host.models.set('a/one', (...words) => (at++ % 7 === 0 ? fails : source(2, 20))(...words));
  host.models.set('b/two', source(0, 30));
  host.models.set('c/three', source(0, 5));
  const settle = async () => {
    globalThis.gc?.();
    await new Promise((next) => setImmediate(next));
    globalThis.gc?.();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return (heapUsed + external + arrayBuffers) / 1_048_576;
  };
  const work = async (from, to) => {
    for (let call = from; call < to; call += 1) {
      await read(host.adapter.stream({ provider: 'ekiden', model: 'q', messages: [], sessionId: `session-${call % 300}` }));
    }
  };
  await work(0, 200);
  const before = await settle();
  await work(200, calls);
  const after = await settle();
  const wasm = host.core.engine.memoryBytes / 1_048_576;
  host.core.close();
  return { more: after - before, wasm };
}

const before = await cost('complete', 0, PIECES);
const reasoning = await cost('first-output', PIECES, 1);
const after = await cost('first-output', 0, PIECES);
console.log(`before commit: ${before.toFixed(2)} µs a chunk of text, ${reasoning.toFixed(2)} µs of reasoning`);
console.log(`after commit: ${after.toFixed(2)} µs a chunk`);
const { more, wasm } = await day(Number(process.argv[2] ?? 5_000));
console.log(`after a day: ${more.toFixed(1)} MB more, of them WebAssembly ${wasm.toFixed(1)} MB in all`);
