/**
 * The core of the plugin: owns the engine, the running calls and what is told of them. What is set
 * and what is kept is others'; what is decided is the engine's.
 */
import type { GenerateOptions, LlmFailure, StreamChunk } from '@deepseek-ai/dsh-llm';

import { CallBook, type BookCall } from './book.ts';
import { DirectCall, type StepOf } from './direct.ts';
import { Engine, type EngineLost, type Listener, type Loader, type Recorder } from './engine.ts';
import { explain, dryRun } from './explain.ts';
import type { Standing } from './last-word.ts';
import { BACKGROUND, routeText, type NameTable } from './names.ts';
import type {
  CallRow, CallStep, CallView, Catalog, Clock, DryRun, EngineStatus, Evidence, Fact, FailureClass,
  Keeper, Live, LiveEvent, Plans, QueuePlan, ReleaseWhat, Route, SessionStatus, TurnNote,
} from './ports.ts';
import { RelayCall, type CallOwner } from './relay.ts';
import { Rescue } from './rescue.ts';
import { readStatus } from './status.ts';
import { TurnNotes } from './turn-notes.ts';

export interface CoreParts {
  readonly clock: Clock;
  /** For what a call waits for: its timers keep the process. */
  readonly waiting?: Clock;
  readonly plans: Plans;
  readonly keeper: Keeper;
  readonly catalog: Catalog;
  readonly names: NameTable;
  readonly loader: Loader;
  /** Part of every call's id. */
  readonly instance: string;
  readonly recorder?: (Recorder & { recorded(): ReturnType<Live['recorded']> }) | undefined;
  /** The host's own stream, under the guard against loops. */
  stream(call: RelayCall, options: GenerateOptions): AsyncIterable<StreamChunk>;
  /** Where a fault of ours is told: the host's log. */
  fault(message: string): void;
}

/** A session's number that nobody has. */
const NEW_SESSION = '18446744073709551615';

/** Hears of a session's turn what the engine answered. */
export type TurnListener = (words: readonly string[]) => void;

export class Core implements Live, Listener, CallOwner {
  readonly engine: Engine;
  readonly rescue = new Rescue();
  readonly turnNotes = new TurnNotes();
  readonly #parts: CoreParts;
  readonly #book = new CallBook();
  readonly #heard = new Set<(event: LiveEvent) => void>();
  /** Calls whose broken answer the host drops again (D6). */
  readonly #rescued = new Set<string>();
  /** The last failure that a queue told a session, to know it again when its turn ends. */
  readonly #lastFailure = new Map<string, { failure: LlmFailure; class: FailureClass }>();
  #known = new Map<string, QueuePlan>();
  /** Queues made for models outside our provider, by digest, as the engine knows them. */
  readonly #direct = new Map<string, string>();
  #dayEnds = 0;
  #dayTimer: (() => void) | undefined;
  #stopPlans: (() => void) | undefined;
  #onTurn: TurnListener = () => {};

  constructor(parts: CoreParts) {
    this.#parts = parts;
    this.engine = new Engine({
      loader: parts.loader, clock: parts.clock, names: parts.names, listener: this,
      instance: parts.instance, recorder: parts.recorder,
    });
    this.#stopPlans = parts.plans.onChange(() => this.#planned());
  }

  /** Nothing runs afterwards: calls are told so, timers are gone. */
  close(): void {
    this.#stopPlans?.();
    this.#stopPlans = undefined;
    this.#dayTimer?.();
    this.#dayTimer = undefined;
    this.engine.close();
    this.#book.dropOpen();
    this.#heard.clear();
  }

