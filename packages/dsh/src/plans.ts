/**
 * From settings to what calls run on: the engine's words for each queue, and what the relay needs
 * beside them. It refuses to decide anything: numbers are copied, names become numbers.
 */
import { createHash } from 'node:crypto';
import { Calendar } from './calendar.ts';
import {
  single,
  valueOf,
  type CandidateConfig,
  type Config,
  type QueueConfig,
} from './settings.ts';
import type { Value } from './values.ts';
import type {
  CandidatePlan,
  Catalog,
  ContinuationPlan,
  DirectPlan,
  Names,
  Plans,
  QueuePlan,
} from './ports.ts';
import type { SettingsFile } from './settings-file.ts';

/** The fields of the engine's policy in its order, by our keys, behind `relay`. */
const POLICY_WORDS = [
  'retries',
  'retry_pause',
  'attempts_max',
  'wait_max',
  'inline_wait',
  'cooldown',
  'cooldown_max',
  'continue_on_failover',
  'continues_max',
  'continue_delay',
  'commit',
  'hold_bytes_max',
  'rotate_after',
  'overflow',
  'retry_when_all_quarantined',
  'failover_on_filter',
  'parole_after',
  'parole_max',
  'parole_idle',
  'lease_rest',
  'lease_idle',
  'judged_memory',
  'client_stall',
  'quarantine',
  'sticky',
  'switch_on',
  'switching',
  'failure_threshold',
  'breaker_cooldown',
  'breaker_cooldown_max',
  'breaker_at_once',
  'all_cooling',
  'persist',
  'max_rounds',
  'backoff',
  'backoff_max',
  'backoff_jitter',
] as const;

/** The clocks of a candidate in the engine's order. */
const CLOCK_WORDS = [
  'connect_timeout',
  'headers_timeout',
  'first_byte_timeout',
  'idle_timeout',
  'progress_timeout',
  'first_output_timeout',
] as const;

/** What plans are made from. */
export interface PlansFrom {
  readonly settings: SettingsFile;
  readonly catalog: Catalog & { onChange(changed: () => void): () => void };
  /** Ids of deleted queues (R1). */
  deleted(): ReadonlySet<string>;
}

export class SettingsPlans implements Plans {
  readonly #from: PlansFrom;
  readonly #heard = new Set<() => void>();
  #queues: readonly QueuePlan[] | undefined;
  #calendar: Calendar | undefined;
  #ends: (() => void)[];

