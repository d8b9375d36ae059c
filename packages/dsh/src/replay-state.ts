/**
 * Provider-private replay state through a queue (D7). The host hands such state only to the
 * adapter that owns the message's provider, and ours owns none of it: so an answer is kept with
 * who gave it, and its messages go out under that provider's name again.
 *
 * It reads nothing of the state itself.
 */
import { freezeMessage, type Message, type ReplayEnvelope } from '@deepseek-ai/dsh-llm';

import type { Route } from './ports.ts';

/** Marks an envelope as ours; counted up when its shape changes. */
const MARK = 1;

interface Wrapped {
  readonly ekiden: typeof MARK;
  readonly provider: string;
  readonly model: string;
  /** The inner adapter's response-level state; absent where it gave none. */
  readonly response?: unknown;
}

/** The state to put on our own finish: the inner one's, with its owner's name. */
export function wrapReplay(route: Route, inner: ReplayEnvelope | undefined): ReplayEnvelope {
  const response: Wrapped = {
    ekiden: MARK, provider: route.provider, model: route.model,
    ...(inner === undefined ? {} : { response: inner.response }),
  };
  return inner?.blocks === undefined ? { response } : { response, blocks: inner.blocks };
}

/** Who gave an answer that came through a queue. */
export function answeredBy(message: Message): Route | undefined {
  const wrapped = wrappedOf(message)?.response;
  return wrapped === undefined ? undefined : { provider: wrapped.provider, model: wrapped.model };
}

/** Messages are frozen and keep their identity, so that each is rebuilt once. */
const relabelled = new WeakMap<Message, Message>();

/** The same conversation with our answers under their own providers' names. */
export function relabel(messages: readonly Message[]): Message[] {
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const known = relabelled.get(message);
    if (known !== undefined) return known;
    const wrapped = wrappedOf(message);
    if (wrapped === undefined) return message;
    const inner = 'response' in wrapped.response
      ? { response: wrapped.response.response,
        ...(wrapped.blocks === undefined ? {} : { blocks: wrapped.blocks }) }
      : undefined;
    const { provider, model } = wrapped.response;
    const again = freezeMessage({
      ...message,
      source: { kind: 'model' as const, provider, model,
        ...(inner === undefined ? {} : { replayState: inner }) },
    });
    relabelled.set(message, again);
    return again;
  });
}

function wrappedOf(
  message: Message,
): { readonly response: Wrapped; readonly blocks?: readonly unknown[] } | undefined {
  const source = message.source;
  if (source.kind !== 'model' || !isObject(source.replayState)) return undefined;
  const { response, blocks } = source.replayState as { response?: unknown; blocks?: unknown };
  if (!isObject(response) || response['ekiden'] !== MARK) return undefined;
  const { provider, model } = response;
  if (typeof provider !== 'string' || typeof model !== 'string') return undefined;
  const wrapped = response as unknown as Wrapped;
  return Array.isArray(blocks) ? { response: wrapped, blocks } : { response: wrapped };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
