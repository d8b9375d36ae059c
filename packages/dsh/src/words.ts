/**
 * Reads the engine's lines: words parted by blanks, `-` for what is absent. It knows the order of
 * the words as `crates/engine/src/codec.rs` has it, and no meaning.
 */
import type { Fact, FailureClass, Holder, LiftedBy, Names, Place, Route, Verdict } from './ports.ts';

/** A line that is not as this build knows it. */
export class BadLine extends Error {
  constructor(expected: string, line: string) {
    super(`expected ${expected} in the engine's line \`${line}\``);
    this.name = 'BadLine';
  }
}

/** A line, word by word. */
export class Words {
  readonly line: string;
  readonly #words: readonly string[];
  #at = 0;

  constructor(line: string) {
    this.line = line;
    this.#words = line.split(' ');
  }

  next(expected = 'a word'): string {
    const word = this.#words[this.#at++];
    if (word === undefined || word === '') throw new BadLine(expected, this.line);
    return word;
  }

  number(): number {
    const number = Number(this.next('a number'));
    if (!Number.isFinite(number)) throw new BadLine('a number', this.line);
    return number;
  }

  yes(): boolean {
    return this.next('yes or no') === 'yes';
  }

  /** Reads on only where the value is not `-`. */
  maybe<T>(read: (words: Words) => T): T | undefined {
    if (this.#words[this.#at] === '-') {
      this.#at += 1;
      return undefined;
    }
    return read(this);
  }

  maybeNumber(): number | undefined {
    return this.maybe((words) => words.number());
  }

  rest(): readonly string[] {
    return this.#words.slice(this.#at);
  }
}

/** What an exhausted or broken call answers (R45). */
export type LastWord =
  | { readonly kind: 'as-it-came' | 'overflow'; readonly attempt: number }
  | { readonly kind: 'come-back'; readonly ms: number }
  | { readonly kind: 'do-not-retry' | 'empty-queue' | 'local-network' | 'deadline' | 'stopped' }
  | { readonly kind: 'broken'; readonly attempt: number; readonly class: FailureClass };

export interface Start {
  readonly attempt: number;
  /** Place in the queue, from 0. */
  readonly candidate: number;
  readonly leg: number;
  readonly continues: number;
  readonly mode: string;
  readonly repair: boolean;
}

/** Something that a call's driver has to do. */
export type Effect =
  | { readonly kind: 'start'; readonly start: Start }
  | { readonly kind: 'resend' | 'commit' | 'deliver' | 'discard' | 'cancel';
      readonly attempt: number }
  | { readonly kind: 'refuse'; readonly word: LastWord };

export function readEffect(words: Words): Effect {
  const kind = words.next('an effect');
  switch (kind) {
    case 'start': {
      const [attempt, candidate, leg] = [words.number(), words.number(), words.number()];
      const [continues, mode, repair] = [words.number(), words.next(), words.yes()];
      return { kind, start: { attempt, candidate, leg, continues, mode, repair } };
    }
    case 'resend':
    case 'commit':
    case 'deliver':
    case 'discard':
    case 'cancel':
      return { kind, attempt: words.number() };
    case 'refuse':
      return { kind, word: readLastWord(words) };
    default:
      throw new BadLine('an effect', words.line);
  }
}

export function readLastWord(words: Words): LastWord {
  const kind = words.next('a last word');
  switch (kind) {
    case 'as-it-came':
    case 'overflow':
      return { kind, attempt: words.number() };
    case 'come-back':
      return { kind, ms: words.number() };
    case 'do-not-retry':
    case 'empty-queue':
    case 'local-network':
    case 'deadline':
    case 'stopped':
      return { kind };
    case 'broken':
      return { kind, attempt: words.number(), class: readClass(words) };
    default:
      throw new BadLine('a last word', words.line);
  }
}

export function readClass(words: Words): FailureClass {
  return words.next('a failure class') as FailureClass;
}

/** Reads facts: numbers become names. */
export class FactReader {
  readonly #names: Names;
  readonly #callName: (number: string) => string;

  /** `callName` turns a call's number into its id. */
  constructor(names: Names, callName: (number: string) => string) {
    this.#names = names;
    this.#callName = callName;
  }

