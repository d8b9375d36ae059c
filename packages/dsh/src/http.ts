/**
 * Requests and answers of the endpoints. It refuses bodies that are not JSON, too large or too slow,
 * and parameters that nobody knows: a mistyped filter that is silently dropped answers another
 * question than was asked.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { shown } from './masked.ts';
import type { Clock } from './ports.ts';

/** A body at most, in bytes. */
export const BODY_MAX = 1024 * 1024;
const BODY_MS = 30_000;

/** Lines of a list when the question names no number, and at most. */
export const LIST_DEFAULT = 200;
export const LIST_MAX = 1_000;

/** An answer. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Something was not done; the interface says why by a code. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** What a parameter takes. */
export type Param = 'count' | 'number' | 'text' | 'flag' | readonly string[];

/** A question's parameters, all of them such as were allowed. */
export type Query = Readonly<Record<string, string | undefined>>;

/** Reads a query. Throws a [`Refusal`]. */
export function readQuery(given: URLSearchParams, params: Readonly<Record<string, Param>>): Query {
  const found: Record<string, string> = {};
  const bad = (message: string) => new Refusal(400, 'bad_query', message);
  for (const [name, value] of given) {
    const param = Object.hasOwn(params, name) ? params[name] : undefined;
    if (param === undefined) {
      const known = Object.keys(params).join(', ');
      throw bad(
        `\`${shown(name)}\` is not known here; ${known === '' ? 'there are no parameters' : `${known} are`}`,
      );
    }
    if (Object.hasOwn(found, name)) throw bad(`\`${name}\` is given twice`);
    const wrong = misfit(name, param, value);
    if (wrong !== undefined) throw bad(wrong);
    found[name] = value;
  }
  return found;
}

/** A number of a query. */
export function numberOf(query: Query, name: string): number | undefined {
  const value = query[name];
  return value === undefined ? undefined : Number(value);
}

/** How many lines are asked for. */
export function limitOf(query: Query): number {
  return numberOf(query, 'limit') ?? LIST_DEFAULT;
}

/** A request's JSON, an object; `{}` where none is sent. Throws a [`Refusal`]. */
export async function readObject(
  request: IncomingMessage,
  clock: Clock,
): Promise<Record<string, unknown>> {
  const text = await readText(request, clock);
  if (text === '') return {};
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new Refusal(415, 'bad_body', 'send `content-type: application/json`');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'bad_body', 'the body is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal(400, 'bad_body', 'the body is one JSON object');
  }
  return value as Record<string, unknown>;
}

/** Sends an answer, if somebody still listens. */
export function send(response: ServerResponse, { status, body, headers }: Reply): void {
  if (response.destroyed || response.headersSent) return;
  const text = typeof body === 'string';
  const bytes = Buffer.from(text ? body : JSON.stringify(body), 'utf8');
  response.writeHead(status, {
    'content-type': text ? 'text/plain; charset=utf-8' : 'application/json',
    'content-length': bytes.length,
    ...fixed,
    ...headers,
  });
  response.end(bytes);
}

/** What holds for every answer: it is nobody else's to keep or to guess at. */
export const fixed = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** A refusal as the gateway words one. */
export function refused(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return { status, body: { error: { code, message } }, headers };
}

function misfit(name: string, param: Param, value: string): string | undefined {
  if (param === 'text')
    return value.length <= 1_000 ? undefined : `\`${name}\` has at most 1,000 characters`;
  if (param === 'flag')
    return /^(true|false)$/.test(value) ? undefined : `\`${name}\` is true or false`;
  if (typeof param !== 'string')
    return param.includes(value) ? undefined : `\`${name}\` is one of ${param.join(', ')}`;
  const whole = /^[0-9]{1,16}$/.test(value) ? Number(value) : NaN;
  const most = param === 'count' ? LIST_MAX : Number.MAX_SAFE_INTEGER;
  const fits = whole >= (param === 'count' ? 1 : 0) && whole <= most;
  return fits ? undefined : `\`${name}\` is a whole number up to ${most}`;
}

function readText(request: IncomingMessage, clock: Clock): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    const over = (error?: Refusal) => {
      stop();
      request.removeAllListeners('data');
      if (error) return reject(error);
      const text = utf8(Buffer.concat(parts));
      if (text === undefined) reject(new Refusal(400, 'bad_body', 'the body is no UTF-8'));
      else resolve(text);
    };
    const stop = clock.setTimer(BODY_MS, () =>
      over(new Refusal(408, 'bad_body', 'the body did not come in time')),
    );
    if (Number(request.headers['content-length'] ?? 0) > BODY_MAX) return over(tooLarge());
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size > BODY_MAX) over(tooLarge());
      else parts.push(part);
    });
    request.on('end', () => over());
    request.on('error', () => over(new Refusal(400, 'bad_body', 'the body broke off')));
    request.on('close', () => over(new Refusal(400, 'bad_body', 'the body broke off')));
  });
}

/** A text; none: these bytes are no UTF-8, and what they were meant to say is not guessed at. */
function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What is left of the body is not read: the connection ends with the answer. */
function tooLarge(): Refusal {
  return new Refusal(413, 'bad_body', `a body has at most ${BODY_MAX} bytes`, {
    connection: 'close',
  });
}
