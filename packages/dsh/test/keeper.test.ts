import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { FileTrouble, Folder } from '../src/files.ts';
import { HomeKeeper } from '../src/keeper.ts';
import { NameTable } from '../src/names.ts';
import type { AttemptRow, Fact, Place, Verdict } from '../src/ports.ts';
import { folderFor, HandClock } from './home-support.ts';

const ROUTE = { provider: 'p', model: 'a/b' };
const PLACE: Place = { session: 's', queue: 'q', route: ROUTE };

function keeper(
  test: TestContext,
  path = folderFor(test),
  options: { max?: number; clock?: HandClock } = {},
) {
  const clock = options.clock ?? new HandClock();
  const folder = new Folder(path, Date.now);
  const from = {
    folder,
    clock,
    day: (ms: number) => Math.floor(ms / 86_400_000),
    journalMax: () => options.max ?? 200,
  };
  return { kept: new HomeKeeper(from), clock, folder, path };
}

function quarantined(
  day: number,
  place = PLACE,
  message = 'no credit',
): [Fact, { message: string }] {
  const quarantine = { class: 'quota_exhausted' as const, day, sinceMs: 5, untilMs: 9, paroles: 1 };
  return [{ kind: 'quarantined', place, quarantine, call: 'c1', attempt: 2 }, { message }];
}

function row(over: Partial<AttemptRow> = {}): AttemptRow {
  return {
    call: 'c1',
    attempt: 1,
    session: 's',
    queue: 'q',
    route: ROUTE,
    beganMs: 1,
    tookMs: 2,
    state: 'complete',
    speakingMs: 500,
    wasted: false,
    internal: false,
    ...over,
  };
}

function attempted(
  verdict: Verdict,
  over: Partial<Extract<Fact, { kind: 'attempted' }>> = {},
): Fact {
  return {
    kind: 'attempted',
    call: 'c1',
    attempt: 1,
    route: ROUTE,
    verdict,
    speakingMs: 500,
    ...over,
  };
}

test("r17 what was kept is recalled in the engine's words after a restart, on its own day alone", async (t) => {
  const { kept, clock, path } = keeper(t);
  const { day } = kept.state;
  kept.keep(...quarantined(day));
  kept.keep({ kind: 'verified', place: { ...PLACE, session: '' }, day });
  kept.keep({ kind: 'paused', session: 's' });
  kept.keep({ kind: 'cooled', route: ROUTE, ms: 5, class: 'rate_limited', call: 'c1', attempt: 1 });
  kept.queueDeleted('gone');
  await kept.flush();
  const again = keeper(t, path, { clock }).kept;
  const names = new NameTable();
  assert.deepEqual(again.recall(names), [
    `quarantined 1 1 1 quota_exhausted ${day} 5 9 - 1 0 0`,
    `verified 0 1 1 ${day}`,
    'paused session 1',
  ]);
  assert.deepEqual([...again.state.deleted], ['gone']);
  assert.equal(again.state.evidence(PLACE)?.message, 'no credit');
  clock.wall += 86_400_000;
  const next = keeper(t, path, { clock }).kept;
  assert.deepEqual(next.recall(new NameTable()), ['paused session 1']);
  assert.deepEqual([...next.state.deleted], ['gone']);
  clock.wall -= 86_400_000;
  await next.flush();
  assert.deepEqual(
    keeper(t, path, { clock }).kept.recall(new NameTable()),
    ['paused session 1'],
    'a clock set back restores nothing',
  );
});

test('r17 a lift and a lost mark are kept too', async (t) => {
  const { kept, path, clock } = keeper(t);
  kept.keep(...quarantined(kept.state.day));
  kept.keep({ kind: 'verified', place: PLACE, day: kept.state.day });
  await kept.flush();
  kept.keep({ kind: 'lifted', place: PLACE, by: 'release' });
  kept.keep({ kind: 'unverified', place: PLACE });
  await kept.flush();
  assert.deepEqual(keeper(t, path, { clock }).kept.recall(new NameTable()), []);
});

