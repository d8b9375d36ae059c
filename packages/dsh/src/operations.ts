/**
 * What the interface can be asked and told. It refuses to touch more than was named, and to say yes
 * before a change is on the disk.
 */
import { BadQueueFile, exported, importing, unusedId } from './carry.ts';
import { EditError, type Change } from './edits.ts';
import { limitOf, numberOf, Refusal, type Query, type Reply } from './http.ts';
import { shown } from './masked.ts';
import { probe, type ProbeFrom } from './probe.ts';
import { routeText, splitRoute } from './settings.ts';
import type { Asked, Operation } from './endpoints.ts';
import type { JournalFilter } from './journal.ts';
import type { SumFilter } from './ledger.ts';
import {
  callView, catalogView, dryRunView, sessionsView, sessionView, settingsView, stateView, type Looked,
} from './views.ts';
import type { ReleaseWhat, Route } from './ports.ts';

/** What operations work on. */
export interface OperationsFrom extends Looked {
  readonly probing: ProbeFrom;
}

const CHANGES_MAX = 1_000;

/** What a bad body is told. */
const RELEASE_FORMS = '{"session": KEY}, {"session": KEY, "queue": ID, "route": "provider/model"}, {"route": "provider/model"} or {"all": true}';

/** All operations but the events. */
export function operations(of: OperationsFrom): readonly Operation[] {
  return [...looking(of), ...kept(of), ...acting(of), ...queues(of), ...settings(of), ...catalog(of)];
}

/** Lets go by hand (R19). Throws a [`Refusal`]. */
export function release(of: Looked, body: Readonly<Record<string, unknown>>): { released: string; for_everybody: boolean } {
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
      changed: 412, read_only: 409, no_such_setting: 404, refused: 409, invalid_settings: 400, not_kept: 503,
    }[error.code];
    throw new Refusal(status, error.code, error.message, error.now === undefined ? {} : { etag: `"${error.now}"` });
  }
}

function looking(of: OperationsFrom): Operation[] {
  return [
    { method: 'GET', path: '/state', answer: () => ok(stateView(of)) },
    {
      method: 'GET', path: '/sessions', query: { limit: 'count', after: 'text', cwd: 'text' },
      answer: ({ query }) => ok(sessionsView(of, of.live.status(), { limit: limitOf(query), after: query['after'], cwd: query['cwd'] })),
    },
    { method: 'GET', path: '/sessions/{session}', answer: ({ path }) => ok(sessionView(of, knownSession(of, path['session']))) },
    {
      method: 'GET', path: '/sessions/{session}/notes',
      answer: ({ path }) => {
        const session = keyOf(path['session']);
        const notes = of.live.notes(session).map(({ turn, queue, route, name }) =>
          ({ turn, queue, route: routeText(route), name: name ?? of.home.catalog.info(route)?.name ?? null }));
        return ok({ session, notes });
      },
    },
    {
      method: 'GET', path: '/calls', query: { limit: 'count' },
      answer: ({ query }) => {
        const all = of.live.calls();
        const past = all.filter(({ state }) => state !== 'open').slice(0, limitOf(query));
        const open = all.filter(({ state }) => state === 'open').toSorted((a, b) => a.beganMs - b.beganMs);
        return ok({ open: open.map((call) => callView(call)), past: past.map((call) => callView(call)) });
      },
    },
    {
      method: 'GET', path: '/calls/{call}',
      answer: ({ path }) => {
        const call = of.live.call(path['call'] ?? '');
        if (!call) throw noSuch('call', path['call']);
        return ok(callView(call, call.state === 'open' ? undefined : call.steps));
      },
    },
    {
      method: 'GET', path: '/calls/{call}/trace',
      answer: ({ path }) => {
        const trace = of.live.trace(path['call'] ?? '');
        if (trace === undefined) throw noSuch('call', path['call']);
        return ok(trace);
      },
    },
  ];
}

