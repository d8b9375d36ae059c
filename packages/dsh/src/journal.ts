/**
 * The journal that people read (R32): codes, names and spans, which a page puts into words. It
 * refuses to keep more than was set, and any text of a call.
 */
import { cut, kept, masked } from './masked.ts';
import { routeText } from './settings.ts';
import type { Line } from './shared-log.ts';
import type { Evidence, Fact, FailureClass, Note, Place, Route, Told } from './ports.ts';

export const JOURNAL_VERSION = 1;

/** Characters of a name that somebody outside chose for this one occasion. */
const NAME_CHARS_MAX = 200;

/** What happened; members by `what` as in docs/api.md. */
export type Happened = Line & { readonly what: string };

/** One entry. Later ones have larger numbers. */
export type Entry = Happened & { readonly number: number; readonly at_ms: number; readonly call: string | null };

/** Which entries are asked for; every condition that is given holds. */
export interface JournalFilter {
  readonly limit: number;
  readonly before?: number;
  readonly after?: number;
  readonly call?: string;
  readonly session?: string;
  readonly route?: string;
  readonly what?: string;
}

/** The newest entries, oldest first. */
export class Journal {
  #entries: Entry[] = [];
  #last = 0;

  /** The number that the next entry gets. */
  next(): number {
    return this.#last + 1;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Takes an entry in and lets the oldest go that are more than `most`. */
  take(entry: Entry, most: number): void {
    this.#entries.push(entry);
    this.#last = Math.max(this.#last, entry.number);
    this.prune(most);
  }

  prune(most: number): void {
    if (this.#entries.length > most) this.#entries.splice(0, this.#entries.length - most);
  }

  /** Forgets everything but the numbers. */
  clear(): void {
    this.#entries = [];
  }

  /** A page, newest first; `next` is the `before` of the page after it. */
  page(filter: JournalFilter): { readonly entries: readonly Entry[]; readonly next: number | null } {
    const found = this.#entries.filter((entry) => fits(entry, filter)).toReversed();
    const entries = found.slice(0, filter.limit);
    return { entries, next: found.length > entries.length ? entries.at(-1)?.number ?? null : null };
  }
}

/** An entry of a line of the file; none: the line is none. */
export function entryOf(line: Line): Entry | undefined {
  const { number, at_ms: at, call, what } = line as Partial<Entry>;
  if (typeof number !== 'number' || typeof at !== 'number' || typeof what !== 'string') return undefined;
  return { ...line, number, at_ms: at, call: typeof call === 'string' ? call : null, what };
}

/** What the journal says of a fact; none: nothing. `lastClass` is what a call's last attempt ended with. */
export function factEntry(fact: Fact, said: Evidence | undefined, lastClass: FailureClass | undefined): { readonly call: string | null; readonly what: Happened } | undefined {
  const by = (call: string | null, what: Happened) => ({ call, what });
  switch (fact.kind) {
    case 'quarantined': {
      const { class: why, untilMs, paroleMs } = fact.quarantine;
      return by(fact.call, {
        what: 'quarantined', ...placed(fact.place), class: why, until_ms: untilMs ?? null, parole_ms: paroleMs ?? null,
        evidence: kept(why, said),
      });
    }
    case 'lifted':
      return by(null, { what: 'lifted', ...placed(fact.place), by: fact.by });
    case 'on-trial':
      return by(fact.call, { what: 'on_trial', ...placed(fact.place), mode: fact.mode.replace('-', '_') });
    case 'cooled':
    case 'opened':
      return by(fact.call, { what: 'cooled', route: routeText(fact.route), ms: fact.ms, class: fact.class, evidence: kept(fact.class, said) });
    case 'warmed':
      return by(null, { what: 'warmed', route: routeText(fact.route), by: fact.by });
    case 'failed-over':
      return by(fact.call, { what: 'failed_over', from: routeText(fact.from), to: routeText(fact.to), class: lastClass ?? null });
    case 'rotated':
      return by(null, { what: 'rotated', session: fact.session, queue: fact.queue, truncations: fact.truncations });
    case 'served-instead':
      return by(fact.call, { what: 'served_instead', head: routeText(fact.head), route: routeText(fact.route) });
    case 'continued':
      return by(null, { what: 'turn_continued', session: fact.session, cause: fact.cause, count: fact.count });
    case 'not-continued':
      return by(null, { what: 'turn_not_continued', session: fact.session, why: fact.why.replaceAll('-', '_') });
    case 'paused':
    case 'resumed':
      return by(null, { what: fact.kind, session: fact.session ?? null });
    case 'turned':
      return by(null, { what: 'turned', day: fact.day });
    case 'verified':
    case 'unverified':
    case 'seated':
    case 'unseated':
    case 'attempted':
    case 'called':
    case 'other':
      return undefined;
  }
}

/** What the journal says of a note. */
export function noteEntry(note: Note): { readonly call: string | null; readonly what: Happened } {
  switch (note.what) {
    case 'stalled':
      return { call: note.call, what: { what: 'stalled', route: routeText(note.route), clock: note.clock.replaceAll('-', '_') } };
    case 'refused':
      return { call: note.call, what: { what: 'refused', session: note.session, queue: note.queue, told: toldShown(note.told) } };
    case 'deleted-queue':
      return { call: null, what: { what: 'queue_gone', asked: cut(note.asked, NAME_CHARS_MAX), queue: note.queue } };
    case 'rescued':
      return { call: null, what: { what: 'rescued', session: note.session, queue: note.queue, route: routeText(note.route), class: note.class } };
    case 'switched': {
      const { session, turn, step, head, from, to, reason, failure } = note;
      return { call: null, what: {
        what: 'switched', session, turn, step, head: routeText(head), from: routeText(from), to: routeText(to), reason,
        evidence: kept(undefined, failure),
      } };
    }
    case 'engine-lost':
      return { call: null, what: { what: 'engine_lost', place: masked(note.place) } };
  }
}

/** What a client was told, as the interface shows it. */
export function toldShown(told: Told): Line {
  return {
    code: told.code,
    ...(told.seconds === undefined ? {} : { seconds: told.seconds }),
    ...(told.class === undefined ? {} : { class: told.class }),
  };
}

function fits(entry: Entry, filter: JournalFilter): boolean {
  const is = (asked: string | undefined, ...has: unknown[]) => asked === undefined || has.includes(asked);
  return (filter.after === undefined || entry.number > filter.after)
    && (filter.before === undefined || entry.number < filter.before)
    && is(filter.call, entry.call) && is(filter.session, entry['session']) && is(filter.what, entry.what)
    && is(filter.route, entry['route'], entry['from'], entry['to']);
}

function placed(place: Place): { session: string; queue: string; route: string } {
  return { session: place.session, queue: place.queue, route: routeText(place.route satisfies Route) };
}
