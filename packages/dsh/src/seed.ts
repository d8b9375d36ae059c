/**
 * Takes over what the plugin `dsh-model-failover` left in the host's home: its templates, its
 * settings and what it put out today. It refuses to change a file of that plugin, and to guess what
 * a member that it does not know means: such a member is left out and named.
 *
 * The forms are those of that plugin's own description: `settings.json` with `templates` and single
 * keys, `state.json` by session and template.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { masked } from './masked.ts';
import { unusedId } from './carry.ts';
import { isId, keyAt, routeText, splitRoute, VERSION, PROVIDER } from './settings.ts';
import { checked } from './values.ts';
import type { Document } from './edits.ts';
import type { Line } from './shared-log.ts';
import type { FailureClass } from './ports.ts';

/** Its folder in the host's home. */
export const FOLDER = 'dsh-model-failover';

const BYTES_MAX = 16 * 1024 * 1024;

/** What was found there. */
export interface Adopted {
  /** Our settings, made of its own; none: it left none. */
  readonly document?: Document;
  /** Facts of today. */
  readonly facts: readonly Line[];
  /** Members that were left out. */
  readonly leftOut: readonly string[];
  readonly queues: number;
}

/** Its keys and ours; seconds become spans. */
const KEYS: Readonly<Record<string, readonly [path: string, unit?: 's']>> = {
  enabled: ['enabled'],
  resetHour: ['reset_hour'],
  hiddenProviders: ['hidden_providers'],
  continueText: ['defaults.continue_text'],
  retryWhenAllQuarantined: ['defaults.retry_when_all_quarantined'],
  sameModelRetries: ['defaults.retries'],
  idleTimeoutSec: ['defaults.idle_timeout', 's'],
  cooldownSec: ['defaults.cooldown', 's'],
  limitCooldownSec: ['defaults.lease_rest', 's'],
  continueDelaySec: ['defaults.continue_delay', 's'],
  autoContinue: ['continuation.enabled'],
  autoContinueOnFailure: ['continuation.on_failure'],
  autoContinueOnMaxTokens: ['continuation.on_truncation'],
  autoContinueFailureLimit: ['continuation.failures_max'],
  autoContinueMaxTokensLimit: ['continuation.truncations_max'],
  keepEventLog: ['journal.enabled'],
  eventLogLimit: ['journal.entries_max'],
  showSubagentSessions: ['appearance.subagent_sessions'],
  showForeignSessions: ['appearance.foreign_sessions'],
};

/** Members that mean nothing any more, or only something to its page. */
const IGNORED: readonly string[] = [
  'templates',
  'order',
  'editedTemplate',
  'retrySameModelOnce',
  'version',
];

const OPTIONS: Readonly<Record<string, string>> = {
  reasoningEffort: 'effort',
  contextWindow: 'context_window',
  concurrency: 'max_sessions',
};

/** The host's codes and our classes; whatever else it was, it was the server. */
const CLASSES: Readonly<Record<string, FailureClass>> = {
  QUOTA: 'quota_exhausted',
  AUTH: 'auth',
  MISSING_CREDENTIAL: 'auth',
  INVALID_CREDENTIAL: 'auth',
  RATE_LIMIT: 'rate_limited',
  TRANSPORT: 'transport_remote',
  TIMEOUT: 'timeout',
  EMPTY_RESPONSE: 'empty_response',
  NO_VISIBLE_OUTPUT: 'empty_response',
  UNKNOWN_MODEL: 'not_found',
  NO_ADAPTER: 'not_found',
  IDLE_TIMEOUT: 'stall',
};

/** Reads what is there; none: nothing is. `day` is today's number. It does not throw. */
export function adopt(home: string, day: number, nowMs: number): Adopted | undefined {
  const settings = readTable(join(home, FOLDER, 'settings.json'));
  const state = readTable(join(home, FOLDER, 'state.json'));
  if (!settings && !state) return undefined;
  const leftOut: string[] = [];
  const made = settings && documentOf(settings, leftOut);
  const ids = made?.ids ?? new Map<string, string>();
  return {
    ...(made ? { document: made.document } : {}),
    facts: state && dayOf(state['day']) === day ? factsOf(state, day, nowMs, ids) : [],
    leftOut,
    queues: ids.size,
  };
}

function documentOf(
  settings: Record<string, unknown>,
  leftOut: string[],
): { document: Document; ids: Map<string, string> } {
  const document: Document = { version: VERSION };
  for (const [name, value] of Object.entries(settings)) {
    const [path, unit] = KEYS[name] ?? [];
    if (path === undefined) {
      if (!IGNORED.includes(name)) leftOut.push(name);
      continue;
    }
    // It names seconds as numbers, also broken ones.
    const ours = unit === 's' && typeof value === 'number' ? spanOf(value) : value;
    if (!put(document, path, ours)) leftOut.push(name);
  }
  const ids = new Map<string, string>();
  const queues: Record<string, unknown> = {};
  for (const template of templatesOf(settings)) {
    const name =
      typeof template['name'] === 'string' && template['name'].trim() !== ''
        ? template['name'].slice(0, 100)
        : '默认模板';
    const theirs = typeof template['id'] === 'string' ? template['id'] : '';
    const id =
      isId(theirs) && !Object.hasOwn(queues, theirs)
        ? theirs
        : unusedId(name, new Set(Object.keys(queues)));
    ids.set(theirs, id);
    queues[id] = { name, candidates: candidatesOf(template['order'], leftOut) };
  }
  if (ids.size > 0) document['queues'] = queues;
  return { document, ids };
}

