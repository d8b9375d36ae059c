/**
 * One call through a queue: carries out what the engine decides, and hands the host one whole
 * answer or one failure. What is held, let through or dropped, and what comes next, it is told.
 *
 * It reads the host's stream only as fast as the host reads ours once an answer is let through,
 * and never waits for an attempt that is over.
 */
import type { GenerateOptions, LlmFailure, StreamChunk } from '@deepseek-ai/dsh-llm';

import { Attempt, beatOf, bytesOf } from './attempt.ts';
import { EngineLost, messageOf, type Driver, type Engine } from './engine.ts';
import { judge } from './evidence.ts';
import { failureIn, failureOfThrown, isPiece, malformed } from './heard.ts';
import {
  abortedFailure, engineLostFailure, lastWord, RESCUED_CODE, stallFailure, type Standing,
} from './last-word.ts';
import type {
  AttemptRow, CallRow, CallView, Catalog, Clock, FailureClass, QueuePlan, Route,
  Told,
} from './ports.ts';
import { routeText } from './names.ts';
import { wrapReplay } from './replay-state.ts';
import { estimateTokens, isUnderWay, requestFor } from './request.ts';
import { WakeTimer } from './wake-timer.ts';
import type { Effect, LastWord, Start } from './words.ts';

/** What a call is made of. */
export interface CallParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly queue: QueuePlan;
  /** The queue's number at the engine. */
  readonly queueNumber: number;
  /** The session's number at the engine. */
  readonly session: string;
  readonly options: GenerateOptions;
  /** Routes that broke after commit in this same step, and how (D6). */
  readonly tried: readonly { readonly route: Route; readonly class: FailureClass }[];
  /** The numbers of those routes. */
  readonly triedNumbers: readonly number[];
  /** Streams through the host, so that a virtual provider leading back here is noticed. */
  stream(call: RelayCall, options: GenerateOptions): AsyncIterable<StreamChunk>;
  readonly owner: CallOwner;
}

/** Who is told how a call goes. */
export interface CallOwner {
  opened(call: RelayCall): void;
  /** It broke after output was let through. */
  /** Answers whether the host is to drop the answer and to ask again. */
  broken(call: RelayCall, route: Route, failed: FailureClass): boolean;
  /** The failure that its stream is about to end with. */
  failing(call: RelayCall, failure: LlmFailure, failed: FailureClass): void;
  /** How the candidates that were not tried stand. */
  standing(call: RelayCall): readonly Standing[];
  /** It is over, and `row` is how. */
  ended(call: RelayCall, row: CallRow): void;
}

type Read = IteratorResult<StreamChunk, undefined>;

const DONE: Read = { done: true, value: undefined };

