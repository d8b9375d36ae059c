/**
 * The engine: one `History` in WebAssembly, spoken to in lines. It decides nothing here: lines go
 * in, effects, wake-up times and facts come out, to whoever drives the call that they name.
 *
 * A trap loses the instance. Calls that ran are told so, another instance starts and is told the
 * facts that were kept; a file that cannot be loaded is told to every call.
 */
import type { Beat } from './attempt.ts';
import type { Clock, Fact, FailureClass, Names } from './ports.ts';
import { FactReader, readEffect, Words, type Effect } from './words.ts';

/** What `ekiden.mjs` makes of one instance. */
export interface WasmInstance {
  history(): WasmHistory;
  classify(evidence: string): string;
  replay(trace: string): string;
  readonly memoryBytes: number;
}

export interface WasmHistory {
  lines(text: string): string;
  free(): void;
  /** A piece of an answer without any text; whether the call has something to say now. */
  beat(call: number, attempt: number, bytes: number, kind: Beat, monoMs: number, wallMs: number):
  boolean;
}

/** Makes instances; the first one may fail as well as any later one. */
export type Loader = () => Promise<WasmInstance>;

/** Whoever carries out what the engine decides for one call. It never throws. */
export interface Driver {
  effect(effect: Effect): void;
  /** Nothing until then (monotonic; undefined: until an input comes), and why. */
  wake(atMs: number | undefined, why: string): void;
  /** The engine is gone, and this call with it. */
  lost(reason: EngineLost): void;
}

/** The engine does not answer. */
export class EngineLost extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'EngineLost';
  }
}

/** What the engine says beside its calls. */
export interface Listener {
  fact(fact: Fact): void;
  /** Lines about turns that go on by themselves, as they came. */
  turn(words: readonly string[]): void;
  /** An instance was lost, or could not be made. */
  lost(reason: EngineLost): void;
  /** Something of ours broke; whoever it was about has been told. */
  fault(message: string): void;
  /** Lines that a new instance is told before anything else: day, queues, settings, facts. */
  beginning(): readonly string[];
}

/** What is known about a call when it arrives. */
export interface CallSpec {
  readonly queue: number;
  readonly session: string;
  readonly seating: 'session' | 'call';
  readonly purpose: 'main' | 'internal';
  readonly history: 'fresh' | 'ongoing';
  readonly inputTokens: number;
  /** The longest that the call may take in all; none: no limit (R8). */
  readonly deadlineMs?: number | undefined;
  /** Routes that broke after commit in this same step (D6). */
  readonly tried: readonly number[];
}

/** A failure as the engine takes it. */
export interface Failure {
  readonly class: FailureClass;
  /** Class, origin, scope, wait and reach. */
  readonly words: string;
}

/** Traps within `TRAPS_WITHIN_MS` after which no other instance is tried for that long. */
const TRAPS_MAX = 4;
const TRAPS_WITHIN_MS = 60_000;

/** Everything sent and said, for replays. */
export interface Recorder {
  line(line: string, answer: string): void;
}

export class Engine {
  readonly #loader: Loader;
  readonly #clock: Clock;
  readonly #listener: Listener;
  readonly #facts: FactReader;
  readonly #instance: string;
  readonly #recorder: Recorder | undefined;
  readonly #drivers = new Map<number, Driver>();
  readonly #said: string[] = [];
  #wasm: WasmInstance | undefined;
  #history: WasmHistory | undefined;
  #lost: EngineLost | undefined;
  #starting: Promise<void> | undefined;
  #traps: number[] = [];
  #calls = 0;
  #telling = false;
  #closed = false;

  constructor(parts: {
    loader: Loader; clock: Clock; names: Names; listener: Listener;
    /** Part of every call's id, so that ids of two processes differ. */
    instance: string; recorder?: Recorder | undefined;
  }) {
    this.#loader = parts.loader;
    this.#clock = parts.clock;
    this.#listener = parts.listener;
    this.#instance = parts.instance;
    this.#recorder = parts.recorder;
    this.#facts = new FactReader(parts.names, (number) => this.callName(number));
  }

