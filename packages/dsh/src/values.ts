/**
 * Single values of settings: how they are written and what they must be. It refuses numbers without
 * a unit where a unit is meant, and says of every value that does not fit what would.
 */
import { knowsZone } from './calendar.ts';
import { shown } from './masked.ts';
import type { Takes } from './keys.ts';

/** A checked value: spans in milliseconds, sizes in bytes. */
export type Value = boolean | number | string | readonly string[];

/** A value does not fit. */
export class Misfit extends Error {
  /** What would fit. */
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = 'Misfit';
    this.hint = hint;
  }
}

const SPANS: readonly Unit[] = [
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
];
const SIZES: readonly Unit[] = [
  ['B', 1],
  ['KB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
];
type Unit = readonly [name: string, factor: number];

/** Checks what the file or a change gives for a key. Throws a [`Misfit`]. */
export function checked(name: string, takes: Takes, given: unknown): Value {
  const misfit = () => new Misfit(`\`${name}\` does not fit`, `\`${name}\` is ${expected(takes)}`);
  switch (takes.kind) {
    case 'bool':
      if (typeof given !== 'boolean') throw misfit();
      return given;
    case 'integer':
      if (!Number.isSafeInteger(given)) throw misfit();
      return within(name, given as number, takes.min, takes.max, takes);
    case 'span':
      return within(name, units(name, given, SPANS, takes), takes.min_ms, takes.max_ms, takes);
    case 'size':
      return within(name, units(name, given, SIZES, takes), takes.min, takes.max, takes);
    case 'text': {
      if (typeof given !== 'string' || given.trim() === '') throw misfit();
      if (Array.from(given).length > takes.chars_max) {
        throw new Misfit(
          `\`${name}\` is longer than ${takes.chars_max} characters`,
          `\`${name}\` is ${expected(takes)}`,
        );
      }
      return given;
    }
    case 'choice':
      return choice(name, takes.of, given);
    case 'zone':
      if (typeof given !== 'string' || !knowsZone(given)) {
        throw new Misfit(
          `\`${name}\` is no time zone`,
          'write a name such as "Asia/Shanghai" or "Europe/Berlin"',
        );
      }
      return given;
    case 'texts':
    case 'choices':
      return texts(name, takes, given);
    case 'candidates':
      throw misfit();
  }
}

/** What a key takes, for people. */
export function expected(takes: Takes): string {
  switch (takes.kind) {
    case 'bool':
      return '`true` or `false`';
    case 'integer':
      return `a whole number from ${takes.min} to ${takes.max}`;
    case 'span':
      return `a span with its unit, such as "45s", from ${showSpan(takes.min_ms)} to ${showSpan(takes.max_ms)}`;
    case 'size':
      return `a size with its unit, such as "8MB", from ${showSize(takes.min)} to ${showSize(takes.max)}`;
    case 'text':
      return `text of 1 to ${takes.chars_max} characters`;
    case 'choice':
      return `one of ${listed(takes.of)}`;
    case 'choices':
      return `a list of ${listed(takes.of)}`;
    case 'texts':
      return 'a list of texts, none of them twice';
    case 'zone':
      return 'the name of a time zone, such as "Asia/Shanghai"';
    case 'candidates':
      return 'a list such as ["provider/model", {"route": "provider/model", "max_sessions": 2}]';
  }
}

/** A value as the file would have it. */
export function written(takes: Takes | undefined, value: Value): Value {
  if (typeof value !== 'number') return value;
  if (takes?.kind === 'span') return showSpan(value);
  return takes?.kind === 'size' ? showSize(value) : value;
}

/** A span as the file would write it. */
export function showSpan(ms: number): string {
  return shownIn(ms, SPANS.slice(0, 4));
}

/** A size as the file would write it. */
export function showSize(bytes: number): string {
  const binary = shownIn(
    bytes,
    SIZES.filter(([name]) => name === 'B' || name.includes('i')),
  );
  const decimal = shownIn(bytes, SIZES.slice(0, 4));
  return decimal.length < binary.length ? decimal : binary;
}

/** The name that was probably meant. */
export function nearest(name: string, names: Iterable<string>): string | undefined {
  const lower = name.toLowerCase();
  let best: readonly [string, number] | undefined;
  for (const known of names) {
    const away = distance(lower, known.toLowerCase());
    const near =
      away <= 1 ||
      away * 3 <= known.length ||
      (lower.length >= 4 && known.toLowerCase().includes(lower));
    if (near && (!best || away < best[1])) best = [known, away];
  }
  return best?.[0];
}

function within(name: string, value: number, min: number, max: number, takes: Takes): number {
  if (value >= min && value <= max) return value;
  const bound = value < min ? min : max;
  const side = value < min ? 'at least' : 'at most';
  throw new Misfit(
    `\`${name}\` is ${side} ${written(takes, bound)}`,
    `\`${name}\` is ${expected(takes)}`,
  );
}

function units(name: string, given: unknown, known: readonly Unit[], takes: Takes): number {
  if (given === 0 || given === '0') return 0;
  if (typeof given === 'number') {
    throw new Misfit(`\`${name}\` needs a unit`, `\`${name}\` is ${expected(takes)}`);
  }
  let total = 0;
  let last = Infinity;
  let rest = typeof given === 'string' ? given.trim() : '';
  const bad = rest === '' || rest.length > 100;
  while (rest !== '' && !bad) {
    const found = /^([0-9]+)\s*([A-Za-z]*)\s*/.exec(rest);
    const unit = known.find(([name]) => name.toLowerCase() === found?.[2]?.toLowerCase());
    // `1h30m` is a span, `30m1h` and `1s2s` are slips of the pen.
    if (!found || !unit || unit[1] >= last) break;
    last = unit[1];
    total += Number(found[1]) * unit[1];
    rest = rest.slice(found[0].length);
  }
  if (bad || rest !== '' || !Number.isSafeInteger(total)) {
    throw new Misfit(`\`${name}\` does not fit`, `\`${name}\` is ${expected(takes)}`);
  }
  return total;
}

function choice(name: string, of: readonly string[], given: unknown): string {
  const found = of.find((one) => one === given);
  if (found !== undefined) return found;
  const near = typeof given === 'string' ? nearest(given, of) : undefined;
  const hint = near === undefined ? '' : `did you mean "${near}"? `;
  throw new Misfit(
    `\`${name}\` does not know ${shown(JSON.stringify(given) ?? '')}`,
    `${hint}it is one of ${listed(of)}`,
  );
}

function texts(name: string, takes: Takes, given: unknown): readonly string[] {
  const list: unknown[] = Array.isArray(given) ? given : [null];
  const good = list.every(
    (one): one is string => typeof one === 'string' && one.trim() !== '' && one.length <= 300,
  );
  if (!good || new Set(list).size !== list.length || list.length > 1_000) {
    throw new Misfit(`\`${name}\` does not fit`, `\`${name}\` is ${expected(takes)}`);
  }
  return takes.kind === 'choices' ? list.map((one) => choice(name, takes.of, one)) : list;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

function shownIn(count: number, units: readonly Unit[]): string {
  if (count === 0) return '0';
  const unit = units.findLast(([, factor]) => count % factor === 0);
  return unit ? `${count / unit[1]}${unit[0]}` : String(count);
}

/** Letters to add, drop, change or swap. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + cost,
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}
