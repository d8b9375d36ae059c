/**
 * What operations have in common: how a wish is read, and what it may name. It refuses to let a name
 * that is not known become one by being asked for.
 */
import { EditError, type Change } from './edits.ts';
import { Refusal, type Query, type Reply } from './http.ts';
import { shown } from './masked.ts';
import type { ProbeFrom } from './probe.ts';
import { routeText, splitRoute } from './settings.ts';
import type { Asked } from './endpoints.ts';
import type { Looked } from './views.ts';
import type { QueuePlan, ReleaseWhat, Route, SessionStatus } from './ports.ts';

/** What operations work on. */
export interface OperationsFrom extends Looked {
  readonly probing: ProbeFrom;
}

/** What a bad body is told. */
const RELEASE_FORMS =
  '{"session": KEY}, {"session": KEY, "queue": ID, "route": "provider/model"}, {"route": "provider/model"} or {"all": true}';

/** Lets go by hand (R19). Throws a [`Refusal`]. */
export function release(
  of: Looked,
  body: Readonly<Record<string, unknown>>,
): { released: string; for_everybody: boolean } {
  const what = releaseWhat(of, body);
  of.live.release(what);
  return { released: what.what, for_everybody: what.what === 'route' || what.what === 'all' };
}

/** Makes changes; `seen` is what they were decided upon. Throws a [`Refusal`]. */
export function change(of: Looked, seen: string | undefined, changes: readonly Change[]): string {
  try {
    return of.home.settings.change(seen, changes);
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    const status = {
      changed: 412,
      read_only: 409,
      no_such_setting: 404,
      refused: 409,
      invalid_settings: 400,
      not_kept: 503,
    }[error.code];
    throw new Refusal(
      status,
      error.code,
      error.message,
      error.now === undefined ? {} : { etag: `"${error.now}"` },
    );
  }
}

function releaseWhat(of: Looked, body: Readonly<Record<string, unknown>>): ReleaseWhat {
  const [session, queue, route] = [text(body, 'session'), text(body, 'queue'), text(body, 'route')];
  const all = body['all'] ?? false;
  const given = [session, queue, route].map((one) => (one === undefined ? '-' : 'x')).join('');
  if (all === true && given === '---') return { what: 'all' };
  if (all === false && given === '--x') return { what: 'route', route: knownRoute(of, route) };
  if (all === false && given === 'x--')
    return { what: 'session', session: knownSession(of, session).session };
  if (all === false && given === 'xxx') {
    // A model that was asked for outside any queue is a queue of one, under its own name.
    const direct = queue?.includes('/') ? routeText(knownRoute(of, queue)) : undefined;
    const id = direct ?? queueOf(of, queue ?? '').id;
    const place = {
      session: knownSession(of, session).session,
      queue: id,
      route: knownRoute(of, route),
    };
    return { what: 'place', place };
  }
  throw new Refusal(400, 'bad_release', `write ${RELEASE_FORMS}`);
}

/** A name that is not configured must not become one by being asked for. */
export function knownRoute(of: Looked, given: string | undefined): Route {
  const route = splitRoute(given ?? '');
  const rows = of.home.plans.all().flatMap(({ candidates }) => candidates);
  const there =
    route &&
    (rows.some((row) => routeText(row) === routeText(route)) ||
      of.home.catalog.present(route.provider));
  if (!route || !there) throw noSuch('route', given);
  return route;
}

/** A session that the engine knows. Throws a [`Refusal`]. */
export function knownSession(of: Looked, given: string | undefined): SessionStatus {
  const found = of.live.session(keyOf(given));
  if (!found) throw noSuch('session', given);
  return found;
}

/** `background` is the bucket of calls that have no session. */
export function keyOf(name: string | undefined): string {
  return name === undefined || name === 'background' ? '' : name;
}

/** A queue that is set. Throws a [`Refusal`]. */
export function queueOf(of: Looked, id: string): QueuePlan {
  const queue = of.home.plans.all().find((one) => one.id === id);
  if (!queue) throw noSuch('queue', id);
  return queue;
}

/** The conditions that were given, without the number of lines. */
export function filterOf(
  query: Query,
  numbers: readonly string[],
): Record<string, string | number> {
  const pairs = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[0] !== 'limit',
  );
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, numbers.includes(name) ? Number(value) : value]),
  );
}

/** A text of a body, if it is there. Throws a [`Refusal`]. */
export function text(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new Refusal(400, 'bad_body', `\`${name}\` is a text`);
  return value;
}

/** A list of texts of a body, if it is there. Throws a [`Refusal`]. */
export function texts(
  body: Readonly<Record<string, unknown>>,
  name: string,
): readonly string[] | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!isTexts(value)) throw new Refusal(400, 'bad_body', `\`${name}\` is a list of texts`);
  return value as readonly string[];
}

/** What a caller saw, if it says so. */
export function seenIn(headers: Asked['headers']): string | undefined {
  const given = headers['if-match']?.trim().replace(/^W\//, '');
  return given?.replace(/^"(.*)"$/, '$1');
}

/** It is so, or it was done. */
export function ok(body: unknown): Reply {
  return { status: 200, body };
}

/** The settings are others now. */
export function changed(hash: string): Reply {
  return tagged(200, { hash });
}

/** The same, with what else is to be told. */
export function tagged(
  status: number,
  body: Readonly<Record<string, unknown>> & { readonly hash: string },
): Reply {
  return { status, body, headers: { etag: `"${body.hash}"` } };
}

/** Nothing bears that name. */
export function noSuch(what: string, name: string | undefined): Refusal {
  return new Refusal(404, `no_such_${what}`, `no ${what} \`${shown(name ?? '')}\` is known`);
}

/** Whether it is a text. */
export const isText = (value: unknown): boolean => typeof value === 'string';
/** Whether it is a list of texts. */
export const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
