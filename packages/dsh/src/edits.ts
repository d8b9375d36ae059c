/**
 * Changes of settings as a person would make them in the file: one key, one queue, one candidate.
 * It refuses changes that make no sense where they are made; whether the outcome holds is for
 * `readSettings` to say.
 */
import { candidateLines, isId, keyAt, KEYS, routeText, splitRoute, VERSION } from './settings.ts';
import { checked, Misfit, nearest, written } from './values.ts';
import { shown } from './masked.ts';

/** A document as JSON has it. */
export type Document = Record<string, unknown>;

/** One change, as the interface takes it. */
export type Change =
  | { readonly do: 'set'; readonly path: string; readonly value: unknown }
  | { readonly do: 'unset'; readonly path: string }
  | {
      readonly do: 'add_queue';
      readonly id: string;
      readonly name?: string | null;
      readonly routes?: readonly string[];
    }
  | { readonly do: 'delete_queue'; readonly id: string }
  | { readonly do: 'order_queues'; readonly ids: readonly string[] }
  | {
      readonly do: 'add_candidate';
      readonly queue: string;
      readonly route: string;
      readonly at?: number | null;
    }
  | { readonly do: 'remove_candidate'; readonly queue: string; readonly route: string }
  | { readonly do: 'order_candidates'; readonly queue: string; readonly routes: readonly string[] }
  | {
      readonly do: 'set_candidate';
      readonly queue: string;
      readonly route: string;
      readonly key: string;
      readonly value?: unknown;
    };

/** Why a change was not made, by what the caller can do. */
export type EditCode =
  /** The file is another by now: look again. */
  | 'changed'
  /** The file cannot be written from here. */
  | 'read_only'
  | 'no_such_setting'
  /** The change makes no sense there. */
  | 'refused'
  /** What would come of it does not hold. */
  | 'invalid_settings'
  /** The disk did not take it. */
  | 'not_kept';

/** A change was not made. */
export class EditError extends Error {
  readonly code: EditCode;
  /** The hash of the text that stands there, with `changed`. */
  readonly now: string | undefined;

  constructor(code: EditCode, message: string, now?: string) {
    super(message);
    this.name = 'EditError';
    this.code = code;
    this.now = now;
  }
}

/** The queue that is there before anybody made one. */
export const FIRST_QUEUE = { id: 'default', name: '默认模板' } as const;

/** A document with queues: where it names none, the first one is written down. */
export function withQueues(document: Document): Document {
  const there = document['queues'];
  if (there !== undefined && !(isTable(there) && Object.keys(there).length === 0)) return document;
  return {
    version: VERSION,
    ...document,
    queues: { [FIRST_QUEUE.id]: { name: FIRST_QUEUE.name, candidates: [] } },
  };
}

/** Makes changes, all or none; the given document stays as it is. */
export function edited(document: Document, changes: readonly Change[]): Document {
  const next = withQueues(structuredClone(document));
  for (const change of changes) make(next, change);
  return next;
}

function make(document: Document, change: Change): void {
  switch (change.do) {
    case 'set':
      return set(document, change.path, change.value);
    case 'unset':
      return unset(document, change.path);
    case 'add_queue':
      return addQueue(document, change.id, change.name ?? undefined, change.routes ?? []);
    case 'delete_queue':
      return deleteQueue(document, change.id);
    case 'order_queues': {
      const queues = table(document, 'queues');
      const ordered = permuted(Object.keys(queues), change.ids, 'queue');
      document['queues'] = Object.fromEntries(ordered.map((id) => [id, queues[id]]));
      return;
    }
    case 'add_candidate': {
      const list = candidates(document, change.queue);
      const route = checkedRoute(change.route);
      if (list.some((entry) => routeOf(entry) === route)) {
        throw new EditError('refused', `${shown(route)} is in \`${change.queue}\` already`);
      }
      list.splice(change.at ?? list.length, 0, route);
      return;
    }
    case 'remove_candidate':
      candidates(document, change.queue).splice(placeOf(document, change.queue, change.route), 1);
      return;
    case 'order_candidates': {
      const list = candidates(document, change.queue);
      const by = new Map(list.map((entry) => [routeOf(entry), entry]));
      const order = permuted(
        [...by.keys()],
        change.routes.map((route) => route.trim()),
        'candidate',
      );
      list.splice(0, list.length, ...order.map((route) => by.get(route)));
      return;
    }
    case 'set_candidate':
      return setCandidate(
        document,
        change.queue,
        placeOf(document, change.queue, change.route),
        change.key,
        change.value ?? undefined,
      );
  }
}

function set(document: Document, path: string, value: unknown): void {
  if (path.startsWith('aliases.')) {
    const pattern = path.slice('aliases.'.length);
    if (typeof value !== 'string' || pattern === '' || pattern === '__proto__') {
      throw new EditError('refused', 'an alias is a name and the id of a queue');
    }
    table(document, 'aliases')[pattern] = value;
    return;
  }
  const of = candidatePath(path);
  if (of) return setCandidate(document, of.queue, of.at, of.key, value);
  const { holder, name } = place(document, path);
  holder[name] = fitting(path, value);
}

function unset(document: Document, path: string): void {
  const of = candidatePath(path);
  if (of) return setCandidate(document, of.queue, of.at, of.key, undefined);
  if (path.startsWith('aliases.')) {
    const aliases = table(document, 'aliases');
    const pattern = path.slice('aliases.'.length);
    if (!Object.hasOwn(aliases, pattern)) throw noSuch(path);
    delete aliases[pattern];
    return;
  }
  const { holder, name } = place(document, path);
  delete holder[name];
}