test('r29 r30 tallies and speeds are summed over attempts; chores and spared ones count nothing', async (t) => {
  const { kept, path, clock } = keeper(t);
  const both = (verdict: Verdict, tokens?: number, over: Partial<AttemptRow> = {}) => {
    const known = {
      attempt: over.attempt ?? 1,
      ...(tokens === undefined ? {} : { outputTokens: tokens }),
    };
    kept.attempted(row(over));
    kept.keep(attempted(verdict, known));
  };
  both({ kind: 'whole' }, 100);
  both({ kind: 'truncated' }, 300, { attempt: 2 });
  both({ kind: 'quarantined' }, 50, { attempt: 3, class: 'timeout' });
  both({ kind: 'cooled', ms: 1 }, undefined, { attempt: 4 });
  both({ kind: 'struck' }, undefined, { attempt: 5 });
  both({ kind: 'spared' }, 10, { attempt: 6 });
  both({ kind: 'whole' }, 10, { attempt: 7, internal: true });
  both({ kind: 'whole' }, undefined, { attempt: 8 });
  const expected = { session: 's', route: 'p/a/b', tokens: 400, ms: 1_000, usedMs: 3_000, runs: 6 };
  assert.deepEqual(kept.state.tallies.get('p/a/b'), { successes: 3, failures: 3 });
  assert.deepEqual(kept.state.written('s'), [expected]);
  await kept.flush();
  const again = keeper(t, path, { clock }).kept;
  assert.deepEqual(again.state.tallies.get('p/a/b'), { successes: 3, failures: 3 });
  assert.deepEqual(again.state.written('s'), [expected]);
});

test('r17 r34 no key and no prompt is in any file', async (t) => {
  const { kept, folder } = keeper(t);
  const secret = 'sk-marker-0123456789abcdef';
  const prompt = 'MARKER-PROMPT';
  kept.keep(
    ...quarantined(
      kept.state.day,
      PLACE,
      `Incorrect API key provided: ${secret}. ${'x'.repeat(900)} TAIL`,
    ),
  );
  const echo = { class: 'invalid_request' as const, day: kept.state.day, sinceMs: 1, paroles: 0 };
  kept.keep(
    {
      kind: 'quarantined',
      place: { ...PLACE, queue: 'r' },
      quarantine: echo,
      call: 'c',
      attempt: 1,
    },
    { message: prompt, code: 'bad', param: 'messages[3]' },
  );
  kept.attempted(row({ class: 'content_filter', evidence: { message: prompt } }));
  kept.note({
    what: 'switched',
    session: 's',
    turn: 1,
    step: 1,
    head: ROUTE,
    from: ROUTE,
    to: ROUTE,
    reason: 'threshold',
    failure: { message: secret },
  });
  await kept.flush();
  for (const name of ['state.jsonl', 'journal.jsonl', 'ledger.jsonl']) {
    const text = readFileSync(folder.at(name), 'utf8');
    for (const marker of [secret, 'marker-0123', prompt, 'TAIL'])
      assert.ok(!text.includes(marker), `${marker} in ${name}`);
  }
  assert.match(readFileSync(folder.at('state.jsonl'), 'utf8'), /messages\[3\]/);
});

test('r32 the journal keeps the newest entries, on and off, and pages', async (t) => {
  const options: { max?: number } = { max: 5 };
  const { kept, path, folder, clock } = keeper(t, folderFor(t), options);
  const shown: number[] = [];
  kept.on((one) => one.kind === 'journal' && shown.push(one.entry.number));
  for (let n = 1; n <= 130; n += 1) {
    kept.keep({ kind: 'rotated', session: n % 2 ? 's' : 'z', queue: 'q', truncations: n });
    if (n % 10 === 0) kept.flushNow();
  }
  assert.deepEqual(
    shown,
    Array.from({ length: 130 }, (_, at) => at + 1),
  );
  const { entries, next } = kept.journal.page({ limit: 2 });
  assert.deepEqual([entries.map(({ number }) => number), next], [[130, 129], 129]);
  assert.deepEqual(
    kept.journal.page({ limit: 9, before: 129 }).entries.map(({ number }) => number),
    [128, 127, 126],
  );
  assert.deepEqual(
    kept.journal.page({ limit: 9, session: 's' }).entries.map(({ number }) => number),
    [129, 127],
  );
  assert.ok(
    readFileSync(folder.at('journal.jsonl'), 'utf8').split('\n').length < 130,
    'older lines are pruned from the file',
  );
  assert.equal(keeper(t, path, { ...options, clock }).kept.journal.next(), 131, 'numbers go on');
  options.max = 0;
  kept.keep({ kind: 'rotated', session: 's', queue: 'q', truncations: 9 });
  await kept.flush();
  assert.equal(kept.journal.next(), 131);
});