  /** Fulfilled once lines can be sent; rejected with `EngineLost`. */
  async ready(): Promise<void> {
    if (this.#history !== undefined) return;
    if (this.#closed) throw new EngineLost('the plugin is being unloaded');
    if (this.#tooManyTraps()) throw this.#lost ?? new EngineLost('the engine traps again and again');
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  get isReady(): boolean {
    return this.#history !== undefined;
  }

  /** Why the engine does not answer; undefined: it does, or has not been asked yet. */
  get lostBecause(): string | undefined {
    return this.#history === undefined ? this.#lost?.message : undefined;
  }

  get memoryBytes(): number {
    return this.#wasm?.memoryBytes ?? 0;
  }

  /** A call's id for people. */
  callName(number: string | number): string {
    return String(number) === '0' ? '' : `ek-${this.#instance}-${number}`;
  }

  /** Makes a call known and drives it; its driver hears of it from then on. */
  open(spec: CallSpec, driver: (number: number) => Driver): number {
    const number = ++this.#calls;
    const line = ['call', number, spec.queue, spec.session, spec.seating, spec.purpose, 'stream',
      spec.history, spec.inputTokens, spec.deadlineMs ?? '-', seedOf(number)];
    line.push(spec.tried.length, ...spec.tried);
    const own = driver(number);
    this.#drivers.set(number, own);
    const answer = this.ask(line.join(' '));
    if (answer.startsWith('error') || this.#history === undefined) {
      this.#drivers.delete(number);
      own.lost(this.#lost ?? new EngineLost(`a call was not understood: ${answer.trim()}`));
      return number;
    }
    this.send(`drive ${number} ${this.now()}`);
    return number;
  }

  /** Feeds a call an input; `atMs` where it happened a moment ago (monotonic). */
  feed(call: number, input: string, atMs?: number): void {
    this.send(`feed ${call} ${this.now(atMs)} ${input}`);
  }

  /** A piece of an answer: streams have very many, so that no text crosses unless it is kept. */
  beat(call: number, attempt: number, bytes: number, kind: Beat, monoMs: number): void {
    if (this.#history === undefined) return;
    if (this.#recorder !== undefined) {
      return this.feed(call, `attempt ${attempt} chunk ${bytes} ${kind}`);
    }
    const mono = Math.floor(monoMs);
    const wall = Math.floor(this.#clock.wallMs());
    try {
      if (!this.#history.beat(call, attempt, bytes, kind, mono, wall)) return;
    } catch (error) {
      return this.#trapped(error);
    }
    this.send(`drive ${call} ${mono} ${wall}`);
  }

  /** Two integers as every line has them; the moment `atMs` on both clocks if given. */
  now(atMs?: number): string {
    const mono = Math.floor(this.#clock.monoMs());
    const wall = Math.floor(this.#clock.wallMs());
    if (atMs === undefined) return `${mono} ${wall}`;
    const ago = Math.max(0, mono - Math.floor(atMs));
    return `${mono - ago} ${wall - ago}`;
  }

  /** The driver hears no more. */
  forget(call: number): void {
    this.#drivers.delete(call);
  }

  /**
   * Sends a line; what it led to is told before this returns, unless this was called by somebody
   * who is just being told: then afterwards, in order. Without an engine nothing happens.
   */
  send(line: string): void {
    const answer = this.ask(line);
    if (answer === '') return;
    this.#said.push(answer);
    this.#tell();
  }

  /** Sends a line and gives its answer to the caller alone; '' without an engine. */
  ask(line: string): string {
    if (this.#history === undefined) return '';
    try {
      const answer = this.#history.lines(line);
      this.#recorder?.line(line, answer);
      return answer;
    } catch (error) {
      this.#trapped(error);
      return '';
    }
  }

  /** Judges evidence; undefined without an engine. */
  classify(evidence: string): string | undefined {
    if (this.#wasm === undefined) return undefined;
    try {
      return this.#wasm.classify(evidence);
    } catch (error) {
      this.#trapped(error);
      return undefined;
    }
  }

  /** The facts of an answer that was asked for. */
  get reader(): FactReader {
    return this.#facts;
  }

  close(): void {
    this.#closed = true;
    const lost = new EngineLost('the plugin was unloaded');
    this.#dropInstance(lost);
    this.#lost = lost;
  }

  async #start(): Promise<void> {
    try {
      const wasm = await this.#loader();
      if (this.#closed) throw new EngineLost('the plugin is being unloaded');
      this.#wasm = wasm;
      this.#history = wasm.history();
    } catch (error) {
      const lost = error instanceof EngineLost
        ? error
        : new EngineLost(`the engine cannot be loaded: ${messageOf(error)}`, error);
      this.#lost = lost;
      this.#listener.lost(lost);
      throw lost;
    }
    this.#lost = undefined;
    for (const line of this.#listener.beginning()) this.send(line);
    if (this.#history === undefined) throw this.#lost ?? new EngineLost('the engine trapped');
  }

  #trapped(error: unknown): void {
    const lost = new EngineLost(messageOf(error), error);
    this.#traps = [...this.#traps, this.#clock.monoMs()].slice(-TRAPS_MAX);
    this.#lost = lost;
    this.#dropInstance(lost);
    this.#listener.lost(lost);
    if (this.#closed || this.#tooManyTraps()) return;
    // The next call finds it ready; whoever waits for it hears of its failure.
    this.ready().catch(() => {});
  }

  #dropInstance(lost: EngineLost): void {
    this.#history = undefined;
    this.#wasm = undefined;
    this.#said.length = 0;
    const drivers = [...this.#drivers.values()];
    this.#drivers.clear();
    for (const driver of drivers) driver.lost(lost);
  }

  #tooManyTraps(): boolean {
    const since = this.#clock.monoMs() - TRAPS_WITHIN_MS;
    return this.#traps.filter((at) => at > since).length >= TRAPS_MAX;
  }

  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    try {
      for (let said = this.#said.shift(); said !== undefined; said = this.#said.shift()) {
        for (const line of said.split('\n')) if (line !== '') this.#lineSafely(line);
      }
    } finally {
      this.#telling = false;
    }
  }

  /** A fault in one call's affairs is the end of that call alone, and never the host's. */
  #lineSafely(line: string): void {
    try {
      this.#line(line);
    } catch (error) {
      this.#listener.fault(`a line was not carried out: ${messageOf(error)}`);
      const number = /^call (\d+) /.exec(line)?.[1];
      if (number === undefined) return;
      const driver = this.#drivers.get(Number(number));
      this.#drivers.delete(Number(number));
      driver?.lost(new EngineLost(messageOf(error), error));
      this.feed(Number(number), 'client-gone');
    }
  }

  #line(line: string): void {
    const words = new Words(line);
    switch (words.next()) {
      case 'call':
        return this.#callLine(words);
      case 'fact':
        return this.#listener.fact(this.#facts.read(words));
      case 'wake':
        return this.feed(words.number(), 'woken');
      case 'want': {
        // One process: whoever asks first is granted first, and the engine has counted already.
        const [lease, route] = [words.next(), words.next()];
        return this.send(`grant ${lease} ${route} granted`);
      }
      case 'error':
        return this.#listener.fault(`a line was not understood: ${line}`);
      default:
        return this.#listener.turn(line.split(' '));
    }
  }

  #callLine(words: Words): void {
    const driver = this.#drivers.get(words.number());
    if (driver === undefined) return;
    switch (words.next()) {
      case 'effect':
        return driver.effect(readEffect(words));
      case 'wake':
        return driver.wake(words.maybeNumber(), words.rest().join(' '));
      default:
        // `settle` and `admit` are between the engine and the call.
    }
  }
}

/** Jitter is all that a seed is for, and the history records it. */
function seedOf(call: number): number {
  return (Math.imul(call, 0x9e3779b1) >>> 0) + call;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
