/**
 * The ledger: one row for each attempt and one for each call (R34). It refuses to add what was
 * reported to what was estimated, and to grow without bound.
 */
import { toldShown } from './journal.ts';
import { routeText } from './settings.ts';
import type { Line } from './shared-log.ts';
import type { AttemptRow, CallRow } from './ports.ts';

export const LEDGER_VERSION = 1;

/** Rows that are kept; the oldest go first. About 2 MB of memory. */
export const ATTEMPTS_MAX = 5_000;
export const CALLS_MAX = 1_000;

/** Where a number of tokens comes from. The host reports usage or does not; nothing is guessed here. */
export interface TokenCount {
  readonly count: number | null;
  readonly source: 'reported' | 'estimated' | 'unknown';
}

/** An attempt as it is shown; `day` is kept beside it. */
export interface AttemptLine {
  readonly call: string;
  readonly attempt: number;
  readonly session: string;
  readonly queue: string;
  readonly route: string;
  readonly began_ms: number;
  readonly took_ms: number;
  readonly state: 'sent' | 'unknown' | 'complete';
  readonly class: string | null;
  readonly status: number | null;
  readonly input: TokenCount;
  readonly output: TokenCount;
  readonly wasted: boolean;
  readonly cached: null;
  readonly cache_written: null;
  readonly cost: null;
  readonly token: null;
}

/** What the gateway knows of an attempt and the host does not say: prices, caches, clients' tokens. */
const UNKNOWN_HERE = { cached: null, cache_written: null, cost: null, token: null } as const;

/** A call as it is shown. */
export interface CallLine {
  readonly call: string;
  readonly session: string;
  readonly queue: string;
  readonly began_ms: number;
  readonly took_ms: number;
  readonly attempts: number;
  readonly route: string | null;
  readonly state: string;
  readonly purpose: 'main' | 'internal';
  readonly told: Line | null;
}

/** What is summed by what. */
export interface SumFilter {
  readonly by: 'day' | 'queue' | 'route' | 'session' | 'call';
  readonly from_day?: number;
  readonly to_day?: number;
  readonly session?: string;
  readonly queue?: string;
  readonly route?: string;
  readonly after?: string;
  readonly limit: number;
}

interface TokenSum {
  reported: number;
  estimated: number;
}

interface Share {
  attempts: number;
  readonly cached: 0;
  readonly priced: 0;
  readonly cost: readonly never[];
  readonly input: TokenSum;
  readonly output: TokenSum;
}

/** One line of sums. */
export interface SumLine {
  readonly key: string;
  readonly all: Share;
  readonly waste: Share;
  complete: number;
  unknown: number;
}

type Kept = AttemptLine & { readonly day: number };

export class Ledger {
  readonly #attempts = new Map<string, Kept>();
  readonly #calls = new Map<string, CallLine>();

