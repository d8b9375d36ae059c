/**
 * What the interface can be asked and told. It refuses to touch more than was named, and to say yes
 * before a change is on the disk.
 */
import {
  change,
  changed,
  filterOf,
  isText,
  isTexts,
  keyOf,
  knownSession,
  noSuch,
  ok,
  release,
  seenIn,
  text,
  texts,
  type OperationsFrom,
} from './asking.ts';
import { EditError, type Change } from './edits.ts';
import { limitOf, Refusal } from './http.ts';
import { queueOperations } from './queue-operations.ts';
import { routeText } from './settings.ts';
import type { Asked, Operation } from './endpoints.ts';
import type { JournalFilter } from './journal.ts';
import type { SumFilter } from './ledger.ts';
import {
  callView,
  keptCallView,
  catalogView,
  sessionsView,
  sessionView,
  settingsView,
  stateView,
} from './views.ts';

const CHANGES_MAX = 1_000;

/** All operations but the events. */
export function operations(of: OperationsFrom): readonly Operation[] {
  return [
    ...looking(of),
    ...calls(of),
    ...kept(of),
    ...acting(of),
    ...queueOperations(of),
    ...settings(of),
    ...catalog(of),
  ];
}

function looking(of: OperationsFrom): Operation[] {
  return [
    { method: 'GET', path: '/state', answer: () => ok(stateView(of)) },
    {
      method: 'GET',
      path: '/sessions',
      query: { limit: 'count', after: 'text', cwd: 'text' },
      answer: ({ query }) =>
        ok(
          sessionsView(of, of.live.status(), {
            limit: limitOf(query),
            after: query['after'],
            cwd: query['cwd'],
            evidence: 'with',
          }),
        ),
    },
    {
      method: 'GET',
      path: '/sessions/{session}',
      answer: ({ path }) => ok(sessionView(of, knownSession(of, path['session']))),
    },
    {
      method: 'GET',
      path: '/sessions/{session}/notes',
      answer: ({ path }) => {
        const session = keyOf(path['session']);
        const notes = of.live.notes(session).map(({ turn, queue, route, name }) => ({
          turn,
          queue,
          route: routeText(route),
          name: name ?? of.home.catalog.info(route)?.name ?? null,
        }));
        return ok({ session, notes });
      },
    },
  ];
}

