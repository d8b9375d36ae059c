/**
 * One request of ours to a candidate, as the host streams it: what came, what is held. It
 * decides nothing and sends nothing.
 */
import type {
  FinishReason, LlmFailure, ReplayEnvelope, StreamChunk, TokenUsage,
} from '@deepseek-ai/dsh-llm';

import type { Evidence, FailureClass, Route } from './ports.ts';

/** What a piece of an answer is to the client. */
export type Beat = 'wire' | 'reasoning' | 'output';

/** How it ended. */
export interface Finished {
  readonly reason: FinishReason;
  readonly replayState?: ReplayEnvelope | undefined;
}

export class Attempt {
  readonly number: number;
  readonly route: Route;
  readonly effortSent: boolean;
  /** Monotonic and Unix time of its start. */
  readonly beganMono: number;
  readonly beganWall: number;
  readonly controller = new AbortController();
  iterator: AsyncIterator<StreamChunk> | undefined;
  /** What hears of its reads; made once, since there are very many. */
  onRead: ((read: IteratorResult<StreamChunk>) => void) | undefined;
  onError: ((error: unknown) => void) | undefined;
  /** A read of the host's stream is under way. */
  reading = false;
  /** How it ends has been said: there is nothing more to read. */
  drained = false;
  committed = false;
  over = false;
  /** Visible output has come, and the engine knows. */
  spoke = false;
  /** Pieces have come that the engine has not been told of: the last one, the last with a token. */
  untold = false;
  pieceAt = 0;
  tokenAt: number | undefined;
  held: StreamChunk[] = [];
  usage: TokenUsage | undefined;
  finished: Finished | undefined;
  failure: LlmFailure | undefined;
  failureClass: FailureClass | undefined;
  evidence: Evidence | undefined;
  /** The clock that ran out on it. */
  silentClock: string | undefined;

  constructor(parts: {
    number: number; route: Route; effortSent: boolean; mono: number; wall: number;
  }) {
    this.number = parts.number;
    this.route = parts.route;
    this.effortSent = parts.effortSent;
    this.beganMono = parts.mono;
    this.beganWall = parts.wall;
  }

  /** Ends it without waiting: whatever it still has to say concerns nobody. */
  abandon(): void {
    this.held = [];
    this.controller.abort();
    this.close();
  }

  /** Nothing more is read of it. */
  close(): void {
    this.over = true;
    const iterator = this.iterator;
    this.iterator = undefined;
    try {
      // A read that never comes back would make this wait for ever.
      void Promise.resolve(iterator?.return?.()).catch(() => {});
    } catch {
      // It is over all the same.
    }
  }
}

/** What a chunk is to the client. */
export function beatOf(chunk: StreamChunk): Beat {
  switch (chunk.type) {
    case 'text-delta':
      return chunk.text === '' ? 'wire' : 'output';
    case 'reasoning-delta':
      return chunk.text === '' ? 'wire' : 'reasoning';
    case 'tool-call-delta':
      return chunk.argumentsDelta === '' && !chunk.name ? 'wire' : 'output';
    case 'block-end':
      return beatOfBlock(chunk.block);
    case 'block-start':
    case 'usage':
    case 'finish':
      return 'wire';
    default:
      // A later host's.
      return 'wire';
  }
}

function beatOfBlock(block: Extract<StreamChunk, { type: 'block-end' }>['block']): Beat {
  switch (block.type) {
    case 'text':
      return block.text === '' ? 'wire' : 'output';
    case 'reasoning':
      return block.text === '' ? 'wire' : 'reasoning';
    case 'tool-call':
    case 'tool-result':
    case 'image':
      return 'output';
    default:
      // A later host's.
      return 'output';
  }
}

/** About how many bytes of an answer a chunk is: what holding it costs. */
export function bytesOf(chunk: StreamChunk): number {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.text.length;
    case 'tool-call-delta':
      return chunk.argumentsDelta.length;
    case 'block-end':
      return 'text' in chunk.block ? chunk.block.text.length : 16;
    case 'block-start':
    case 'usage':
    case 'finish':
      return 16;
    default:
      return 16;
  }
}
