/** Reads the engine's `status` lines into what people may look at. It knows their words alone. */
import type { EngineStatus, Holder, RouteStatus, SessionStatus } from './ports.ts';
import { readQuarantine, Words, type FactReader } from './words.ts';

export type Standings = Pick<EngineStatus, 'routes' | 'sessions' | 'paused'>;

/** The answer to `status` or `status-session`. */
export function readStatus(answer: string, names: FactReader): Standings {
  const routes: RouteStatus[] = [];
  const sessions: SessionStatus[] = [];
  const paused: string[] = [];
  for (const line of answer.split('\n')) {
    const words = new Words(line);
    switch (line.slice(0, line.indexOf(' '))) {
      case 'route':
        words.next();
        routes.push(readRoute(words, names));
        break;
      case 'session':
        words.next();
        sessions.push(readSession(words, names));
        break;
      case 'paused':
        words.next();
        paused.push(words.next('whose') === 'all' ? '' : names.session(words));
        break;
      default:
    }
  }
  return { routes, sessions, paused };
}

function readRoute(words: Words, names: FactReader): RouteStatus {
  const route = names.route(words);
  const [coolingMs, restingMs] = [words.maybeNumber(), words.maybeNumber()];
  const probing = words.yes();
  const [strikes, opened] = [words.number(), words.number()];
  const [inFlight, seatsTaken] = [words.number(), words.number()];
  const [successes, failures] = [words.number(), words.number()];
  const holders: readonly Holder[] = list(words, () => names.holder(words));
  return {
    route, probing, strikes, opened, inFlight, seatsTaken, successes, failures, holders,
    ...(coolingMs === undefined ? {} : { coolingMs }),
    ...(restingMs === undefined ? {} : { restingMs }),
  };
}

function readSession(words: Words, names: FactReader): SessionStatus {
  const session = names.session(words);
  const quarantined = list(words, () => {
    const [queue, route] = [names.queue(words), names.route(words)];
    return { queue, route, ...readQuarantine(words) };
  });
  const verified = list(words, () => ({ queue: names.queue(words), route: names.route(words) }));
  const speeds = list(words, () =>
    ({ route: names.route(words), tokens: words.number(), ms: words.number() }));
  const truncations = list(words, () => ({ queue: names.queue(words), count: words.number() }));
  const running = words.number();
  const runningNow = words.maybe(() => names.route(words));
  const seats = list(words, () => names.route(words));
  const standsInFor = list(words, () => names.route(words));
  const [paused, subAgent] = [words.yes(), words.yes()];
  const [continuedTruncations, continuedFailures] = [words.number(), words.number()];
  const continueAtMs = words.maybe(() => {
    words.number();
    return words.number();
  });
  return {
    session, quarantined, verified, speeds, truncations, running, seats, standsInFor, paused,
    subAgent, continuedTruncations, continuedFailures,
    ...(runningNow === undefined ? {} : { runningNow }),
    ...(continueAtMs === undefined ? {} : { continueAtMs }),
  };
}

function list<T>(words: Words, read: () => T): T[] {
  return Array.from({ length: words.number() }, read);
}
