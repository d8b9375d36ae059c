/**
 * What runs, as people look at it: the gateway's shapes with what only this host knows beside them.
 * It refuses to show any text of a call.
 */
import { attemptShown, type Ledger } from './ledger.ts';
import { toldShown } from './journal.ts';
import { kept } from './masked.ts';
import { KEYS, keyAt, routeText, single, valueOf, type Config } from './settings.ts';
import { written, type Value } from './values.ts';
import type { Home } from './home.ts';
import type { Written } from './state.ts';
import type {
  AttemptRow,
  CallStep,
  CallView,
  CandidatePlan,
  DryRun,
  EngineStatus,
  Live,
  QueuePlan,
  RouteStatus,
  SessionStatus,
} from './ports.ts';

/** The share of a window at which the host compacts. */
const COMPACTION = 0.8;

/** Sessions in one answer at most; those that run, or have something out, come first. */
const SESSIONS_MAX = 1_000;

/** What the host knows of a session; what it does not know stays open. */
export interface SessionFacts {
  readonly title?: string;
  readonly cwd?: string;
  readonly subAgent?: boolean;
}

/** What is looked at. */
export interface Looked {
  readonly home: Home;
  readonly live: Live;
  readonly version: string;
  readonly instance: string;
  nowMs(): number;
  timers(): number;
  facts(session: string): SessionFacts | undefined;
}

/** Everything at one instant. */
export function stateView(of: Looked): unknown {
  const status = of.live.status();
  const open = of.live.calls().filter(({ state }) => state === 'open');
  const recording = of.home.keeper.recording();
  const page = sessionsView(of, status, { limit: SESSIONS_MAX, evidence: 'without' });
  return {
    version: of.version,
    instance: of.instance,
    now_ms: of.nowMs(),
    day: dayView(of),
    enabled: of.home.plans.enabled(),
    // The host bounds what it opens and holds; 0 stands for no bound of ours.
    open: {
      calls: open.length,
      calls_max: 0,
      waiting: open.filter(({ why }) => why?.startsWith('candidate')).length,
      held_bytes: 0,
      held_bytes_max: 0,
      tasks: of.timers(),
    },
    engine: { lost: status.lost ?? null, memory_bytes: status.memoryBytes },
    recording: {
      trouble: recording.trouble,
      dropped: recording.dropped,
      folder: recording.folder,
      why_not: recording.whyNot,
    },
    settings: settingsStatus(of.home),
    pauses: status.paused.map((session) => session || null),
    queues: of.home.plans.all().map((queue) => queueView(of, queue, status)),
    sessions: page.sessions,
    sessions_known: page.sessions_known,
    sessions_next: page.next,
  };
}

/** Which sessions are asked for. */
export interface SessionsAsked {
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: string | undefined;
  /** The workspace of who asks. */
  readonly cwd?: string | undefined;
  /** Whether what candidates said goes along: it is most of the text. */
  readonly evidence: 'with' | 'without';
}

/** A page of sessions, those that matter first; `next` is the `after` of the page behind it. */
export function sessionsView(
  of: Looked,
  status: EngineStatus,
  asked: SessionsAsked,
): { sessions: unknown[]; sessions_known: number; next: string | null } {
  const { config } = of.home.settings;
  const subAgents = single(config, 'appearance', 'subagent_sessions') === true;
  const foreign = single(config, 'appearance', 'foreign_sessions') === true;
  const shown = status.sessions.filter((session) => {
    if (!ranHere(session)) return false;
    const facts = of.facts(session.session);
    // Of a session that the host does not know, nothing is known: it stays.
    if (!subAgents && (facts?.subAgent ?? session.subAgent) === true) return false;
    return (
      foreign || asked.cwd === undefined || facts?.cwd === undefined || facts.cwd === asked.cwd
    );
  });
  const first = (session: SessionStatus) =>
    session.running > 0 ? 0 : session.quarantined.length > 0 ? 1 : 2;
  const sorted = shown.toSorted((a, b) => first(a) - first(b));
  const from =
    asked.after === undefined ? 0 : sorted.findIndex(({ session }) => session === asked.after) + 1;
  const page = sorted.slice(from, from + asked.limit);
  const running = runningSince(of);
  const more = from + page.length < sorted.length;
  return {
    sessions: page.map((session) => sessionView(of, session, asked.evidence, running)),
    sessions_known: shown.length,
    next: more ? (page.at(-1)?.session ?? null) : null,
  };
}

