import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
// @ts-expect-error a script without types
import { page, printed } from '../scripts/keys.mjs';
import { EditError, type Change, type EditCode } from '../src/edits.ts';
import { FileTrouble, Folder } from '../src/files.ts';
import { BadJson, readJson } from '../src/json-text.ts';
import { candidateLines, KEYS, keyAt, readSettings, valueOf } from '../src/settings.ts';
import { SettingsFile } from '../src/settings-file.ts';
import { checked, Misfit, nearest, showSize, showSpan } from '../src/values.ts';
import { folderFor, HandClock } from './home-support.ts';

const of = (document: unknown) => readSettings(document);
const problems = (document: unknown) =>
  of(document).problems.map(({ path, message, hint }) => `${path}: ${message}; ${hint}`);

function opened(path: string, text?: string) {
  const [clock, folder] = [new HandClock(), new Folder(path, Date.now)];
  if (text !== undefined) writeFileSync(folder.at('settings.json'), text);
  const heard: string[] = [];
  const file = new SettingsFile(folder, clock);
  file.on({
    taken: () => heard.push('taken'),
    refused: (problem) => heard.push(`refused ${problem.message}`),
  });
  return { clock, folder, file, heard, path: folder.at('settings.json') };
}

function code(work: () => unknown): EditCode | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof EditError, String(error));
    return error.code;
  }
}

test('the list of keys is the one that the page prints', () => {
  assert.equal(
    readFileSync(new URL('../src/keys.ts', import.meta.url), 'utf8'),
    printed(page()),
    'run `node scripts/keys.mjs`',
  );
});

test('r46 what is out of bounds is refused with the bound named', () => {
  const bounds: readonly (readonly [string, unknown, RegExp])[] = [
    ['retries', 11, /`retries` is at most 10/],
    ['retries', -1, /at least 0/],
    ['continue_delay', '601s', /at most 10m/],
    ['wait_max', '11m', /at most 10m/],
    ['idle_timeout', '3601s', /at most 1h/],
    ['cooldown', '61m', /at most 1h/],
    ['lease_rest', '301s', /at most 5m/],
  ];
  for (const [name, value, said] of bounds) {
    assert.match(problems({ defaults: { [name]: value } }).join(), said, name);
    assert.match(problems({ queues: { a: { [name]: value } } }).join(), said, name);
  }
  assert.match(problems({ reset_hour: 24 }).join(), /at most 23/);
  const row = (max_sessions: number) => ({
    queues: { a: { candidates: [{ route: 'p/m', max_sessions }] } },
  });
  assert.match(problems(row(17)).join(), /at most 16/);
  assert.match(problems(row(0)).join(), /at least 1/);
  const inside = {
    reset_hour: 23,
    defaults: {
      retries: 10,
      continue_delay: '600s',
      wait_max: 0,
      idle_timeout: '3600s',
      cooldown: '1h',
      lease_rest: '5m',
    },
    ...row(16),
  };
  assert.deepEqual(problems(inside), []);
});

test('every key is taken at both of its bounds and refused beyond', () => {
  for (const { name, takes } of KEYS) {
    if (takes.kind === 'integer') {
      for (const value of [takes.min, takes.max]) assert.equal(checked(name, takes, value), value);
      for (const value of [takes.min - 1, takes.max + 1, 0.5])
        assert.throws(() => checked(name, takes, value), Misfit);
    } else if (takes.kind === 'span') {
      for (const ms of [takes.min_ms, takes.max_ms])
        assert.equal(checked(name, takes, showSpan(ms)), ms);
      assert.throws(() => checked(name, takes, `${takes.max_ms + 1}ms`), Misfit);
      assert.throws(() => checked(name, takes, takes.max_ms), Misfit, 'a number without its unit');
    } else if (takes.kind === 'size') {
      for (const bytes of [takes.min, takes.max])
        assert.equal(checked(name, takes, showSize(bytes)), bytes);
      assert.throws(() => checked(name, takes, `${takes.max + 1}B`), Misfit);
    } else if (takes.kind === 'text') {
      assert.equal(
        checked(name, takes, '续'.repeat(takes.chars_max)),
        '续'.repeat(takes.chars_max),
      );
      assert.throws(() => checked(name, takes, 'x'.repeat(takes.chars_max + 1)), Misfit);
    } else if (takes.kind === 'choice') {
      for (const one of takes.of) assert.equal(checked(name, takes, one), one);
      assert.throws(() => checked(name, takes, 'nothing of the kind'), Misfit);
    }
  }
});