  /** Takes in a line of the file; one that is told of again takes the place of what was known. */
  take(line: Line): void {
    if (line['row'] === 'attempt') {
      const { row: _, ...kept } = line;
      const attempt = kept as unknown as Kept;
      const key = `${attempt.call}\n${attempt.attempt}`;
      const before = this.#attempts.get(key);
      if (before && before.state !== 'sent' && attempt.state === 'sent') return;
      put(this.#attempts, key, attempt, ATTEMPTS_MAX);
    } else if (line['row'] === 'call') {
      const { row: _, ...kept } = line;
      const call = kept as unknown as CallLine;
      put(this.#calls, call.call, call, CALLS_MAX);
    }
  }

  clear(): void {
    this.#attempts.clear();
    this.#calls.clear();
  }

  /** Lines that make the same ledger. */
  lines(): Line[] {
    const attempts = [...this.#attempts.values()].map((row) => ({ row: 'attempt', ...row }));
    return [...attempts, ...[...this.#calls.values()].map((row) => ({ row: 'call', ...row }))];
  }

  /** The newest rows, newest first. */
  attempts(limit: number): AttemptLine[] {
    return [...this.#attempts.values()].slice(-limit).reverse().map(shown);
  }

  /** The attempts of one call, in order. */
  attemptsOf(call: string): AttemptLine[] {
    return [...this.#attempts.values()].filter((row) => row.call === call).map(shown);
  }

  /** The newest calls with their attempts, newest first. */
  calls(limit: number): (CallLine & { readonly rows: readonly AttemptLine[] })[] {
    const calls = [...this.#calls.values()].slice(-limit).reverse();
    const rows = new Map(calls.map(({ call }) => [call, [] as AttemptLine[]]));
    for (const row of this.#attempts.values()) rows.get(row.call)?.push(shown(row));
    return calls.map((call) => ({ ...call, rows: rows.get(call.call) ?? [] }));
  }

  /** One call with its attempts. */
  call(id: string): (CallLine & { readonly rows: readonly AttemptLine[] }) | undefined {
    const call = this.#calls.get(id);
    return call && { ...call, rows: this.attemptsOf(id) };
  }

  sums(filter: SumFilter): {
    readonly by: SumFilter['by'];
    readonly sums: readonly SumLine[];
    readonly next: string | null;
  } {
    const sums = new Map<string, SumLine>();
    for (const row of this.#attempts.values()) {
      if (!asked(row, filter)) continue;
      const key = String(row[filter.by]);
      const line = sums.get(key) ?? { key, all: share(), waste: share(), complete: 0, unknown: 0 };
      sums.set(key, line);
      add(line.all, row);
      if (row.wasted) add(line.waste, row);
      if (row.state === 'complete') line.complete += 1;
      if (row.state === 'unknown') line.unknown += 1;
    }
    const order = (a: string, b: string) =>
      filter.by === 'day' ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
    const { after } = filter;
    const keys = [...sums.keys()]
      .toSorted(order)
      .filter((key) => after === undefined || order(key, after) > 0);
    const page = keys.slice(0, filter.limit);
    return {
      by: filter.by,
      sums: page.flatMap((key) => sums.get(key) ?? []),
      next: keys.length > page.length ? (page.at(-1) ?? null) : null,
    };
  }
}

/** The line of an attempt. */
export function attemptLine(row: AttemptRow, day: number): Line {
  return { row: 'attempt', day, ...attemptShown(row) };
}

/** An attempt as it is shown. */
export function attemptShown(row: AttemptRow): AttemptLine {
  return {
    call: row.call,
    attempt: row.attempt,
    session: row.session,
    queue: row.queue,
    route: routeText(row.route),
    began_ms: row.beganMs,
    took_ms: Math.round(row.tookMs),
    state: row.state,
    class: row.class ?? null,
    status: row.status ?? null,
    input: tokens(row.inputTokens),
    output: tokens(row.outputTokens),
    wasted: row.wasted,
    ...UNKNOWN_HERE,
  };
}

/** The line of a call. */
export function callLine(row: CallRow): Line {
  return { row: 'call', ...callShown(row) };
}

/** A call as it is shown. */
export function callShown(row: CallRow): CallLine {
  return {
    call: row.call,
    session: row.session,
    queue: row.queue,
    began_ms: row.beganMs,
    took_ms: Math.round(row.tookMs),
    attempts: row.attempts,
    route: row.route ? routeText(row.route) : null,
    state: row.state,
    purpose: row.internal ? 'internal' : 'main',
    told: row.told ? toldShown(row.told) : null,
  };
}

function shown({ day: _, ...row }: Kept): AttemptLine {
  return { ...row, ...UNKNOWN_HERE };
}

function tokens(count: number | undefined): TokenCount {
  return count === undefined ? { count: null, source: 'unknown' } : { count, source: 'reported' };
}

function asked(row: Kept, filter: SumFilter): boolean {
  const is = (asked: string | undefined, has: string) => asked === undefined || asked === has;
  return (
    (filter.from_day === undefined || row.day >= filter.from_day) &&
    (filter.to_day === undefined || row.day <= filter.to_day) &&
    is(filter.session, row.session) &&
    is(filter.queue, row.queue) &&
    is(filter.route, row.route)
  );
}

function share(): Share {
  return {
    attempts: 0,
    cached: 0,
    priced: 0,
    cost: [],
    input: { reported: 0, estimated: 0 },
    output: { reported: 0, estimated: 0 },
  };
}

function add(share: Share, row: Kept): void {
  share.attempts += 1;
  for (const side of ['input', 'output'] as const) {
    const { count, source } = row[side];
    if (source !== 'unknown') share[side][source] += count ?? 0;
  }
}

function put<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