function templatesOf(settings: Record<string, unknown>): Record<string, unknown>[] {
  const { templates, order } = settings;
  if (Array.isArray(templates)) return templates.filter(isTable);
  // Before it had templates there was one list.
  return Array.isArray(order) ? [{ id: 'default', name: '默认模板', order }] : [];
}

function candidatesOf(order: unknown, leftOut: string[]): unknown[] {
  const seen = new Set<string>();
  return (Array.isArray(order) ? order : []).filter(isTable).flatMap((row): unknown[] => {
    const text = `${String(row['provider'] ?? '')}/${String(row['model'] ?? '')}`;
    const route = splitRoute(text);
    if (
      !route ||
      route.provider === PROVIDER ||
      route.provider === 'model-failover' ||
      seen.has(text)
    )
      return [];
    seen.add(text);
    const options = Object.entries(OPTIONS).flatMap(([theirs, ours]) => {
      const value = row[theirs];
      if (value === undefined || value === null || value === '') return [];
      if (good(`queues.x.candidates.0.${ours}`, value)) return [[ours, value] as const];
      leftOut.push(`${text}: ${theirs}`);
      return [];
    });
    return options.length === 0
      ? [routeText(route)]
      : [{ route: routeText(route), ...Object.fromEntries(options) }];
  });
}

function factsOf(
  state: Record<string, unknown>,
  day: number,
  nowMs: number,
  ids: ReadonlyMap<string, string>,
): Line[] {
  const facts: Line[] = [];
  for (const [session, of] of tables(state['sessions'])) {
    for (const [template, { quarantine, good: verified }] of tables(of['templates'])) {
      const place = {
        session: session === 'background' ? '' : session,
        queue: ids.get(template) ?? template,
      };
      for (const [route, why] of routesOf(quarantine))
        facts.push(quarantinedLine({ ...place, route }, why, day, nowMs));
      for (const [route] of routesOf(verified))
        facts.push({ what: 'verified', day, ...place, route });
    }
  }
  for (const [model, { ok, fail }] of tables(state['counts'])) {
    const route = routeOf(model);
    if (route) facts.push({ what: 'tallied', day, route, successes: ok, failures: fail });
  }
  for (const [session, models] of tables(state['speeds'])) {
    for (const [model, { tokens, ms, runs }] of tables(models)) {
      const route = routeOf(model);
      if (route) facts.push({ what: 'wrote', day, session, route, tokens, ms, usedMs: ms, runs });
    }
  }
  return facts;
}

function quarantinedLine(
  place: Line,
  why: Record<string, unknown>,
  day: number,
  nowMs: number,
): Line {
  const code = typeof why['code'] === 'string' ? why['code'] : undefined;
  const said = [why['message'], why['reason'], why['error']].find((one) => typeof one === 'string');
  const at = [why['at'], why['time'], why['since']].find((one) => typeof one === 'number');
  return {
    what: 'quarantined',
    day,
    ...place,
    class: CLASSES[code ?? ''] ?? 'server_error',
    since_ms: at ?? nowMs,
    until_ms: null,
    parole_ms: null,
    paroles: 0,
    evidence: { code, message: typeof said === 'string' ? masked(said) : undefined },
  };
}

/** Models by their name, or as a list of names or rows. */
function routesOf(value: unknown): (readonly [route: string, why: Record<string, unknown>])[] {
  if (Array.isArray(value)) {
    return value.flatMap((one) => {
      const name = isTable(one)
        ? `${String(one['provider'])}/${String(one['model'])}`
        : String(one);
      const route = routeOf(name);
      return route ? [[route, isTable(one) ? one : {}] as const] : [];
    });
  }
  return Object.entries(isTable(value) ? value : {}).flatMap(([name, why]) => {
    const route = routeOf(name);
    return route ? [[route, isTable(why) ? why : {}] as const] : [];
  });
}

/** A model as it may have been named: `provider/model`, or with another mark between. */
function routeOf(name: string): string | undefined {
  const route = splitRoute(
    name.includes('/') && !/^[^/]*(::|\|)/.test(name) ? name : name.replace(/::|\|/, '/'),
  );
  return route && routeText(route);
}

/** A day as text, `2026-11-30`, or as our number. */
function dayOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const ms = typeof value === 'string' ? Date.parse(value.slice(0, 10)) : NaN;
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 86_400_000);
}

function put(document: Document, path: string, value: unknown): boolean {
  if (!good(path, value)) return false;
  const [section, name] = path.split('.');
  if (name === undefined) document[path] = value;
  else
    document[section ?? ''] = {
      ...(document[section ?? ''] as Document | undefined),
      [name]: value,
    };
  return true;
}

function good(path: string, value: unknown): boolean {
  const key = keyAt(path);
  try {
    return key !== undefined && checked(key.name, key.takes, value) !== undefined;
  } catch {
    return false;
  }
}

function spanOf(seconds: number): string | number {
  return seconds === 0 ? 0 : `${Math.round(seconds * 1000)}ms`;
}

function tables(value: unknown): [string, Record<string, unknown>][] {
  return Object.entries(isTable(value) ? value : {}).filter(
    (entry): entry is [string, Record<string, unknown>] => isTable(entry[1]),
  );
}

function readTable(path: string): Record<string, unknown> | undefined {
  try {
    const found = statSync(path);
    if (!found.isFile() || found.size > BYTES_MAX) return undefined;
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isTable(value) ? value : undefined;
  } catch {
    // One that cannot be read is as good as none; the other plugin's files are not ours to mend.
    return undefined;
  }
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
