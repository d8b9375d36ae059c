/**
 * The host's request as a candidate gets it, and what the engine is told of it. The original
 * messages are never changed; the host's options may be frozen to the bottom.
 */
import {
  createUserMessage, type GenerateOptions, type ReasoningEffortId,
} from '@deepseek-ai/dsh-llm';

import type { CandidatePlan, ModelFacts } from './ports.ts';
import { relabel } from './replay-state.ts';
import type { Start } from './words.ts';

/** The request for one candidate: its own effort (R35), its limit, its `continue_text` (R9). */
export function requestFor(
  options: GenerateOptions, candidate: CandidatePlan, known: ModelFacts | undefined, start: Start,
  continueText: string,
): Omit<GenerateOptions, 'signal'> {
  const { reasoningEffort: _outer, maxTokens, signal: _signal, messages, ...rest } = options;
  const effort = start.repair ? undefined : effortFor(candidate, known);
  const most = Math.min(maxTokens ?? Infinity, candidate.maxTokens ?? Infinity);
  const continued = Array.from({ length: start.continues }, () => createUserMessage({
    content: [{ type: 'text' as const, text: continueText }],
    source: { kind: 'user' as const },
  }));
  return {
    ...rest,
    provider: candidate.provider,
    model: candidate.model,
    messages: [...relabel(messages), ...continued],
    ...(Number.isFinite(most) ? { maxTokens: most } : {}),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}

/** The row's level, if the model declares it; one that it does not know would refuse the request. */
export function effortFor(
  candidate: CandidatePlan, known: ModelFacts | undefined,
): ReasoningEffortId | undefined {
  const { effort } = candidate;
  return effort !== undefined && known?.efforts?.includes(effort) === true
    ? effort as ReasoningEffortId : undefined;
}

/** Whether the conversation already has an assistant's turn or a tool's result (R9). */
export function isUnderWay(options: GenerateOptions): boolean {
  return options.messages.some((message) =>
    message.role === 'assistant' || message.source.kind === 'tool');
}

/** A low estimate, four characters a token, so that nobody is passed over wrongly (R15). */
export function estimateTokens(options: GenerateOptions): number {
  let characters = options.system?.length ?? 0;
  for (const message of options.messages) {
    for (const block of message.content) {
      if (block.type === 'text' || block.type === 'reasoning') characters += block.text.length;
      else if (block.type === 'tool-call') characters += block.arguments.length;
      else if (block.type === 'tool-result') {
        for (const part of block.content) if (part.type === 'text') characters += part.text.length;
      }
    }
  }
  return Math.floor(characters / 4);
}
