/**
 * The calls that run and the last ones that ended, with what is told of each. It is bounded, and
 * holds no word of a prompt or an answer.
 */
import type { AttemptRow, CallStep, CallView, Evidence, Fact, QueuePlan, Route } from './ports.ts';

/** A call as the book knows it. */
export interface BookCall {
  readonly id: string;
  readonly number: number;
  readonly queue: QueuePlan;
  readonly session: string;
  readonly internal: boolean;
  readonly isOver: boolean;
  /** Monotonic. */
  readonly beganMono: number;
  attempt(number: number): BookAttempt | undefined;
  view(rows: readonly AttemptRow[]): CallView;
  stop(): void;
}

export interface BookAttempt {
  readonly number: number;
  readonly route: Route;
  readonly beganMono: number;
  readonly beganWall: number;
  /** Something of it reached the host. */
  readonly committed: boolean;
  readonly usage: {
    readonly inputTokens: number; readonly outputTokens: number;
    readonly cacheReadTokens?: number; readonly cacheWriteTokens?: number;
  } | undefined;
  readonly evidence: Evidence | undefined;
  /** The clock that ran out on it, where one did. */
  readonly silentClock?: string | undefined;
}

const PAST_MAX = 200;
/** Traces of the last calls; older ones are let go. */
const TRACES_MAX = 50;
const TRACE_MAX_CHARACTERS = 64 * 1024;

interface Entry {
  readonly call: BookCall;
  readonly rows: AttemptRow[];
}

/** A call that is over. */
export interface Past {
  readonly view: CallView;
  readonly steps: readonly CallStep[];
  readonly trace: string | undefined;
}

export class CallBook {
  readonly #open = new Map<string, Entry>();
  readonly #past = new Map<string, Past>();

  opened(call: BookCall): void {
    this.#open.set(call.id, { call, rows: [] });
  }

  running(id: string): BookCall | undefined {
    return this.#open.get(id)?.call;
  }

  allRunning(): readonly BookCall[] {
    return [...this.#open.values()].map((entry) => entry.call).filter((call) => !call.isOver);
  }

  /** The ledger's row of an attempt that is over; undefined where its call is not known. */
  attempted(
    fact: Extract<Fact, { kind: 'attempted' }>, nowMono: number, rescued: boolean,
  ): AttemptRow | undefined {
    const entry = this.#open.get(fact.call);
    const attempt = entry?.call.attempt(fact.attempt);
    if (entry === undefined || attempt === undefined) return undefined;
    const row = rowOf(entry.call, attempt, fact, nowMono, rescued);
    entry.rows.push(row);
    return row;
  }

  /** A call is over and told as such; its entry is kept for a while. */
  ended(id: string, steps: readonly CallStep[], trace: string): void {
    const entry = this.#open.get(id);
    if (entry === undefined) return;
    this.#open.delete(id);
    this.#past.set(id, {
      view: entry.call.view(entry.rows),
      steps,
      trace: trace !== '' && trace.length <= TRACE_MAX_CHARACTERS ? trace : undefined,
    });
    this.#prune();
  }

  /** Calls of an engine that was lost. */
  dropOpen(): void {
    for (const id of this.#open.keys()) this.ended(id, [], '');
  }

  rows(id: string): readonly AttemptRow[] {
    return this.#open.get(id)?.rows ?? [];
  }

  past(id: string): Past | undefined {
    return this.#past.get(id);
  }

  /** Newest first. */
  views(): readonly CallView[] {
    const open = [...this.#open.values()].map(({ call, rows }) => call.view(rows));
    return [...open, ...[...this.#past.values()].map((past) => past.view)].sort(
      (one, other) => other.beganMs - one.beganMs);
  }

  #prune(): void {
    if (this.#past.size > PAST_MAX) {
      const oldest = this.#past.keys().next().value;
      if (oldest !== undefined) this.#past.delete(oldest);
    }
    if (this.#past.size <= TRACES_MAX) return;
    const [id, past] = [...this.#past.entries()][this.#past.size - TRACES_MAX - 1] ?? [];
    if (id !== undefined && past?.trace !== undefined) {
      this.#past.set(id, { ...past, trace: undefined });
    }
  }
}

function rowOf(
  call: BookCall, attempt: BookAttempt, fact: Extract<Fact, { kind: 'attempted' }>, nowMono: number,
  rescued: boolean,
): AttemptRow {
  const usage = attempt.usage;
  const input = usage === undefined ? 0
    : usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  const good = fact.verdict.kind === 'whole' || fact.verdict.kind === 'truncated';
  const broke = attempt.committed && !good;
  return {
    call: call.id, attempt: attempt.number, session: call.session, queue: call.queue.id,
    route: attempt.route, beganMs: attempt.beganWall,
    tookMs: Math.max(0, Math.floor(nowMono - attempt.beganMono)),
    state: usage !== undefined && good ? 'complete' : 'unknown',
    speakingMs: fact.speakingMs,
    wasted: !attempt.committed || (broke && rescued),
    internal: call.internal,
    ...(fact.class === undefined ? {} : { class: fact.class }),
    ...(attempt.evidence?.status === undefined ? {} : { status: attempt.evidence.status }),
    ...(input > 0 ? { inputTokens: input } : {}),
    ...(usage !== undefined && usage.outputTokens > 0 ? { outputTokens: usage.outputTokens } : {}),
    ...(attempt.evidence === undefined ? {} : { evidence: attempt.evidence }),
  };
}
