/** The engine as the plugin holds it: traps, files that cannot be loaded, histories that replay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { WasmInstance } from '../src/engine.ts';
import { civilMs } from '../src/evidence.ts';
import { loaderFrom } from '../src/load.ts';
import { NameTable, routeOf, routeText } from '../src/names.ts';
import { BadLine, FactReader, Words } from '../src/words.ts';
import {
  answers, Bench, hangs, queueOf, serverError, session, settled, text, WASM,
} from './core-support.ts';

/** Instances that trap when told so. */
class Trapping {
  armed = false;
  made = 0;
  readonly #load = loaderFrom(WASM);

  readonly load = async (): Promise<WasmInstance> => {
    this.made += 1;
    const wasm = await this.#load();
    return {
      history: () => {
        const history = wasm.history();
        const guard = (): void => {
          if (!this.armed) return;
          this.armed = false;
          throw Object.assign(new Error('the engine trapped at engine.rs:1'), { name: 'Trapped' });
        };
        return {
          lines: (line) => {
            guard();
            return history.lines(line);
          },
          free: () => history.free(),
          beat: (...words) => {
            guard();
            return history.beat(...words);
          },
        };
      },
      classify: (evidence) => wasm.classify(evidence),
      replay: (trace) => wasm.replay(trace),
      get memoryBytes() {
        return wasm.memoryBytes;
      },
    };
  };
}

test('d4_after_a_trap_running_calls_end_clearly_and_the_next_ones_run_with_what_was_kept', async () => {
  const trapping = new Trapping();
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { paroleAfterMs: 0 })], trapping.load)
    .model('a/one', hangs(text('Hello '), true)).model('b/two', answers('Two.'));
  const running = bench.ask('q');
  await running.one();
  const place = [bench.names.session('session-1'), bench.names.queue('q'),
    bench.names.route({ provider: 'a', model: 'one' })].join(' ');
  const day = bench.plans.day(bench.clock.wall).number;
  bench.keeper.recalled = [`quarantined ${place} auth ${day} ${bench.clock.wall} - - 0 0 0`];
  trapping.armed = true;
  const other = await bench.answer('q', session('other'));
  assert.equal(other.failure?.code, 'ENGINE_LOST');
  await running.drain();
  assert.equal(running.failure?.code, 'ENGINE_LOST');
  assert.equal(bench.asked[0]?.options.signal?.aborted, true);
  assert.equal((await bench.answer('q')).text, 'Two.', 'the quarantine was recalled');
  assert.equal(trapping.made, 2);
  assert.equal(bench.faults.length, 1);
  assert.deepEqual(bench.keeper.noted.map((note) => note.what).slice(0, 1), ['engine-lost']);
});

test('d4_an_engine_that_traps_again_and_again_is_left_alone_for_a_while', async () => {
  const trapping = new Trapping();
  const bench = new Bench([queueOf('q', ['a/one'])], trapping.load).model('a/one', answers('x'));
  await bench.core.engine.ready();
  for (let trap = 0; trap < 6; trap += 1) {
    trapping.armed = true;
    await bench.answer('q');
    await settled();
  }
  assert.equal(trapping.made, 4);
  assert.match(bench.core.status().lost ?? '', /trapped/);
  trapping.armed = false;
  await bench.clock.pass(61_000);
  assert.equal((await bench.answer('q')).text, 'x');
});

test('d4_a_file_that_cannot_be_loaded_is_told_to_every_call_and_breaks_nothing_else', async () => {
  const nowhere = loaderFrom(new URL('./no-such-folder/', import.meta.url));
  const bench = new Bench([queueOf('q', ['a/one'])], nowhere).model('a/one', answers('x'));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'ENGINE_LOST');
  assert.equal((await bench.adapter.listModels('ekiden')).length, 1);
  assert.deepEqual(bench.core.status().routes, []);
  assert.equal(bench.core.session('x'), undefined);
  assert.deepEqual(bench.core.dryRun('q', undefined), undefined);
  bench.core.release({ what: 'all' });
  bench.core.endSession('x');
  assert.equal(bench.clock.timers, 0);
});