function kept(of: OperationsFrom): Operation[] {
  const { journal, ledger } = of.home.keeper;
  return [
    {
      method: 'GET', path: '/journal',
      query: { limit: 'count', before: 'number', after: 'number', call: 'text', session: 'text', route: 'text', what: 'text' },
      answer: ({ query }) => {
        // Whoever looks sees what has happened until now.
        of.home.keeper.flushNow();
        return ok(journal.page({ ...filterOf(query, ['before', 'after']), limit: limitOf(query) } satisfies JournalFilter));
      },
    },
    {
      method: 'GET', path: '/ledger',
      query: {
        by: ['day', 'queue', 'route', 'session', 'call'], from_day: 'number', to_day: 'number', session: 'text',
        queue: 'text', route: 'text', after: 'text', limit: 'count',
      },
      answer: ({ query }) => ok(ledger.sums({ by: 'day', ...filterOf(query, ['from_day', 'to_day']), limit: limitOf(query) } as SumFilter)),
    },
    {
      method: 'GET', path: '/ledger/attempts', query: { call: 'text', limit: 'count' },
      answer: ({ query }) => {
        const call = query['call'];
        return ok({ attempts: call === undefined ? ledger.attempts(limitOf(query)) : ledger.attemptsOf(call) });
      },
    },
  ];
}

function acting(of: OperationsFrom): Operation[] {
  const session = (body: Asked['body']): string | undefined => {
    const given = text(body, 'session');
    return given === undefined ? undefined : knownSession(of, given).session;
  };
  const pausing = (path: '/pause' | '/resume', act: (session?: string) => void): Operation => ({
    method: 'POST', path, body: ['session'],
    answer: async ({ body }) => {
      const whose = session(body);
      act(whose);
      // What was acknowledged outlives the process.
      await of.home.keeper.flush();
      const { paused } = of.live.status();
      return ok({ session: whose ?? null, paused: paused.map((one) => one || null) });
    },
  });
  return [
    {
      method: 'POST', path: '/sessions/{session}/end', body: [],
      answer: ({ path }) => {
        const { session: key } = knownSession(of, path['session']);
        of.live.endSession(key);
        return ok({ ended: key });
      },
    },
    { method: 'POST', path: '/release', body: ['session', 'queue', 'route', 'all'], answer: ({ body }) => ok(release(of, body)) },
    pausing('/pause', (whose) => of.live.pause(whose)),
    pausing('/resume', (whose) => of.live.resume(whose)),
    {
      method: 'POST', path: '/calls/{call}/stop', body: [],
      answer: ({ path }) => {
        const call = path['call'] ?? '';
        if (!of.live.stop(call)) throw noSuch('call', call);
        return ok({ stopped: call });
      },
    },
  ];
}

function queues(of: OperationsFrom): Operation[] {
  const counted = (id: string) => queueOf(of, id).candidates.length;
  return [
    { method: 'POST', path: '/queues', body: ['name', 'id', 'routes'], answer: (asked) => createQueue(of, asked) },
    {
      method: 'PUT', path: '/queues', body: ['order'],
      answer: ({ body, headers }) => changed(change(of, seenIn(headers), [{ do: 'order_queues', ids: texts(body, 'order') ?? [] }])),
    },
    {
      method: 'PATCH', path: '/queues/{queue}', body: ['name', 'order'],
      answer: ({ path, body, headers }) => {
        const id = path['queue'] ?? '';
        queueOf(of, id);
        const [name, routes] = [text(body, 'name'), texts(body, 'order')];
        return changed(change(of, seenIn(headers), [
          ...(name === undefined ? [] : [{ do: 'set', path: `queues.${id}.name`, value: name } as const]),
          ...(routes === undefined ? [] : [{ do: 'order_candidates', queue: id, routes } as const]),
        ]));
      },
    },
    {
      // R41: who deletes says how many candidates go with it.
      method: 'DELETE', path: '/queues/{queue}', query: { candidates: 'number' },
      answer: ({ path, query, headers }) => {
        const id = path['queue'] ?? '';
        const candidates = counted(id);
        if (numberOf(query, 'candidates') !== candidates) {
          throw new Refusal(409, 'not_confirmed', `${candidates} candidates go with it; say so with \`?candidates=${candidates}\``);
        }
        const hash = change(of, seenIn(headers), [{ do: 'delete_queue', id }]);
        return tagged(200, { deleted: id, candidates, hash });
      },
    },
    {
      method: 'POST', path: '/queues/{queue}/dry-run', body: ['session', 'dialect', 'input_tokens', 'internal'],
      answer: ({ path, body }) => {
        const { id } = queueOf(of, path['queue'] ?? '');
        const given = text(body, 'session');
        const known = given === undefined ? undefined : of.live.session(keyOf(given));
        const run = of.live.dryRun(id, known?.session);
        if (!run) throw new Refusal(503, 'engine_lost', 'the engine does not answer; the state says why');
        return ok(dryRunView(id, known?.session ?? null, run));
      },
    },
    {
      method: 'POST', path: '/queues/{queue}/test', body: [],
      answer: async ({ path }) => {
        const queue = queueOf(of, path['queue'] ?? '');
        return ok({ queue: queue.id, candidates: await probe(of.probing, queue.candidates) });
      },
    },
    { method: 'GET', path: '/export', answer: () => ok(exported(of.home.settings.config)) },
    { method: 'POST', path: '/import', body: ['format', 'version', 'queues'], answer: (asked) => importQueues(of, asked) },
  ];
}

