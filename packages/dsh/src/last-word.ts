/**
 * What the host is told when a call has no answer: a failure whose code makes the host do the right
 * thing, in words for people. The engine has chosen which; this only says it (R45).
 */
import { CONTEXT_WINDOW_EXCEEDED_CODE, type LlmFailure } from '@deepseek-ai/dsh-llm';

import type { FailureClass, Told } from './ports.ts';
import type { LastWord } from './words.ts';

/** The queue has no candidate that could answer; asking again would change nothing. */
export const EXHAUSTED_CODE = 'QUEUE_EXHAUSTED';
export const EMPTY_CODE = 'QUEUE_EMPTY';
export const ENGINE_LOST_CODE = 'ENGINE_LOST';
export const STOPPED_CODE = 'STOPPED';
/** An answer broke off and is to be written anew: the one code that the host tries again for us (D6). */
export const RESCUED_CODE = 'RELAY_RESCUE';

/** How a candidate stood when the call gave up. */
export interface Standing {
  /** `provider/model`. */
  readonly route: string;
  /** A failure class, or why it was passed over. */
  readonly state: string;
  readonly class?: FailureClass;
}

/** The failure to end the host's stream with, and how the ledger calls it. */
export function lastWord(
  word: LastWord,
  queue: string,
  candidates: readonly Standing[],
  failureOf: (attempt: number) => { failure: LlmFailure; class: FailureClass } | undefined,
): { readonly failure: LlmFailure; readonly told: Told } {
  const list = candidates.map(({ route, state }) => `${route}: ${state}`).join('; ');
  switch (word.kind) {
    case 'as-it-came': {
      const known = failureOf(word.attempt);
      return {
        failure: known?.failure ?? failed(EXHAUSTED_CODE, exhausted(queue, list)),
        told: { code: 'as_it_came', ...(known === undefined ? {} : { class: known.class }) },
      };
    }
    case 'overflow': {
      const message = failureOf(word.attempt)?.failure.message ?? 'the context window is exceeded';
      return {
        failure: failed(CONTEXT_WINDOW_EXCEEDED_CODE, message),
        told: { code: 'overflow', class: 'context_overflow' },
      };
    }
    case 'come-back': {
      const seconds = Math.min(60, Math.max(1, Math.ceil(word.ms / 1000)));
      const failure = failed('RATE_LIMIT',
        `${exhausted(queue, list)} 请在 ${seconds} 秒后再试 / try again in ${seconds} seconds`);
      return {
        failure: { ...failure, providerRetryAfterMs: seconds * 1000 },
        told: { code: 'come_back', seconds },
      };
    }
    case 'do-not-retry':
      return { failure: failed(EXHAUSTED_CODE, exhausted(queue, list)),
        told: { code: 'do_not_retry' } };
    case 'empty-queue':
      return { failure: failed(EMPTY_CODE, empty(queue)), told: { code: 'empty_queue' } };
    case 'local-network':
      return { failure: failed('TRANSPORT', LOCAL_NETWORK),
        told: { code: 'local_network', class: 'local_network' } };
    case 'deadline':
      return { failure: failed('TIMEOUT', `队列「${queue}」的时限已到 / `
        + `the time for queue “${queue}” is up`), told: { code: 'deadline' } };
    case 'stopped':
      return { failure: failed(STOPPED_CODE, `已停止 / stopped by hand${list && ` (${list})`}`),
        told: { code: 'stopped' } };
    case 'broken':
      return {
        failure: failureOf(word.attempt)?.failure
          ?? failed('TIMEOUT', `回答中断（${word.class}）/ the answer broke off: ${word.class}`),
        told: { code: 'broken', class: word.class },
      };
  }
}

/** An abandoned attempt's failure, which nobody but us has worded. */
export function stallFailure(seconds: number): LlmFailure {
  return failed('TIMEOUT', `${seconds} 秒没有任何输出 / nothing came for ${seconds} seconds`);
}

export function abortedFailure(): LlmFailure {
  return failed('ABORTED', 'the request was aborted');
}

export function engineLostFailure(reason: string): LlmFailure {
  return failed(ENGINE_LOST_CODE,
    `模型接力的引擎不可用（${reason}）/ the engine of the model relay is not available: ${reason}`);
}

/** R1: no queue of that name. */
export function unknownModel(asked: string, nearest: readonly string[]): LlmFailure {
  const hint = nearest.length === 0 ? '' : `; ${nearest.map((name) => `“${name}”`).join(', ')}?`;
  return failed('UNKNOWN_MODEL', `没有叫「${asked}」的队列 / no queue is called “${asked}”${hint}`);
}

function exhausted(queue: string, list: string): string {
  return `队列「${queue}」里没有模型能接 / no candidate of queue “${queue}” could answer (${list}).`;
}

function empty(queue: string): string {
  return `队列「${queue}」还没有模型，请在 设置 → 模型接力 里添加 / queue “${queue}” has no `
    + 'candidates yet: add some in Settings → Model relay.';
}

const LOCAL_NETWORK = '本机网络不通，没有任何模型因此被隔离 / this machine cannot reach the network; '
  + 'no model was blamed for it.';

function failed(code: string, message: string): LlmFailure {
  return { code, message };
}
