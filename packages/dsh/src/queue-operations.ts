/**
 * Queues by the interface: made, renamed, ordered, deleted, tried, tested, carried (R1, R39 to R41). It
 * refuses to change a queue that it was not asked for.
 */
import {
  change,
  changed,
  ok,
  queueOf,
  seenIn,
  tagged,
  text,
  texts,
  keyOf,
  type OperationsFrom,
} from './asking.ts';
import { BadQueueFile, exported, importing, unusedId } from './carry.ts';
import { numberOf, Refusal, type Reply } from './http.ts';
import { probe } from './probe.ts';
import { routeText } from './settings.ts';
import type { Asked, Operation } from './endpoints.ts';
import { dryRunView } from './views.ts';

/** All operations on queues. */
export function queueOperations(of: OperationsFrom): Operation[] {
  return [...changing(of), ...using(of)];
}

function changing(of: OperationsFrom): Operation[] {
  const counted = (id: string) => queueOf(of, id).candidates.length;
  return [
    {
      method: 'POST',
      path: '/queues',
      body: ['name', 'id', 'routes'],
      answer: (asked) => createQueue(of, asked),
    },
    {
      method: 'PUT',
      path: '/queues',
      body: ['order'],
      answer: ({ body, headers }) =>
        changed(
          change(of, seenIn(headers), [{ do: 'order_queues', ids: texts(body, 'order') ?? [] }]),
        ),
    },
    {
      method: 'PATCH',
      path: '/queues/{queue}',
      body: ['name', 'order'],
      answer: ({ path, body, headers }) => {
        const id = path['queue'] ?? '';
        queueOf(of, id);
        const [name, routes] = [text(body, 'name'), texts(body, 'order')];
        return changed(
          change(of, seenIn(headers), [
            ...(name === undefined
              ? []
              : [{ do: 'set', path: `queues.${id}.name`, value: name } as const]),
            ...(routes === undefined
              ? []
              : [{ do: 'order_candidates', queue: id, routes } as const]),
          ]),
        );
      },
    },
    {
      // R41: who deletes says how many candidates go with it.
      method: 'DELETE',
      path: '/queues/{queue}',
      query: { candidates: 'number' },
      answer: ({ path, query, headers }) => {
        const id = path['queue'] ?? '';
        const candidates = counted(id);
        if (numberOf(query, 'candidates') !== candidates) {
          throw new Refusal(
            409,
            'not_confirmed',
            `${candidates} candidates go with it; say so with \`?candidates=${candidates}\``,
          );
        }
        const hash = change(of, seenIn(headers), [{ do: 'delete_queue', id }]);
        return tagged(200, { deleted: id, candidates, hash });
      },
    },
  ];
}

function using(of: OperationsFrom): Operation[] {
  return [
    {
      method: 'POST',
      path: '/queues/{queue}/dry-run',
      body: ['session', 'dialect', 'input_tokens', 'internal'],
      answer: ({ path, body }) => {
        const { id } = queueOf(of, path['queue'] ?? '');
        const given = text(body, 'session');
        const known = given === undefined ? undefined : of.live.session(keyOf(given));
        const run = of.live.dryRun(id, known?.session);
        if (!run)
          throw new Refusal(503, 'engine_lost', 'the engine does not answer; the state says why');
        return ok(dryRunView(id, known?.session ?? null, run));
      },
    },
    {
      method: 'POST',
      path: '/queues/{queue}/test',
      body: [],
      answer: async ({ path }) => {
        const queue = queueOf(of, path['queue'] ?? '');
        return ok({ queue: queue.id, candidates: await probe(of.probing, queue.candidates) });
      },
    },
    { method: 'GET', path: '/export', answer: () => ok(exported(of.home.settings.config)) },
    {
      method: 'POST',
      path: '/import',
      body: ['format', 'version', 'queues'],
      answer: (asked) => importQueues(of, asked),
    },
  ];
}

async function createQueue(of: OperationsFrom, { body, headers }: Asked): Promise<Reply> {
  const name = text(body, 'name');
  if (name === undefined) throw new Refusal(400, 'bad_body', '`name` is missing');
  const taken = new Set([
    ...of.home.keeper.state.deleted,
    ...of.home.settings.config.queues.map(({ id }) => id),
  ]);
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