/** Whether a queue ran for it: the engine knows every session of the host whose turns have ended. */
function ranHere(session: SessionStatus): boolean {
  const { quarantined, verified, seats, truncations, speeds } = session;
  const marks = [quarantined, verified, seats, truncations, speeds];
  return (
    session.running > 0 || session.runningNow !== undefined || marks.some((some) => some.length > 0)
  );
}

/** One session. */
export function sessionView(
  of: Looked,
  session: SessionStatus,
  said: SessionsAsked['evidence'] = 'with',
  running: RunningSince = runningSince(of),
): unknown {
  const { state } = of.home.keeper;
  const facts = of.facts(session.session);
  const wrote = state.written(session.session);
  return {
    key: session.session,
    background: session.session === '',
    running: session.running,
    running_now: session.runningNow ? routeText(session.runningNow) : null,
    seats: session.seats.map(routeText),
    quarantined: session.quarantined.map((out) => {
      const place = { session: session.session, queue: out.queue, route: out.route };
      const evidence = said === 'with' ? state.evidence(place) : undefined;
      return {
        queue: out.queue,
        route: routeText(out.route),
        class: out.class,
        since_ms: out.sinceMs,
        until_ms: out.untilMs ?? null,
        parole_ms: out.paroleMs ?? null,
        paroles: out.paroles,
        ...(evidence ? { evidence } : {}),
      };
    }),
    verified: session.verified.map(({ queue, route }) => ({ queue, route: routeText(route) })),
    speeds: wrote.filter(({ tokens }) => tokens > 0).map(speedView),
    truncations: session.truncations.map(({ queue, count }) => ({ queue, in_a_row: count })),
    title: facts?.title ?? null,
    cwd: facts?.cwd ?? null,
    sub_agent: facts?.subAgent ?? (session.subAgent || null),
    used: wrote.map(({ route, usedMs, runs }) => ({ route, ms: usedMs, runs })),
    running_since: running.get(session.session) ?? [],
    stands_in_for: session.standsInFor.map(routeText),
    paused: session.paused,
    continues: {
      truncations: session.continuedTruncations,
      failures: session.continuedFailures,
      at_ms: session.continueAtMs ?? null,
    },
  };
}

/** How fast: two or more digits rounded, one digit with one decimal; nothing where nothing was said (R30). */
export function perSecond(tokens: number, ms: number): number | null {
  if (tokens <= 0 || ms <= 0) return null;
  const exact = (tokens * 1000) / ms;
  return exact >= 9.95 ? Math.round(exact) : Math.round(exact * 10) / 10;
}

/** The catalog, as the gateway shows its own. */
export function catalogView(home: Home): unknown {
  const { scannedMs, isScanning } = home.catalog;
  const scanned_ms = scannedMs ?? null;
  const providers = home.catalog.shown().map(({ id, name, hidden, models, trouble }) => ({
    id,
    name,
    dialect: 'dsh',
    hidden,
    scanned_ms,
    trouble: trouble === null ? null : 'unreachable',
    trouble_message: trouble,
    models: models.map((model) => ({
      ...model,
      offered: true,
      compaction_point: compactionPoint(model.context_window ?? undefined),
      price: null,
      window_source: model.context_window === null ? null : 'provider',
      efforts_source: model.efforts === null ? null : 'provider',
    })),
  }));
  // What models can do is the host's own word; there is no table of ours.
  return { scanned_ms, scanning: isScanning, providers, known: { source: 'dsh', date: '' } };
}

/** A call, with its steps where they are known. */
export function callView(view: CallView, steps?: readonly CallStep[]): unknown {
  return {
    call: view.call,
    session: view.session,
    agent: null,
    purpose: view.internal ? 'internal' : 'main',
    queue: view.queue,
    dialect: 'dsh',
    streamed: true,
    began_ms: view.beganMs,
    took_ms: Math.round(view.tookMs),
    state: view.state,
    told: view.told ? toldShown(view.told) : null,
    route: view.route ? routeText(view.route) : null,
    attempts: view.attempts.map(attemptView),
    ...(view.why === undefined ? {} : { why: view.why }),
    ...(steps ? { steps } : {}),
  };
}