function addQueue(
  document: Document,
  id: string,
  name: string | undefined,
  routes: readonly string[],
): void {
  const queues = table(document, 'queues');
  if (!isId(id)) {
    throw new EditError(
      'refused',
      `\`${shown(id)}\` is no queue id; an id has 1 to 64 letters, digits, \`.\`, \`_\` or \`-\`, begins with a letter or digit, and is more than a number`,
    );
  }
  if (Object.hasOwn(queues, id))
    throw new EditError('refused', `there is a queue \`${id}\` already`);
  queues[id] = { ...(name === undefined ? {} : { name }), candidates: routes.map(checkedRoute) };
}

function deleteQueue(document: Document, id: string): void {
  const queues = table(document, 'queues');
  queueOf(document, id);
  if (Object.keys(queues).length === 1) {
    throw new EditError('refused', 'the last queue cannot be deleted; make another one first');
  }
  delete queues[id];
  const aliases = isTable(document['aliases']) ? document['aliases'] : {};
  for (const [pattern, queue] of Object.entries(aliases)) if (queue === id) delete aliases[pattern];
}

function setCandidate(
  document: Document,
  queue: string,
  at: number,
  key: string,
  value: unknown,
): void {
  const list = candidates(document, queue);
  const entry = list[at];
  if (entry === undefined) throw noSuch(`queues.${queue}.candidates.${at}`);
  const path = `queues.${queue}.candidates.${at}.${key}`;
  const options: Record<string, unknown> = isTable(entry) ? entry : { route: entry };
  if (key === 'route' && value === undefined)
    throw new EditError('refused', 'a candidate has a route; remove it instead');
  if (!keyAt(path)) throw noSuch(path);
  if (value === undefined) delete options[key];
  else options[key] = key === 'route' ? checkedRoute(String(value)) : fitting(path, value);
  list[at] = Object.keys(options).length === 1 ? options['route'] : options;
}

/** The table that holds a key, and its name there. */
function place(
  document: Document,
  path: string,
): { holder: Record<string, unknown>; name: string } {
  const key = keyAt(path);
  if (!key) throw noSuch(path);
  const parts = path.split('.');
  parts.pop();
  const [section] = parts;
  if (section === undefined) return { holder: document, name: key.name };
  if (section === 'queues')
    return { holder: queueOf(document, parts.slice(1).join('.')), name: key.name };
  return { holder: table(document, section), name: key.name };
}

/** A value as the file would have it. The list of candidates is left to the reader. */
function fitting(path: string, value: unknown): unknown {
  const key = keyAt(path);
  if (!key || key.takes.kind === 'candidates') return value;
  try {
    return written(key.takes, checked(key.name, key.takes, plain(key.takes.kind, value)));
  } catch (error) {
    if (error instanceof Misfit) throw new EditError('refused', `${error.message}; ${error.hint}`);
    throw error;
  }
}

/** Callers that have only text write `"3"` and `"true"`. */
function plain(kind: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (kind === 'integer' && /^[0-9]{1,15}$/.test(value.trim())) return Number(value);
  if (kind === 'bool' && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}

function candidatePath(path: string): { queue: string; at: number; key: string } | undefined {
  const found = /^queues\.(.+)\.candidates\.([0-9]{1,6})\.([a-z_]+)$/.exec(path);
  const [, queue, at, key] = found ?? [];
  return queue !== undefined && key !== undefined ? { queue, at: Number(at), key } : undefined;
}

function queueOf(document: Document, id: string): Record<string, unknown> {
  const queues = table(document, 'queues');
  const queue = Object.hasOwn(queues, id) ? queues[id] : undefined;
  if (isTable(queue)) return queue;
  const near = nearest(id, Object.keys(queues));
  throw new EditError(
    'no_such_setting',
    `there is no queue \`${shown(id)}\`${near ? `; did you mean \`${near}\`?` : ''}`,
  );
}

function candidates(document: Document, queue: string): unknown[] {
  const of = queueOf(document, queue);
  // One text with a candidate a line becomes the list that it stands for.
  if (typeof of['candidates'] === 'string') of['candidates'] = candidateLines(of['candidates']);
  if (!Array.isArray(of['candidates'])) of['candidates'] = [];
  return of['candidates'] as unknown[];
}

function placeOf(document: Document, queue: string, route: string): number {
  const at = candidates(document, queue).findIndex((entry) => routeOf(entry) === route.trim());
  if (at < 0)
    throw new EditError(
      'no_such_setting',
      `there is no candidate \`${shown(route)}\` in \`${shown(queue)}\``,
    );
  return at;
}

function routeOf(entry: unknown): string {
  const text = isTable(entry) ? entry['route'] : entry;
  return typeof text === 'string' ? text : '';
}

function checkedRoute(text: string): string {
  const route = splitRoute(text);
  if (!route)
    throw new EditError('refused', `\`${shown(text)}\` is no route; write "provider/model"`);
  return routeText(route);
}

/** All of what is there, in another order; else what is missing or too much. */
function permuted(
  there: readonly string[],
  wished: readonly string[],
  what: string,
): readonly string[] {
  const odd =
    wished.find((one, at) => !there.includes(one) || wished.indexOf(one) !== at) ??
    there.find((one) => !wished.includes(one));
  if (odd === undefined) return wished;
  throw new EditError('refused', `an order names each ${what} once; look at \`${shown(odd)}\``);
}

function table(document: Document, name: string): Record<string, unknown> {
  if (!isTable(document[name])) document[name] = {};
  return document[name] as Record<string, unknown>;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function noSuch(path: string): EditError {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const near = nearest(
    name,
    KEYS.map((key) => key.name),
  );
  const hint = near === undefined ? 'docs/dsh.md names the keys' : `did you mean \`${near}\`?`;
  return new EditError('no_such_setting', `there is no \`${shown(path)}\`; ${hint}`);
}