test('r33_a_recorded_history_gives_the_same_answers_again', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 1 })])
    .model('a/one', serverError, serverError, answers('One.')).model('b/two', answers('Two.'));
  await bench.answer('q');
  await bench.answer('q', session('other'));
  bench.core.status();
  bench.core.endSession('other');
  const { lines, answers: said, whole } = bench.core.recorded();
  assert.equal(whole, true);
  assert.match(lines, /^day \d+ \d+\nqueue 1 /);
  assert.doesNotMatch(lines, /hello|继续|One\.|a\/one/);
  const history = (await loaderFrom(WASM)()).history();
  assert.equal(lines.split('\n').filter(Boolean).map((line) => history.lines(line)).join(''), said);
  assert.equal((await loaderFrom(WASM)()).history().lines(lines), said);
});

test('d5_the_adapter_answers_from_what_is_known', async () => {
  const bench = new Bench([queueOf('q', ['a/one', { provider: 'b', model: 'two', window: 9_000 }]),
    queueOf('empty', [])]);
  const { adapter } = bench;
  assert.deepEqual(adapter.providerInfo('ekiden'), { id: 'ekiden', name: '模型接力 / Model relay' });
  const policy = adapter.providerRetryPolicy('ekiden');
  assert.deepEqual(policy.mode === 'normal' && policy.retryableCodes, ['RELAY_RESCUE'],
    'the host tries nothing again but what D6 asks for');
  assert.deepEqual((await adapter.listModels('ekiden')).map(({ id, name }) => [id, name]),
    [['q', 'Queue q'], ['empty', 'Queue empty']]);
  const info = await adapter.resolveModel('ekiden', 'q');
  assert.deepEqual(info, { provider: 'ekiden', id: 'q', name: 'Queue q', context: { contextWindow: 9_000 } },
    'R36: the first that has one; R35: no effort');
  bench.catalog.models.set('a/one', { window: 128_000 });
  assert.equal((await adapter.resolveModel('ekiden', 'q')).context?.contextWindow, 128_000);
  assert.deepEqual(await adapter.resolveModel('ekiden', 'gone'),
    { provider: 'ekiden', id: 'gone', name: 'gone' });
  assert.deepEqual(bench.asked, []);
});

test('names_are_numbered_once_and_the_longest_unheard_of_go_first', () => {
  const names = new NameTable(2);
  assert.equal(names.session(undefined), '0');
  assert.equal(names.sessionOf('0'), '');
  assert.deepEqual([names.session('a'), names.session('b'), names.session('a')], ['1', '2', '1']);
  assert.deepEqual([names.known(''), names.known('b'), names.known('nobody')], ['0', '2', undefined]);
  assert.equal(names.session('c'), '3');
  assert.deepEqual([names.sessionOf('1'), names.sessionOf('2')], ['a', undefined]);
  const route = { provider: 'p', model: 'm/x' };
  assert.deepEqual(names.routeOf(String(names.route(route))), route);
  assert.deepEqual(routeOf(routeText(route)), route);
  assert.equal(routeOf('nothing'), undefined);
});

test('a_line_that_is_not_as_expected_is_named', () => {
  assert.throws(() => new Words('call').next() && new Words('').next(), BadLine);
  const reader = new FactReader(new NameTable(), (number) => `ek-${number}`);
  assert.deepEqual(reader.read(new Words('invented 1 2')), { kind: 'other', words: ['invented', '1', '2'] });
});

test('r21_civil_times_are_resolved_in_their_zone', () => {
  const now = Date.UTC(2026, 0, 17, 12);
  assert.equal(civilMs('civil ----01-18 11:30:00 Asia/Calcutta', now), Date.UTC(2026, 0, 18, 6));
  assert.equal(civilMs('civil - 08:00:00 +28800', now), Date.UTC(2026, 0, 18));
  assert.equal(civilMs('civil 2026-03-08 12:00:00 America/New_York', now), Date.UTC(2026, 2, 8, 16));
  assert.equal(civilMs('civil ----01-16 00:00:00 +0', now), Date.UTC(2027, 0, 16));
  assert.equal(civilMs('civil - 25 Nowhere/None', now), undefined);
});
