/**
 * Policies for models outside our provider (`[direct]`, spec section 4): one call of the engine
 * spans a step of the host's loop, its attempts are the host's own requests. Which model a request
 * goes to, whether a failed one is made again, and after what wait, the engine says; nothing is
 * held, since the host drops what a failed request wrote.
 *
 * It acts only where the host's own retries are spent (P6), and never where no policy is set.
 */
import type { LlmCallConfig, LlmFailure } from '@deepseek-ai/dsh-llm';

import type { BookCall } from './book.ts';
import { EngineLost, type Driver, type Engine } from './engine.ts';
import { judge } from './evidence.ts';
import { routeText } from './names.ts';
import type {
  AttemptRow, CallRow, CallView, Catalog, Clock, Evidence, FailureClass, Keeper, QueuePlan, Route,
} from './ports.ts';
import { effortFor } from './request.ts';
import { WakeTimer } from './wake-timer.ts';
import type { Effect, LastWord, Start } from './words.ts';

/** What the host shows of a step. */
export interface StepOf {
  readonly session: string;
  readonly turn: number;
  readonly step: number;
}

/** What a direct call is made of. */
export interface DirectParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly keeper: Keeper;
  readonly queue: QueuePlan;
  readonly queueNumber: number;
  readonly sessionNumber: string;
  readonly step: StepOf;
  opened(call: DirectCall): void;
  ended(row: CallRow): void;
}

/** One attempt, as the ledger knows it. */
interface Try {
  readonly number: number;
  readonly route: Route;
  readonly beganMono: number;
  readonly beganWall: number;
  committed: boolean;
  over: boolean;
  usage: { inputTokens: number; outputTokens: number } | undefined;
  evidence: Evidence | undefined;
}

/** What is decided: go to that candidate, or nothing more. */
type Decision = number | 'refused';

export class DirectCall implements Driver, BookCall {
  readonly step: StepOf;
  readonly #parts: DirectParts;
  readonly #timer: WakeTimer;
  readonly #tries = new Map<number, Try>();
  #number = 0;
  #current: Try | undefined;
  #decided: Decision | undefined;
  #waiter: ((decision: Decision) => void) | undefined;
  #beganMono = 0;
  #beganWall = 0;
  #why = '';
  #row: CallRow | undefined;
  #stopped = false;
  #lastFailure: { readonly class: FailureClass; readonly evidence: Evidence } | undefined;

  constructor(parts: DirectParts) {
    this.#parts = parts;
    this.step = parts.step;
    this.#timer = new WakeTimer(parts.clock, () => parts.engine.feed(this.#number, 'tick'));
  }

  get id(): string {
    return this.#parts.engine.callName(this.#number);
  }

  get number(): number {
    return this.#number;
  }

  get queue(): QueuePlan {
    return this.#parts.queue;
  }

  get session(): string {
    return this.step.session;
  }

  get internal(): boolean {
    return false;
  }

  get isOver(): boolean {
    return this.#row !== undefined;
  }

  get beganMono(): number {
    return this.#beganMono;
  }

  /** The model that was asked for. */
  get head(): string {
    const [first] = this.queue.candidates;
    return first === undefined ? '' : routeText(first);
  }

  attempt(number: number): Try | undefined {
    return this.#tries.get(number);
  }

  view(rows: readonly AttemptRow[]): CallView {
    if (this.#row !== undefined) return { ...this.#row, attempts: rows };
    const { clock } = this.#parts;
    return {
      call: this.id, session: this.session, queue: this.queue.id, internal: false,
      beganMs: this.#beganWall, tookMs: Math.floor(clock.monoMs() - this.#beganMono),
      state: 'open', attempts: rows, why: this.#why,
      ...(this.#current === undefined ? {} : { route: this.#current.route }),
    };
  }

  /** The call arrives; the host's `signal` ends it. */
  open(signal: AbortSignal): void {
    const { engine, clock, queueNumber, sessionNumber } = this.#parts;
    this.#beganMono = clock.monoMs();
    this.#beganWall = clock.wallMs();
    engine.open({
      queue: queueNumber, session: sessionNumber, seating: 'session', purpose: 'main',
      history: 'ongoing', inputTokens: 0, tried: [],
      deadlineMs: this.queue.deadlineMs,
    }, (number) => {
      this.#number = number;
      this.#parts.opened(this);
      return this;
    });
    const gone = (): void => this.leave();
    signal.addEventListener('abort', gone, { once: true });
    this.#unlisten = () => signal.removeEventListener('abort', gone);
    if (signal.aborted) gone();
  }

  #unlisten: () => void = () => {};

  /** Whom the request goes to, once that is decided; undefined: as it was asked for. */
  async decision(): Promise<number | undefined> {
    const decided = this.#decided ?? await new Promise<Decision>((resolve) => {
      this.#waiter = resolve;
    });
    return decided === 'refused' ? undefined : decided;
  }

