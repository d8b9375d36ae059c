/**
 * What a provider's stream says, made sure of. It refuses to believe the types: providers are other
 * people's plugins, and a piece that is none is their failure, never that of the call or the host.
 */
import type { LlmFailure, StreamChunk } from '@deepseek-ai/dsh-llm';

/** No named wait is longer, in milliseconds: ten years. What is longer is no time to come back at. */
const WAIT_MAX_MS = 315_360_000_000;

const MALFORMED: LlmFailure = {
  code: 'MALFORMED_RESPONSE', message: 'the provider sent a piece that is no part of an answer',
};

/** Whether a piece is such as its type promises; a type that is not known may pass. */
export function isPiece(value: unknown): value is StreamChunk {
  if (typeof value !== 'object' || value === null) return false;
  const piece = value as Readonly<Record<string, unknown>>;
  switch (piece['type']) {
    case 'text-delta':
    case 'reasoning-delta':
      return typeof piece['text'] === 'string';
    case 'tool-call-delta':
      return typeof piece['argumentsDelta'] === 'string';
    case 'block-end':
      return isBlock(piece['block']);
    case 'usage':
      return typeof piece['usage'] === 'object' && piece['usage'] !== null;
    case 'finish':
      return typeof (piece['reason'] as { kind?: unknown } | null | undefined)?.kind === 'string';
    default:
      return typeof piece['type'] === 'string';
  }
}

function isBlock(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { type, text } = value as { readonly type?: unknown; readonly text?: unknown };
  return type === 'text' || type === 'reasoning' ? typeof text === 'string' : typeof type === 'string';
}

/** The failure that something names, with such numbers alone as can be meant. */
export function failureIn(value: unknown): LlmFailure | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const given = value as Readonly<Record<string, unknown>>;
  const { code, message, status, providerRetryAfterMs: wait } = given;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const isStatus = status === undefined
    || (Number.isInteger(status) && Number(status) >= 100 && Number(status) <= 999);
  const isWait = wait === undefined
    || (typeof wait === 'number' && wait >= 0 && wait <= WAIT_MAX_MS);
  if (isStatus && isWait) return value as LlmFailure;
  const { status: _status, providerRetryAfterMs: _wait, ...rest } = given;
  return {
    ...rest, code, message,
    ...(isStatus && status !== undefined ? { status: Number(status) } : {}),
    ...(isWait && wait !== undefined ? { providerRetryAfterMs: Number(wait) } : {}),
  };
}

/** What something that was thrown tells. */
export function failureOfThrown(error: unknown): LlmFailure {
  const named = typeof error === 'object' && error !== null && 'failure' in error
    ? failureIn(error.failure) : undefined;
  return named ?? { code: 'UNKNOWN', message: error instanceof Error ? error.message : String(error) };
}

/** The failure of a stream that sends what is no part of an answer. */
export function malformed(): LlmFailure {
  return MALFORMED;
}
