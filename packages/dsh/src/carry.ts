/**
 * All queues as one file, to keep or to carry elsewhere (R40): the same file as the gateway's. It
 * refuses to carry ids, other settings and secrets, and to change anything that is there.
 */
import { FIRST_QUEUE, type Change } from './edits.ts';
import {
  isId,
  keyAt,
  ROWS_ELSEWHERE,
  splitRoute,
  type CandidateConfig,
  type Config,
} from './settings.ts';
import { checked, Misfit, written, type Value } from './values.ts';
import { shown } from './masked.ts';

const FORMAT = 'ekiden-queues';
const VERSION = 1;
const QUEUES_MAX = 1_000;
const ID_CHARS_MAX = 60;

/** The file. */
export interface QueueFile {
  readonly format: string;
  readonly version: number;
  readonly queues: readonly QueueCarried[];
}

interface QueueCarried {
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly candidates: readonly {
    readonly route: string;
    readonly options: Readonly<Record<string, unknown>>;
  }[];
}

/** What was imported, under the names that it got here. */
export interface Imported {
  readonly id: string;
  readonly name: string;
  readonly candidates: number;
}

/** The file does not hold; the message begins with the place. */
export class BadQueueFile extends Error {}

/** All queues. What only makes sense in this host stays here, so that a gateway can read the file. */
export function exported(config: Config): QueueFile {
  const queues = config.queues.map(({ name, set, candidates }) => ({
    name,
    settings: carried('queues.x.', set),
    candidates: candidates.map(({ text, set: own }: CandidateConfig) => ({
      route: text,
      options: carried('queues.x.candidates.0.', own),
    })),
  }));
  return { format: FORMAT, version: VERSION, queues };
}

/** The changes that add the queues of a file. Throws a [`BadQueueFile`]; then nothing is to be changed. */
export function importing(
  file: unknown,
  config: Config,
  deleted: ReadonlySet<string>,
): { readonly changes: readonly Change[]; readonly imported: readonly Imported[] } {
  const top = members(file, 'the file', ['format', 'version', 'queues']);
  if (top['format'] !== FORMAT || top['version'] !== VERSION) {
    throw new BadQueueFile(`\`format\` is "${FORMAT}" and \`version\` ${VERSION}`);
  }
  const ids = new Set([...deleted, ...config.queues.map(({ id }) => id)]);
  const names = new Set(config.queues.map(({ name }) => name));
  const changes: Change[] = [];
  const imported: Imported[] = [];
  for (const [at, entry] of list(top['queues'], 'queues', QUEUES_MAX).entries()) {
    const place = `queues[${at}]`;
    const queue = members(entry, place, ['name', 'settings', 'candidates']);
    const given = queue['name'];
    fits(place, 'name', 'queues.x.name', given);
    const name = numbered(String(given), names);
    const id = unusedId(name, ids);
    names.add(name);
    ids.add(id);
    const own = queueChanges(id, name, queue, place);
    changes.push(...own.changes);
    imported.push({ id, name, candidates: own.candidates });
  }
  return { changes, imported };
}

function queueChanges(
  id: string,
  name: string,
  queue: Record<string, unknown>,
  place: string,
): { changes: Change[]; candidates: number } {
  const rows = list(queue['candidates'] ?? [], `${place}.candidates`, QUEUES_MAX).map(
    (entry, at) => {
      const inside = `${place}.candidates[${at}]`;
      const candidate = members(entry, inside, ['route', 'options']);
      const route = candidate['route'];
      if (typeof route !== 'string' || !splitRoute(route))
        throw new BadQueueFile(`${inside}.route: write "provider/model"`);
      return {
        inside,
        route: route.trim(),
        options: members(candidate['options'] ?? {}, `${inside}.options`),
      };
    },
  );
  const twice = rows.find(({ route }, at) => rows.findIndex((row) => row.route === route) !== at);
  if (twice) throw new BadQueueFile(`${twice.inside}.route: it stands in this queue twice`);
  const changes: Change[] = [{ do: 'add_queue', id, name, routes: rows.map(({ route }) => route) }];
  for (const [key, value] of Object.entries(
    members(queue['settings'] ?? {}, `${place}.settings`),
  )) {
    const apart = key === 'name' || key === 'candidates';
    fits(`${place}.settings`, key, apart ? '' : `queues.x.${key}`, value);
    changes.push({ do: 'set', path: `queues.${id}.${key}`, value });
  }
  for (const { inside, route, options } of rows) {
    for (const [key, value] of Object.entries(options)) {
      fits(`${inside}.options`, key, key === 'route' ? '' : `queues.x.candidates.0.${key}`, value);
      changes.push({ do: 'set_candidate', queue: id, route, key, value });
    }
  }
  return { changes, candidates: rows.length };
}

/** R40: equal names become `name (1)`. */
export function numbered(name: string, taken: ReadonlySet<string>): string {
  let next = name;
  for (let number = 1; taken.has(next); number += 1) next = `${name} (${number})`;
  return next;
}

/** What stands between words; letters of scripts that put no spaces between them do too. */
const BETWEEN_WORDS =
  /[^\p{L}\p{N}\p{M}]+|[\u3000-\u9fff\uac00-\ud7a3\uf900-\ufaff\u{20000}-\u{3ffff}]+/u;

/**
 * An id made from a name that nothing bears. Of a name in other letters than ASCII it keeps the words
 * that an id can hold whole, and where no letter is left it is a `queue` with the numbers of the name.
 */
export function unusedId(name: string, taken: ReadonlySet<string>): string {
  const words = name
    .toLowerCase()
    .split(BETWEEN_WORDS)
    .filter((word) => /^[a-z0-9]+$/.test(word));
  if (!words.some((word) => /[a-z]/.test(word))) words.unshift('queue');
  const plain = words.join('-').slice(0, ID_CHARS_MAX);
  const base = isId(plain) ? plain : `queue-${plain}`;
  let next = base;
  for (let number = 2; taken.has(next); number += 1) next = `${base}-${number}`;
  return next;
}

/** Whether the only queue is the one that is there before anybody made one. */
export function isUntouched(config: Config): boolean {
  const [first, ...rest] = config.queues;
  return rest.length === 0 && first?.id === FIRST_QUEUE.id && first.candidates.length === 0;
}

function carried(prefix: string, set: Readonly<Record<string, Value>>): Record<string, Value> {
  const there = Object.entries(set).filter(([key]) => ROWS_ELSEWHERE.has(key));
  return Object.fromEntries(
    there.map(([key, value]) => [key, written(keyAt(`${prefix}${key}`)?.takes, value)]),
  );
}

function fits(place: string, name: string, path: string, value: unknown): void {
  const key = keyAt(path);
  if (!key)
    throw new BadQueueFile(
      `${place}.${shown(name)}: there is no such key; docs/dsh.md names the keys`,
    );
  try {
    checked(key.name, key.takes, value);
  } catch (error) {
    if (error instanceof Misfit)
      throw new BadQueueFile(`${place}.${name}: ${error.message}; ${error.hint}`);
    throw error;
  }
}

function members(
  value: unknown,
  place: string,
  known?: readonly string[],
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadQueueFile(`${place}: this is no JSON object`);
  }
  const odd = known && Object.keys(value).find((name) => !known.includes(name));
  if (odd !== undefined)
    throw new BadQueueFile(
      `${place}: there is no member \`${shown(odd)}\` here; ${known?.join(', ')} are`,
    );
  return value as Record<string, unknown>;
}

function list(value: unknown, place: string, most: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length > most)
    throw new BadQueueFile(`${place}: this is no list of at most ${most}`);
  return value;
}
