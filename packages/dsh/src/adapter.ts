/**
 * The provider `ekiden` of the host: its models are the queues. It answers from what is known,
 * asks no upstream, and never throws into the host; what goes wrong ends a stream with a failure.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

import {
  LlmAdapter, resolveRetryPolicy, type GenerateOptions, type LlmFailure, type LlmModelInfo,
  type LlmProviderInfo, type LlmResolvedModelInfo, type ResolvedRetryPolicy, type StreamChunk,
} from '@deepseek-ai/dsh-llm';

import type { Core } from './core.ts';
import { messageOf } from './engine.ts';
import { LOOP_CODE } from './evidence.ts';
import { engineLostFailure, RESCUED_CODE, unknownModel } from './last-word.ts';
import { routeOf } from './names.ts';
import type { Catalog, Keeper, Plans, QueuePlan, Route } from './ports.ts';
import type { RelayCall } from './relay.ts';
import { relabel } from './replay-state.ts';

/** Our route in the host; never a candidate (R6). */
export const PROVIDER = 'ekiden';

const DISPLAY_NAME = '模型接力 / Model relay';
/** More candidates than this never break in one step: each breaks once. */
const RESCUES_MAX = 1_000;

/**
 * Which call's attempt this code runs for. Another plugin's provider may pass a request on to us:
 * then a queue would contain a queue.
 */
const runningFor = new AsyncLocalStorage<RelayCall>();

/** Streams through the host on behalf of a call. */
export function guarded(
  call: RelayCall, stream: () => AsyncIterable<StreamChunk>,
): AsyncIterable<StreamChunk> {
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = runningFor.run(call, () => stream()[Symbol.asyncIterator]());
      // The first read is what leads to other providers.
      let first = true;
      return {
        next: () => {
          if (!first) return iterator.next();
          first = false;
          return runningFor.run(call, () => iterator.next());
        },
        return: (value?: unknown) =>
          iterator.return?.(value) ?? Promise.resolve({ done: true as const, value }),
      };
    },
  };
}

export class QueueAdapter extends LlmAdapter {
  readonly #core: Core;
  readonly #plans: Plans;
  readonly #catalog: Catalog;
  readonly #keeper: Keeper;
  readonly #straight: (options: GenerateOptions) => AsyncIterable<StreamChunk>;

  constructor(parts: {
    core: Core; plans: Plans; catalog: Catalog; keeper: Keeper;
    /** The host's own stream. */
    straight(options: GenerateOptions): AsyncIterable<StreamChunk>;
  }) {
    super();
    this.#core = parts.core;
    this.#plans = parts.plans;
    this.#catalog = parts.catalog;
    this.#keeper = parts.keeper;
    this.#straight = (options) => parts.straight(options);
  }

  override providerInfo(provider: string): LlmProviderInfo {
    return { id: provider, name: DISPLAY_NAME };
  }

  /**
   * D5: the retries are ours; the host's own would run an exhausted queue five times more. The host
   * makes anew only the step that a rescue asks for (D6): its retry tells the page to drop what was
   * written, which a retry of ours alone does not.
   */
  override providerRetryPolicy(_provider: string): ResolvedRetryPolicy {
    return resolveRetryPolicy({
      mode: 'normal', maxRetries: RESCUES_MAX, retryableCodes: [RESCUED_CODE],
      backoff: { initialDelayMs: 1, maxDelayMs: 1, jitterRatio: 0 },
    }, PROVIDER);
  }

