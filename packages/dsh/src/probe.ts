/**
 * Asks every candidate of a queue straight whether it answers (R39). It refuses to go through the
 * relay: nothing is judged, counted, seated or kept.
 */
import {
  createUserMessage,
  type GenerateOptions,
  type LlmFailure,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm';
import { inTime, inTurn } from './catalog.ts';
import { codeOf, messageOf } from './files.ts';
import { kept } from './masked.ts';
import { routeText } from './settings.ts';
import type { Clock, Evidence, FailureClass, Route } from './ports.ts';

const AT_ONCE = 4;
const PATIENCE_MS = 15_000;
const OUTPUT_TOKENS = 8;

/** One candidate's answer, as the interface shows it. */
export interface Tested {
  readonly route: string;
  readonly ok: boolean;
  readonly took_ms: number;
  readonly class: FailureClass | null;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
}

export interface ProbeFrom {
  readonly clock: Clock;
  stream(options: GenerateOptions): AsyncIterable<StreamChunk>;
  /** What kind of failure that is. */
  judge(
    failure: LlmFailure,
    provider: string,
  ): { readonly class: FailureClass; readonly evidence: Evidence };
}

/** Tests candidates, four at a time; the answers are in their order. It does not reject. */
export async function probe(from: ProbeFrom, routes: readonly Route[]): Promise<readonly Tested[]> {
  const tested: Tested[] = [];
  await inTurn(routes, AT_ONCE, async (route, at) => {
    tested[at] = await one(from, route);
  });
  return tested;
}

async function one(from: ProbeFrom, route: Route): Promise<Tested> {
  const began = from.clock.monoMs();
  const failure = await asked(from, route);
  const took_ms = Math.max(0, Math.round(from.clock.monoMs() - began));
  const base = { route: routeText(route), took_ms };
  if (!failure) return { ...base, ok: true, class: null, status: null, code: null, message: null };
  const judged = from.judge(failure, route.provider);
  const { status, code, message } = kept(judged.class, judged.evidence);
  return { ...base, ok: false, class: judged.class, status, code, message };
}

/** How it failed; none: it answers. A truncated answer shows that it writes. */
async function asked(from: ProbeFrom, { provider, model }: Route): Promise<LlmFailure | undefined> {
  try {
    return await inTime(from.clock, PATIENCE_MS, async (signal) => {
      const messages = [
        createUserMessage({
          content: [{ type: 'text', text: 'hi' }],
          source: { kind: 'plugin', plugin: 'ekiden' },
        }),
      ];
      const chunks = from.stream({ provider, model, messages, maxTokens: OUTPUT_TOKENS, signal });
      for await (const chunk of chunks) {
        if (chunk.type !== 'finish') continue;
        const { reason } = chunk;
        return reason.kind === 'error' || reason.kind === 'aborted' ? reason.failure : undefined;
      }
      return { code: 'STREAM_CLOSED', message: 'the answer ended without an end' };
    });
  } catch (error) {
    const late = error instanceof Error && error.message.startsWith('no answer within');
    return { code: late ? 'TIMEOUT' : (codeOf(error) ?? 'UNKNOWN'), message: messageOf(error) };
  }
}