function calls(of: OperationsFrom): Operation[] {
  const { ledger } = of.home.keeper;
  return [
    {
      method: 'GET',
      path: '/calls',
      query: { limit: 'count' },
      answer: ({ query }) => {
        const all = of.live.calls();
        const limit = limitOf(query);
        const past = all.filter(({ state }) => state !== 'open').slice(0, limit);
        const known = new Set(all.map(({ call }) => call));
        const older = ledger.calls(limit).filter(({ call }) => !known.has(call));
        const open = all
          .filter(({ state }) => state === 'open')
          .toSorted((a, b) => a.beganMs - b.beganMs);
        return ok({
          open: open.map((call) => callView(call)),
          past: [...past.map((call) => callView(call)), ...older.map(keptCallView)].slice(0, limit),
        });
      },
    },
    {
      method: 'GET',
      path: '/calls/{call}',
      answer: ({ path }) => {
        const call = of.live.call(path['call'] ?? '');
        const kept = call ? undefined : ledger.call(path['call'] ?? '');
        if (kept) return ok(keptCallView(kept));
        if (!call) throw noSuch('call', path['call']);
        return ok(callView(call, call.state === 'open' ? undefined : call.steps));
      },
    },
    {
      method: 'GET',
      path: '/calls/{call}/trace',
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
      method: 'GET',
      path: '/journal',
      query: {
        limit: 'count',
        before: 'number',
        after: 'number',
        call: 'text',
        session: 'text',
        route: 'text',
        what: 'text',
      },
      answer: ({ query }) => {
        // Whoever looks sees what has happened until now.
        of.home.keeper.flushNow();
        return ok(
          journal.page({
            ...filterOf(query, ['before', 'after']),
            limit: limitOf(query),
          } satisfies JournalFilter),
        );
      },
    },
    {
      method: 'GET',
      path: '/ledger',
      query: {
        by: ['day', 'queue', 'route', 'session', 'call'],
        from_day: 'number',
        to_day: 'number',
        session: 'text',
        queue: 'text',
        route: 'text',
        after: 'text',
        limit: 'count',
      },
      answer: ({ query }) =>
        ok(
          ledger.sums({
            by: 'day',
            ...filterOf(query, ['from_day', 'to_day']),
            limit: limitOf(query),
          } as SumFilter),
        ),
    },
    {
      method: 'GET',
      path: '/ledger/attempts',
      query: { call: 'text', limit: 'count' },
      answer: ({ query }) => {
        const call = query['call'];
        return ok({
          attempts: call === undefined ? ledger.attempts(limitOf(query)) : ledger.attemptsOf(call),
        });
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
    method: 'POST',
    path,
    body: ['session'],
    answer: async ({ body }) => {
      const whose = session(body);
      act(whose);
      // What was acknowledged outlives the process.
      await of.home.keeper.flush();
      return ok({ paused: path === '/pause', session: whose ?? null });
    },
  });
  return [
    {
      method: 'POST',
      path: '/sessions/{session}/end',
      body: [],
      answer: ({ path }) => {
        const { session: key } = knownSession(of, path['session']);
        of.live.endSession(key);
        return ok({ ended: key });
      },
    },
    {
      method: 'POST',
      path: '/release',
      body: ['session', 'queue', 'route', 'all'],
      answer: ({ body }) => ok(release(of, body)),
    },
    pausing('/pause', (whose) => of.live.pause(whose)),
    pausing('/resume', (whose) => of.live.resume(whose)),
    {
      method: 'POST',
      path: '/calls/{call}/stop',
      body: [],
      answer: ({ path }) => {
        const call = path['call'] ?? '';
        const open = of.live.call(call);
        if (!open || !of.live.stop(call)) throw noSuch('call', call);
        of.home.keeper.tell({ what: 'stopped', session: open.session, queue: open.queue }, call);
        return ok({ stopped: call });
      },
    },
  ];
}

function settings(of: OperationsFrom): Operation[] {
  return [
    {
      method: 'GET',
      path: '/settings',
      answer: () => ({
        status: 200,
        body: settingsView(of.home),
        headers: { etag: `"${of.home.settings.status().hash}"` },
      }),
    },
    {
      method: 'PATCH',
      path: '/settings',
      body: ['changes'],
      answer: ({ body, headers }) => {
        const seen = seenIn(headers);
        if (seen === undefined)
          throw new Refusal(
            428,
            'no_precondition',
            'say in `If-Match` on which `hash` this was decided, as GET shows it',
          );
        return changed(change(of, seen, changesIn(body['changes'])));
      },
    },
    {
      method: 'POST',
      path: '/settings/reload',
      body: [],
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
      method: 'POST',
      path: '/catalog/rescan',
      body: ['providers'],
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

function changesIn(given: unknown): readonly Change[] {
  if (!Array.isArray(given)) throw new Refusal(400, 'bad_body', '`changes` is a list');
  if (given.length > CHANGES_MAX)
    throw new Refusal(400, 'bad_body', 'at most 1,000 changes at once');
  return given.map((one: unknown, at) => {
    const change = typeof one === 'object' && one !== null ? (one as Record<string, unknown>) : {};
    const members = CHANGES[String(change['do'])];
    const bad =
      !members ||
      Object.keys(change).some((name) => name !== 'do' && !(name in members)) ||
      Object.entries(members).some(([name, fits]) => !fits(change[name]));
    if (bad)
      throw new Refusal(
        400,
        'bad_body',
        `changes[${at}]: write one of ${Object.keys(CHANGES).join(', ')} with its members`,
      );
    return change as unknown as Change;
  });
}

const isTextOrNone = (value: unknown): boolean =>
  value === undefined || value === null || isText(value);
const isAny = (): boolean => true;

/** The members of each change. */
const CHANGES: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  set: { path: isText, value: (value) => value !== undefined && value !== null },
  unset: { path: isText },
  add_queue: {
    id: isText,
    name: isTextOrNone,
    routes: (value) => value === undefined || isTexts(value),
  },
  delete_queue: { id: isText },
  order_queues: { ids: isTexts },
  add_candidate: {
    queue: isText,
    route: isText,
    at: (value) => value === undefined || value === null || Number.isSafeInteger(value),
  },
  remove_candidate: { queue: isText, route: isText },
  order_candidates: { queue: isText, routes: isTexts },
  set_candidate: { queue: isText, route: isText, key: isText, value: isAny },
};