  override listModels(provider: string): Promise<readonly LlmModelInfo[]> {
    return Promise.resolve(this.#plans.all().map((queue) => ({
      provider, id: queue.id, name: queue.name, description: describe(queue),
    })));
  }

  /** No level of effort is declared: each candidate has its own (R35). */
  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    const queue = this.#plans.find(model)?.queue;
    const route = queue === undefined ? this.#routeOf(model) : undefined;
    const window = queue !== undefined ? this.#windowOf(queue)
      : route === undefined ? undefined : this.#catalog.info(route)?.window;
    return Promise.resolve({
      provider, id: model, name: queue?.name ?? model,
      ...(window === undefined ? {} : { context: { contextWindow: window } }),
    });
  }

  override stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const outer = runningFor.getStore();
    if (outer !== undefined && !outer.isOver) {
      return told({ code: LOOP_CODE, message: 'a queue leads back to a queue of the model relay' });
    }
    const found = this.#plans.find(options.model);
    if (found === undefined) return this.#named(options);
    if (found.asked === 'deleted') {
      this.#keeper.note({ what: 'deleted-queue', session: options.sessionId ?? '',
        asked: options.model, queue: found.queue.id });
    }
    return this.#through(found.queue, options);
  }

  #through(queue: QueuePlan, options: GenerateOptions): AsyncIterable<StreamChunk> {
    const core = this.#core;
    if (core.engine.isReady) return core.open(queue, options);
    return later(async () => {
      await core.engine.ready();
      return core.open(queue, options);
    });
  }

  /** R1, C1: `provider/model`, under the policy for models outside our provider. */
  #named(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const route = this.#routeOf(options.model);
    if (route === undefined) return told(this.#unknown(options.model));
    const direct = this.#plans.direct();
    if (direct.policy !== 'none') return this.#through(direct.queueFor(route), options);
    return this.#straight({ ...options, messages: relabel(options.messages), ...route });
  }

  /** The route of that name, if the host has its provider. */
  #routeOf(name: string): Route | undefined {
    const route = routeOf(name);
    return route !== undefined && route.provider !== PROVIDER && this.#catalog.present(route.provider)
      ? route : undefined;
  }

  /** R36: that of the first candidate that has one. */
  #windowOf(queue: QueuePlan): number | undefined {
    for (const candidate of queue.candidates) {
      const window = candidate.window ?? this.#catalog.info(candidate)?.window;
      if (window !== undefined && Number.isInteger(window) && window > 0) return window;
    }
    return undefined;
  }

  #unknown(asked: string): LlmFailure {
    const names = this.#plans.all().map((queue) => queue.id);
    const near = names.map((name) => ({ name, off: distance(asked, name) }))
      .sort((one, other) => one.off - other.off);
    return unknownModel(asked, near.slice(0, 3).map((one) => one.name));
  }
}

function describe(queue: QueuePlan): string {
  const count = queue.candidates.length;
  const first = queue.candidates.slice(0, 3).map((one) => one.model).join(' → ');
  return count === 0 ? '还没有模型 / no candidates yet' : `${first}${count > 3 ? ' → …' : ''}`;
}

/** A stream that is one failure. */
async function* told(failure: LlmFailure): AsyncGenerator<StreamChunk> {
  yield { type: 'finish', reason: { kind: 'error', failure } };
}

/** A stream that begins once something is ready; where that fails it is one failure. */
function later(begin: () => Promise<RelayCall>): AsyncIterable<StreamChunk> {
  let beginning: Promise<RelayCall> | undefined;
  let call: RelayCall | undefined;
  let ended = false;
  return {
    [Symbol.asyncIterator]: () => ({
      async next(): Promise<IteratorResult<StreamChunk>> {
        if (ended) return { done: true, value: undefined };
        try {
          beginning ??= begin();
          call = await beginning;
        } catch (error) {
          if (ended) return { done: true, value: undefined };
          ended = true;
          const failure = engineLostFailure(messageOf(error));
          return { done: false, value: { type: 'finish', reason: { kind: 'error', failure } } };
        }
        // Whoever has left meanwhile opens nothing.
        return ended ? call.return() : call.next();
      },
      async return(): Promise<IteratorResult<StreamChunk>> {
        ended = true;
        return call?.return?.() ?? { done: true, value: undefined };
      },
    }),
  };
}

/** How many letters differ; texts are short. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const same = one[at - 1] === other[to - 1] ? 0 : 1;
      next.push(Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, (row[to - 1] ?? 0) + same));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
