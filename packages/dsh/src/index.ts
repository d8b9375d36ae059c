/**
 * The plugin's door to the host: puts the parts together, hears the host's events, and takes
 * everything back when it is unloaded. It decides nothing.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';

import type { Context } from '@deepseek-ai/cordis';
import type {} from '@deepseek-ai/dsh-agent';
import type {} from '@deepseek-ai/dsh-session';

import { guarded, PROVIDER, QueueAdapter } from './adapter.ts';
import { HostClock } from './clock.ts';
import { dropper, isCodex, watched } from './codex.ts';
import { Core } from './core.ts';
import { hostHome, openHome, type Home } from './home.ts';
import { loaderFrom } from './load.ts';
import { NameTable } from './names.ts';
import { LineRecorder } from './recorder.ts';
import { serve } from './serving.ts';
import { Steps } from './steps.ts';
import { Turns, type Agents } from './turns.ts';

export const name = 'ekiden';
export const inject = ['llm'];

/** The row's own settings; everything else stands in the settings file. */
export interface RowConfig {
  /** A file that every line to the engine goes to, its answers beside it; for tests alone. */
  readonly record?: string;
}

/** Everything that runs, for the endpoints and the service. */
export interface Running {
  readonly core: Core;
  readonly home: Home;
  readonly turns: Turns;
  /** Timers that run, of whatever part. */
  timers(): number;
}

export function apply(ctx: Context, config: RowConfig | undefined): void {
  const fault = (message: string): void => ctx.logger.warn(message);
  const late = (error: unknown): void => fault(`model relay: a timer failed: ${String(error)}`);
  const clock = new HostClock('let-go', late);
  const waiting = new HostClock('kept', late);
  const home = openHome(hostHome(process.env), clock, ctx.llm);
  const instance = randomBytes(4).toString('hex');
  const core = new Core({
    clock, waiting, plans: home.plans, keeper: home.keeper, catalog: home.catalog,
    names: new NameTable(), loader: loaderFrom(new URL('.', import.meta.url)),
    instance, recorder: recorderOf(config?.record),
    stream: (call, options) => guarded(call, () => ctx.llm.stream(options)),
    fault,
  });
  const turns = new Turns({ core, plans: home.plans, clock, agents: () => agentsOf(ctx) });
  const steps = new Steps(core, home.plans);
  ctx.effect(() => () => {
    turns.close();
    steps.close();
    core.close();
    home.close();
    waiting.close();
    clock.close();
  }, 'model relay');
  listen(ctx, core, turns, steps, home);
  direct(ctx, steps);
  const drop = dropper(fault);
  ctx.on('llm/stream', (options, next) =>
    (isCodex(options) ? watched(String(options.sessionId), next(), drop) : next()), { global: true });
  register(ctx, new QueueAdapter({ core, ...home, straight: (options) => ctx.llm.stream(options) }), core);
  serve(ctx, {
    home, live: core, clock, instance, timers: () => clock.timers + waiting.timers,
    classify: (evidence) => core.engine.classify(evidence),
  });
}

function listen(ctx: Context, core: Core, turns: Turns, steps: Steps, home: Home): void {
  const everywhere = { global: true };
  ctx.on('session/event', (session, event) => {
    steps.heard(session, event);
    turns.heard(session, event);
  }, everywhere);
  ctx.on('session/disposed', (session) => {
    turns.disposed(session.id);
    steps.disposed(session.id);
    core.endSession(session.id);
  }, everywhere);
  ctx.on('agent/request', ({ agent, turn, step }, next) => {
    core.rescue.requesting(agent.id, turn, step);
    return next();
  }, everywhere);
  ctx.on('agent/request-error', async (failed, next) => {
    const ours = failed.provider === PROVIDER && !failed.signal.aborted
      && core.rescue.take(failed.agent.id, failed.turn, failed.step);
    // The host's own retry tells its page; a host that has none is told here.
    const decided = await next();
    return decided ?? (ours && !failed.signal.aborted ? { kind: 'retry' as const } : undefined);
  }, everywhere);
  ctx.on('llm/adapters-updated', () => home.catalog.adaptersChanged(), everywhere);
}

/**
 * Models outside our provider. The host's own retries are listeners that came with its agents, and
 * these come after them, so that they hear of what has outlived those (P6).
 */
function direct(ctx: Context, steps: Steps): void {
  ctx.inject(['agents'], (inner) => {
    inner.on('agent/request', async ({ agent, turn, step, signal }, next) =>
      steps.requesting({ session: agent.id, turn, step }, await next(), signal), { global: true });
    inner.on('agent/request-error', async ({ agent, turn, step, failure, signal }, next) => {
      const again = await steps.failed({ session: agent.id, turn, step }, failure, signal);
      return again ? { kind: 'retry' as const } : next();
    }, { global: true });
  });
}

/** The route may be held still by a copy of this plugin that is being unloaded. */
function register(ctx: Context, adapter: QueueAdapter, core: Core): void {
  try {
    ctx.llm.registerAdapter([PROVIDER], adapter);
  } catch (error) {
    ctx.logger.warn(`model relay: the provider ${PROVIDER} is taken: ${String(error)}`);
    return;
  }
  // The first call finds it ready; a failure is told then, and again to every call.
  core.engine.ready().catch(() => {});
}

function agentsOf(ctx: Context): Agents | undefined {
  try {
    return ctx.get('agents') as Agents | undefined;
  } catch {
    // The host is closing.
    return undefined;
  }
}

function recorderOf(file: string | undefined): LineRecorder | undefined {
  if (file === undefined) return undefined;
  return new LineRecorder((line, answer) => {
    try {
      appendFileSync(file, `${line}\n`);
      appendFileSync(`${file}.answers`, answer);
    } catch {
      // A history that cannot be written is not worth a call.
    }
  });
}