  /** The host's request failed, its own retries included; whether it is to be made again. */
  async failed(failure: LlmFailure): Promise<boolean> {
    const current = this.#current;
    if (current === undefined || this.isOver) return false;
    const { engine, clock } = this.#parts;
    const judged = judge(failure, current.route.provider, clock.wallMs(),
      (evidence) => engine.classify(evidence));
    current.evidence = judged.evidence;
    this.#lastFailure = { class: judged.class, evidence: judged.evidence };
    this.#decided = undefined;
    engine.feed(this.#number, `attempt ${current.number} failed ${judged.words} impossible`);
    return await this.decision() !== undefined;
  }

  /** The host has the whole answer. */
  succeeded(usage: Try['usage'], calls: 'tool-calls' | 'stop'): void {
    const current = this.#current;
    if (current === undefined || this.isOver) return;
    current.usage = usage;
    const { engine } = this.#parts;
    const tokens = usage !== undefined && usage.outputTokens > 0 ? usage.outputTokens : '-';
    engine.feed(this.#number, `attempt ${current.number} chunk 1 output`);
    engine.feed(this.#number, `attempt ${current.number} end ${calls} seen ${tokens}`);
  }

  /** Nobody waits for it any more; nobody is to blame. */
  leave(): void {
    if (this.isOver) return;
    this.#parts.engine.feed(this.#number, 'client-gone');
    this.#close({ state: 'left' });
  }

  stop(): void {
    if (this.isOver) return;
    this.#stopped = true;
    this.#parts.engine.feed(this.#number, 'stop');
  }

  effect(effect: Effect): void {
    switch (effect.kind) {
      case 'start':
        return this.#start(effect.start);
      case 'deliver':
        return this.#close({ state: 'whole',
          ...(this.#current === undefined ? {} : { route: this.#current.route }) });
      case 'refuse':
        return this.#close(this.#stopped ? { state: 'stopped', told: { code: 'stopped' } }
          : { state: 'refused', told: toldOf(effect.word) });
      case 'commit':
      case 'discard':
      case 'cancel':
      case 'resend':
        // The host holds, drops and ends its own requests.
        return;
    }
  }

  wake(atMs: number | undefined, why: string): void {
    this.#why = why;
    if (why === 'over') return this.#close({ state: 'left' });
    this.#timer.wake(atMs);
  }

  lost(_reason: EngineLost): void {
    this.#close({ state: 'left' });
  }

  #start(start: Start): void {
    const candidate = this.queue.candidates[start.candidate];
    if (candidate === undefined) return;
    const { engine, clock } = this.#parts;
    const route = { provider: candidate.provider, model: candidate.model };
    const from = this.#current?.route ?? this.queue.candidates[0];
    const next: Try = {
      number: start.attempt, route, beganMono: clock.monoMs(), beganWall: clock.wallMs(),
      committed: true, over: false, usage: undefined, evidence: undefined,
    };
    this.#tries.set(next.number, next);
    this.#current = next;
    engine.feed(this.#number, `attempt ${next.number} sent`);
    if (from !== undefined && routeText(from) !== routeText(route)) this.#switched(from, route, start);
    this.#decide(start.candidate);
  }

  /** C7: told in the journal, and never in the host's session log. */
  #switched(from: Route, to: Route, start: Start): void {
    const head = this.queue.candidates[0] ?? from;
    const { session, turn, step } = this.step;
    this.#parts.keeper.note({
      what: 'switched', session, turn, step, from, to,
      head: { provider: head.provider, model: head.model },
      reason: start.mode === 'probe' ? 'probe' : 'threshold',
      ...(this.#lastFailure === undefined ? {} : { failure: this.#lastFailure.evidence }),
    });
  }

  #decide(decision: Decision): void {
    this.#decided = decision;
    this.#waiter?.(decision);
    this.#waiter = undefined;
  }

  #close(how: Pick<CallRow, 'state'> & Partial<CallRow>): void {
    if (this.isOver) return;
    const { clock, engine, ended } = this.#parts;
    this.#timer.clear();
    this.#unlisten();
    this.#row = {
      call: this.id, session: this.session, queue: this.queue.id, internal: false,
      beganMs: this.#beganWall, tookMs: Math.floor(clock.monoMs() - this.#beganMono),
      attempts: this.#tries.size, ...how,
    };
    engine.forget(this.#number);
    ended(this.#row);
    this.#decide('refused');
  }

  /** The host's request for a candidate: another model gets no level of the one before (R35). */
  configFor(index: number, asked: LlmCallConfig): LlmCallConfig {
    const candidate = this.queue.candidates[index];
    if (candidate === undefined || index === 0) return asked;
    const { reasoningEffort: _head, ...rest } = asked;
    const effort = effortFor(candidate, this.#parts.catalog.info(candidate));
    return {
      ...rest, provider: candidate.provider, model: candidate.model,
      ...(effort === undefined ? {} : { reasoningEffort: effort }),
    };
  }
}

function toldOf(word: LastWord): NonNullable<CallRow['told']> {
  const code = word.kind.replaceAll('-', '_') as NonNullable<CallRow['told']>['code'];
  return word.kind === 'broken' ? { code, class: word.class } : { code };
}
