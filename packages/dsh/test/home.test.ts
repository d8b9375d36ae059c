import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { GenerateOptions, LlmFailure, StreamChunk } from '@deepseek-ai/dsh-llm';
// @ts-expect-error a module without types
import { load } from '../../../crates/wasm/ekiden.mjs';
import { BadQueueFile, exported, importing, numbered, unusedId } from '../src/carry.ts';
import type { Declared, HostModels } from '../src/catalog.ts';
import { hostHome, openHome } from '../src/home.ts';
import { NameTable } from '../src/names.ts';
import { probe } from '../src/probe.ts';
import { readSettings } from '../src/settings.ts';
import { folderFor, HandClock } from './home-support.ts';

/** A host with models, which counts what it is asked. */
class FakeHost implements HostModels {
  asked = 0;
  providers: Record<string, Record<string, Declared>> = {
    'mock-a': {
      'm/1': {
        context: { contextWindow: 64_000 },
        defaultMaxTokens: 4_096,
        reasoning: { efforts: [{ id: 'low' }, { id: 'high' }] },
      },
      m2: {},
    },
    ekiden: { default: {} },
  };
  broken = new Set<string>();

  listProviders() {
    return Object.keys(this.providers).map((id) => ({ id, name: `The ${id}` }));
  }

  listModels(provider: string) {
    this.asked += 1;
    if (this.broken.has(provider))
      return Promise.reject(new Error('401: sk-secret-key-12345 is wrong'));
    if (provider === 'slow') return new Promise<never>(() => {});
    return Promise.resolve(
      Object.keys(this.providers[provider] ?? {}).map((id) => ({ id, name: id.toUpperCase() })),
    );
  }

  resolveModelInfo(provider: string, model: string): Promise<Declared> {
    this.asked += 1;
    const found = this.providers[provider]?.[model];
    if (!found) throw new Error('UNKNOWN_MODEL');
    return Promise.resolve(found);
  }
}