function settings(of: OperationsFrom): Operation[] {
  return [
    {
      method: 'GET', path: '/settings',
      answer: () => ({ status: 200, body: settingsView(of.home), headers: { etag: `"${of.home.settings.status().hash}"` } }),
    },
    {
      method: 'PATCH', path: '/settings', body: ['changes'],
      answer: ({ body, headers }) => {
        const seen = seenIn(headers);
        if (seen === undefined) throw new Refusal(428, 'no_precondition', 'say in `If-Match` on which `hash` this was decided, as GET shows it');
        return changed(change(of, seen, changesIn(body['changes'])));
      },
    },
    {
      method: 'POST', path: '/settings/reload', body: [],
      answer: () => {
        try {
          return changed(of.home.settings.reload());
        } catch (error) {
          if (error instanceof EditError) throw new Refusal(400, error.code, error.message);
          throw error;
        }
      },
    },
  ];
}

function catalog(of: OperationsFrom): Operation[] {
  return [
    { method: 'GET', path: '/catalog', answer: () => ok(catalogView(of.home)) },
    {
      method: 'POST', path: '/catalog/rescan', body: ['providers'],
      answer: async ({ body }) => {
        const providers = texts(body, 'providers');
        const unknown = providers?.find((provider) => !of.home.catalog.present(provider));
        if (unknown !== undefined) throw noSuch('provider', unknown);
        await of.home.catalog.rescan(providers);
        return ok(catalogView(of.home));
      },
    },
  ];
}

async function createQueue(of: OperationsFrom, { body, headers }: Asked): Promise<Reply> {
  const name = text(body, 'name');
  if (name === undefined) throw new Refusal(400, 'bad_body', '`name` is missing');
  const taken = new Set([...of.home.keeper.state.deleted, ...of.home.settings.config.queues.map(({ id }) => id)]);
  const id = text(body, 'id') ?? unusedId(name, taken);
  const routes = texts(body, 'routes') ?? [];
  const hash = change(of, seenIn(headers), [{ do: 'add_queue', id, name, routes }]);
  return tagged(201, { id, name, candidates: routes.length, hash });
}

function importQueues(of: OperationsFrom, { body, headers }: Asked): Reply {
  const { config } = of.home.settings;
  try {
    const { changes, imported } = importing(body, config, of.home.keeper.state.deleted);
    const hash = change(of, seenIn(headers), changes);
    const told = imported.map((queue) => {
      const rows = of.home.plans.all().find(({ id }) => id === queue.id)?.candidates ?? [];
      return { ...queue, missing: rows.filter(({ present }) => !present).map(routeText) };
    });
    return tagged(201, { imported: told, hash });
  } catch (error) {
    if (error instanceof BadQueueFile) throw new Refusal(400, 'bad_body', error.message);
    throw error;
  }
}

function releaseWhat(of: Looked, body: Readonly<Record<string, unknown>>): ReleaseWhat {
  const [session, queue, route] = [text(body, 'session'), text(body, 'queue'), text(body, 'route')];
  const all = body['all'] ?? false;
  const given = [session, queue, route].map((one) => (one === undefined ? '-' : 'x')).join('');
  if (all === true && given === '---') return { what: 'all' };
  if (all === false && given === '--x') return { what: 'route', route: knownRoute(of, route) };
  if (all === false && given === 'x--') return { what: 'session', session: knownSession(of, session).session };
  if (all === false && given === 'xxx') {
    // A model that was asked for outside any queue is a queue of one, under its own name.
    const direct = queue?.includes('/') ? routeText(knownRoute(of, queue)) : undefined;
    const id = direct ?? queueOf(of, queue ?? '').id;
    const place = { session: knownSession(of, session).session, queue: id, route: knownRoute(of, route) };
    return { what: 'place', place };
  }
  throw new Refusal(400, 'bad_release', `write ${RELEASE_FORMS}`);
}