test('c9 keys of the chain plugin before us are refused, with what to write instead', () => {
  const { problems: found } = of({ chains: [], providers: {}, direct: { match: {} } });
  const hints = new Map(found.map(({ path, hint }) => [path, hint]));
  assert.match(hints.get('chains') ?? '', /"policy": "chain".*fallbacks.*direct/);
  assert.match(hints.get('direct.match') ?? '', /aliases/);
  assert.match(hints.get('providers') ?? '', /provider\/model/);
});

test('unknown keys are refused and the nearest one is named', () => {
  assert.match(problems({ defaults: { retrys: 1 } }).join(), /no key `retrys`.*`retries`/);
  assert.match(problems({ queue: {} }).join(), /`queue`.*`queues`/);
  assert.match(
    problems({ queues: { a: { candidates: [{ route: 'p/m', efort: 'x' }] } } }).join(),
    /`effort`/,
  );
  assert.match(problems({ continuation: { on_failures: true } }).join(), /`on_failure`/);
  assert.equal(nearest('zzzz', ['retries']), undefined);
});

test('r2 r6 a route stands once in a queue, and a queue of ours never', () => {
  assert.match(problems({ queues: { a: { candidates: ['p/m', 'p/m'] } } }).join(), /twice/);
  assert.match(
    problems({ queues: { a: { candidates: ['ekiden/default'] } } }).join(),
    /cannot contain a queue/,
  );
  assert.match(problems({ queues: { 12: {} } }).join(), /no queue id/);
  assert.deepEqual(candidateLines('p/m\n a|b/c # note\n# nothing\n\nq  x'), [
    'p/m',
    'a/b/c',
    'q/x',
  ]);
});

test('a value comes from the queue, else from defaults, else from the preset in this host', () => {
  const { config } = of({ defaults: { retries: 4 }, queues: { a: { retries: 1 }, b: {} } });
  const [a, b] = config.queues;
  assert.equal(valueOf(config, a?.set ?? {}, 'retries'), 1);
  assert.equal(valueOf(config, b?.set ?? {}, 'retries'), 4);
  const here = Object.fromEntries(
    [
      'retry_pause',
      'continue_on_failover',
      'continue_delay',
      'idle_timeout',
      'headers_timeout',
      'parole_after',
      'parole_max',
      'lease_idle',
      'lease_rest',
      'cooldown',
      'commit',
    ].map((name) => [name, valueOf(config, {}, name)]),
  );
  assert.deepEqual(here, {
    retry_pause: 0,
    continue_on_failover: 'always',
    continue_delay: 5_000,
    idle_timeout: 120_000,
    headers_timeout: 0,
    parole_after: 600_000,
    parole_max: 14_400_000,
    lease_idle: 1_800_000,
    lease_rest: 5_000,
    cooldown: 60_000,
    commit: 'first-token',
  });
  assert.equal(
    valueOf(of({ defaults: { rescue: false } }).config, {}, 'commit'),
    'first-output',
    'r10',
  );
  assert.equal(keyAt('queues.a.b.candidates.3.idle_timeout')?.name, 'idle_timeout');
  assert.equal(keyAt('queues.a.reset_hour'), undefined);
});