/** Lets everything that waits for nothing but promises run. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function opened(
  t: TestContext,
  path = folderFor(t),
  host = new FakeHost(),
  clock = new HandClock(),
) {
  const home = openHome(path, clock, host);
  t.after(() => home.close());
  return { home, host, clock, path };
}

function settings(path: string, document: unknown): void {
  mkdirSync(join(path, 'ekiden'), { recursive: true });
  writeFileSync(join(path, 'ekiden', 'settings.json'), JSON.stringify(document));
}

test('the home is found as the host finds it', () => {
  assert.equal(hostHome({ DSH_HOME: '/x/y' }), '/x/y');
  assert.match(hostHome({ DSH_HOME: '~/y' }), /^\/.*\/y$/);
  assert.match(hostHome({}), /\.dsh$/);
});

test('r37 a provider that comes after the first scan is asked once, and nobody else again', async (t) => {
  const { home, host, clock, path } = opened(t);
  const listed = (of = home) => of.catalog.shown().map(({ id, models }) => [id, models.length]);
  clock.move(1_000);
  await quiet();
  const { asked } = host;
  host.providers['mock-b'] = { n: {} };
  host.providers['mock-a'] = { m3: {} };
  home.catalog.adaptersChanged();
  clock.move(1_000);
  await quiet();
  assert.deepEqual(listed(), [['mock-a', 2], ['mock-b', 1]]);
  assert.ok(host.asked > asked);
  const then = host.asked;
  home.catalog.adaptersChanged();
  clock.move(60_000);
  await quiet();
  assert.equal(host.asked, then);
  // As after a restart, where it came while the host was down.
  host.providers['mock-c'] = { o: {} };
  const again = opened(t, path, host);
  again.clock.move(1_000);
  await quiet();
  assert.deepEqual(listed(again.home), [['mock-a', 2], ['mock-b', 1], ['mock-c', 1]]);
});

test('r37 the catalog is asked once, kept on disk, and only a rescan asks again', async (t) => {
  const { home, host, clock, path } = opened(t);
  assert.deepEqual(
    home.catalog.shown().map(({ id, models }) => [id, models]),
    [['mock-a', []]],
    'never our own route',
  );
  clock.move(1_000);
  await quiet();
  assert.deepEqual(home.catalog.shown(), [
    {
      id: 'mock-a',
      name: 'The mock-a',
      hidden: false,
      trouble: null,
      models: [
        {
          model: 'm/1',
          name: 'm/1'.toUpperCase(),
          context_window: 64_000,
          max_tokens: 4_096,
          efforts: ['low', 'high'],
        },
        { model: 'm2', name: 'M2', context_window: null, max_tokens: null, efforts: [] },
      ],
    },
  ]);
  assert.deepEqual(home.catalog.info({ provider: 'mock-a', model: 'm/1' }), {
    name: 'M/1',
    window: 64_000,
    maxTokens: 4_096,
    efforts: ['low', 'high'],
  });
  const { asked } = host;
  const again = opened(t, path, host);
  again.clock.move(60_000);
  await quiet();
  assert.equal(again.home.catalog.shown()[0]?.models.length, 2);
  assert.equal(host.asked, asked, 'looking asks nobody');
  host.providers['mock-a'] = { m3: {} };
  host.providers['mock-b'] = { n: {} };
  host.broken.add('mock-b');
  await Promise.all([again.home.catalog.rescan(), again.home.catalog.rescan()]);
  const listed = () =>
    again.home.catalog
      .shown()
      .map(({ id, models, trouble }) => [id, models.map(({ model }) => model), trouble]);
  assert.deepEqual(listed(), [
    ['mock-a', ['m3'], null],
    ['mock-b', [], '401: *** is wrong'],
  ]);
  host.broken.clear();
  host.providers['mock-a'] = { m4: {} };
  await again.home.catalog.rescan(['mock-b']);
  assert.deepEqual(
    listed(),
    [
      ['mock-a', ['m3'], null],
      ['mock-b', ['n'], null],
    ],
    'one provider alone',
  );
});

test('r37 a provider that does not answer holds nobody up; an unreadable cache is asked anew', async (t) => {
  const path = folderFor(t);
  mkdirSync(join(path, 'ekiden'));
  for (const text of ['{', '{"version":9}', '{"version":1,"providers":[{"id":1}],"facts":{}}']) {
    writeFileSync(join(path, 'ekiden', 'catalog.json'), text);
    assert.equal(opened(t, path).home.catalog.scannedMs, undefined, text);
  }
  const { home, host, clock } = opened(t, path);
  host.providers['slow'] = {};
  const scan = home.catalog.rescan();
  await quiet();
  clock.move(20_000);
  await scan;
  assert.deepEqual(
    home.catalog.shown().map(({ id, models, trouble }) => [id, models.length, trouble]),
    [
      ['mock-a', 2, null],
      ['slow', 0, 'no answer within 20 s'],
    ],
  );
});

test('r38 a hidden provider is beside the list, and back after it is restored', async (t) => {
  const { home, host } = opened(t);
  await home.catalog.rescan();
  home.settings.change(undefined, [{ do: 'set', path: 'hidden_providers', value: ['mock-a'] }]);
  assert.deepEqual(
    home.catalog.shown().map(({ hidden, models }) => [hidden, models.length]),
    [[true, 0]],
  );
  const { asked } = host;
  home.settings.change(undefined, [{ do: 'set', path: 'hidden_providers', value: [] }]);
  await quiet();
  assert.ok(host.asked > asked, 'it is asked again by itself');
  assert.deepEqual(
    home.catalog.shown().map(({ hidden, models }) => [hidden, models.length]),
    [[false, 2]],
  );
});

test('r36 r40 a plan has the windows of its models, overridden ones first, and knows who is missing', async (t) => {
  const path = folderFor(t);
  settings(path, {
    queues: {
      a: {
        candidates: [
          'mock-a/m/1',
          { route: 'mock-a/m2', context_window: 9_000, effort: 'low', max_sessions: 2 },
          'gone/x',
          'mock-a/unlisted',
        ],
      },
    },
  });
  const { home, host } = opened(t, path);
  host.providers['mock-a'] = {
    ...host.providers['mock-a'],
    unlisted: { context: { contextWindow: 5 } },
  };
  let changes = 0;
  home.plans.onChange(() => {
    changes += 1;
  });
  await quiet();
  const [plan] = home.plans.all();
  assert.deepEqual(
    plan?.candidates.map(({ model, window, present }) => [model, window, present]),
    [
      ['m/1', 64_000, true],
      ['m2', 9_000, true],
      ['x', undefined, false],
      ['unlisted', 5, true],
    ],
  );
  assert.ok(changes > 0);
  const { digest } = plan ?? {};
  host.providers['gone'] = { x: {} };
  home.catalog.adaptersChanged();
  assert.equal(home.plans.all()[0]?.candidates[2]?.present, true);
  assert.notEqual(home.plans.all()[0]?.digest, digest);
});

test("the engine takes every queue, and the presets are the engine's own", async (t) => {
  const engine = (
    await load(readFileSync(new URL('../../../crates/wasm/ekiden.wasm', import.meta.url)))
  ).history();
  const presets = new Map<string, string>(
    (engine.lines('presets\n') as string)
      .trim()
      .split('\n')
      .map((line) => /^preset (\S+) (.*)$/.exec(line))
      .map((found) => [found?.[1] ?? '', found?.[2] ?? '']),
  );
  const path = folderFor(t);
  const gateway = {
    retry_pause: '250ms',
    continue_delay: 0,
    rescue: false,
    parole_max: '1h',
    lease_idle: '5m',
  };
  const relay = { continue_on_failover: 'never', parole_after: '1m' };
  settings(path, {
    queues: Object.fromEntries(
      [...presets.keys()].map((policy) => [
        policy,
        {
          policy,
          ...gateway,
          ...(policy === 'relay' ? relay : {}),
          candidates: ['mock-a/m2', { route: 'x/y', max_sessions: 1 }],
        },
      ]),
    ),
  });
  const { home } = opened(t, path);
  const names = new NameTable();
  for (const plan of home.plans.all()) {
    const words = plan.words(names);
    assert.equal(words.slice(0, presets.get(plan.id)?.length), presets.get(plan.id), plan.id);
    assert.match(words, / 2 1 present - - - 0 0 0 120000 0 0 2 missing 1 - - 0 0 0 120000 0 0$/);
    assert.equal(
      engine.lines(`queue ${names.queue(plan.id)} ${plan.digest} ${words}\n`),
      '',
      plan.id,
    );
  }
  const { queueFor, policy } = home.plans.direct();
  assert.equal(policy, 'none');
  assert.match(queueFor({ provider: 'p', model: 'm' }).words(names), /^off /);
});

test('r1 a name is an id, an alias, or the id of a queue that was deleted', (t) => {
  const path = folderFor(t);
  settings(path, {
    queues: { a: {}, b: {}, c: {} },
    aliases: { 'gpt-*': 'b', 'gpt-?-mini*': 'a', exact: 'b' },
  });
  const { home } = opened(t, path);
  const found = (name: string) => {
    const plan = home.plans.find(name);
    return plan && `${plan.queue.id} ${plan.asked}`;
  };
  assert.deepEqual(['a', ' b ', 'exact', 'gpt-9', 'gpt-9-mini', 'c', 'x'].map(found), [
    'a id',
    'b id',
    'b alias',
    'b alias',
    'a alias',
    'c id',
    undefined,
  ]);
  home.settings.change(undefined, [{ do: 'delete_queue', id: 'c' }]);
  assert.equal(found('c'), 'a deleted');
  home.settings.change(undefined, [{ do: 'add_queue', id: 'c' }]);
  assert.equal(found('c'), 'c id');
  home.settings.change(undefined, [{ do: 'set', path: 'unknown_model', value: 'first' }]);
  assert.equal(found('x'), 'a alias');
});

test('r39 every candidate is asked straight, four at a time, within 15 s; a truncated answer is one', async () => {
  const clock = new HandClock();
  let running = 0;
  let most = 0;
  const sent: GenerateOptions[] = [];
  async function* stream(options: GenerateOptions): AsyncGenerator<StreamChunk> {
    sent.push(options);
    running += 1;
    most = Math.max(most, running);
    await quiet();
    running -= 1;
    if (options.model === 'hangs') await new Promise(() => {});
    if (options.model === 'throws')
      throw Object.assign(new Error('no such model'), { code: 'UNKNOWN_MODEL' });
    const failure = { code: 'AUTH', message: '401: bad key sk-abcdefghijkl' };
    yield {
      type: 'finish',
      reason: options.model === 'bad' ? { kind: 'error', failure } : { kind: 'max-tokens' },
    };
  }
  const judge = (failure: LlmFailure) => ({
    class: failure.code === 'AUTH' ? ('auth' as const) : ('timeout' as const),
    evidence: failure,
  });
  const models = ['ok', 'bad', 'hangs', 'throws', 'ok', 'ok'];
  const asked = probe(
    { clock, stream, judge },
    models.map((model) => ({ provider: 'p', model })),
  );
  for (let n = 0; n < 10; n += 1) await quiet();
  clock.move(15_000);
  const tested = await asked;
  assert.deepEqual(
    tested.map(({ ok, code, took_ms }) => [ok, code, took_ms]),
    [
      [true, null, 0],
      [false, 'AUTH', 0],
      [false, 'TIMEOUT', 15_000],
      [false, 'UNKNOWN_MODEL', 0],
      [true, null, 0],
      [true, null, 0],
    ],
  );
  assert.equal(tested[1]?.message, '401: bad key ***');
  assert.equal(most, 4);
  assert.ok(
    sent.every(
      ({ maxTokens, sessionId, signal }) => maxTokens === 8 && sessionId === undefined && signal,
    ),
  );
  assert.equal(clock.waiting, 0);
});

test('r40 an export says what was set and nothing else, and comes back as it went', () => {
  const { config } = readSettings({
    reset_hour: 3,
    defaults: { retries: 9 },
    queues: {
      secret: {
        name: '甲',
        rescue: false,
        retries: 1,
        idle_timeout: '30s',
        candidates: ['p/m', { route: 'q/n', effort: 'low', max_sessions: 2 }],
      },
    },
  });
  const file = exported(config);
  assert.deepEqual(file, {
    format: 'ekiden-queues',
    version: 1,
    queues: [
      {
        name: '甲',
        settings: { retries: 1, idle_timeout: '30s' },
        candidates: [
          { route: 'p/m', options: {} },
          { route: 'q/n', options: { effort: 'low', max_sessions: 2 } },
        ],
      },
    ],
  });
  const { imported, changes } = importing(
    JSON.parse(JSON.stringify(file)),
    config,
    new Set(['queue']),
  );
  assert.deepEqual(imported, [{ id: 'queue-1', name: '甲 (1)', candidates: 2 }]);
  assert.equal(changes.length, 5);
  assert.equal(numbered('a', new Set(['a', 'a (1)'])), 'a (2)');
  assert.equal(unusedId('My  Queue!', new Set(['my-queue'])), 'my-queue-2');
  assert.equal(unusedId('默认模板', new Set()), 'queue');
  assert.equal(unusedId('2026', new Set()), 'queue-2026');
  for (const [name, id] of [
    ['夜班 1', 'queue-1'],
    ['夜班Fast模板', 'fast'],
    ['GPT-5 备用', 'gpt-5'],
    ['Nachtschicht für Ärzte', 'nachtschicht'],
    ['Été', 'queue'],
  ] as const)
    assert.equal(unusedId(name, new Set()), id);
});

test('r40 a bad file says where it is wrong', () => {
  const { config } = readSettings({ queues: { a: {} } });
  const file = (queue: unknown) => ({
    format: 'ekiden-queues',
    version: 1,
    queues: [{ name: 'ok' }, queue],
  });
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{}, /`format`/],
    [file({ name: '' }), /queues\[1\]\.name/],
    [file({ name: 'x', id: 'x' }), /queues\[1\].*`id`/],
    [
      file({ name: 'x', settings: { retries: 11 } }),
      /queues\[1\]\.settings\.retries: .*at most 10/,
    ],
    [file({ name: 'x', settings: { reset_hour: 1 } }), /queues\[1\]\.settings\.reset_hour/],
    [file({ name: 'x', candidates: [{ route: 'p' }] }), /queues\[1\]\.candidates\[0\]\.route/],
    [
      file({ name: 'x', candidates: [{ route: 'p/m', options: { max_sessions: 17 } }] }),
      /candidates\[0\]\.options\.max_sessions: .*at most 16/,
    ],
    [
      file({ name: 'x', candidates: [{ route: 'p/m' }, { route: 'p/m' }] }),
      /candidates\[1\]\.route.*twice/,
    ],
  ];
  for (const [given, said] of bad) {
    assert.throws(
      () => importing(given, config, new Set()),
      (error) => error instanceof BadQueueFile && said.test(error.message),
      String(said),
    );
  }
});

test('what the plugin before us left is taken over once, and nothing of its files is changed', async (t) => {
  const path = folderFor(t);
  const theirs = join(path, 'dsh-model-failover');
  mkdirSync(theirs);
  const files: Record<string, unknown> = {
    'settings.json': {
      templates: [
        {
          id: 'default',
          name: '默认模板',
          order: [
            {
              provider: 'mock-a',
              model: 'm/1',
              reasoningEffort: 'high',
              contextWindow: 128_000,
              concurrency: 2,
            },
            { provider: 'model-failover', model: 'x' },
            { provider: 'gone', model: 'g', concurrency: 99 },
          ],
        },
        { id: 'tmpl 2', name: '快', order: [] },
      ],
      editedTemplate: 'default',
      resetHour: 2,
      retrySameModelOnce: false,
      sameModelRetries: 1,
      idleTimeoutSec: 60,
      cooldownSec: 0,
      limitCooldownSec: 4,
      autoContinueFailureLimit: 3,
      continueDelaySec: 2,
      hiddenProviders: ['qoder'],
      keepEventLog: true,
      eventLogLimit: 50,
      showForeignSessions: false,
      newThing: 1,
    },
    'state.json': {
      day: '2026-11-30',
      sessions: {
        'session-1': {
          templates: {
            default: {
              quarantine: { 'mock-a/m/1': { code: 'QUOTA', message: 'no credit', at: 5 } },
              good: { 'gone/g': true },
            },
          },
        },
      },
      counts: { 'mock-a/m/1': { fail: 2, ok: 7 } },
      speeds: { 'session-1': { 'gone/g': { tokens: 100, ms: 2_000, runs: 1, at: 9 } } },
    },
  };
  for (const [name, value] of Object.entries(files))
    writeFileSync(join(theirs, name), JSON.stringify(value));
  const stamps = () =>
    Object.keys(files).map((name) => [
      readFileSync(join(theirs, name), 'utf8'),
      statSync(join(theirs, name)).mtimeMs,
    ]);
  const before = stamps();
  const clock = new HandClock(Date.parse('2026-11-30T10:00:00Z'));
  const { home } = opened(t, path, new FakeHost(), clock);
  await home.keeper.flush();
  assert.deepEqual(JSON.parse(readFileSync(join(path, 'ekiden', 'settings.json'), 'utf8')), {
    version: 1,
    reset_hour: 2,
    journal: { enabled: true, entries_max: 50 },
    hidden_providers: ['qoder'],
    defaults: {
      retries: 1,
      idle_timeout: '60000ms',
      cooldown: 0,
      lease_rest: '4000ms',
      continue_delay: '2000ms',
    },
    continuation: { failures_max: 3 },
    appearance: { foreign_sessions: false },
    queues: {
      default: {
        name: '默认模板',
        candidates: [
          { route: 'mock-a/m/1', effort: 'high', context_window: 128_000, max_sessions: 2 },
          'gone/g',
        ],
      },
      queue: { name: '快', candidates: [] },
    },
  });
  const { day } = home.keeper.state;
  assert.deepEqual(home.keeper.recall(new NameTable()), [
    `quarantined 1 1 1 quota_exhausted ${day} 5 - - 0 0 0`,
    `verified 1 1 2 ${day}`,
  ]);
  assert.deepEqual(home.keeper.state.tallies.get('mock-a/m/1'), { successes: 7, failures: 2 });
  assert.equal(home.keeper.state.written('session-1')[0]?.tokens, 100);
  const [told] = home.keeper.journal.page({ limit: 9, what: 'seed_taken' }).entries;
  assert.deepEqual(
    [told?.['queues'], told?.['left_out']],
    [2, ['newThing', 'gone/g: concurrency']],
  );
  assert.deepEqual(stamps(), before);
  home.settings.change(undefined, [{ do: 'delete_queue', id: 'queue' }]);
  const again = opened(t, path, new FakeHost(), clock).home;
  assert.deepEqual(
    again.settings.config.queues.map(({ id }) => id),
    ['default'],
  );
  assert.deepEqual(
    again.keeper.state.tallies.get('mock-a/m/1'),
    { successes: 7, failures: 2 },
    'not twice',
  );
});

test("yesterday's quarantine of the plugin before us is not taken over", (t) => {
  const path = folderFor(t);
  mkdirSync(join(path, 'dsh-model-failover'));
  const state = {
    day: '2026-11-29',
    sessions: { s: { templates: { default: { quarantine: { 'p/m': {} } } } } },
  };
  writeFileSync(join(path, 'dsh-model-failover', 'state.json'), JSON.stringify(state));
  const { home } = opened(
    t,
    path,
    new FakeHost(),
    new HandClock(Date.parse('2026-11-30T10:00:00Z')),
  );
  assert.deepEqual(home.keeper.recall(new NameTable()), []);
});

test('a home that cannot be used is told, and everything works without it', (t) => {
  const path = folderFor(t);
  writeFileSync(join(path, 'ekiden'), 'a file');
  const { home } = opened(t, path);
  assert.equal(home.folder, undefined);
  assert.match(home.keeper.recording().whyNot ?? '', /EEXIST|ENOTDIR|exists/);
  assert.equal(home.plans.all()[0]?.id, 'default');
  assert.match(home.settings.status().readOnly ?? '', /EEXIST|ENOTDIR|exists/);
});

test('d4 a home that is closed leaves no timer and no listener', async (t) => {
  const before = process.listenerCount('exit');
  const clock = new HandClock();
  const home = openHome(folderFor(t), clock, new FakeHost());
  home.keeper.tell({ what: 'settings_taken' });
  assert.ok(clock.waiting > 0);
  home.close();
  await quiet();
  assert.equal(clock.waiting, 0);
  assert.equal(process.listenerCount('exit'), before);
});

test('r8 a deadline of a queue goes along with its calls', (t) => {
  const path = folderFor(t);
  settings(path, { queues: { a: { deadline: '90s' }, b: {} } });
  assert.deepEqual(
    opened(t, path)
      .home.plans.all()
      .map(({ deadlineMs }) => deadlineMs),
    [90_000, undefined],
  );
});
