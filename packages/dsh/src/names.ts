/**
 * Names and the numbers that the engine counts with. It decides nothing and forgets nothing that
 * the engine may still speak of.
 */
import type { Names, Route } from './ports.ts';

/** `provider/model`; a provider's id has no slash, a model's may. */
export function routeText(route: Route): string {
  return `${route.provider}/${route.model}`;
}

/** The route of such a text; undefined where either half is missing. */
export function routeOf(text: string): Route | undefined {
  const slash = text.indexOf('/');
  if (slash <= 0 || slash === text.length - 1) return undefined;
  return { provider: text.slice(0, slash), model: text.slice(slash + 1) };
}

/** The bucket of calls that have no session (R20). */
export const BACKGROUND = '0';

/**
 * Sessions are numbered as they come and kept in this order; the engine itself remembers fewer.
 * What is dropped here is only the number's name, once the engine has let go of it.
 */
const SESSIONS_MAX = 110_000;

/** One table for the life of the plugin: a new engine after a trap counts with the same numbers. */
export class NameTable implements Names {
  readonly #routes = new Map<string, number>();
  readonly #routeNames: Route[] = [];
  readonly #queues = new Map<string, number>();
  readonly #queueNames: string[] = [];
  readonly #sessions = new Map<string, string>();
  readonly #sessionNames = new Map<string, string>();
  readonly #sessionsMax: number;
  #lastSession = 0;

  constructor(sessionsMax = SESSIONS_MAX) {
    this.#sessionsMax = sessionsMax;
  }

  route(route: Route): number {
    const text = routeText(route);
    let number = this.#routes.get(text);
    if (number === undefined) {
      number = this.#routeNames.push({ provider: route.provider, model: route.model });
      this.#routes.set(text, number);
    }
    return number;
  }

  queue(id: string): number {
    let number = this.#queues.get(id);
    if (number === undefined) {
      number = this.#queueNames.push(id);
      this.#queues.set(id, number);
    }
    return number;
  }

  session(id: string | undefined): string {
    if (id === undefined || id === '') return BACKGROUND;
    const known = this.#sessions.get(id);
    if (known !== undefined) {
      // Told again: it moves to the young end.
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      return known;
    }
    if (this.#sessions.size >= this.#sessionsMax) this.#dropOldest();
    const number = String(++this.#lastSession);
    this.#sessions.set(id, number);
    this.#sessionNames.set(number, id);
    return number;
  }

  /** The session's number if it has one: whoever only looks makes nobody known. */
  known(id: string): string | undefined {
    return id === '' ? BACKGROUND : this.#sessions.get(id);
  }

  routeOf(number: string): Route | undefined {
    return this.#routeNames[Number(number) - 1];
  }

  queueOf(number: string): string | undefined {
    return this.#queueNames[Number(number) - 1];
  }

  sessionOf(number: string): string | undefined {
    return number === BACKGROUND ? '' : this.#sessionNames.get(number);
  }

  #dropOldest(): void {
    const oldest = this.#sessions.entries().next().value;
    if (oldest === undefined) return;
    this.#sessions.delete(oldest[0]);
    this.#sessionNames.delete(oldest[1]);
  }
}
