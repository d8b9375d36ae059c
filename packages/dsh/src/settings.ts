/**
 * What can be set, its bounds and what holds where nobody sets it. It refuses unknown keys and
 * values out of bounds, and names the nearest key or the bound (R46).
 *
 * The keys are the gateway's (`keys.ts`) with this host's defaults, and a few that only make sense
 * here. A queue's own key beats `defaults`; a candidate's own clock beats the queue's.
 */
import { ROWS, type KeyRow, type Takes } from './keys.ts';
import { checked, expected, Misfit, nearest, written, type Value } from './values.ts';
import { presetValue } from './presets.ts';
import { shown } from './masked.ts';
import type { Route } from './ports.ts';
import type { Spot } from './json-text.ts';

/** Our own provider in the host; never in a queue (R6). */
export const PROVIDER = 'ekiden';

/** The form of the file. */
export const VERSION = 1;

const QUEUES_MAX = 1_000;
const CANDIDATES_MAX = 1_000;

type Group = KeyRow['group'] | 'continuation' | 'appearance' | 'direct';

/** A key that can be set. */
export interface Key extends Omit<KeyRow, 'group'> {
  readonly group: Group;
  /** What holds where nobody sets it; none: nothing does. */
  readonly fallback?: Value;
}

/** What holds here where the gateway's defaults are others, or are words. */
const HERE: Readonly<Record<string, Value>> = {
  'top.reset_hour': 1,
  'top.enabled': true,
  'top.unknown_model': 'error',
  'journal.enabled': true,
  'journal.entries_max': 200,
  'policy.retry_pause': 0,
  'policy.continue_on_failover': 'always',
  'policy.continue_delay': 5_000,
  'policy.parole_after': 600_000,
  'policy.parole_max': 14_400_000,
  'policy.lease_idle': 1_800_000,
  // The host shows no heads and no pings: the idle clock alone counts chunks (R11).
  'clock.connect_timeout': 0,
  'clock.headers_timeout': 0,
  'clock.first_byte_timeout': 0,
  'clock.progress_timeout': 0,
};

const COUNT: Takes = { kind: 'integer', min: 0, max: 1_000_000_000 };

const OWN: readonly Key[] = [
  own(
    'policy',
    'rescue',
    { kind: 'bool' },
    true,
    'Whether a failure after output is rescued: the step starts anew on the next candidate, and the partial text is dropped (D6).',
    '已有输出后的失败是否补救：由下一个候选重新开始这一步，丢弃未写完的文本（D6）。',
  ),
  own(
    'top',
    'hidden_providers',
    { kind: 'texts' },
    [],
    'Providers whose models are not offered for queues (R38).',
    '不在候选目录中出现的 provider（R38）。',
  ),
  own(
    'continuation',
    'enabled',
    { kind: 'bool' },
    true,
    'Whether turns go on by themselves, for every model of DSH (R42).',
    '回合是否自动续写，对 DSH 的所有模型生效（R42）。',
  ),
  own(
    'continuation',
    'on_truncation',
    { kind: 'bool' },
    true,
    'After an answer that was cut by its token limit (R42).',
    '回答被输出上限截断之后续写（R42）。',
  ),
  own(
    'continuation',
    'on_failure',
    { kind: 'bool' },
    true,
    'After a turn that failed (R42).',
    '回合失败之后续写（R42）。',
  ),
  own(
    'continuation',
    'truncations_max',
    COUNT,
    10,
    'How many times in a row after truncations; counted apart (R42).',
    '连续截断最多自动续写几次，单独计数（R42）。',
  ),
  own(
    'continuation',
    'failures_max',
    COUNT,
    1,
    'How many times in a row after failures; counted apart (R42).',
    '连续失败最多自动续写几次，单独计数（R42）。',
  ),
  own(
    'appearance',
    'subagent_sessions',
    { kind: 'bool' },
    false,
    'Whether sessions of sub-agents are shown.',
    '是否显示子智能体的会话。',
  ),
  own(
    'appearance',
    'foreign_sessions',
    { kind: 'bool' },
    true,
    'Whether sessions of other workspaces are shown.',
    '是否显示其他工作区的会话。',
  ),
  own(
    'direct',
    'fallbacks',
    { kind: 'candidates' },
    [],
    'Where a model outside our provider goes when it fails, for the policies that switch (section 4).',
    '我们 provider 之外的模型失败后依次改用的候选，供会切换的策略使用。',
  ),
];

