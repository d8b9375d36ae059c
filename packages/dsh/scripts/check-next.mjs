// Checks the sources against the types of the next host. They resolve packages from where they lie,
// so they are copied beside those types for the while.
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = join(dirname(fileURLToPath(import.meta.url)), '..');
const next = join(here, 'types-next');
const copies = ['src', 'test', 'tsconfig.json', 'tsconfig.check.json'];
for (const copy of copies) cpSync(join(here, copy), join(next, copy), { recursive: true });
const compiler = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
const checked = spawnSync(
  process.execPath,
  [compiler, '--noEmit', '-p', join(next, 'tsconfig.check.json')],
  { stdio: 'inherit' },
);
for (const copy of copies) rmSync(join(next, copy), { recursive: true, force: true });
process.exit(checked.status ?? 1);
