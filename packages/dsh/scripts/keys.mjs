/**
 * Prints src/keys.ts from docs/configuration.md, whose tables are printed from the gateway's own
 * list of keys: names, bounds, defaults and both languages. `node scripts/keys.mjs` writes it anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = new URL('../../../docs/configuration.md', import.meta.url);
const OUT = new URL('../src/keys.ts', import.meta.url);

/** Headings of the page and the group that their table is; others concern the gateway alone. */
const GROUPS = [
  [/^## Top$/, 'top', ['time_zone', 'reset_hour', 'enabled', 'unknown_model']],
  [/^## `\[queues\.ID\]`$/, 'queue'],
  [/^## An entry of `candidates`$/, 'candidate'],
  [/^## `\[journal\]`$/, 'journal'],
  [/^## A policy/, 'policy'],
  [/^## Clocks/, 'clock'],
];

const SPANS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, KB: 1e3, MB: 1e6, GB: 1e9 };

function counted(text, units) {
  const found = /^([0-9]+) ?([A-Za-z]*)$/.exec(text.trim());
  if (!found) throw new Error(`no number with a unit: ${text}`);
  return Number(found[1]) * (found[2] ? units[found[2]] : 1);
}

function takes(text, name) {
  const between = / from ([^ ]+) to ([^ ]+)$/.exec(text);
  const choices = () => [...text.matchAll(/"([^"]*)"/g)].map((found) => found[1]);
  if (text === '`true` or `false`') return { kind: 'bool' };
  if (text.startsWith('a whole number')) {
    return { kind: 'integer', min: Number(between[1]), max: Number(between[2]) };
  }
  if (text.startsWith('a span')) {
    return { kind: 'span', min_ms: counted(between[1], SPANS), max_ms: counted(between[2], SPANS) };
  }
  if (text.startsWith('a size')) {
    return { kind: 'size', min: counted(between[1], SIZES), max: counted(between[2], SIZES) };
  }
  if (text.startsWith('one of')) return { kind: 'choice', of: choices() };
  if (text.startsWith('several of') || text.startsWith('any of')) return { kind: 'choices', of: choices() };
  if (text.startsWith('text of')) return { kind: 'text', chars_max: Number(/to ([0-9]+) char/.exec(text)[1]) };
  if (text.startsWith('the name of a time zone')) return { kind: 'zone' };
  if (name === 'candidates') return { kind: 'candidates' };
  if (text.startsWith('a list of')) return { kind: 'texts' };
  throw new Error(`\`${name}\` takes what this script does not know: ${text}`);
}

/** The text of src/keys.ts that fits the page. */
export function printed(page) {
  const lines = [];
  let group;
  for (const line of page.split('\n')) {
    if (line.startsWith('## ')) group = GROUPS.find(([heading]) => heading.test(line));
    const cells = line.startsWith('| `') ? line.slice(2, -2).split(' | ') : [];
    if (!group || cells.length !== 5) continue;
    const [name, kind, standard, en, zh] = cells;
    const key = name.replaceAll('`', '');
    if (group[2] && !group[2].includes(key)) continue;
    const row = {
      group: group[1], name: key, takes: takes(kind, key),
      standard: standard.replace(/^`"?|"?`$/g, ''), en, zh,
    };
    lines.push(`  ${JSON.stringify(row)},`);
  }
  return `/**
 * The gateway's keys that hold here too. Printed from docs/configuration.md by scripts/keys.mjs; it
 * refuses to be edited by hand.
 */

/** What a key takes; bounds of spans in milliseconds, of sizes in bytes. */
export type Takes =
  | { readonly kind: 'bool' | 'texts' | 'zone' | 'candidates' }
  | { readonly kind: 'integer' | 'size'; readonly min: number; readonly max: number }
  | { readonly kind: 'span'; readonly min_ms: number; readonly max_ms: number }
  | { readonly kind: 'text'; readonly chars_max: number }
  | { readonly kind: 'choice' | 'choices'; readonly of: readonly string[] };

/** One key. */
export interface KeyRow {
  readonly group: 'top' | 'queue' | 'candidate' | 'journal' | 'policy' | 'clock';
  readonly name: string;
  readonly takes: Takes;
  /** The gateway's default, as people read it. */
  readonly standard: string;
  readonly en: string;
  readonly zh: string;
}

export const ROWS: readonly KeyRow[] = [
${lines.join('\n')}
];
`;
}

/** The page as it is. */
export function page() {
  return readFileSync(PAGE, 'utf8');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(OUT, printed(page()));