  /** A call to a queue, from the moment at which the engine can be asked. */
  open(queue: QueuePlan, options: GenerateOptions): RelayCall {
    const { names, catalog } = this.#parts;
    const clock = this.#parts.waiting ?? this.#parts.clock;
    this.#turnDay();
    if (!this.#known.has(queue.id)) this.#knowDirect(queue);
    const session = options.purpose === undefined ? options.sessionId : undefined;
    const tried = session === undefined ? [] : this.rescue.triedIn(session, queue.id);
    return new RelayCall({
      engine: this.engine, clock, catalog, queue, options, tried,
      queueNumber: names.queue(queue.id),
      session: names.session(options.sessionId),
      triedNumbers: tried.map((one) => names.route(one.route)),
      stream: (call, inner) => this.#parts.stream(call, inner),
      owner: this,
    });
  }

  /** A step of a model outside our provider, under the policy that is set for those. */
  openDirect(head: Route, step: StepOf, signal: AbortSignal): DirectCall {
    const { names, catalog, keeper, plans } = this.#parts;
    this.#turnDay();
    const queue = plans.direct().queueFor(head);
    this.#knowDirect(queue);
    const call = new DirectCall({
      engine: this.engine, clock: this.#parts.waiting ?? this.#parts.clock, catalog, keeper, queue,
      step, queueNumber: names.queue(queue.id), sessionNumber: names.session(step.session),
      opened: (opened) => {
        this.#book.opened(opened);
        this.#tell({ event: 'call-opened', call: opened.view([]) });
      },
      ended: (row) => {
        keeper.ended(row);
        this.#tell({ event: 'call-ended', call: row });
      },
    });
    call.open(signal);
    return call;
  }

  onTurn(listener: TurnListener): void {
    this.#onTurn = listener;
  }

  /** The session of that number; '' is background. */
  sessionOf(number: string): string | undefined {
    return this.#parts.names.sessionOf(number);
  }

  /** A line about a session, with the time: `turn-ended … completed`. */
  sendAbout(operation: string, session: string, ...rest: readonly string[]): void {
    this.#turnDay();
    const number = this.#parts.names.session(session);
    this.engine.send([operation, this.engine.now(), number, ...rest].join(' '));
  }

  /** What a queue told the session last, if it was this. */
  knownFailure(session: string, failure: LlmFailure): FailureClass | undefined {
    const last = this.#lastFailure.get(session);
    return last?.failure.code === failure.code && last.failure.message === failure.message
      ? last.class : undefined;
  }

  // --- what the engine says ---

  beginning(): readonly string[] {
    const { clock, plans, names, keeper } = this.#parts;
    const day = plans.day(clock.wallMs());
    this.#dayEnds = day.endsMs;
    this.#armDay();
    this.#direct.clear();
    this.#known = new Map(plans.all().map((queue) => [queue.id, queue]));
    const recalled = keeper.recall(names).map((fact) => `recall ${this.engine.now()} ${fact}`);
    return [
      `day ${day.number} ${day.endsMs}`,
      ...plans.all().map((queue) => this.#queueLine(queue)),
      this.#continuationLine(),
      ...recalled,
    ];
  }

  fact(fact: Fact): void {
    const { keeper } = this.#parts;
    const evidence = this.#evidenceOf(fact);
    keeper.keep(fact, evidence);
    if (fact.kind === 'attempted') this.#attempted(fact);
    if (fact.kind === 'called') this.#called(fact.call);
    this.#tell({ event: 'fact', fact, ...(evidence === undefined ? {} : { evidence }) });
  }

  turn(words: readonly string[]): void {
    if (words[0] === 'continue') this.#onTurn(words);
  }

  lost(reason: EngineLost): void {
    this.#parts.fault(`model relay: ${reason.message}`);
    this.#parts.keeper.note({ what: 'engine-lost', place: reason.message });
    this.#book.dropOpen();
  }

  fault(message: string): void {
    this.#parts.fault(`model relay: ${message}`);
  }

  // --- what calls say ---

  opened(call: RelayCall): void {
    this.#book.opened(call);
    this.#tell({ event: 'call-opened', call: call.view([]) });
  }

  broken(call: RelayCall, route: Route, failed: FailureClass): boolean {
    if (call.internal || call.session === '') return false;
    if (!this.rescue.broke(call.session, call.queue, { route, class: failed })) return false;
    this.#rescued.add(call.id);
    this.#parts.keeper.note({ what: 'rescued', session: call.session, queue: call.queue.id, route,
      class: failed });
    return true;
  }

  standing(call: RelayCall): readonly Standing[] {
    const { names } = this.#parts;
    const answer = this.engine.ask(`status ${this.engine.now()}`);
    const { routes, sessions } = readStatus(answer, this.engine.reader);
    const own = sessions.find((one) => one.session === call.session);
    const standings = new Map<string, Standing>();
    for (const { route, coolingMs, restingMs } of routes) {
      const text = routeText(route);
      if (coolingMs !== undefined) {
        standings.set(text, { route: text, state: `cooling ${Math.ceil(coolingMs / 1000)} s` });
      } else if (restingMs !== undefined) {
        standings.set(text, { route: text, state: `resting ${Math.ceil(restingMs / 1000)} s` });
      }
    }
    const queue = names.queue(call.queue.id);
    for (const out of own?.quarantined ?? []) {
      if (names.queue(out.queue) !== queue) continue;
      const text = routeText(out.route);
      standings.set(text, { route: text, state: `quarantined, ${out.class}`, class: out.class });
    }
    for (const candidate of call.queue.candidates) {
      const text = routeText(candidate);
      if (!candidate.present) standings.set(text, { route: text, state: 'missing' });
    }
    return [...standings.values()];
  }

