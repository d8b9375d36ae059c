/**
 * Puts endpoints, events and service into the host, and takes them out again. It refuses to need
 * what the host may lack: without a web server there are no endpoints, without sessions no titles.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from '@deepseek-ai/cordis';
import type {} from '@deepseek-ai/dsh-llm';
import type {} from '@deepseek-ai/dsh-session';
import { Endpoints, PREFIX } from './endpoints.ts';
import { Events } from './events.ts';
import { judge } from './evidence.ts';
import { messageOf } from './files.ts';
import type { OperationsFrom } from './asking.ts';
import { operations } from './operations.ts';
import { RelayService } from './service.ts';
import type { SessionFacts } from './views.ts';
import type { Home } from './home.ts';
import type { Clock, Live } from './ports.ts';

/** What there is to be served. */
export interface ServeFrom {
  readonly home: Home;
  readonly live: Live;
  readonly clock: Clock;
  readonly instance: string;
  /** Timers that run, of whatever part. */
  timers(): number;
  /** The classifier; none: there is no engine. */
  classify(evidence: string): string | undefined;
}

/** The host's web server, as far as it is needed. */
interface WebServer {
  register(route: {
    kind: 'prefix';
    path: string;
    handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  }): () => void;
}

/** Sessions whose titles are remembered. */
const TITLES_MAX = 2_000;

/** Serves until the plugin's fiber ends. */
export function serve(ctx: Context, from: ServeFrom): void {
  const sessions = new HostSessions(ctx);
  const of: OperationsFrom = {
    home: from.home,
    live: from.live,
    version: version(),
    instance: from.instance,
    nowMs: () => from.clock.wallMs(),
    timers: () => from.timers(),
    facts: (session) => sessions.facts(session),
    probing: {
      clock: from.clock,
      stream: (options) => ctx.llm.stream(options),
      judge: (failure, provider) =>
        judge(failure, provider, from.clock.wallMs(), (evidence) => from.classify(evidence)),
    },
  };
  const service = new RelayService(of);
  for (const name of ['ekiden', 'modelFailover']) provide(ctx, name, service);
  ctx.inject(['webServer'], (inner) => {
    const web = (inner as unknown as { readonly webServer: WebServer }).webServer;
    const fault = (message: string): void => ctx.logger.warn(message);
    const events = new Events(from.home, from.live, from.clock, from.instance);
    const endpoints = new Endpoints(operations(of), events, from.clock, fault);
    inner.effect(() => {
      const unregister = register(web, endpoints, fault);
      return () => {
        unregister();
        events.close();
      };
    }, 'model relay endpoints');
  });
}

/** A copy of this plugin that is being unloaded may still hold the path. */
function register(
  web: WebServer,
  endpoints: Endpoints,
  fault: (message: string) => void,
): () => void {
  try {
    return web.register({
      kind: 'prefix',
      path: PREFIX,
      handler: (request, response) => endpoints.handle(request, response),
    });
  } catch (error) {
    fault(`model relay: the path ${PREFIX} is taken: ${messageOf(error)}`);
    return () => {};
  }
}

/** Another plugin may have the name already; then this one goes without. */
function provide(ctx: Context, name: string, service: RelayService): void {
  try {
    (ctx as unknown as { provide(name: string, value: unknown): void }).provide(name, service);
  } catch (error) {
    ctx.logger.warn(`model relay: the service ${name} is taken: ${messageOf(error)}`);
  }
}

/** What the host knows of sessions: those that live, and titles that were told. */
class HostSessions {
  readonly #ctx: Context;
  readonly #titles = new Map<string, string>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
    ctx.on(
      'session/event',
      (session, event) => {
        const told = event as {
          readonly type: string;
          readonly data?: { readonly title?: unknown };
        };
        if (told.type !== 'session/title' || typeof told.data?.title !== 'string') return;
        this.#remember(session.id, told.data.title);
      },
      { global: true },
    );
  }

  facts(id: string): SessionFacts | undefined {
    if (id === '') return undefined;
    const session = this.#session(id);
    const header = session?.header;
    const title = this.#title(id, session);
    if (!header && title === undefined) return undefined;
    return {
      ...(title === undefined ? {} : { title }),
      ...(typeof header?.cwd === 'string' ? { cwd: header.cwd } : {}),
      ...(header ? { subAgent: header.origin === 'subagent' } : {}),
    };
  }

  /** A session that was loaded told its title before we listened: its log is looked through once. */
  #title(id: string, session: LiveSession | undefined): string | undefined {
    let known = this.#titles.get(id);
    if (known === undefined && session) {
      const told = session.events?.findLast(({ type }) => type === 'session/title')?.data?.title;
      known = typeof told === 'string' ? told : '';
      this.#remember(id, known);
    }
    return known === '' ? undefined : known;
  }

  #remember(id: string, title: string): void {
    this.#titles.delete(id);
    this.#titles.set(id, title);
    const [oldest] = this.#titles.keys();
    if (this.#titles.size > TITLES_MAX && oldest !== undefined) this.#titles.delete(oldest);
  }

  #session(id: string): LiveSession | undefined {
    try {
      const sessions = this.#ctx.get('sessions') as
        { get(id: string): LiveSession | undefined } | undefined;
      return sessions?.get(id);
    } catch {
      // The host is going.
      return undefined;
    }
  }
}

/** A live session of the host, as far as it is read. */
interface LiveSession {
  readonly header?: { readonly cwd?: unknown; readonly origin?: unknown };
  readonly events?: readonly {
    readonly type: string;
    readonly data?: { readonly title?: unknown };
  }[];
}

function version(): string {
  try {
    const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
    return String((JSON.parse(text) as { version?: unknown }).version);
  } catch {
    return 'unknown';
  }
}
