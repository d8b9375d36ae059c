/**
 * The host's steps under a policy for models outside our provider: from the host's events to direct
 * calls. It remembers one open step a session, and decides nothing.
 */
import type { LlmCallConfig, LlmFailure } from '@deepseek-ai/dsh-llm';
import type { TurnEndReason } from '@deepseek-ai/dsh-session';

import { PROVIDER } from './adapter.ts';
import type { Core } from './core.ts';
import type { DirectCall, StepOf } from './direct.ts';
import { routeText } from './names.ts';
import type { Plans } from './ports.ts';
import type { TurnEvent, TurnSession } from './turns.ts';

export class Steps {
  readonly #core: Core;
  readonly #plans: Plans;
  readonly #open = new Map<string, DirectCall>();

  constructor(core: Core, plans: Plans) {
    this.#core = core;
    this.#plans = plans;
  }

  /** What the host's next request is, where it would ask for `asked`. Never rejects. */
  async requesting(step: StepOf, asked: LlmCallConfig, signal: AbortSignal): Promise<LlmCallConfig> {
    if (asked.provider === PROVIDER || this.#plans.direct().policy === 'none') return asked;
    if (!this.#core.engine.isReady || !this.#plans.enabled()) return asked;
    const known = this.#open.get(step.session);
    const same = known !== undefined && !known.isOver && known.step.turn === step.turn
      && known.step.step === step.step && known.head === routeText(asked);
    const call = same ? known : this.#begin(step, asked, signal);
    const index = await call.decision();
    return index === undefined ? asked : call.configFor(index, asked);
  }

  /** Whether the failed request is to be made again. Never rejects. */
  async failed(step: StepOf, failure: LlmFailure, signal: AbortSignal): Promise<boolean> {
    const call = this.#of(step);
    if (call === undefined || signal.aborted) return false;
    return call.failed(failure);
  }

  /** Answers and ends of turns; other events are passed over. */
  heard(session: TurnSession, event: TurnEvent): void {
    const call = this.#open.get(session.id);
    if (call === undefined) return;
    if (event.type === 'assistant/message') this.#answered(call, event.data as Answered);
    if (event.type === 'turn/end') {
      this.#turned(call, (event.data as { reason: TurnEndReason }).reason);
      this.#open.delete(session.id);
    }
  }

  disposed(session: string): void {
    this.#open.get(session)?.leave();
    this.#open.delete(session);
  }

  close(): void {
    for (const session of [...this.#open.keys()]) this.disposed(session);
  }

  #begin(step: StepOf, asked: LlmCallConfig, signal: AbortSignal): DirectCall {
    this.#open.get(step.session)?.leave();
    const head = { provider: asked.provider, model: asked.model };
    const call = this.#core.openDirect(head, step, signal);
    this.#open.set(step.session, call);
    return call;
  }

  #of(step: StepOf): DirectCall | undefined {
    const call = this.#open.get(step.session);
    return call?.step.turn === step.turn && call.step.step === step.step ? call : undefined;
  }

  #answered(call: DirectCall, { turn, step, message, usage, interrupted }: Answered): void {
    if (call.step.turn !== turn || call.step.step !== step) return;
    if (interrupted === true) return call.leave();
    const calls = message.content.some((block) => block.type === 'tool-call');
    call.succeeded(usage, calls ? 'tool-calls' : 'stop');
  }

  /** What fails before a request is made reaches no other event (H2). */
  #turned(call: DirectCall, reason: TurnEndReason): void {
    if (call.isOver) return;
    if (reason.kind === 'error') void call.failed(reason.error);
    call.leave();
  }
}

interface Answered {
  readonly turn: number;
  readonly step: number;
  readonly message: { readonly content: readonly { readonly type: string }[] };
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly interrupted?: true;
}