  ended(call: RelayCall, row: CallRow): void {
    if (!call.internal && call.session !== '') this.#sessionHeard(call, row);
    this.#parts.keeper.ended(row);
    if (row.told !== undefined && (row.state === 'refused' || row.state === 'stopped')) {
      this.#parts.keeper.note({ what: 'refused', call: row.call, session: row.session,
        queue: row.queue, told: row.told });
    }
    this.#tell({ event: 'call-ended', call: row });
  }

  /** The failure that ends a call's stream. */
  failing(call: RelayCall, failure: LlmFailure, failed: FailureClass): void {
    if (call.internal || call.session === '') return;
    this.#lastFailure.delete(call.session);
    this.#lastFailure.set(call.session, { failure, class: failed });
    const oldest = this.#lastFailure.keys().next().value;
    if (this.#lastFailure.size > 1_000 && oldest !== undefined) this.#lastFailure.delete(oldest);
  }

  // --- what people look at and change ---

  status(): EngineStatus {
    const answer = this.engine.ask(`status ${this.engine.now()}`);
    const lost = this.engine.lostBecause;
    return {
      ...readStatus(answer, this.engine.reader),
      memoryBytes: this.engine.memoryBytes,
      ...(lost === undefined ? {} : { lost }),
    };
  }

  session(id: string): SessionStatus | undefined {
    const number = this.#parts.names.known(id);
    if (number === undefined) return undefined;
    const answer = this.engine.ask(`status-session ${this.engine.now()} ${number}`);
    return readStatus(answer, this.engine.reader).sessions[0];
  }

  calls(): readonly CallView[] {
    return this.#book.views();
  }

  call(id: string): (CallView & { readonly steps: readonly CallStep[] }) | undefined {
    const running = this.#book.running(id);
    if (running !== undefined) {
      return { ...running.view(this.#book.rows(id)), steps: this.#steps(running, 'open') };
    }
    const past = this.#book.past(id);
    return past === undefined ? undefined : { ...past.view, steps: past.steps };
  }

  trace(id: string): string | undefined {
    const running = this.#book.running(id);
    if (running === undefined) return this.#book.past(id)?.trace;
    return this.engine.ask(`trace ${running.number}`) || undefined;
  }

  release(what: ReleaseWhat): void {
    const { names } = this.#parts;
    switch (what.what) {
      case 'session': {
        const session = names.known(what.session);
        if (session !== undefined) this.engine.send(`release session ${session}`);
        return;
      }
      case 'place': {
        const { queue, route } = what.place;
        const session = names.known(what.place.session);
        if (session === undefined) return;
        return this.engine.send(`release place ${session} ${names.queue(queue)} `
          + `${names.route(route)}`);
      }
      case 'route':
        return this.engine.send(`release route ${names.route(what.route)}`);
      case 'all':
        return this.engine.send('release all');
    }
  }

  endSession(id: string): void {
    this.rescue.forget(id);
    this.turnNotes.forget(id);
    this.#lastFailure.delete(id);
    this.sendAbout('end', id);
  }

  pause(session?: string): void {
    this.engine.send(`pause ${this.#whose(session)}`);
  }

  resume(session?: string): void {
    this.engine.send(`resume ${this.#whose(session)}`);
  }

  stop(call: string): boolean {
    const running = this.#book.running(call);
    if (running === undefined || running.isOver) return false;
    running.stop();
    return true;
  }

  dryRun(queue: string, session: string | undefined): DryRun | undefined {
    const plan = this.#known.get(queue);
    if (plan === undefined) return undefined;
    const { names } = this.#parts;
    const known = session === undefined ? undefined : names.known(session);
    const whose = session === '' ? `${BACKGROUND} call` : `${known ?? NEW_SESSION} session`;
    const answer = this.engine.ask(`preview ${this.engine.now()} 0 ${names.queue(queue)} `
      + `${whose} main stream ongoing 0 - 0 0`);
    return dryRun(answer, plan);
  }

  notes(session: string): readonly TurnNote[] {
    return this.turnNotes.of(session);
  }

  recorded(): ReturnType<Live['recorded']> {
    return this.#parts.recorder?.recorded() ?? { lines: '', answers: '', whole: false };
  }

  onEvent(heard: (event: LiveEvent) => void): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  // --- parts ---

  #whose(session: string | undefined): string {
    return session === undefined ? 'all' : `session ${this.#parts.names.session(session)}`;
  }

  #queueLine(queue: QueuePlan): string {
    const { names } = this.#parts;
    return `queue ${names.queue(queue.id)} ${queue.digest} ${queue.words(names)}`;
  }

  /** A queue that stands in no list: it is made known where it is asked for. */
  #knowDirect(queue: QueuePlan): void {
    if (this.#direct.get(queue.id) === queue.digest) return;
    this.engine.send(this.#queueLine(queue));
    this.#direct.set(queue.id, queue.digest);
  }

  #continuationLine(): string {
    const plan = this.#parts.plans.continuation();
    const onOff = (on: boolean): string => (on ? 'on' : 'off');
    return ['continuation', onOff(plan.enabled), onOff(plan.onTruncation), onOff(plan.onFailure),
      plan.truncationsMax, plan.failuresMax, plan.delayMs].join(' ');
  }

  /** Something was set anew: the engine hears of it, and of candidates that left (R24). */
  #planned(): void {
    if (!this.engine.isReady) return;
    const { plans, names } = this.#parts;
    const before = this.#known;
    this.#known = new Map(plans.all().map((queue) => [queue.id, queue]));
    for (const queue of this.#known.values()) {
      if (before.get(queue.id)?.digest !== queue.digest) this.engine.send(this.#queueLine(queue));
    }
    for (const queue of before.values()) {
      const now = new Set(this.#known.get(queue.id)?.candidates.map(routeText));
      for (const candidate of queue.candidates) {
        if (now.has(routeText(candidate))) continue;
        this.engine.send(`leave ${this.engine.now()} ${names.queue(queue.id)} `
          + `${names.route(candidate)}`);
      }
    }
    this.engine.send(this.#continuationLine());
    this.#turnDay(true);
  }

  /** R17: whoever comes first after the day's end turns it. */
  #turnDay(anew = false): void {
    const wall = this.#parts.clock.wallMs();
    if (!this.engine.isReady || (!anew && wall < this.#dayEnds)) return;
    const day = this.#parts.plans.day(wall);
    this.#dayEnds = day.endsMs;
    this.engine.send(`day ${day.number} ${day.endsMs}`);
    this.#armDay();
  }

  #armDay(): void {
    this.#dayTimer?.();
    const ms = Math.max(1_000, this.#dayEnds - this.#parts.clock.wallMs());
    this.#dayTimer = this.#parts.clock.setTimer(ms, () => {
      this.#dayTimer = undefined;
      this.#turnDay();
      if (this.#dayTimer === undefined) this.#armDay();
    });
  }

  #evidenceOf(fact: Fact): Evidence | undefined {
    if (fact.kind !== 'quarantined' && fact.kind !== 'cooled' && fact.kind !== 'opened') {
      return undefined;
    }
    return this.#book.running(fact.call)?.attempt(fact.attempt)?.evidence;
  }

  #attempted(fact: Extract<Fact, { kind: 'attempted' }>): void {
    const row = this.#book.attempted(fact, this.#parts.clock.monoMs(),
      this.#rescued.has(fact.call));
    if (row === undefined) return;
    const clock = this.#book.running(fact.call)?.attempt(fact.attempt)?.silentClock;
    if (fact.class === 'stall' && clock !== undefined) {
      this.#parts.keeper.note({ what: 'stalled', call: row.call, session: row.session,
        queue: row.queue, route: row.route, clock });
    }
    this.#parts.keeper.attempted(row);
    this.#tell({ event: 'attempt', row });
  }

  #called(id: string): void {
    const call = this.#book.running(id);
    if (call === undefined) return;
    this.#rescued.delete(id);
    this.#book.ended(id, this.#steps(call, 'over'), this.engine.ask(`trace ${call.number}`));
  }

  #steps(call: BookCall, standing: 'open' | 'over'): readonly CallStep[] {
    return explain(this.engine.ask(`why ${call.number}`), call.queue, call.beganMono, standing);
  }

  #sessionHeard(call: RelayCall, row: CallRow): void {
    const route = row.route;
    if (route === undefined) return;
    this.#lastFailure.delete(call.session);
    const name = this.#parts.catalog.info(route)?.name;
    this.turnNotes.ran(call.session, { queue: row.queue, route,
      ...(name === undefined ? {} : { name }) });
  }

  #tell(event: LiveEvent): void {
    for (const heard of this.#heard) {
      try {
        heard(event);
      } catch (error) {
        this.#parts.fault(`model relay: a listener failed: ${String(error)}`);
      }
    }
  }
}