test('a text that is no JSON is told with its place', () => {
  const spot = (text: string) => {
    try {
      return readJson(text).value;
    } catch (error) {
      assert.ok(error instanceof BadJson);
      return `${error.spot.line}:${error.spot.column} ${error.message}`;
    }
  };
  assert.equal(spot('{\n  "a": 1\n  "b": 2\n}'), '3:3 `,` is missing');
  assert.equal(spot('{"a": 1, "a": 2}'), '1:10 `a` stands twice');
  assert.equal(spot('{"a": tru}'), '1:7 this is no JSON value');
  assert.match(String(spot('{"a": [1, 2')), /^1:12 /);
  assert.equal(spot('[1] x'), '1:5 something follows the end');
  assert.match(String(spot('['.repeat(50))), /nested too deeply/);
  for (const text of ['{"a":{"b":[1,"x\\n\\u0041",null,true,-1.5e3]}}', '[]', '{}', '"x"']) {
    assert.deepEqual(JSON.parse(JSON.stringify(readJson(text).value)), JSON.parse(text));
  }
});

test('g7 a bad edit keeps the last good settings, is told with its line, and a good one is taken', (t) => {
  const { clock, file, heard, path } = opened(folderFor(t), '{"queues":{"a":{"retries":1}}}');
  assert.equal(file.config.queues[0]?.set['retries'], 1);
  const stop = file.watch();
  const write = (text: string) => {
    writeFileSync(path, text);
    clock.move(1_000);
    assert.deepEqual(heard, [], 'not after one look: an editor may be writing');
    clock.move(1_000);
    return heard.splice(0);
  };
  assert.deepEqual(write('{"queues":{"a":{"retries":2}}}'), ['taken']);
  assert.deepEqual(write('{\n "queues": {"a": {"retries": 99}}}'), [
    'refused `retries` is at most 10',
  ]);
  assert.equal(file.config.queues[0]?.set['retries'], 2);
  assert.deepEqual(
    file.status().refused.map(({ path: at, spot }) => [at, spot?.line]),
    [['queues.a.retries', 2]],
  );
  assert.equal(
    code(() => file.reload()),
    'invalid_settings',
  );
  assert.equal(
    code(() => file.change(undefined, [{ do: 'set', path: 'reset_hour', value: 3 }])),
    'refused',
    'mend it first',
  );
  assert.deepEqual(write('{"queues":{"a":{"retries":2}}}'), []);
  assert.deepEqual(file.status().refused, []);
  assert.deepEqual(write('{"queues":{"a":{"retries":3}}}'), ['taken']);
  stop();
  assert.equal(clock.waiting, 0);
});

test('r1 queues are made, renamed, ordered and deleted; the last one stays, a rename keeps the id', (t) => {
  const { file, path, heard } = opened(folderFor(t));
  const ids = () => file.config.queues.map(({ id, name }) => `${id} ${name}`);
  assert.deepEqual(ids(), ['default 默认模板'], 'there is one before anybody made one');
  file.change('absent', [{ do: 'add_queue', id: 'fast', name: '快', routes: ['p/m'] }]);
  assert.deepEqual(ids(), ['default 默认模板', 'fast 快']);
  file.change(undefined, [
    { do: 'order_queues', ids: ['fast', 'default'] },
    { do: 'set', path: 'queues.fast.name', value: '更快' },
  ]);
  assert.deepEqual(ids(), ['fast 更快', 'default 默认模板']);
  file.change(undefined, [{ do: 'delete_queue', id: 'default' }]);
  assert.equal(
    code(() => file.change(undefined, [{ do: 'delete_queue', id: 'fast' }])),
    'refused',
  );
  assert.deepEqual(ids(), ['fast 更快']);
  assert.deepEqual(heard, ['taken', 'taken', 'taken']);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    version: 1,
    queues: { fast: { name: '更快', candidates: ['p/m'] } },
  });
});