export class RelayCall implements Driver, AsyncIterableIterator<StreamChunk, undefined> {
  readonly #parts: CallParts;
  readonly #attempts = new Map<number, Attempt>();
  /** What lies ready for the host, and how much of it has been read. */
  #out: StreamChunk[] = [];
  #outRead = 0;
  readonly #timer: WakeTimer;
  readonly #onAbort = (): void => this.#gone();
  #number = 0;
  #current: Attempt | undefined;
  #waiter: ((read: Read) => void) | undefined;
  #opened = false;
  #ended = false;
  #stopped = false;
  #beganMono = 0;
  #beganWall = 0;
  #why = '';
  /** Since when the host has not read what lies ready, where the engine was told so. */
  #blocked = false;
  /** Undefined: since the last piece was handed over. */
  #readyAt: number | undefined = 0;
  #ticking: string | undefined;
  #row: CallRow | undefined;

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.#timer = new WakeTimer(parts.clock, () => this.#due());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  get id(): string {
    return this.#parts.engine.callName(this.#number);
  }

  get number(): number {
    return this.#number;
  }

  /** Monotonic. */
  get beganMono(): number {
    return this.#beganMono;
  }

  get queue(): QueuePlan {
    return this.#parts.queue;
  }

  /** '' is background. */
  get session(): string {
    return this.#parts.options.sessionId ?? '';
  }

  get internal(): boolean {
    return this.#parts.options.purpose !== undefined;
  }

  get isOver(): boolean {
    return this.#ended;
  }

  /** The attempt of that number. */
  attempt(number: number): Attempt | undefined {
    return this.#attempts.get(number);
  }

  get tried(): CallParts['tried'] {
    return this.#parts.tried;
  }

  attempts(): readonly Attempt[] {
    return [...this.#attempts.values()];
  }

  view(rows: readonly AttemptRow[]): CallView {
    const now = this.#parts.clock.monoMs();
    const row = this.#row;
    if (row !== undefined) return { ...row, attempts: rows };
    return {
      call: this.id, session: this.session, queue: this.queue.id, internal: this.internal,
      beganMs: this.#beganWall, tookMs: Math.floor(now - this.#beganMono), state: 'open',
      attempts: rows, why: this.#why,
      ...(this.#current === undefined ? {} : { route: this.#current.route }),
    };
  }

  next(): Promise<Read> {
    if (!this.#opened) this.#open();
    const ready = this.#out[this.#outRead];
    if (ready !== undefined) {
      this.#outRead += 1;
      if (this.#outRead === this.#out.length) this.#emptied();
      return Promise.resolve({ done: false, value: ready });
    }
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((read) => {
      this.#waiter = read;
      if (this.#blocked) this.#unblock();
      if (this.#current !== undefined) this.#pull(this.#current);
    });
  }

  /** The host reads no further. */
  return(): Promise<Read> {
    this.#emptied();
    if (this.#opened) this.#gone();
    this.#opened = true;
    this.#ended = true;
    return Promise.resolve(DONE);
  }

  /** By hand: as if its time were up (P5). */
  stop(): void {
    if (this.#ended || !this.#opened) return;
    this.#stopped = true;
    this.#parts.engine.feed(this.#number, 'stop');
  }

  // --- what the engine says ---

  effect(effect: Effect): void {
    if (this.#ended) return;
    switch (effect.kind) {
      case 'start':
        return this.#start(effect.start);
      case 'commit':
        return this.#commit(effect.attempt);
      case 'deliver':
        return this.#deliver(effect.attempt);
      case 'discard':
        this.#attempts.get(effect.attempt)?.abandon();
        return;
      case 'cancel':
        return this.#cancel(effect.attempt);
      case 'refuse':
        return this.#refuse(effect.word);
      case 'resend':
        // Never asked for here: the host's streams tell of no connection.
        return;
    }
  }

  wake(atMs: number | undefined, why: string): void {
    this.#why = why;
    // Over without a word: the engine holds the host for gone (R11).
    if (why === 'over' && !this.#ended) return this.#left();
    this.#timer.wake(this.#ended ? undefined : atMs);
  }

  lost(reason: EngineLost): void {
    if (this.#ended) return;
    this.#endAttempts();
    this.#fail(engineLostFailure(reason.message));
    this.#close({ state: 'broken', told: { code: 'broken' } });
  }

  // --- what the host does ---

  #open(): void {
    this.#opened = true;
    const { engine, clock, options } = this.#parts;
    this.#beganMono = clock.monoMs();
    this.#beganWall = clock.wallMs();
    if (options.signal?.aborted) {
      this.#fail(abortedFailure(), 'aborted');
      this.#ended = true;
      return;
    }
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    const known = options.sessionId !== undefined;
    engine.open({
      queue: this.#parts.queueNumber,
      session: this.#parts.session,
      seating: known ? 'session' : 'call',
      purpose: this.internal ? 'internal' : 'main',
      history: isUnderWay(options) ? 'ongoing' : 'fresh',
      inputTokens: this.queue.candidates.some((one) => one.window !== undefined)
        ? estimateTokens(options) : 0,
      deadlineMs: this.queue.deadlineMs,
      tried: this.#parts.triedNumbers,
    }, (number) => {
      this.#number = number;
      this.#parts.owner.opened(this);
      return this;
    });
  }

  #gone(): void {
    if (this.#ended) return;
    this.#parts.engine.feed(this.#number, 'client-gone');
    if (!this.#ended) this.#left();
  }

  #left(): void {
    this.#endAttempts();
    this.#fail(abortedFailure(), 'aborted');
    this.#close({ state: 'left' });
  }

  #unblock(): void {
    this.#blocked = false;
    this.#parts.engine.feed(this.#number, 'client-ready');
  }

  // --- attempts ---

  #start(start: Start): void {
    const candidate = this.queue.candidates[start.candidate];
    if (candidate === undefined) return;
    const { clock, engine } = this.#parts;
    const options = requestFor(this.#parts.options, candidate, this.#parts.catalog.info(candidate),
      start, this.queue.continueText);
    const attempt = new Attempt({
      number: start.attempt,
      route: { provider: candidate.provider, model: candidate.model },
      effortSent: options.reasoningEffort !== undefined,
      mono: clock.monoMs(),
      wall: clock.wallMs(),
    });
    this.#attempts.set(attempt.number, attempt);
    this.#current = attempt;
    engine.feed(this.#number, `attempt ${attempt.number} sent`);
    try {
      const stream = this.#parts.stream(this, { ...options, signal: attempt.controller.signal });
      attempt.iterator = stream[Symbol.asyncIterator]();
    } catch (error) {
      return this.#threw(attempt, error);
    }
    this.#pull(attempt);
  }

  /** Reads on where somebody wants it: always before commit, then as fast as the host reads. */
  #pull(attempt: Attempt): void {
    if (attempt.reading || attempt.over || attempt.drained || attempt.iterator === undefined) return;
    if (attempt.committed && this.#waiter === undefined) return;
    attempt.reading = true;
    attempt.onRead ??= (read) => this.#came(attempt, read);
    attempt.onError ??= (error) => this.#came(attempt, undefined, error);
    try {
      attempt.iterator.next().then(attempt.onRead, attempt.onError);
    } catch (error) {
      attempt.reading = false;
      this.#threw(attempt, error);
    }
  }

  /** A fault of ours ends this call, and is nobody's unhandled rejection. */
  #came(attempt: Attempt, read: IteratorResult<StreamChunk> | undefined, error?: unknown): void {
    attempt.reading = false;
    if (attempt.over) return;
    try {
      if (read === undefined) this.#threw(attempt, error);
      else if (read.done === true) this.#ranOut(attempt);
      else if (isPiece(read.value)) this.#chunk(attempt, read.value);
      else this.#failed(attempt, malformed());
      if (!attempt.over) this.#pull(attempt);
    } catch (fault) {
      this.lost(new EngineLost(messageOf(fault), fault));
      this.#parts.engine.feed(this.#number, 'client-gone');
    }
  }

  #chunk(attempt: Attempt, chunk: StreamChunk): void {
    if (chunk.type === 'finish') return this.#finished(attempt, chunk);
    if (chunk.type === 'usage') attempt.usage = chunk.usage;
    const beat = beatOf(chunk);
    const now = this.#parts.clock.monoMs();
    attempt.pieceAt = now;
    if (attempt.committed) {
      this.#give(chunk);
      if (attempt.spoke) {
        // From here a piece moves clocks and nothing else: the engine hears of the latest before
        // anything else of this attempt.
        attempt.untold = true;
        if (beat !== 'wire') attempt.tokenAt = now;
        return;
      }
    } else {
      attempt.held.push(chunk);
    }
    if (beat === 'output') attempt.spoke = true;
    this.#parts.engine.beat(this.#number, attempt.number, bytesOf(chunk), beat, now);
  }

  #tellUntold(attempt: Attempt): void {
    if (!attempt.untold) return;
    attempt.untold = false;
    const { engine } = this.#parts;
    const piece = `attempt ${attempt.number} chunk 0`;
    const { pieceAt, tokenAt } = attempt;
    if (tokenAt !== undefined) engine.feed(this.#number, `${piece} output`, tokenAt);
    if (tokenAt !== pieceAt) engine.feed(this.#number, `${piece} wire`, pieceAt);
  }

  #finished(attempt: Attempt, chunk: Extract<StreamChunk, { type: 'finish' }>): void {
    attempt.finished = { reason: chunk.reason, replayState: chunk.replayState };
    const { reason } = chunk;
    if (reason.kind === 'error' || reason.kind === 'aborted') {
      return this.#failed(attempt, failureIn(reason.failure) ?? malformed());
    }
    this.#tellUntold(attempt);
    const finish = FINISHES[reason.kind] ?? 'stop';
    this.#feedEnd(attempt, `${finish} seen`);
  }

  /** The stream ended without a finish. */
  #ranOut(attempt: Attempt): void {
    this.#tellUntold(attempt);
    attempt.failure = { code: 'STREAM_CLOSED', message: 'the stream ended without a finish' };
    this.#feedEnd(attempt, '- missing');
  }

  #feedEnd(attempt: Attempt, how: string): void {
    const tokens = attempt.usage?.outputTokens;
    const reported = tokens !== undefined && Number.isInteger(tokens) && tokens > 0
      && tokens <= TOKENS_MAX ? tokens : '-';
    attempt.drained = true;
    this.#parts.engine.feed(this.#number, `attempt ${attempt.number} end ${how} ${reported}`);
  }

  #threw(attempt: Attempt, error: unknown): void {
    this.#failed(attempt, failureOfThrown(error));
  }

  #failed(attempt: Attempt, failure: LlmFailure): void {
    const { engine, clock } = this.#parts;
    const judged = judge(failure, attempt.route.provider, clock.wallMs(),
      (evidence) => engine.classify(evidence));
    this.#tellUntold(attempt);
    attempt.drained = true;
    attempt.failure = failure;
    attempt.failureClass = judged.class;
    attempt.evidence = judged.evidence;
    // A level that the model no longer declares is left out, and it is asked once more (R35).
    const mend = attempt.effortSent && failure.code === 'UNSUPPORTED_REASONING_EFFORT';
    engine.feed(this.#number, `attempt ${attempt.number} failed ${judged.words} `
      + (mend ? 'possible' : 'impossible'));
  }

  // --- effects ---

  #commit(number: number): void {
    const attempt = this.#attempts.get(number);
    if (attempt === undefined || attempt.over) return;
    attempt.committed = true;
    const held = attempt.held;
    attempt.held = [];
    for (const chunk of held) this.#give(chunk);
  }

  #deliver(number: number): void {
    const attempt = this.#attempts.get(number);
    const finished = attempt?.finished;
    if (attempt === undefined || finished === undefined) return;
    attempt.close();
    this.#give({ type: 'finish', reason: finished.reason,
      replayState: wrapReplay(attempt.route, finished.replayState) });
    const state = finished.reason.kind === 'max-tokens' ? 'truncated' : 'whole';
    this.#close({ state, route: attempt.route });
  }

  #cancel(number: number): void {
    const attempt = this.#attempts.get(number);
    if (attempt === undefined || attempt.over) return;
    if (this.#ticking !== undefined) {
      attempt.failureClass = 'stall';
      const silent = this.#parts.clock.monoMs() - (attempt.pieceAt || attempt.beganMono);
      attempt.failure = stallFailure(Math.max(1, Math.round(silent / 1000)));
      attempt.evidence = { code: attempt.failure.code, message: attempt.failure.message };
      attempt.silentClock = this.#ticking;
    }
    attempt.abandon();
  }

  #refuse(word: LastWord): void {
    this.#endAttempts();
    const standing = this.#standing();
    // The engine may be lost while it is asked; then that has been told.
    if (this.#ended) return;
    // To the engine an answer of which some was shown breaks off, whoever ended it.
    const said: LastWord = this.#stopped ? { kind: 'stopped' } : word;
    const { failure, told } = lastWord(said, this.queue.name, standing,
      (number) => failureOf(this.#attempts.get(number)));
    const broke = word.kind === 'broken' ? this.#attempts.get(word.attempt) : undefined;
    const rescued = !this.#stopped && word.kind === 'broken' && broke !== undefined
      && this.#parts.owner.broken(this, broke.route, word.class);
    const shown = rescued ? { ...failure, code: RESCUED_CODE } : failure;
    this.#parts.owner.failing(this, shown, told.class ?? worst(standing));
    this.#fail(shown);
    const state = broke === undefined ? 'refused' : 'broken';
    this.#close({ state: this.#stopped ? 'stopped' : state, told,
      ...(broke === undefined ? {} : { route: broke.route }) });
  }

  #standing(): readonly Standing[] {
    const failed = new Map<string, Standing>();
    for (const { route, class: how } of this.#parts.tried) {
      failed.set(routeText(route), { route: routeText(route), state: how, class: how });
    }
    for (const attempt of this.#attempts.values()) {
      const route = routeText(attempt.route);
      if (attempt.failureClass !== undefined) {
        failed.set(route, { route, state: attempt.failureClass, class: attempt.failureClass });
      }
    }
    const others = new Map(this.#parts.owner.standing(this).map((one) => [one.route, one]));
    return this.queue.candidates.map((candidate) => {
      const route = routeText(candidate);
      return failed.get(route) ?? others.get(route) ?? { route, state: 'passed over' };
    });
  }

  // --- the host's side of the stream ---

  /** The host has read everything: a list is not made shorter from its front, which costs. */
  #emptied(): void {
    this.#out = [];
    this.#outRead = 0;
    this.#readyAt = this.#parts.clock.monoMs();
  }

  #give(chunk: StreamChunk): void {
    const waiter = this.#waiter;
    if (waiter === undefined) {
      if (this.#out.push(chunk) === 1) this.#readyAt = this.#parts.clock.monoMs();
      return;
    }
    this.#waiter = undefined;
    this.#readyAt = undefined;
    waiter({ done: false, value: chunk });
  }

  #fail(failure: LlmFailure, kind: 'error' | 'aborted' = 'error'): void {
    this.#give({ type: 'finish', reason: { kind, failure } });
  }

  #endAttempts(): void {
    for (const attempt of this.#attempts.values()) if (!attempt.over) attempt.abandon();
  }

  #close(how: { state: CallRow['state']; route?: Route; told?: Told }): void {
    const { clock, engine, options, owner } = this.#parts;
    this.#ended = true;
    this.#current = undefined;
    this.#timer.clear();
    options.signal?.removeEventListener('abort', this.#onAbort);
    this.#row = {
      call: this.id, session: this.session, queue: this.queue.id, internal: this.internal,
      beganMs: this.#beganWall, tookMs: Math.floor(clock.monoMs() - this.#beganMono),
      attempts: this.#attempts.size, ...how,
    };
    engine.forget(this.#number);
    owner.ended(this, this.#row);
  }

  // --- time ---

  #due(): void {
    if (this.#ended) return;
    const attempt = this.#current;
    if (attempt !== undefined && !attempt.over) {
      this.#tellUntold(attempt);
      this.#tellBlocked(attempt);
    }
    if (this.#ended) return;
    // Where the moment has moved on since, the engine answers with the new one.
    this.#ticking = this.#why.startsWith('clock ') ? this.#why.slice(6) : undefined;
    this.#parts.engine.feed(this.#number, 'tick');
    this.#ticking = undefined;
  }

  /** R11: no clock runs while the host does not read what lies ready for it. */
  #tellBlocked(attempt: Attempt): void {
    if (!attempt.committed || attempt.reading || this.#blocked) return;
    this.#blocked = true;
    this.#parts.engine.feed(this.#number, 'client-blocked', this.#readyAt ?? attempt.pieceAt);
  }
}

/** What is said to be more has not been counted. */
const TOKENS_MAX = 1_000_000_000;

const FINISHES: Record<string, string> = {
  stop: 'stop', 'tool-calls': 'tool-calls', 'max-tokens': 'truncated',
};

function failureOf(
  attempt: Attempt | undefined,
): { failure: LlmFailure; class: FailureClass } | undefined {
  if (attempt?.failure === undefined) return undefined;
  return { failure: attempt.failure, class: attempt.failureClass ?? 'server_error' };
}

/** What a queue's whole failure is to a turn: bad credentials only where there is nothing else. */
function worst(standing: readonly Standing[]): FailureClass {
  const classes = standing.map((one) => one.class).filter((one) => one !== undefined);
  return classes.findLast((one) => one !== 'auth') ?? classes.at(-1) ?? 'server_error';
}
