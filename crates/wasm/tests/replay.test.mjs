// The built file decides what the native engine decides, byte for byte.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Trapped, evidenceText, load } from '../ekiden.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const crates = join(here, '..', '..');
const bytes = readFileSync(join(here, '..', 'ekiden.wasm'));
const scratch = mkdtempSync(join(tmpdir(), 'ekiden-wasm-'));
const SEPARATOR = '\u001e';

after(() => rmSync(scratch, { recursive: true }));

let ekiden;
before(async () => {
  ekiden = await load(bytes);
});

/** The native program's answer. */
function native(...words) {
  const program = process.env.EKIDEN_LINES;
  const cargo = ['run', '--quiet', '--package', 'ekiden-wasm', '--example', 'lines', '--'];
  const [start, all] = program ? [program, words] : ['cargo', [...cargo, ...words]];
  const ended = spawnSync(start, all, { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(ended.status, 0, ended.stderr || String(ended.error));
  return ended.stdout;
}

function nativelyAbout(what, text) {
  const file = join(scratch, `${what}.txt`);
  writeFileSync(file, text);
  return native(what, file);
}

/** As a driver does it: a line a crossing. */
function lineByLine(text) {
  const history = ekiden.history();
  let said = '';
  for (const line of text.split('\n')) said += history.lines(line);
  history.free();
  return said;
}

/** The traces among the answers of a history. */
function tracesIn(said) {
  const parts = said.split(/^ekiden-trace 2$/m).slice(1);
  return parts.map((part) => {
    const lines = part.split('\n').slice(1);
    const end = lines.findIndex((line, at) => at > 0 && !/^(admitted|fed) /.test(line));
    return `ekiden-trace 2\n${lines.slice(0, end < 0 ? undefined : end).join('\n')}\n`;
  });
}

/** Recorded histories, each with the answers that were recorded with it. */
function histories() {
  const folder = join(crates, 'model', 'histories');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const read = (name) => readFileSync(join(folder, name), 'utf8');
  return names
    .filter((name) => name.endsWith('.txt') && !name.endsWith('.out.txt'))
    .map((name) => [name, read(name), read(name.replace(/\.txt$/, '.out.txt'))]);
}

test('the file asks its host for nothing', () => {
  assert.deepEqual(WebAssembly.Module.imports(new WebAssembly.Module(bytes)), []);
});

const sample = native('sample', '400');
for (const [name, text, recorded] of [['a sample of 400 calls', sample], ...histories()]) {
  test(`r33 ${name}: the same answers natively and as WebAssembly`, (t) => {
    const said = nativelyAbout('history', text);
    assert.ok(said.length > 0 && !/^error /m.test(said), 'the history runs to its end');
    if (recorded !== undefined) assert.equal(said, recorded);
    const count = text.split('\n').length;
    assert.equal(lineByLine(text), said);
    // The first round was compiled on the way.
    const start = performance.now();
    lineByLine(text);
    const micros = ((performance.now() - start) * 1000) / count;
    const whole = ekiden.history();
    assert.equal(whole.lines(text), said, 'in one crossing too');
    whole.free();
    const traces = tracesIn(said);
    if (traces.length > 0) {
      const replayed = traces.map((trace) => ekiden.replay(trace));
      for (const answer of replayed) assert.match(answer, /^same\n/);
      assert.equal(replayed.join(SEPARATOR), nativelyAbout('replay', traces.join(SEPARATOR)));
    }
    t.diagnostic(`${count} lines, ${traces.length} replays, ${micros.toFixed(2)} µs a line`);
  });
}

test('the sample holds what it is meant to hold', () => {
  const said = lineByLine(sample);
  for (const word of ['effect start', 'effect commit', 'effect deliver', 'effect discard',
    'effect refuse', 'fact quarantined', 'fact cooled', 'fact failed-over', 'fact seated',
    'fact rotated', 'ekiden-trace 2']) {
    assert.ok(said.includes(word), word);
  }
});

test('every failure of the corpus is judged the same', (t) => {
  const file = join(crates, 'classify', 'tests', 'corpus.jsonl');
  const rows = readFileSync(file, 'utf8').split('\n').filter(Boolean).map((row) => JSON.parse(row));
  assert.ok(rows.length > 100);
  const texts = rows.map((row) => evidenceText({
    kind: row.phase === 'sse' ? 'http' : row.phase,
    status: row.status,
    headers: row.headers,
    code: row.phase === 'host' ? row.code : undefined,
    abort: row.our_abort ? 'stopped' : undefined,
    now: row.now ? Date.parse(row.now) : undefined,
    provider: row.provider,
    text: row.body ?? '',
  }));
  const judged = texts.map((text) => ekiden.classify(text));
  const start = performance.now();
  texts.forEach((text) => ekiden.classify(text));
  const micros = ((performance.now() - start) * 1000) / texts.length;
  assert.equal(judged.join(SEPARATOR), nativelyAbout('classify', texts.join(SEPARATOR)));
  let right = 0;
  rows.forEach((row, at) => {
    assert.match(judged[at], /^(failure|fine)/, `${row.id}: ${judged[at]}`);
    if (judged[at].startsWith(`failure ${row.class} `)) right += 1;
  });
  t.diagnostic(`${right} of ${rows.length} as the corpus says, ${micros.toFixed(2)} µs each`);
});

test('texts of any size and alphabet cross', () => {
  const text = evidenceText({ kind: 'host', code: 'X', text: '模型过载，请稍后重试。'.repeat(20_000) });
  assert.match(ekiden.classify(text), /^failure overloaded /);
});

test('what cannot be read is answered, not trapped on', () => {
  const history = ekiden.history();
  assert.match(history.lines('dance 1 2 3'), /^error 1 /);
  assert.match(history.lines('\n# nothing\nday 1'), /^error 3 /);
  history.free();
  assert.match(history.lines('drive 1 0 0'), /^error 0 /);
  assert.match(ekiden.replay('no trace'), /^error 1 /);
  assert.match(ekiden.classify('kind nothing'), /^error 1 /);
  assert.match(ekiden.classify(''), /^error 0 /);
});

test('after a trap an instance says where, answers no more, and another one starts', async () => {
  const lost = await load(bytes);
  const trapped = (error) => error instanceof Trapped && /\.rs:\d+$/.test(error.place);
  // No memory holds a text of this length.
  assert.throws(() => lost.classify({ length: 1e9 }), trapped);
  assert.throws(() => lost.history(), trapped);
  const next = await load(bytes);
  assert.match(next.classify('kind http\nstatus 503\n\n'), /^failure overloaded /);
});

test('memory is given back', () => {
  const round = () => {
    for (let at = 0; at < 200; at += 1) {
      const history = ekiden.history();
      history.lines(sample.slice(0, 20_000));
      history.free();
    }
  };
  round();
  const before = ekiden.memoryBytes;
  round();
  assert.equal(ekiden.memoryBytes, before);
});