/** Every key. One that the gateway has by now is the gateway's. */
export const KEYS: readonly Key[] = [
  ...ROWS.map(ours),
  ...OWN.filter((key) => !ROWS.some(({ group, name }) => group === key.group && name === key.name)),
];

const INDEX: ReadonlyMap<string, Key> = new Map(
  KEYS.map((key) => [`${key.group}.${key.name}`, key]),
);

/** Keys of other programs, and what to write instead (C9). */
const ELSEWHERE: Readonly<Record<string, string>> = {
  chains: 'write `"policy": "chain"` and the routes as `fallbacks` into `direct`, or a queue for each chain',
  match: 'the head is the model that was picked; write further names of a queue into `aliases`',
  providers: "the models are the host's own: name them as `provider/model`",
};

/** Names of keys that the gateway has too. */
export const ROWS_ELSEWHERE: ReadonlySet<string> = new Set(ROWS.map(({ name }) => name));

/** A candidate as it was set. */
export interface CandidateConfig {
  /** `provider/model`. */
  readonly text: string;
  readonly route: Route;
  /** Options that were set, clocks among them. */
  readonly set: Readonly<Record<string, Value>>;
}

/** A queue as it was set. */
export interface QueueConfig {
  readonly id: string;
  readonly name: string;
  readonly candidates: readonly CandidateConfig[];
  /** Keys of its policy and clocks that were set for it. */
  readonly set: Readonly<Record<string, Value>>;
}

/** All that was set and holds. */
export interface Config {
  /** Sections of single keys: `top`, `journal`, `continuation`, `appearance`, `defaults`, `direct`. */
  readonly sections: Readonly<Record<string, Readonly<Record<string, Value>>>>;
  readonly queues: readonly QueueConfig[];
  readonly fallbacks: readonly CandidateConfig[];
  readonly aliases: readonly (readonly [pattern: string, queue: string])[];
}

/** Something that is wrong with the settings. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  readonly hint: string;
  readonly spot?: Spot;
}

/** Names of `sections` in the file, and the groups whose keys they take. */
const SECTIONS: Readonly<Record<string, readonly Group[]>> = {
  defaults: ['policy', 'clock'],
  direct: ['policy', 'clock', 'direct'],
  journal: ['journal'],
  continuation: ['continuation'],
  appearance: ['appearance'],
};

/** Reads a document. Without problems there is a configuration. */
export function readSettings(document: unknown): {
  readonly config: Config;
  readonly problems: readonly Problem[];
} {
  const reader = new SettingsReader();
  return { config: reader.read(document), problems: reader.problems };
}

/** The value of a key that holds for a queue: its own, that of `defaults`, or the default. */
export function valueOf(
  config: Config,
  own: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return own[name] ?? config.sections['defaults']?.[name] ?? standard(config, own, name);
}

/** The value of a key of a section that stands by itself. */
export function single(config: Config, section: string, name: string): Value | undefined {
  return config.sections[section]?.[name] ?? row(section as Group, name)?.fallback;
}

/** What holds where nobody sets it. Where a rescue is possible, reasoning need not be held (R10). */
function standard(
  config: Config,
  own: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  if (name === 'commit')
    return valueOf(config, own, 'rescue') === true ? 'first-token' : 'first-output';
  const fallback = (row('policy', name) ?? row('clock', name))?.fallback;
  return name === 'policy'
    ? fallback
    : (presetValue(valueOf(config, own, 'policy'), name) ?? fallback);
}

/** The key at a path such as `queues.default.retries`, `defaults.commit` or `reset_hour`. */
export function keyAt(path: string): Key | undefined {
  const parts = path.split('.');
  const name = parts.pop() ?? '';
  const [section = 'top'] = parts;
  if (section === 'queues' && parts.length >= 2) {
    const groups: Group[] =
      /\.candidates\.[0-9]+$/.test(parts.join('.')) && parts.length >= 4
        ? ['candidate', 'clock']
        : ['queue', 'policy', 'clock'];
    return groups.map((group) => row(group, name)).find(Boolean);
  }
  if (parts.length > 1) return undefined;
  if (section === 'top') return row('top', name);
  return SECTIONS[section]?.map((group) => row(group, name)).find(Boolean);
}

/** Whether a text may be a queue's id. One of digits alone would change its place in the file. */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text) && !/^[0-9]+$/.test(text);
}