test('changes are made all or none, and only to what was seen', (t) => {
  const { file, path } = opened(
    folderFor(t),
    '{"queues":{"a":{"candidates":["p/m",{"route":"p/n","effort":"high"}]}}}',
  );
  const { hash } = file.status();
  const make = (...changes: Change[]) => code(() => file.change(undefined, changes));
  assert.equal(
    make(
      { do: 'set', path: 'defaults.retries', value: 1 },
      { do: 'set', path: 'defaults.retries', value: 11 },
    ),
    'refused',
  );
  assert.equal(file.status().hash, hash);
  assert.equal(
    make({ do: 'set_candidate', queue: 'a', route: 'p/m', key: 'max_sessions', value: 2 }),
    undefined,
  );
  assert.equal(
    code(() => file.change(hash, [{ do: 'unset', path: 'defaults.retries' }])),
    'changed',
  );
  assert.equal(make({ do: 'order_candidates', queue: 'a', routes: ['p/n', 'p/m'] }), undefined);
  assert.equal(make({ do: 'order_candidates', queue: 'a', routes: ['p/n'] }), 'refused');
  assert.equal(make({ do: 'set', path: 'queues.a.candidates.0.effort', value: 'low' }), undefined);
  assert.equal(
    make({ do: 'set_candidate', queue: 'a', route: 'p/m', key: 'max_sessions' }),
    undefined,
  );
  assert.equal(make({ do: 'add_candidate', queue: 'a', route: 'p/o', at: 1 }), undefined);
  assert.equal(make({ do: 'add_candidate', queue: 'a', route: 'ekiden/a' }), 'invalid_settings');
  assert.equal(make({ do: 'remove_candidate', queue: 'a', route: 'p/zzz' }), 'no_such_setting');
  assert.equal(make({ do: 'set', path: 'queues.b.retries', value: 1 }), 'no_such_setting');
  assert.equal(
    make({ do: 'set', path: 'aliases.gpt-*', value: 'a' }, { do: 'set', path: 'idle', value: 1 }),
    'no_such_setting',
  );
  assert.equal(make({ do: 'set', path: 'aliases.gpt-*', value: 'a' }), undefined);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    queues: { a: { candidates: [{ route: 'p/n', effort: 'low' }, 'p/o', 'p/m'] } },
    aliases: { 'gpt-*': 'a' },
  });
});

test('without a folder, and where the file cannot be written, changes are refused and it is said why', (t) => {
  const clock = new HandClock();
  const memory = new SettingsFile(undefined, clock, 'no home');
  assert.equal(
    code(() => memory.change(undefined, [])),
    'read_only',
  );
  assert.equal(memory.status().readOnly, 'no home');
  const { file, folder } = opened(folderFor(t));
  symlinkSync('/dev/full', folder.at('elsewhere'));
  writeFileSync(folder.at('lock'), 'x');
  assert.equal(
    code(() => file.change(undefined, [{ do: 'set', path: 'reset_hour', value: 2 }])),
    'not_kept',
  );
});

test('g12 settings that the disk does not take are not acknowledged, and the old ones stay', (t) => {
  class FullFolder extends Folder {
    override replace(): never {
      throw new FileTrouble('full', 'no space left on device');
    }
  }
  const path = folderFor(t);
  writeFileSync(`${path}/settings.json`, '{"reset_hour":3}');
  const file = new SettingsFile(new FullFolder(path, Date.now), new HandClock());
  assert.equal(
    code(() => file.change(undefined, [{ do: 'set', path: 'reset_hour', value: 5 }])),
    'not_kept',
  );
  assert.equal(file.config.sections['top']?.['reset_hour'], 3);
  assert.equal(readFileSync(`${path}/settings.json`, 'utf8'), '{"reset_hour":3}');
});

test('h7 candidates may be one text with a line each, also for a change', (t) => {
  const text = 'p/m # first\nq|n\n';
  const { file, path } = opened(
    folderFor(t),
    JSON.stringify({ queues: { a: { candidates: text } } }),
  );
  const routes = () => file.config.queues[0]?.candidates.map((candidate) => candidate.text);
  assert.deepEqual(routes(), ['p/m', 'q/n']);
  file.change(undefined, [{ do: 'add_candidate', queue: 'a', route: 'r/o' }]);
  assert.deepEqual(routes(), ['p/m', 'q/n', 'r/o']);
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')).queues.a.candidates, [
    'p/m',
    'q/n',
    'r/o',
  ]);
});