/** A call of which only the ledger knows any more, such as one from before the host was started anew. */
export function keptCallView({ rows, ...call }: NonNullable<ReturnType<Ledger['call']>>): unknown {
  const { call: id, session, queue, purpose, began_ms, took_ms, state, told, route } = call;
  const attempts = rows.map((row) => {
    const { attempt, route: asked, began_ms: began, took_ms: took, class: why } = row;
    return { attempt, route: asked, began_ms: began, took_ms: took, class: why };
  });
  const fixed = { agent: null, dialect: 'dsh', streamed: true };
  return {
    call: id,
    session,
    purpose,
    queue,
    began_ms,
    took_ms,
    state,
    told,
    route,
    attempts,
    ...fixed,
  };
}

/** What a call would do now. */
export function dryRunView(queue: string, session: string | null, run: DryRun): unknown {
  return {
    queue,
    session,
    would: run.would,
    route: run.route ? routeText(run.route) : null,
    wait_ms: run.waitMs ?? null,
    steps: run.steps,
  };
}

/** How the settings stand. */
export function settingsStatus(home: Home): Record<string, unknown> {
  const status = home.settings.status();
  return {
    file: status.file,
    hash: status.hash,
    since_ms: status.sinceMs,
    read_only: status.readOnly ?? null,
    after_restart: [],
    refused: status.refused.map(({ path, message, hint, spot }) => ({
      line: spot?.line ?? null,
      column: spot?.column ?? null,
      message: path === '' ? message : `${path}: ${message}`,
      hint,
    })),
  };
}

/** All settings with their values and where they come from. */
export function settingsView(home: Home): unknown {
  const { config } = home.settings;
  const rows = (
    path: string,
    groups: readonly string[],
    value: (name: string) => Value | undefined,
  ) =>
    KEYS.filter(
      ({ group, name }) => groups.includes(group) && name !== 'candidates' && name !== 'fallbacks',
    ).map(({ name }) => settingView(home, path === '' ? name : `${path}.${name}`, value(name)));
  const section = (name: string, groups: readonly string[]) =>
    rows(name, groups, (key) => single(config, name, key));
  const settings = [
    ...rows('', ['top'], (key) => single(config, 'top', key)),
    ...rows('defaults', ['policy', 'clock'], (key) => valueOf(config, {}, key)),
    ...rows('direct', ['policy', 'clock'], (key) =>
      valueOf(config, { policy: 'none', ...config.sections['direct'] }, key),
    ),
    ...section('continuation', ['continuation']),
    ...section('journal', ['journal']),
    ...section('appearance', ['appearance']),
    ...config.aliases.map(([pattern, queue]) => settingView(home, `aliases.${pattern}`, queue)),
    ...config.queues.flatMap((queue) => queueSettings(home, config, queue.id)),
  ];
  return { ...settingsStatus(home), settings };
}

function queueSettings(home: Home, config: Config, id: string): unknown[] {
  const queue = config.queues.find((one) => one.id === id);
  if (!queue) return [];
  const path = `queues.${id}`;
  const names = (groups: readonly string[]) =>
    KEYS.filter(({ group }) => groups.includes(group)).map(({ name }) => name);
  return [
    settingView(home, `${path}.name`, queue.name),
    settingView(
      home,
      `${path}.candidates`,
      queue.candidates.map(({ text }) => text),
    ),
    ...names(['policy', 'clock']).map((name) =>
      settingView(home, `${path}.${name}`, valueOf(config, queue.set, name)),
    ),
    ...queue.candidates.flatMap(({ text, set }, at) =>
      names(['candidate', 'clock']).map((name) =>
        settingView(home, `${path}.candidates.${at}.${name}`, name === 'route' ? text : set[name]),
      ),
    ),
  ];
}

