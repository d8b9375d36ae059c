import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileTrouble, Folder } from '../src/files.ts';
import { folderFor } from './home-support.ts';

test('a file is replaced whole, for its owner alone, and a link stays one', (t) => {
  const path = folderFor(t);
  const folder = new Folder(join(path, 'ekiden'), Date.now);
  writeFileSync(join(path, 'elsewhere'), 'old');
  symlinkSync(join(path, 'elsewhere'), folder.at('linked.json'));
  folder.replace('linked.json', 'new');
  assert.equal(readFileSync(join(path, 'elsewhere'), 'utf8'), 'new');
  folder.replace('own.json', '继续');
  assert.equal(folder.read('own.json')?.text, '继续');
  assert.equal(statSync(folder.at('own.json')).mode & 0o777, 0o600);
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(folder.path).sort(), ['linked.json', 'own.json']);
});

test('lines are added behind a line that a killed process left unfinished', (t) => {
  const folder = new Folder(folderFor(t), Date.now);
  writeFileSync(folder.at('a.jsonl'), '{"a":1}\n{"b":');
  folder.append('a.jsonl', '{"c":3}\n');
  assert.equal(folder.read('a.jsonl')?.text, '{"a":1}\n{"b":\n{"c":3}\n');
  assert.equal(folder.tail('a.jsonl', 8)?.text, '{"b":\n{"c":3}\n');
  writeFileSync(folder.at('b.jsonl'), '{"a":1}\n{"b":');
  assert.equal(folder.tail('b.jsonl', 0)?.text, '{"a":1}\n');
  assert.equal(folder.tail('b.jsonl', 8)?.text, '');
});

test(
  'g12 a full disk is told as such, and leaves no part of what was added',
  { skip: !existsSync('/dev/full') },
  (t) => {
    const folder = new Folder(folderFor(t), Date.now);
    symlinkSync('/dev/full', folder.at('full.jsonl'));
    assert.throws(
      () => folder.append('full.jsonl', 'x\n'),
      (error) => error instanceof FileTrouble && error.trouble === 'full',
    );
    const file = new URL('../src/files.ts', import.meta.url).href;
    const script = `import { Folder } from '${file}';
    process.on('SIGXFSZ', () => {});
    const folder = new Folder(${JSON.stringify(folder.path)}, Date.now);
    try { folder.append('a.jsonl', 'y'.repeat(5000) + '\\n'); } catch (error) { console.log(error.trouble); }`;
    writeFileSync(folder.at('a.jsonl'), 'x\n');
    const run = spawnSync(
      'bash',
      ['-c', 'ulimit -f 4; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { encoding: 'utf8' },
    );
    assert.match(run.stdout, /full/, run.stderr);
    assert.equal(readFileSync(folder.at('a.jsonl'), 'utf8'), 'x\n');
  },
);

test('one process writes at a time; the lock of a dead one is taken away, of a living one not', (t) => {
  let now = Date.now();
  const path = folderFor(t);
  const [one, other] = [new Folder(path, () => now), new Folder(path, () => now)];
  const locked = (error: unknown) => error instanceof FileTrouble && error.trouble === 'locked';
  one.locked(() => {
    one.locked(() => assert.throws(() => other.locked(() => 0), locked));
    assert.throws(() => other.locked(() => 0), locked);
  });
  assert.equal(
    other.locked(() => 1),
    1,
  );
  const lock = one.at('lock');
  const dead = spawnSync(process.execPath, ['-e', 'console.log(process.pid)'], {
    encoding: 'utf8',
  }).stdout.trim();
  const host = spawnSync(process.execPath, ['-e', 'console.log(os.hostname())'], {
    encoding: 'utf8',
  }).stdout.trim();
  writeFileSync(lock, `${host} ${dead} x`);
  assert.throws(() => one.locked(() => 0), locked, 'it is fresh');
  now += 11_000;
  assert.equal(
    one.locked(() => 2),
    2,
  );
  writeFileSync(lock, `${host} ${process.pid} x`);
  utimesSync(lock, now / 1000 - 11, now / 1000 - 11);
  assert.throws(() => one.locked(() => 0), locked, 'its process lives');
  utimesSync(lock, now / 1000 - 61, now / 1000 - 61);
  assert.equal(
    one.locked(() => 3),
    3,
  );
});

test('many processes add to one file and none loses a line', (t) => {
  const folder = new Folder(folderFor(t), Date.now);
  const file = new URL('../src/files.ts', import.meta.url).href;
  const script = `import { Folder } from '${file}';
    const folder = new Folder(process.argv[1], Date.now);
    let left = 30;
    while (left > 0) {
      try { folder.locked(() => folder.replace('sum', String(Number(folder.read('sum')?.text ?? 0) + 1))); left -= 1; }
      catch (error) { if (error.trouble !== 'locked') throw error; }
    }`;
  const shell = [1, 2, 3].map(() => `"$0" --input-type=module -e "$1" "$2" &`).join(' ');
  const run = spawnSync('bash', ['-c', `${shell} wait`, process.execPath, script, folder.path], {
    encoding: 'utf8',
  });
  assert.equal(run.stderr, '');
  assert.equal(folder.read('sum')?.text, '90');
  assert.deepEqual(readdirSync(folder.path), ['sum']);
});

test('a folder that cannot be made is a trouble of the disk', (t) => {
  const path = folderFor(t);
  writeFileSync(join(path, 'file'), '');
  assert.throws(() => new Folder(join(path, 'file', 'ekiden'), Date.now), FileTrouble);
  mkdirSync(join(path, 'folder.json'));
  assert.throws(() => new Folder(path, Date.now).read('folder.json'), FileTrouble);
});

test('d1 a pipe in a file\'s place is no file, and holds nobody up', { skip: process.platform === 'win32' }, (t) => {
  const folder = new Folder(folderFor(t), Date.now);
  assert.equal(spawnSync('mkfifo', [folder.at('settings.json')]).status, 0);
  assert.throws(() => folder.read('settings.json'), FileTrouble);
  assert.equal(folder.tail('settings.json', 10)?.text, '');
});
