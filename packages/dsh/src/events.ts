/**
 * What has changed lately, told to those who look on as server-sent events. It refuses to grow and
 * to wait: a bounded ring, in which whoever reads too slowly finds a gap and is told so.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { attemptShown, callShown } from './ledger.ts';
import { fixed, Refusal } from './http.ts';
import { routeText } from './settings.ts';
import type { Home } from './home.ts';
import type { Clock, Fact, Live, LiveEvent } from './ports.ts';
import type { Kept } from './keeper.ts';

const KEPT_MAX = 2_048;
const READERS_MAX = 64;
const COMMENT_EVERY_MS = 15_000;
/** A reader that takes nothing for so long is let go. */
const STUCK_MS = 30_000;

type Change = Readonly<Record<string, unknown>> & { readonly event: string };

interface Reader {
  readonly response: ServerResponse;
  at: number;
  blocked: (() => void) | undefined;
}

export class Events {
  readonly #clock: Clock;
  /** Part of each event's id: another process's numbers are not ours. */
  readonly #instance: string;
  readonly #readers = new Set<Reader>();
  readonly #ends: (() => void)[];
  #ring: string[] = [];
  #types: string[] = [];
  #last = 0;
  #comments: (() => void) | undefined;

  constructor(home: Home, live: Live, clock: Clock, instance: string) {
    this.#clock = clock;
    this.#instance = instance;
    this.#ends = [
      live.onEvent((event) => this.#push(liveChange(event))),
      home.keeper.on((kept) => this.#push(keptChange(home, kept))),
      home.settings.on({
        taken: (now, before) => {
          const gone = before.queues.filter(
            ({ id }) => !now.queues.some((queue) => queue.id === id),
          );
          for (const { id } of gone) this.#push({ event: 'queue_deleted', queue: id });
          this.#push({ event: 'settings' });
        },
        refused: () => this.#push({ event: 'settings' }),
      }),
      home.catalog.onChange(() => this.#push({ event: 'catalog' })),
    ];
  }

  /** How many look on. */
  get readers(): number {
    return this.#readers.size;
  }

  /** Takes in a reader, who stays until one of both goes. Throws a [`Refusal`]. */
  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#readers.size >= READERS_MAX)
      throw new Refusal(503, 'too_many', `at most ${READERS_MAX} look on at once`);
    const reader: Reader = { response, at: this.#last, blocked: undefined };
    response.writeHead(200, { 'content-type': 'text/event-stream', ...fixed });
    response.write(': \n\n');
    const since = request.headers['last-event-id'];
    if (typeof since === 'string') this.#goOn(reader, since);
    this.#readers.add(reader);
    response.on('close', () => this.#leave(reader));
    response.on('error', () => this.#leave(reader));
    this.#comment();
    this.#pump(reader);
  }

  /** Everybody is let go, and nothing is heard any more. */
  close(): void {
    for (const end of this.#ends.splice(0)) end();
    for (const reader of this.#readers) {
      this.#leave(reader);
      reader.response.end();
    }
    this.#comments?.();
    this.#comments = undefined;
  }

  #goOn(reader: Reader, since: string): void {
    const [instance, number] = since.split('.');
    const at =
      instance === this.#instance && /^[0-9]{1,15}$/.test(number ?? '') ? Number(number) : -1;
    if (at >= this.#forgotten && at <= this.#last) reader.at = at;
    else this.#reset(reader);
  }

  /** The number up to which changes are forgotten. */
  get #forgotten(): number {
    return this.#last - this.#ring.length;
  }

  #push(change: Change | undefined): void {
    if (!change) return;
    this.#last += 1;
    this.#ring.push(JSON.stringify(change));
    this.#types.push(change.event);
    if (this.#ring.length > KEPT_MAX) {
      this.#ring.shift();
      this.#types.shift();
    }
    for (const reader of this.#readers) this.#pump(reader);
  }

  #pump(reader: Reader): void {
    if (reader.blocked) return;
    if (reader.at < this.#forgotten) this.#reset(reader);
    while (reader.at < this.#last) {
      const index = reader.at - this.#forgotten;
      reader.at += 1;
      const text = `event: ${this.#types[index]}\nid: ${this.#instance}.${reader.at}\ndata: ${this.#ring[index]}\n\n`;
      if (!reader.response.write(text)) return this.#block(reader);
    }
  }

  #reset(reader: Reader): void {
    reader.at = this.#last;
    reader.response.write(
      `event: reset\nid: ${this.#instance}.${reader.at}\ndata: {"event":"reset"}\n\n`,
    );
  }

  #block(reader: Reader): void {
    const stop = this.#clock.setTimer(STUCK_MS, () => reader.response.destroy());
    reader.blocked = stop;
    reader.response.once('drain', () => {
      stop();
      if (reader.blocked !== stop) return;
      reader.blocked = undefined;
      this.#pump(reader);
    });
  }

  #leave(reader: Reader): void {
    reader.blocked?.();
    reader.blocked = () => {};
    this.#readers.delete(reader);
    if (this.#readers.size === 0) {
      this.#comments?.();
      this.#comments = undefined;
    }
  }

  #comment(): void {
    this.#comments ??= this.#clock.setTimer(COMMENT_EVERY_MS, () => {
      this.#comments = undefined;
      for (const reader of this.#readers)
        if (!reader.blocked && !reader.response.write(': \n\n')) this.#block(reader);
      if (this.#readers.size > 0) this.#comment();
    });
  }
}

function liveChange(event: LiveEvent): Change | undefined {
  switch (event.event) {
    case 'call-opened': {
      const { call, session, queue, beganMs } = event.call;
      return { event: 'call_opened', call, session, agent: null, queue, began_ms: beganMs };
    }
    case 'attempt':
      return { event: 'attempt', ...attemptShown(event.row) };
    case 'call-ended':
      return { event: 'call_ended', ...callShown(event.call) };
    case 'fact':
      return factChange(event.fact);
  }
}

/** Of facts, those that no entry of the journal tells. */
function factChange(fact: Fact): Change | undefined {
  if (fact.kind === 'verified' || fact.kind === 'unverified') {
    const { session, queue, route } = fact.place;
    return { event: fact.kind, session, queue, route: routeText(route) };
  }
  if (fact.kind === 'seated' || fact.kind === 'unseated') {
    const { holder } = fact;
    const whose = holder.kind === 'session' ? holder.session : holder.call;
    return {
      event: 'seat',
      route: routeText(fact.route),
      holder: whose,
      held: fact.kind === 'seated',
    };
  }
  return undefined;
}

function keptChange(home: Home, kept: Kept): Change | undefined {
  const { state } = home.keeper;
  switch (kept.kind) {
    case 'journal':
      return { event: 'journal', ...kept.entry };
    case 'tally':
      return {
        event: 'tally',
        route: kept.route,
        today: state.tallies.get(kept.route) ?? { successes: 0, failures: 0 },
      };
    case 'speed': {
      const wrote = state.written(kept.session).find(({ route }) => route === kept.route);
      return (
        wrote && {
          event: 'speed',
          session: kept.session,
          route: kept.route,
          tokens: wrote.tokens,
          ms: Math.round(wrote.ms),
        }
      );
    }
  }
}
