/**
 * The journal that people read (R32): codes, names and spans, which a page puts into words. It
 * refuses to keep more than was set, and any text of a call.
 */
import { cut, kept, masked } from './masked.ts';
import { routeText } from './settings.ts';
import type { Line } from './shared-log.ts';
import type { Evidence, Fact, FailureClass, Note, Place, Told as ToldClient } from './ports.ts';

export const JOURNAL_VERSION = 1;

/** Characters of a name that somebody outside chose for this one occasion. */
const NAME_CHARS_MAX = 200;

/** What happened; members by `what` as in docs/api.md. */
export type Happened = Line & { readonly what: string };

/** What happened, and the call that led to it, if one did. */
export interface Told {
  readonly call: string | null;
  readonly what: Happened;
}

/** One entry. Later ones have larger numbers. */
export type Entry = Happened & {
  readonly number: number;
  readonly at_ms: number;
  readonly call: string | null;
};

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
  page(filter: JournalFilter): {
    readonly entries: readonly Entry[];
    readonly next: number | null;
  } {
    const found = this.#entries.filter((entry) => fits(entry, filter)).toReversed();
    const entries = found.slice(0, filter.limit);
    return {
      entries,
      next: found.length > entries.length ? (entries.at(-1)?.number ?? null) : null,
    };
  }
}

/** An entry of a line of the file; none: the line is none. */
export function entryOf(line: Line): Entry | undefined {
  const { number, at_ms: at, call, what } = line as Partial<Entry>;
  if (typeof number !== 'number' || typeof at !== 'number' || typeof what !== 'string')
    return undefined;
  return { ...line, number, at_ms: at, call: typeof call === 'string' ? call : null, what };
}

/** What the journal says of a fact; none: nothing. `lastClass` is what a call's last attempt ended with. */
export function factEntry(
  fact: Fact,
  said: Evidence | undefined,
  lastClass: FailureClass | undefined,
): Told | undefined {
  switch (fact.kind) {
    case 'quarantined':
    case 'lifted':
    case 'on-trial':
      return placeEntry(fact, said);
    case 'cooled':
    case 'opened':
    case 'warmed':
    case 'failed-over':
    case 'served-instead':
      return routeEntry(fact, said, lastClass);
    case 'rotated':
    case 'continued':
    case 'not-continued':
    case 'paused':
    case 'resumed':
      return sessionEntry(fact);
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
export function noteEntry(note: Note): Told {
  switch (note.what) {
    case 'stalled':
      return {
        call: note.call,
        what: {
          what: 'stalled',
          route: routeText(note.route),
          clock: note.clock.replaceAll('-', '_'),
        },
      };
    case 'refused':
      return {
        call: note.call,
        what: {
          what: 'refused',
          session: note.session,
          queue: note.queue,
          told: toldShown(note.told),
        },
      };
    case 'deleted-queue':
      return {
        call: null,
        what: { what: 'queue_gone', asked: cut(note.asked, NAME_CHARS_MAX), queue: note.queue },
      };
    case 'rescued':
      return {
        call: null,
        what: {
          what: 'rescued',
          session: note.session,
          queue: note.queue,
          route: routeText(note.route),
          class: note.class,
        },
      };
    case 'switched': {
      const { session, turn, step, head, from, to, reason, failure } = note;
      return {
        call: null,
        what: {
          what: 'switched',
          session,
          turn,
          step,
          head: routeText(head),
          from: routeText(from),
          to: routeText(to),
          reason,
          evidence: kept(undefined, failure),
        },
      };
    }
    case 'engine-lost':
      return { call: null, what: { what: 'engine_lost', place: masked(note.place) } };
  }
}

/** What a client was told, as the interface shows it. */
export function toldShown(told: ToldClient): Line {
  return {
    code: told.code,
    ...(told.seconds === undefined ? {} : { seconds: told.seconds }),
    ...(told.class === undefined ? {} : { class: told.class }),
  };
}

function fits(entry: Entry, filter: JournalFilter): boolean {
  const is = (asked: string | undefined, ...has: unknown[]) =>
    asked === undefined || has.includes(asked);
  return (
    (filter.after === undefined || entry.number > filter.after) &&
    (filter.before === undefined || entry.number < filter.before) &&
    is(filter.call, entry.call) &&
    is(filter.session, entry['session']) &&
    is(filter.what, entry.what) &&
    is(filter.route, entry['route'], entry['from'], entry['to'])
  );
}

function placed(place: Place): { session: string; queue: string; route: string } {
  return {
    session: place.session,
    queue: place.queue,
    route: routeText(place.route),
  };
}

type FactOf<K extends Fact['kind']> = Extract<Fact, { kind: K }>;

function placeEntry(
  fact: FactOf<'quarantined' | 'lifted' | 'on-trial'>,
  said: Evidence | undefined,
): Told {
  const where = placed(fact.place);
  switch (fact.kind) {
    case 'quarantined': {
      const { class: why, untilMs: until, paroleMs: parole } = fact.quarantine;
      const evidence = kept(why, said);
      const when = { until_ms: until ?? null, parole_ms: parole ?? null };
      return by(fact.call, { what: 'quarantined', ...where, class: why, ...when, evidence });
    }
    case 'lifted':
      return by(null, { what: 'lifted', ...where, by: fact.by });
    case 'on-trial':
      return by(fact.call, { what: 'on_trial', ...where, mode: fact.mode.replace('-', '_') });
  }
}

function routeEntry(
  fact: FactOf<'cooled' | 'opened' | 'warmed' | 'failed-over' | 'served-instead'>,
  said: Evidence | undefined,
  lastClass: FailureClass | undefined,
): Told {
  switch (fact.kind) {
    case 'cooled':
    case 'opened': {
      const { ms, class: why } = fact;
      const evidence = kept(why, said);
      return by(fact.call, {
        what: 'cooled',
        route: routeText(fact.route),
        ms,
        class: why,
        evidence,
      });
    }
    case 'warmed':
      return by(null, { what: 'warmed', route: routeText(fact.route), by: fact.by });
    case 'failed-over': {
      const [from, to] = [routeText(fact.from), routeText(fact.to)];
      return by(fact.call, { what: 'failed_over', from, to, class: lastClass ?? null });
    }
    case 'served-instead': {
      const [head, route] = [routeText(fact.head), routeText(fact.route)];
      return by(fact.call, { what: 'served_instead', head, route });
    }
  }
}

function sessionEntry(
  fact: FactOf<'rotated' | 'continued' | 'not-continued' | 'paused' | 'resumed'>,
): Told {
  const { session } = fact;
  switch (fact.kind) {
    case 'rotated': {
      const { queue, truncations } = fact;
      return by(null, { what: 'rotated', session, queue, truncations });
    }
    case 'continued': {
      const { cause, count } = fact;
      return by(null, { what: 'turn_continued', session, cause, count });
    }
    case 'not-continued': {
      const why = fact.why.replaceAll('-', '_');
      return by(null, { what: 'turn_not_continued', session, why });
    }
    case 'paused':
    case 'resumed':
      return by(null, { what: fact.kind, session: session ?? null });
  }
}

function by(call: string | null, what: Happened): Told {
  return { call, what };
}