/** `provider/model`, parted at the first slash. */
export function splitRoute(text: string): Route | undefined {
  const at = text.indexOf('/');
  const route = { provider: text.slice(0, at).trim(), model: text.slice(at + 1).trim() };
  const good =
    at > 0 &&
    route.provider !== '' &&
    route.model !== '' &&
    text.length <= 300 &&
    !/\p{Cc}/u.test(text);
  return good ? route : undefined;
}

/** A route as text. */
export function routeText(route: Route): string {
  return `${route.provider}/${route.model}`;
}

/** Candidates from one text, one a line: `provider/model`, `provider|model`, `provider model`, `#` (H7). */
export function candidateLines(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/(^|\s)#.*$/, '').trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => line.replace(/^([^/|\s]+)\s*(?:\||\s)\s*/, '$1/'));
}

class SettingsReader {
  readonly problems: Problem[] = [];

  read(document: unknown): Config {
    const top = this.#object(document, '');
    const rest = new Set(Object.keys(top));
    const sections: Record<string, Record<string, Value>> = {};
    for (const [section, groups] of Object.entries(SECTIONS)) {
      rest.delete(section);
      const table = this.#object(top[section], section);
      sections[section] = this.#keys(
        table,
        section,
        groups,
        section === 'direct' ? ['fallbacks'] : [],
      );
    }
    for (const name of ['queues', 'aliases', 'version']) rest.delete(name);
    sections['top'] = this.#keys(
      pick(top, rest),
      '',
      ['top'],
      [...Object.keys(SECTIONS), 'queues', 'aliases', 'version'],
    );
    if (top['version'] !== undefined && top['version'] !== VERSION) {
      this.#problem(
        'version',
        `this is a file of another version than ${VERSION}`,
        'use the program that wrote it',
      );
    }
    const queues = this.#queues(top['queues']);
    const direct = this.#object(top['direct'], 'direct');
    return {
      sections,
      queues,
      fallbacks:
        direct['fallbacks'] === undefined
          ? []
          : this.#candidates(direct['fallbacks'], 'direct.fallbacks'),
      aliases: this.#aliases(top['aliases'], queues),
    };
  }

  #queues(given: unknown): QueueConfig[] {
    const table = this.#object(given, 'queues');
    const entries = Object.entries(table);
    if (entries.length > QUEUES_MAX)
      this.#problem('queues', `at most ${QUEUES_MAX} queues are kept`, 'delete some');
    return entries.slice(0, QUEUES_MAX).map(([id, of]) => {
      const path = `queues.${id}`;
      if (!isId(id)) {
        this.#problem(
          path,
          `\`${shown(id)}\` is no queue id`,
          'an id has 1 to 64 letters, digits, `.`, `_` or `-`, begins with a letter or digit, and is more than a number; `name` may be anything',
        );
      }
      const queue = this.#object(of, path);
      const { name, ...set } = this.#keys(
        queue,
        path,
        ['queue', 'policy', 'clock'],
        ['candidates'],
      );
      const candidates = this.#candidates(queue['candidates'] ?? [], `${path}.candidates`);
      return { id, name: typeof name === 'string' ? name : id, candidates, set };
    });
  }

  #candidates(given: unknown, path: string): CandidateConfig[] {
    const list: unknown = typeof given === 'string' ? candidateLines(given) : given;
    if (!Array.isArray(list) || list.length > CANDIDATES_MAX) {
      this.#problem(
        path,
        `\`${path}\` does not fit`,
        `it is ${expected({ kind: 'candidates' })}, of at most ${CANDIDATES_MAX}`,
      );
      return [];
    }
    const seen = new Set<string>();
    return list.flatMap((entry: unknown, at) => {
      const candidate = this.#candidate(entry, `${path}.${at}`);
      if (candidate && seen.has(candidate.text)) {
        this.#problem(
          `${path}.${at}`,
          `${shown(candidate.text)} stands here twice`,
          'a route stands at most once in a queue',
        );
        return [];
      }
      if (candidate) seen.add(candidate.text);
      return candidate ? [candidate] : [];
    });
  }

  #candidate(entry: unknown, path: string): CandidateConfig | undefined {
    const table = typeof entry === 'string' ? { route: entry } : this.#object(entry, path);
    const { route: text, ...set } = this.#keys(table, path, ['candidate', 'clock'], []);
    const route = typeof text === 'string' ? splitRoute(text) : undefined;
    if (!route) {
      this.#problem(path, 'this is no candidate', 'write "provider/model"');
      return undefined;
    }
    if (route.provider === PROVIDER) {
      this.#problem(path, 'a queue cannot contain a queue', 'name the models themselves');
      return undefined;
    }
    return { text: routeText(route), route, set };
  }

  #aliases(given: unknown, queues: readonly QueueConfig[]): (readonly [string, string])[] {
    return Object.entries(this.#object(given, 'aliases')).flatMap(([pattern, queue]) => {
      if (typeof queue === 'string' && queues.some(({ id }) => id === queue))
        return [[pattern, queue] as const];
      const near =
        typeof queue === 'string'
          ? nearest(
              queue,
              queues.map(({ id }) => id),
            )
          : undefined;
      this.#problem(
        `aliases.${pattern}`,
        'this is no queue',
        near ? `did you mean "${near}"?` : "write a queue's id",
      );
      return [];
    });
  }

  #keys(
    table: Record<string, unknown>,
    path: string,
    groups: readonly Group[],
    apart: readonly string[],
  ): Record<string, Value> {
    const found: Record<string, Value> = {};
    for (const [name, given] of Object.entries(table)) {
      if (apart.includes(name)) continue;
      const key = groups.map((group) => row(group, name)).find(Boolean);
      const at = path === '' ? name : `${path}.${name}`;
      if (!key) {
        const known = KEYS.filter(({ group }) => groups.includes(group)).map((one) => one.name);
        const near = nearest(name, [...known, ...apart]);
        this.#problem(
          at,
          `there is no key \`${shown(name)}\` here`,
          ELSEWHERE[name] ?? (near ? `did you mean \`${near}\`?` : 'docs/dsh.md names the keys'),
        );
        continue;
      }
      try {
        const value = checked(name, key.takes, given);
        if (CLASS_LISTS.includes(name)) classes(name, value);
        found[name] = value;
      } catch (error) {
        if (!(error instanceof Misfit)) throw error;
        this.#problem(at, error.message, error.hint);
      }
    }
    return found;
  }

  #object(given: unknown, path: string): Record<string, unknown> {
    if (given === undefined) return {};
    if (typeof given === 'object' && given !== null && !Array.isArray(given))
      return given as Record<string, unknown>;
    this.#problem(
      path,
      path === '' ? 'the settings are one JSON object' : `\`${path}\` does not fit`,
      'write {"key": value}',
    );
    return {};
  }

  #problem(path: string, message: string, hint: string): void {
    this.problems.push({ path, message, hint });
  }
}