  read(words: Words): Fact {
    const rest = words.rest();
    const kind = words.next('a fact');
    switch (kind) {
      case 'quarantined':
        return this.#quarantined(words);
      case 'lifted':
        return { kind, place: this.place(words), by: words.next() as LiftedBy };
      case 'verified':
        return { kind, place: this.place(words), day: words.number() };
      case 'unverified':
        return { kind, place: this.place(words) };
      case 'cooled':
        return { kind, route: this.route(words), ms: words.number(), class: readClass(words),
          call: this.call(words), attempt: words.number() };
      case 'warmed':
        return { kind, route: this.route(words), by: words.next() as LiftedBy };
      case 'failed-over':
        return { kind, call: this.call(words), from: this.route(words), to: this.route(words) };
      case 'on-trial':
        return { kind, place: this.place(words), call: this.call(words),
          mode: words.next() as 'parole' };
      case 'rotated':
        return { kind, session: this.session(words), queue: this.queue(words),
          truncations: words.number() };
      case 'seated':
        return { kind, route: this.route(words), holder: this.holder(words) };
      case 'unseated':
        return { kind, route: this.route(words), holder: this.holder(words),
          restMs: words.number() };
      case 'attempted':
        return this.#attempted(words);
      case 'called':
        return { kind, call: this.call(words) };
      case 'turned':
        return { kind, day: words.number() };
      case 'opened':
        return { kind, route: this.route(words), ms: words.number(), failures: words.number(),
          by: words.next() as 'probe', class: readClass(words), call: this.call(words),
          attempt: words.number() };
      case 'served-instead':
        return { kind, call: this.call(words), head: this.route(words), route: this.route(words) };
      case 'continued':
        return { kind, session: this.session(words), cause: words.next() as 'failure',
          count: words.number() };
      case 'not-continued':
        return { kind, session: this.session(words), why: words.next() };
      case 'paused':
      case 'resumed':
        return words.next('whose') === 'all' ? { kind } : { kind, session: this.session(words) };
      default:
        // An engine that has learnt more than this file: nothing is lost, nothing breaks.
        return { kind: 'other', words: rest };
    }
  }

  route(words: Words): Route {
    const number = words.next('a route');
    return this.#names.routeOf(number) ?? { provider: '?', model: number };
  }

  queue(words: Words): string {
    const number = words.next('a queue');
    return this.#names.queueOf(number) ?? `?${number}`;
  }

  session(words: Words): string {
    const number = words.next('a session');
    return this.#names.sessionOf(number) ?? `?${number}`;
  }

  call(words: Words): string {
    return this.#callName(words.next('a call'));
  }

  place(words: Words): Place {
    return { session: this.session(words), queue: this.queue(words), route: this.route(words) };
  }

  holder(words: Words): Holder {
    const kind = words.next('a holder');
    return kind === 'session'
      ? { kind, session: this.session(words) }
      : { kind: 'call', call: this.call(words) };
  }

  #quarantined(words: Words): Fact {
    const place = this.place(words);
    const quarantine = readQuarantine(words);
    return { kind: 'quarantined', place, quarantine, call: this.call(words),
      attempt: words.number() };
  }

  #attempted(words: Words): Fact {
    const [call, attempt, route] = [this.call(words), words.number(), this.route(words)];
    const verdict = readVerdict(words);
    const failure = words.maybe(readClass);
    const outputTokens = words.maybeNumber();
    const speakingMs = words.number();
    return {
      kind: 'attempted', call, attempt, route, verdict, speakingMs,
      ...(failure === undefined ? {} : { class: failure }),
      ...(outputTokens === undefined ? {} : { outputTokens }),
    };
  }
}

export function readQuarantine(words: Words) {
  const [failure, day, sinceMs] = [readClass(words), words.number(), words.number()];
  const [untilMs, paroleMs] = [words.maybeNumber(), words.maybeNumber()];
  const paroles = words.number();
  return {
    class: failure, day, sinceMs, paroles,
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(paroleMs === undefined ? {} : { paroleMs }),
  };
}

function readVerdict(words: Words): Verdict {
  const kind = words.next('a verdict');
  switch (kind) {
    case 'spared':
    case 'whole':
    case 'truncated':
      return { kind };
    case 'cooled':
      return { kind, ms: words.number() };
    case 'struck': {
      const namedMs = words.maybeNumber();
      return namedMs === undefined ? { kind } : { kind, namedMs };
    }
    case 'quarantined': {
      const untilMs = words.maybeNumber();
      return untilMs === undefined ? { kind } : { kind, untilMs };
    }
    default:
      throw new BadLine('a verdict', words.line);
  }
}
