// Makes lib/ from src/, with the engine beside it: crates/wasm stays its only source.
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = join(dirname(fileURLToPath(import.meta.url)), '..');
const lib = join(here, 'lib');
rmSync(lib, { recursive: true, force: true });
const compiler = join(here, 'node_modules', 'typescript', 'bin', 'tsc');
const built = spawnSync(process.execPath, [compiler, '-p', join(here, 'tsconfig.json')], {
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(built.status ?? 1);
const engine = join(here, '..', '..', 'crates', 'wasm');
for (const file of ['ekiden.wasm', 'ekiden.mjs']) copyFileSync(join(engine, file), join(lib, file));
