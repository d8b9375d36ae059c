/**
 * What outlives the process: quarantines, verified marks, tallies, speeds, deleted ids, pauses
 * (R17). It refuses to decide anything with them, and to grow without bound. Cooldowns, seats,
 * rests and rotation are in the engine's memory alone and begin anew with it.
 */
import { kept, type Kept } from './masked.ts';
import { routeText, splitRoute } from './settings.ts';
import type { Line } from './shared-log.ts';
import type { Evidence, Fact, FailureClass, Names, Place, QuarantineFacts } from './ports.ts';

/** The form of the lines. */
export const STATE_VERSION = 1;

const PLACES_MAX = 10_000;
const DELETED_MAX = 10_000;

/** Today's attempts on a route (R29). */
export interface Tally {
  readonly successes: number;
  readonly failures: number;
}

/** What a session's candidate wrote today (R30). */
export interface Written {
  readonly session: string;
  readonly route: string;
  readonly tokens: number;
  /** From the first token to the end, of attempts whose tokens are known. */
  readonly ms: number;
  /** The same of all attempts: time in use. */
  readonly usedMs: number;
  readonly runs: number;
}

interface Out {
  readonly place: Place;
  readonly facts: QuarantineFacts;
  readonly evidence: Kept;
}

/** The whole of it, as the lines of the file make it. */
export class KeptState {
  day = 0;
  /** Whether another plugin's files were taken over. */
  seedRead = false;
  readonly #quarantined = new Map<string, Out>();
  readonly #verified = new Map<string, Place>();
  readonly #tallies = new Map<string, Tally>();
  /** By session, then by route: a page asks for one session after the other. */
  readonly #written = new Map<string, Map<string, Written>>();
  #writtenCount = 0;
  readonly #deleted = new Set<string>();
  readonly #paused = new Set<string>();

  /** How many lines make this state, about. */
  get size(): number {
    return (
      this.#quarantined.size +
      this.#verified.size +
      this.#tallies.size +
      this.#writtenCount +
      this.#deleted.size
    );
  }

  /** Ids of queues that were deleted (R1). */
  get deleted(): ReadonlySet<string> {
    return this.#deleted;
  }

  /** Paused sessions; '' stands for everybody (P5). */
  get paused(): ReadonlySet<string> {
    return this.#paused;
  }

  get tallies(): ReadonlyMap<string, Tally> {
    return this.#tallies;
  }