  constructor(from: PlansFrom) {
    this.#from = from;
    const changed = () => this.#changed();
    this.#ends = [
      from.settings.on({ taken: changed, refused: () => undefined }),
      from.catalog.onChange(changed),
    ];
  }

  all(): readonly QueuePlan[] {
    this.#queues ??= this.#config.queues.map((queue) =>
      this.#plan(queue.id, queue.name, queue.set, queue.candidates),
    );
    return this.#queues;
  }

  find(
    model: string,
  ): { readonly queue: QueuePlan; readonly asked: 'id' | 'alias' | 'deleted' } | undefined {
    const name = model.trim();
    const queues = this.all();
    const own = queues.find(({ id }) => id === name);
    if (own) return { queue: own, asked: 'id' };
    const alias = aliased(this.#config.aliases, name);
    const meant = queues.find(({ id }) => id === alias);
    if (meant) return { queue: meant, asked: 'alias' };
    const [first] = queues;
    if (first && this.#from.deleted().has(name)) return { queue: first, asked: 'deleted' };
    return first && single(this.#config, 'top', 'unknown_model') === 'first'
      ? { queue: first, asked: 'alias' }
      : undefined;
  }

  continuation(): ContinuationPlan {
    const config = this.#config;
    const is = (name: string) => single(config, 'continuation', name);
    return {
      enabled: is('enabled') === true,
      onTruncation: is('on_truncation') === true,
      onFailure: is('on_failure') === true,
      truncationsMax: Number(is('truncations_max')),
      failuresMax: Number(is('failures_max')),
      delayMs: Number(valueOf(config, {}, 'continue_delay')),
      text: String(valueOf(config, {}, 'continue_text')),
    };
  }

  day(nowMs: number): { readonly number: number; readonly endsMs: number } {
    const zone = single(this.#config, 'top', 'time_zone');
    this.#calendar ??= new Calendar(
      typeof zone === 'string' ? zone : undefined,
      Number(single(this.#config, 'top', 'reset_hour')),
    );
    return this.#calendar.day(nowMs);
  }

  enabled(): boolean {
    return single(this.#config, 'top', 'enabled') === true;
  }

  direct(): DirectPlan {
    const set = this.#config.sections['direct'] ?? {};
    const policy = set['policy'] ?? 'none';
    return {
      policy: policy === 'health' || policy === 'chain' || policy === 'persist' ? policy : 'none',
      queueFor: (head) => {
        const id = `${head.provider}/${head.model}`;
        const rest = this.#config.fallbacks.filter(({ text }) => text !== id);
        // The host makes these requests itself: it drops what a failed one wrote, and it alone ends one.
        const rows = [{ text: id, route: head, set: {} }, ...rest].map((row) => ({
          ...row,
          set: { ...row.set, idle_timeout: 0 },
        }));
        return this.#plan(id, id, { ...set, policy, commit: 'complete' }, rows);
      },
    };
  }

  onChange(changed: () => void): () => void {
    this.#heard.add(changed);
    return () => this.#heard.delete(changed);
  }

  /** Hears no more of settings and catalog. */
  close(): void {
    for (const end of this.#ends.splice(0)) end();
    this.#heard.clear();
  }

  get #config(): Config {
    return this.#from.settings.config;
  }

  #changed(): void {
    this.#queues = undefined;
    this.#calendar = undefined;
    for (const heard of this.#heard) heard();
  }

  #plan(
    id: string,
    name: string,
    set: QueueConfig['set'],
    rows: readonly CandidateConfig[],
  ): QueuePlan {
    const config = this.#config;
    const candidates = rows.map((row) => candidatePlan(row, this.#from.catalog));
    const policy = policyWords(config, set);
    const clocks = rows.map((row) =>
      CLOCK_WORDS.map((clock) => valueOf(config, { ...set, ...row.set }, clock)).join(' '),
    );
    const caps = rows.map(
      ({ set: own }) => `${own['max_sessions'] ?? '-'} ${own['max_in_flight'] ?? '-'}`,
    );
    const continueText = String(valueOf(config, set, 'continue_text'));
    const deadlineMs = Number(valueOf(config, set, 'deadline'));
    return {
      id,
      name,
      candidates,
      continueText,
      ...(deadlineMs > 0 ? { deadlineMs } : {}),
      enabled: isOn(config, set),
      rescue: valueOf(config, set, 'rescue') === true && isOn(config, set),
      digest: digest(JSON.stringify([id, policy, clocks, caps, candidates, continueText])),
      words: (names: Names) => {
        const words = candidates.map(
          ({ present, window, provider, model }, at) =>
            `${names.route({ provider, model })} ${present ? 'present' : 'missing'} ${caps[at]} ${window ?? '-'} ${clocks[at]}`,
        );
        return [policy, candidates.length, ...words].join(' ');
      },
    };
  }
}

function candidatePlan({ route, set }: CandidateConfig, catalog: Catalog): CandidatePlan {
  const facts = catalog.info(route);
  const window = set['context_window'] ?? facts?.window;
  return {
    ...route,
    present: catalog.present(route.provider),
    ...(typeof set['effort'] === 'string' ? { effort: set['effort'] } : {}),
    ...(typeof window === 'number' ? { window } : {}),
    ...(typeof set['max_tokens'] === 'number' ? { maxTokens: set['max_tokens'] } : {}),
  };
}

/** Whether a queue relays (R0). */
function isOn(config: Config, set: Readonly<Record<string, Value>>): boolean {
  return (
    single(config, 'top', 'enabled') === true &&
    valueOf(config, set, 'enabled') === true &&
    valueOf(config, set, 'policy') !== 'none'
  );
}

function policyWords(config: Config, set: Readonly<Record<string, Value>>): string {
  return [
    isOn(config, set) ? 'on' : 'off',
    ...POLICY_WORDS.map((name) => word(name, valueOf(config, set, name))),
  ].join(' ');
}

/** A value as the engine reads it: a list is its length, then its members; every class is `all`. */
function word(name: string, value: Value | undefined): string {
  // The engine counts in hundredths of a per cent.
  if (name === 'backoff_jitter') return String(Number(value) * 100);
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value !== 'object') return String(value);
  return value.includes('all') ? 'all' : [value.length, ...value].join(' ');
}

/** An exact name before a pattern; of several patterns the one with the most literal characters. */
function aliased(aliases: Config['aliases'], name: string): string | undefined {
  const exact = aliases.find(([pattern]) => pattern === name);
  if (exact) return exact[1];
  const fitting = aliases.filter(([pattern]) => matches(pattern, name));
  const literals = (pattern: string) => pattern.replaceAll(/[*?]/g, '').length;
  return fitting.toSorted(([a], [b]) => literals(b) - literals(a) || (a < b ? -1 : 1))[0]?.[1];
}

/** `*` is any text, `?` one character. At worst it looks at each pair of characters once. */
function matches(pattern: string, name: string): boolean {
  const [wanted, given] = [Array.from(pattern), Array.from(name)];
  let [at, from, star, begun] = [0, 0, -1, 0];
  while (from < given.length) {
    if (wanted[at] === '*') [star, begun, at] = [at, from, at + 1];
    else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[from]))
      [at, from] = [at + 1, from + 1];
    else if (star >= 0) [at, begun, from] = [star + 1, begun + 1, begun + 1];
    else return false;
  }
  while (wanted[at] === '*') at += 1;
  return at === wanted.length;
}

/** 64 bits of a hash: two configurations that differ have different digests, as good as always. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest().readBigUInt64BE().toString();
}