function settingView(home: Home, path: string, value: Value | undefined): unknown {
  const key = keyAt(path);
  const spot = home.settings.spot(path);
  return {
    path,
    value: value === undefined ? null : written(key?.takes, value),
    default: key?.fallback === undefined ? '' : key.standard,
    origin: spot ? { from: 'file', line: spot.line } : { from: 'default' },
    takes: key?.takes ?? null,
    about: key ? { en: key.en, zh: key.zh } : null,
  };
}

function dayView(of: Looked): unknown {
  const { number, endsMs } = of.home.plans.day(of.nowMs());
  return { number, ends_ms: endsMs };
}

function queueView(of: Looked, queue: QueuePlan, status: EngineStatus): unknown {
  const window = queue.candidates.find((candidate) => candidate.window !== undefined)?.window;
  const set = of.home.settings.config.queues.find(({ id }) => id === queue.id)?.candidates ?? [];
  return {
    id: queue.id,
    name: queue.name,
    enabled: queue.enabled,
    context_window: window ?? null,
    compaction_point: compactionPoint(window),
    rescue: queue.rescue,
    candidates: queue.candidates.map((candidate, at) => {
      const route = status.routes.find((one) => routeText(one.route) === routeText(candidate));
      return {
        ...candidateView(of, candidate, route),
        max_sessions: set[at]?.set['max_sessions'] ?? null,
        max_in_flight: set[at]?.set['max_in_flight'] ?? null,
      };
    }),
  };
}

function candidateView(
  of: Looked,
  candidate: CandidatePlan,
  status: RouteStatus | undefined,
): Record<string, unknown> {
  const route = routeText(candidate);
  const today = of.home.keeper.state.tallies.get(route) ?? { successes: 0, failures: 0 };
  const facts = of.home.catalog.info(candidate);
  return {
    route,
    name: facts?.name ?? candidate.model,
    dialect: 'dsh',
    ...standing(candidate, status),
    in_flight: status?.inFlight ?? 0,
    seats_taken: status?.seatsTaken ?? 0,
    context_window: candidate.window ?? null,
    compaction_point: compactionPoint(candidate.window),
    detected_window: facts?.window ?? null,
    effort: candidate.effort ?? null,
    effort_levels: facts?.efforts ?? [],
    efforts_known: facts?.efforts !== undefined,
    max_tokens: candidate.maxTokens ?? null,
    today,
    breaker: { failures: status?.strikes ?? 0, opened: status?.opened ?? 0 },
  };
}

/** The one word for a route's state, and when it ends by itself. */
function standing(
  candidate: CandidatePlan,
  status: RouteStatus | undefined,
): Record<string, unknown> {
  if (!candidate.present)
    return { state: 'missing', lack: `the host has no provider ${candidate.provider} now` };
  if (status?.coolingMs !== undefined)
    return { state: 'cooling', ends_in_ms: Math.round(status.coolingMs) };
  if (status?.probing) return { state: 'probing' };
  if (status?.restingMs !== undefined)
    return { state: 'resting', ends_in_ms: Math.round(status.restingMs) };
  return { state: 'ready' };
}

function compactionPoint(window: number | undefined): number | null {
  return window === undefined ? null : Math.floor(window * COMPACTION);
}

function speedView({ route, tokens, ms }: Written): unknown {
  return { route, tokens, ms: Math.round(ms), per_second: perSecond(tokens, ms) };
}

type RunningSince = ReadonlyMap<string, readonly { call: string; began_ms: number }[]>;

/** R30: what runs grows live, by session; the page counts on from here. */
function runningSince(of: Looked): RunningSince {
  const open = of.live.calls().filter(({ state, internal }) => state === 'open' && !internal);
  const since = new Map<string, { call: string; began_ms: number }[]>();
  for (const { session, call, beganMs } of open) {
    const calls = since.get(session) ?? [];
    calls.push({ call, began_ms: beganMs });
    since.set(session, calls);
  }
  return since;
}

function attemptView(row: AttemptRow): unknown {
  const { attempt, route, began_ms, took_ms } = attemptShown(row);
  return {
    attempt,
    route,
    began_ms,
    took_ms: Math.round(took_ms),
    class: row.class ?? null,
    ...(row.evidence ? { evidence: kept(row.class, row.evidence) } : {}),
  };
}
