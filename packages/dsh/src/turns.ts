/**
 * Turns that go on by themselves (R42, R43) and what ran them (R44), for every model of the host.
 * The host's events become the engine's words; whether and when a turn is continued it says; what
 * is sent then goes the way that a user's message goes.
 *
 * It appends nothing to a session, and without the host's agents it is silent.
 */
import type { LlmFailure, UserMessage } from '@deepseek-ai/dsh-llm';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { TurnEndReason } from '@deepseek-ai/dsh-session';

import type { Core } from './core.ts';
import { judge } from './evidence.ts';
import { EMPTY_CODE, ENGINE_LOST_CODE, STOPPED_CODE } from './last-word.ts';
import type { Clock, FailureClass, Plans } from './ports.ts';

/** What is needed of the host's agents. */
export interface Agents {
  get(session: string): { followup(message: UserMessage): void } | undefined;
}

/** What is read of a session's events. */
export interface TurnEvent {
  readonly type: string;
  readonly data: unknown;
}

export interface TurnSession {
  readonly id: string;
  readonly header: { readonly origin?: string };
}

/** Another try would meet the same wall: the host has nothing that could answer. */
const NO_ADAPTER: readonly string[] =
  ['NO_ADAPTER', 'UNKNOWN_MODEL', 'REGISTRATION_DISPOSED', EMPTY_CODE, ENGINE_LOST_CODE];
const NO_CREDENTIAL: readonly string[] = ['MISSING_CREDENTIAL', 'INVALID_CREDENTIAL'];

interface Turn {
  readonly number: number;
  /** Whether the engine has been told who began it. */
  told: boolean;
}

export class Turns {
  readonly #core: Core;
  readonly #plans: Plans;
  readonly #clock: Clock;
  readonly #agents: () => Agents | undefined;
  readonly #open = new Map<string, Turn>();
  readonly #timers = new Map<string, () => void>();
  /** Messages that were sent by us and have not come back as events yet. */
  readonly #ours = new Set<string>();

  constructor(parts: {
    core: Core; plans: Plans; clock: Clock; agents: () => Agents | undefined;
  }) {
    this.#core = parts.core;
    this.#plans = parts.plans;
    this.#clock = parts.clock;
    this.#agents = parts.agents;
    this.#core.onTurn((words) => this.#answered(words));
  }

  /** An event of a session; others than a turn's and a user's are passed over. */
  heard(session: TurnSession, event: TurnEvent): void {
    switch (event.type) {
      case 'turn/start':
        return this.#started(session, event.data as { turn: number });
      case 'user/message':
        return this.#message(session, event.data as UserMessage);
      case 'turn/end':
        return this.#ended(session, event.data as { turn: number; reason: TurnEndReason });
      default:
    }
  }

  /** The session is gone: nothing is sent to it any more. */
  disposed(session: string): void {
    this.#open.delete(session);
    this.#disarm(session);
  }

  close(): void {
    for (const session of [...this.#timers.keys()]) this.#disarm(session);
    this.#open.clear();
    this.#ours.clear();
    this.#core.onTurn(() => {});
  }

  get timers(): number {
    return this.#timers.size;
  }

  #started(session: TurnSession, { turn }: { turn: number }): void {
    this.#disarm(session.id);
    this.#open.set(session.id, { number: turn, told: false });
    this.#core.turnNotes.started(session.id);
    if (session.header.origin === 'subagent') this.#core.sendAbout('sub-agent', session.id);
  }

  /** The message that opens a turn says who began it. */
  #message(session: TurnSession, message: UserMessage): void {
    const ours = this.#ours.delete(message.id);
    const turn = this.#open.get(session.id);
    const user = message.source.kind === 'user' && !ours;
    // A user who steers an open turn begins the counts anew as well.
    if (!user && turn?.told !== false) return;
    if (turn !== undefined) turn.told = true;
    this.#core.sendAbout('turn-started', session.id, user ? 'user' : 'continued');
  }

  #ended(session: TurnSession, { turn, reason }: { turn: number; reason: TurnEndReason }): void {
    const open = this.#open.get(session.id);
    this.#open.delete(session.id);
    this.#core.turnNotes.ended(session.id, turn);
    this.#core.rescue.forget(session.id);
    if (open?.told === false) this.#core.sendAbout('turn-started', session.id, 'continued');
    if (this.#agents() === undefined) return;
    this.#core.sendAbout('turn-ended', session.id, ...this.#endWords(session.id, reason));
  }

  #endWords(session: string, reason: TurnEndReason): readonly string[] {
    switch (reason.kind) {
      case 'completed':
        return ['completed'];
      case 'max-tokens':
        return ['truncated'];
      case 'error':
        return this.#failureWords(session, reason.error);
      case 'aborted':
      case 'blocked':
      case 'interrupted':
        return ['stopped'];
      default:
        // A kind that another plugin has added: nobody knows whether it wants to go on.
        return ['stopped'];
    }
  }

  #failureWords(session: string, failure: LlmFailure): readonly string[] {
    if (failure.code === STOPPED_CODE || failure.code === 'ABORTED') return ['stopped'];
    if (NO_ADAPTER.includes(failure.code)) return ['missing-adapter'];
    if (NO_CREDENTIAL.includes(failure.code)) return ['failed', 'auth'];
    const known = this.#core.knownFailure(session, failure);
    return ['failed', known ?? this.#classOf(failure)];
  }

  #classOf(failure: LlmFailure): FailureClass {
    const classify = (evidence: string): string | undefined => this.#core.engine.classify(evidence);
    return judge(failure, '', this.#clock.wallMs(), classify).class;
  }

  /** `continue SESSION after MS …`, `… now …` or `… not WHY`. */
  #answered(words: readonly string[]): void {
    const [, number, what, ms] = words;
    const session = number === undefined ? undefined : this.#core.sessionOf(number);
    if (session === undefined || session === '') return;
    if (what === 'after') this.#arm(session, Number(ms));
    if (what === 'now') this.#send(session);
  }

  #arm(session: string, ms: number): void {
    this.#disarm(session);
    this.#timers.set(session, this.#clock.setTimer(ms, () => {
      this.#timers.delete(session);
      this.#core.sendAbout('continue-due', session);
    }));
  }

  #disarm(session: string): void {
    this.#timers.get(session)?.();
    this.#timers.delete(session);
  }

  #send(session: string): void {
    const message = createUserMessage({
      content: [{ type: 'text' as const, text: this.#plans.continuation().text }],
      source: { kind: 'user' as const },
    });
    this.#ours.add(message.id);
    try {
      const agent = this.#agents()?.get(session);
      if (agent === undefined) this.#ours.delete(message.id);
      else agent.followup(message);
    } catch {
      // The session or the host is closing: there is nobody to continue for.
      this.#ours.delete(message.id);
    }
  }
}