test('r34 the ledger sums what is reported, and tells waste apart', async (t) => {
  const { kept, path, clock } = keeper(t);
  kept.attempted(row({ state: 'sent' }));
  kept.attempted(row({ inputTokens: 10, outputTokens: 4 }));
  kept.attempted(row({ attempt: 2, state: 'unknown', wasted: true, class: 'timeout' }));
  kept.attempted(
    row({ attempt: 3, inputTokens: 7, wasted: true, route: { provider: 'z', model: 'm' } }),
  );
  kept.ended({
    call: 'c1',
    session: 's',
    queue: 'q',
    beganMs: 1,
    tookMs: 9,
    attempts: 3,
    state: 'whole',
    internal: false,
    route: ROUTE,
  });
  await kept.flush();
  const { ledger } = keeper(t, path, { clock }).kept;
  const { sums, next } = ledger.sums({ by: 'route', limit: 1 });
  assert.equal(next, 'p/a/b');
  assert.deepEqual(sums, [
    {
      key: 'p/a/b',
      complete: 1,
      unknown: 1,
      all: {
        attempts: 2,
        cached: 0,
        priced: 0,
        cost: [],
        input: { reported: 10, estimated: 0 },
        output: { reported: 4, estimated: 0 },
      },
      waste: {
        attempts: 1,
        cached: 0,
        priced: 0,
        cost: [],
        input: { reported: 0, estimated: 0 },
        output: { reported: 0, estimated: 0 },
      },
    },
  ]);
  assert.deepEqual(
    ledger
      .sums({ by: 'route', limit: 9, after: 'p/a/b' })
      .sums.map(({ key, waste }) => [key, waste.input.reported]),
    [['z/m', 7]],
  );
  assert.deepEqual(
    ledger.attemptsOf('c1').map(({ attempt, state }) => [attempt, state]),
    [
      [1, 'complete'],
      [2, 'unknown'],
      [3, 'complete'],
    ],
  );
  assert.deepEqual(
    ledger.calls(9).map(({ call, route }) => [call, route]),
    [['c1', 'p/a/b']],
  );
});

test('g13 two processes on one home lose nothing of each other and count nothing twice', async (t) => {
  const { kept: one, path, clock, folder } = keeper(t);
  const other = keeper(t, path, { clock }).kept;
  const { day } = one.state;
  const count = (kept: HomeKeeper, call: string) => {
    kept.attempted(row({ call }));
    kept.keep(attempted({ kind: 'whole' }, { call, outputTokens: 1 }));
  };
  one.keep(...quarantined(day));
  other.keep(...quarantined(day, { ...PLACE, session: 'other' }));
  count(one, 'c1');
  count(other, 'd1');
  await one.flush();
  await other.flush();
  count(one, 'c2');
  await one.flush();
  for (let n = 0; n < 1_100; n += 1) one.keep({ kind: 'verified', place: PLACE, day });
  await one.flush();
  assert.ok(
    readFileSync(folder.at('state.jsonl'), 'utf8').split('\n').length < 20,
    'it was made shorter',
  );
  count(other, 'd2');
  await other.flush();
  const whole = keeper(t, path, { clock }).kept;
  for (const kept of [other, whole]) {
    assert.deepEqual(kept.state.tallies.get('p/a/b'), { successes: 4, failures: 0 });
    assert.equal(
      kept.recall(new NameTable()).filter((fact) => fact.startsWith('quarantined')).length,
      2,
    );
    assert.deepEqual(kept.ledger.calls(9), []);
    assert.equal(kept.ledger.attempts(9).length, 4);
  }
  const numbers = whole.journal.entries.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at + 1),
    'one sequence of numbers',
  );
});

/** A disk that is full when it is told to be. */
class FullFolder extends Folder {
  full = false;

  override append(...given: Parameters<Folder['append']>): ReturnType<Folder['append']> {
    if (this.full) throw new FileTrouble('full', 'no space left on device');
    return super.append(...given);
  }
}

test('g12 a full disk stops recording and says so, and recording goes on by itself', (t) => {
  const [clock, path] = [new HandClock(), folderFor(t)];
  const folder = new FullFolder(path, Date.now);
  const kept = new HomeKeeper({ folder, clock, day: () => 7, journalMax: () => 200 });
  kept.keep({ kind: 'paused' });
  clock.move(250);
  assert.equal(kept.recording().trouble, null);
  folder.full = true;
  kept.keep(...quarantined(7));
  kept.attempted(row());
  clock.move(250);
  assert.equal(kept.recording().trouble, 'full');
  assert.equal(
    kept.journal.page({ limit: 1 }).entries[0]?.what,
    'quarantined',
    'people see it all the same',
  );
  folder.full = false;
  clock.move(1_000);
  assert.equal(kept.recording().trouble, null);
  assert.equal(kept.recording().dropped, 1, 'the line of the journal');
  assert.equal(clock.waiting, 0);
  const again = new HomeKeeper({ folder, clock, day: () => 7, journalMax: () => 200 });
  assert.equal(again.recall(new NameTable()).length, 2);
  assert.equal(again.ledger.attempts(9).length, 1);
});