/** Keys that list failure classes. */
const CLASS_LISTS: readonly string[] = ['switch_on', 'breaker_at_once'];

const CLASSES: readonly string[] = [
  'all',
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'transport_remote',
  'empty_response',
  'stall',
  'quota_exhausted',
  'auth',
  'not_found',
  'invalid_request',
  'content_filter',
  'context_overflow',
  'local_network',
  'aborted',
  'truncated',
];

function classes(name: string, value: Value): void {
  for (const one of Array.isArray(value) ? (value as readonly string[]) : []) {
    if (CLASSES.includes(one)) continue;
    const near = nearest(one, CLASSES);
    throw new Misfit(
      `\`${name}\` does not know "${shown(one)}"`,
      `${near ? `did you mean "${near}"? ` : ''}it lists failure classes: ${CLASSES.join(', ')}`,
    );
  }
}

function pick(table: Record<string, unknown>, names: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([name]) => names.has(name)));
}

function row(group: Group, name: string): Key | undefined {
  return INDEX.get(`${group}.${name}`);
}

function own(
  group: Group,
  name: string,
  takes: Takes,
  fallback: Value,
  en: string,
  zh: string,
): Key {
  return { group, name, takes, standard: shownDefault(takes, fallback), en, zh, fallback };
}

/** A key of the gateway with what holds here. */
function ours(gateway: KeyRow): Key {
  const here = HERE[`${gateway.group}.${gateway.name}`];
  const fallback = here ?? parsedDefault(gateway);
  if (fallback === undefined) return gateway;
  return { ...gateway, standard: shownDefault(gateway.takes, fallback), fallback };
}

function parsedDefault({ group, takes, standard: text }: KeyRow): Value | undefined {
  // Elsewhere the default of a text is said in words.
  if (takes.kind === 'text' && group !== 'policy') return undefined;
  try {
    const given =
      takes.kind === 'bool' ? text === 'true' : takes.kind === 'integer' ? Number(text) : text;
    return checked('', takes, given);
  } catch {
    // Words such as `none`, which are no value.
    return undefined;
  }
}

function shownDefault(takes: Takes, value: Value): string {
  const shown = written(takes, value);
  return Array.isArray(shown) ? JSON.stringify(shown) : String(shown);
}