  /** What a session's candidates wrote today. */
  written(session: string): Written[] {
    return [...(this.#written.get(session)?.values() ?? [])];
  }

  /** What a candidate said when it was put out. */
  evidence(place: Place): Kept | undefined {
    return this.#quarantined.get(keyOf(place))?.evidence;
  }

  /** Forgets everything but the day. */
  clear(): void {
    this.#turn(this.day);
    this.#deleted.clear();
    this.#paused.clear();
    this.seedRead = false;
  }

  /** Takes a line in; one of another day than the newest changes nothing. */
  apply(line: Line): void {
    const day = line['day'];
    if (typeof day === 'number') {
      if (day > this.day) this.#turn(day);
      if (day < this.day) return;
    }
    const route = text(line, 'route');
    switch (line['what']) {
      case 'quarantined':
        return this.#applyQuarantined(line);
      case 'lifted':
        return void this.#quarantined.delete(keyOf(placeOf(line)));
      case 'verified':
        return put(this.#verified, keyOf(placeOf(line)), placeOf(line), PLACES_MAX);
      case 'unverified':
        return void this.#verified.delete(keyOf(placeOf(line)));
      case 'tallied': {
        const before = this.#tallies.get(route) ?? { successes: 0, failures: 0 };
        const successes = before.successes + count(line, 'successes');
        return put(
          this.#tallies,
          route,
          { successes, failures: before.failures + count(line, 'failures') },
          PLACES_MAX,
        );
      }
      case 'wrote':
        return this.#applyWrote(text(line, 'session'), route, line);
      case 'queue_deleted':
        return this.#remember(text(line, 'queue'));
      case 'queue_made':
        return void this.#deleted.delete(text(line, 'queue'));
      case 'paused':
        return void this.#paused.add(text(line, 'session'));
      case 'resumed':
        return void this.#paused.delete(text(line, 'session'));
      case 'seed_read':
        this.seedRead = true;
    }
  }

  /** Lines that make the same state. */
  lines(): Line[] {
    const { day } = this;
    return [
      { what: 'turned', day },
      ...[...this.#quarantined.values()].map((out) => quarantineLine(out)),
      ...[...this.#verified.values()].map((place) => ({ what: 'verified', day, ...flat(place) })),
      ...[...this.#tallies].map(([route, tally]) => ({ what: 'tallied', day, route, ...tally })),
      ...[...this.#written.values()]
        .flatMap((routes) => [...routes.values()])
        .map((one) => ({ what: 'wrote', day, ...one })),
      ...[...this.#deleted].map((queue) => ({ what: 'queue_deleted', queue })),
      ...[...this.#paused].map((session) => ({ what: 'paused', session })),
      ...(this.seedRead ? [{ what: 'seed_read' }] : []),
    ];
  }

  /** The facts in the engine's words. */
  recall(names: Names): string[] {
    const where = ({ session, queue, route }: Place) =>
      `${names.session(session)} ${names.queue(queue)} ${names.route(route)}`;
    const out = [...this.#quarantined.values()].map(
      ({ place, facts }) =>
        `quarantined ${where(place)} ${facts.class} ${facts.day} ${facts.sinceMs} ${facts.untilMs ?? '-'} ${facts.paroleMs ?? '-'} ${facts.paroles} 0 0`,
    );
    const verified = [...this.#verified.values()].map(
      (place) => `verified ${where(place)} ${this.day}`,
    );
    const paused = [...this.#paused].map((session) =>
      session === '' ? 'paused all' : `paused session ${names.session(session)}`,
    );
    return [...out, ...verified, ...paused];
  }

  #turn(day: number): void {
    this.day = day;
    this.#quarantined.clear();
    this.#verified.clear();
    this.#tallies.clear();
    this.#written.clear();
    this.#writtenCount = 0;
  }

  #applyQuarantined(line: Line): void {
    const place = placeOf(line);
    const facts: QuarantineFacts = {
      class: text(line, 'class') as FailureClass,
      day: count(line, 'day'),
      sinceMs: count(line, 'since_ms'),
      paroles: count(line, 'paroles'),
      ...(typeof line['until_ms'] === 'number' ? { untilMs: line['until_ms'] } : {}),
      ...(typeof line['parole_ms'] === 'number' ? { paroleMs: line['parole_ms'] } : {}),
    };
    // A hand that wrote into the file is no reason to keep more than may be kept.
    const said = (typeof line['evidence'] === 'object' ? line['evidence'] : undefined) as
      Evidence | undefined;
    put(
      this.#quarantined,
      keyOf(place),
      { place, facts, evidence: kept(facts.class, said) },
      PLACES_MAX,
    );
  }

  #applyWrote(session: string, route: string, line: Line): void {
    const routes = this.#written.get(session) ?? new Map<string, Written>();
    const before = routes.get(route);
    const sum = (name: 'tokens' | 'ms' | 'usedMs' | 'runs'): number =>
      (before?.[name] ?? 0) + count(line, name);
    const sums = { tokens: sum('tokens'), ms: sum('ms'), usedMs: sum('usedMs'), runs: sum('runs') };
    if (!before) this.#writtenCount += 1;
    routes.set(route, { session, route, ...sums });
    this.#written.delete(session);
    this.#written.set(session, routes);
    const [oldest] = this.#written;
    if (this.#writtenCount <= PLACES_MAX || oldest === undefined) return;
    this.#written.delete(oldest[0]);
    this.#writtenCount -= oldest[1].size;
  }

  #remember(queue: string): void {
    this.#deleted.add(queue);
    const [oldest] = this.#deleted;
    if (this.#deleted.size > DELETED_MAX && oldest !== undefined) this.#deleted.delete(oldest);
  }
}

/** The line that keeps a fact; none: it lives in memory alone. */
export function factLine(fact: Fact, evidence: Evidence | undefined): Line | undefined {
  switch (fact.kind) {
    case 'quarantined':
      return quarantineLine({
        place: fact.place,
        facts: fact.quarantine,
        evidence: kept(fact.quarantine.class, evidence),
      });
    case 'lifted':
    case 'unverified':
      return { what: fact.kind, ...flat(fact.place) };
    case 'verified':
      return { what: 'verified', day: fact.day, ...flat(fact.place) };
    case 'turned':
      return { what: 'turned', day: fact.day };
    case 'paused':
    case 'resumed':
      return { what: fact.kind, session: fact.session ?? '' };
    case 'cooled':
    case 'warmed':
    case 'failed-over':
    case 'on-trial':
    case 'rotated':
    case 'seated':
    case 'unseated':
    case 'attempted':
    case 'called':
    case 'opened':
    case 'served-instead':
    case 'continued':
    case 'not-continued':
    case 'other':
      return undefined;
  }
}

function quarantineLine({ place, facts, evidence }: Out): Line {
  return {
    what: 'quarantined',
    ...flat(place),
    class: facts.class,
    day: facts.day,
    since_ms: facts.sinceMs,
    until_ms: facts.untilMs ?? null,
    parole_ms: facts.paroleMs ?? null,
    paroles: facts.paroles,
    evidence,
  };
}

function flat(place: Place): Line {
  return { session: place.session, queue: place.queue, route: routeText(place.route) };
}

function placeOf(line: Line): Place {
  const route = splitRoute(text(line, 'route')) ?? { provider: '?', model: '?' };
  return { session: text(line, 'session'), queue: text(line, 'queue'), route };
}

function keyOf(place: Place): string {
  return `${place.session}\n${place.queue}\n${routeText(place.route)}`;
}

function text(line: Line, name: string): string {
  const found = line[name];
  return typeof found === 'string' ? found : '';
}

function count(line: Line, name: string): number {
  const found = line[name];
  return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : 0;
}

/** The oldest goes where there is no more room; what is put again is young again. */
function put<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
