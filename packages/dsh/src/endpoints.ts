/**
 * The plugin's own interface under `/ekiden/api/v1`, as the gateway's under `/api/v1`. It refuses
 * whom the guard refuses, and never throws into the host's server.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from './ports.ts';
import { messageOf } from './files.ts';
import { refusal } from './guard.ts';
import {
  readObject,
  readQuery,
  Refusal,
  refused,
  send,
  type Param,
  type Query,
  type Reply,
} from './http.ts';
import { masked } from './masked.ts';
import type { Events } from './events.ts';

/** Where the interface stands in the host's server. */
export const PREFIX = '/ekiden';

/** What an operation is given. */
export interface Asked {
  /** What stands in the path where the template has a name in braces. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage['headers'];
}

/** One operation. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Such as `/queues/{queue}`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, Param>>;
  /** Members that the body may have; none: there is no body. */
  readonly body?: readonly string[];
  answer(asked: Asked): Reply | Promise<Reply>;
}

export class Endpoints {
  readonly #operations: readonly Operation[];
  readonly #events: Events;
  readonly #clock: Clock;
  readonly #fault: (message: string) => void;

  constructor(
    operations: readonly Operation[],
    events: Events,
    clock: Clock,
    fault: (message: string) => void,
  ) {
    this.#operations = operations;
    this.#events = events;
    this.#clock = clock;
    this.#fault = fault;
  }

  /** Answers a request of the host's server. It neither throws nor rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const reply = await this.#reply(request, response);
      if (reply) send(response, reply);
    } catch (error) {
      if (error instanceof Refusal)
        return send(response, refused(error.status, error.code, error.message, error.headers));
      this.#fault(`model relay: an endpoint failed: ${masked(messageOf(error))}`);
      send(
        response,
        refused(500, 'internal', 'this is a fault of the plugin; the log of the host says more'),
      );
    }
  }

  async #reply(request: IncomingMessage, response: ServerResponse): Promise<Reply | undefined> {
    const why = refusal(request);
    if (why !== undefined) return refused(403, 'forbidden', why);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = segments(url.pathname);
    const there =
      path &&
      this.#operations.flatMap((operation) => {
        const names = fitting(operation.path, path);
        return names ? [{ operation, names }] : [];
      });
    if (path?.join('/') === 'events') return this.#look(request, response);
    if (!there || there.length === 0)
      return refused(404, 'no_such_path', 'there is nothing here; docs/api.md names the paths');
    const found = there.find(
      ({ operation }) => operation.method === (request.method === 'HEAD' ? 'GET' : request.method),
    );
    if (!found) {
      const allow = there.map(({ operation }) => operation.method).join(', ');
      return refused(405, 'no_such_method', `this takes ${allow}`, { allow });
    }
    const { operation, names } = found;
    const query = readQuery(url.searchParams, operation.query ?? {});
    const body = operation.body
      ? known(await readObject(request, this.#clock), operation.body)
      : {};
    return operation.answer({ path: names, query, body, headers: request.headers });
  }

  #look(request: IncomingMessage, response: ServerResponse): Reply | undefined {
    if (request.method !== 'GET')
      return refused(405, 'no_such_method', 'this takes GET', { allow: 'GET' });
    this.#events.take(request, response);
    return undefined;
  }
}

/** A path below `/ekiden/api/v1`, decoded; none: it is another one. */
function segments(path: string): string[] | undefined {
  const rest = path.startsWith(`${PREFIX}/api/v1/`)
    ? path.slice(`${PREFIX}/api/v1/`.length)
    : undefined;
  try {
    return rest?.split('/').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function fitting(template: string, path: readonly string[]): Record<string, string> | undefined {
  const parts = template.slice(1).split('/');
  if (parts.length !== path.length) return undefined;
  const names: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const given = path[at] ?? '';
    const name = /^\{(.+)\}$/.exec(part)?.[1];
    if (name !== undefined && given !== '') names[name] = given;
    else if (part !== given) return undefined;
  }
  return names;
}

function known(body: Record<string, unknown>, members: readonly string[]): Record<string, unknown> {
  const odd = Object.keys(body).find((name) => !members.includes(name));
  if (odd === undefined) return body;
  throw new Refusal(
    400,
    'bad_body',
    `there is no member \`${masked(odd)}\` here; ${members.join(', ') || 'none'} are`,
  );
}