test('g12 a locked folder, a torn line, a damaged and a newer file', async (t) => {
  const { kept, folder, clock, path } = keeper(t);
  const { day } = kept.state;
  writeFileSync(folder.at('lock'), 'x');
  kept.keep(...quarantined(day));
  clock.move(300);
  assert.equal(kept.recording().trouble, 'locked');
  unlinkSync(folder.at('lock'));
  clock.move(20);
  assert.equal(kept.recording().trouble, null);
  await kept.flush();
  const text = readFileSync(folder.at('state.jsonl'), 'utf8');
  writeFileSync(folder.at('state.jsonl'), `${text}{"what":"verified","day":${day},"sess`);
  const torn = keeper(t, path, { clock });
  assert.equal(torn.kept.recall(new NameTable()).length, 1);
  torn.kept.keep({ kind: 'verified', place: PLACE, day });
  await torn.kept.flush();
  assert.equal(keeper(t, path, { clock }).kept.recall(new NameTable()).length, 2);
  writeFileSync(folder.at('state.jsonl'), text.replace('"version":1', '"version":2'));
  const newer = keeper(t, path, { clock }).kept;
  assert.match(newer.recording().whyNot ?? '', /version 2/);
  newer.keep({ kind: 'paused' });
  await newer.flush();
  assert.ok(
    !readFileSync(folder.at('state.jsonl'), 'utf8').includes('paused'),
    'it is left as it was',
  );
  writeFileSync(folder.at('state.jsonl'), 'garbage\n{}');
  const fresh = keeper(t, path, { clock }).kept;
  assert.deepEqual(fresh.recall(new NameTable()), []);
  assert.equal(fresh.recording().whyNot, null);
  assert.equal(readFileSync(folder.at('state.jsonl.broken'), 'utf8'), 'garbage\n{}');
});

test('without a folder everything is kept in memory', async () => {
  const clock = new HandClock();
  const kept = new HomeKeeper(
    { folder: undefined, clock, day: () => 3, journalMax: () => 10 },
    'no home',
  );
  kept.keep(...quarantined(3));
  await kept.flush();
  assert.deepEqual(kept.recording(), {
    trouble: null,
    dropped: 0,
    folder: null,
    whyNot: 'no home',
  });
  assert.equal(kept.recall(new NameTable()).length, 1);
  assert.deepEqual(
    kept.journal.entries.map(({ what }) => what),
    ['quarantined'],
  );
});

test('g12 a process that is killed loses no quarantine older than a moment', async (t) => {
  const path = folderFor(t);
  const at = (name: string) => new URL(`../src/${name}.ts`, import.meta.url).href;
  const script = `
    const { HomeKeeper } = await import('${at('keeper')}');
    const { Folder } = await import('${at('files')}');
    const { HostClock } = await import('${at('clock')}');
    const clock = new HostClock('kept');
    const kept = new HomeKeeper({ folder: new Folder(process.argv[1], Date.now), clock, day: () => 7, journalMax: () => 9 });
    const quarantine = { class: 'auth', day: 7, sinceMs: 5, paroles: 0 };
    kept.keep({ kind: 'quarantined', place: { session: 's', queue: 'q', route: { provider: 'p', model: 'm' } }, quarantine, call: 'c', attempt: 1 });
    kept.on(() => process.stdout.write('written'));
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const kept = new HomeKeeper({
    folder: new Folder(path, Date.now),
    clock: new HandClock(),
    day: () => 7,
    journalMax: () => 9,
  });
  assert.equal(kept.recall(new NameTable()).length, 1);
  assert.equal(kept.journal.entries.length, 1);
});

test('G12: what is learnt last is written although another process holds the lock at that moment', async (t) => {
  const { kept, path } = keeper(t);
  const files = new URL('../src/files.ts', import.meta.url).href;
  const holding = `const { Folder } = await import(${JSON.stringify(files)});
    new Folder(${JSON.stringify(path)}, Date.now).locked(() => {
      process.stdout.write('held');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
    });`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', holding]);
  await once(other.stdout, 'data');
  kept.keep(...quarantined(kept.state.day));
  kept.close();
  await once(other, 'exit');
  assert.equal(keeper(t, path).kept.recall(new NameTable()).length, 1);
});