/** A name that is not configured must not become one by being asked for. */
function knownRoute(of: Looked, given: string | undefined): Route {
  const route = splitRoute(given ?? '');
  const rows = of.home.plans.all().flatMap(({ candidates }) => candidates);
  const there = route && (rows.some((row) => routeText(row) === routeText(route)) || of.home.catalog.present(route.provider));
  if (!route || !there) throw noSuch('route', given);
  return route;
}

function knownSession(of: Looked, given: string | undefined) {
  const found = of.live.session(keyOf(given));
  if (!found) throw noSuch('session', given);
  return found;
}

/** `background` is the bucket of calls that have no session. */
function keyOf(name: string | undefined): string {
  return name === undefined || name === 'background' ? '' : name;
}

function queueOf(of: Looked, id: string) {
  const queue = of.home.plans.all().find((one) => one.id === id);
  if (!queue) throw noSuch('queue', id);
  return queue;
}

/** The conditions that were given, without the number of lines. */
function filterOf(query: Query, numbers: readonly string[]): Record<string, string | number> {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[0] !== 'limit');
  return Object.fromEntries(pairs.map(([name, value]) => [name, numbers.includes(name) ? Number(value) : value]));
}

function changesIn(given: unknown): readonly Change[] {
  if (!Array.isArray(given)) throw new Refusal(400, 'bad_body', '`changes` is a list');
  if (given.length > CHANGES_MAX) throw new Refusal(400, 'bad_body', 'at most 1,000 changes at once');
  return given.map((one: unknown, at) => {
    const change = typeof one === 'object' && one !== null ? one as Record<string, unknown> : {};
    const members = CHANGES[String(change['do'])];
    const bad = !members || Object.keys(change).some((name) => name !== 'do' && !(name in members))
      || Object.entries(members).some(([name, fits]) => !fits(change[name]));
    if (bad) throw new Refusal(400, 'bad_body', `changes[${at}]: write one of ${Object.keys(CHANGES).join(', ')} with its members`);
    return change as unknown as Change;
  });
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNone = (value: unknown): boolean => value === undefined || value === null || isText(value);
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isAny = (): boolean => true;

/** The members of each change. */
const CHANGES: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  set: { path: isText, value: (value) => value !== undefined && value !== null }, unset: { path: isText },
  add_queue: { id: isText, name: isTextOrNone, routes: (value) => value === undefined || isTexts(value) },
  delete_queue: { id: isText }, order_queues: { ids: isTexts },
  add_candidate: { queue: isText, route: isText, at: (value) => value === undefined || value === null || Number.isSafeInteger(value) },
  remove_candidate: { queue: isText, route: isText }, order_candidates: { queue: isText, routes: isTexts },
  set_candidate: { queue: isText, route: isText, key: isText, value: isAny },
};

function text(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new Refusal(400, 'bad_body', `\`${name}\` is a text`);
  return value;
}

function texts(body: Readonly<Record<string, unknown>>, name: string): readonly string[] | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (!isTexts(value)) throw new Refusal(400, 'bad_body', `\`${name}\` is a list of texts`);
  return value as readonly string[];
}

/** What a caller saw, if it says so. */
function seenIn(headers: Asked['headers']): string | undefined {
  const given = headers['if-match']?.trim().replace(/^W\//, '');
  return given?.replace(/^"(.*)"$/, '$1');
}

function ok(body: unknown): Reply {
  return { status: 200, body };
}

function changed(hash: string): Reply {
  return tagged(200, { hash });
}

function tagged(status: number, body: Readonly<Record<string, unknown>> & { readonly hash: string }): Reply {
  return { status, body, headers: { etag: `"${body.hash}"` } };
}

function noSuch(what: string, name: string | undefined): Refusal {
  return new Refusal(404, `no_such_${what}`, `no ${what} \`${shown(name ?? '')}\` is known`);
}
