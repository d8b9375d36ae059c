/**
 * P6: the host's adapter for `openai-codex` goes on from the response whose id it saw last, be it of
 * a stream that failed; it would hang on that stump for ever. After a failed stream the session's
 * connection is dropped, so that the next request stands for itself. It touches no other provider,
 * and does nothing where the host has no such adapter.
 */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm';

export const CODEX = 'openai-codex';

/** Lets go of what the adapter keeps for a session. */
export type Drop = (session: string) => Promise<void>;

/** Whether a request is one of those. */
export function isCodex(options: GenerateOptions): boolean {
  return options.provider === CODEX && options.sessionId !== undefined;
}

/** The same stream; a failure drops the session's anchor before it is passed on. */
export async function* watched(
  session: string, stream: AsyncIterable<StreamChunk>, drop: Drop,
): AsyncGenerator<StreamChunk> {
  for await (const chunk of stream) {
    if (chunk.type === 'finish' && chunk.reason.kind === 'error') await drop(session);
    yield chunk;
  }
}

/** Finds the adapter's library where the adapter itself finds it; asked once. */
export function dropper(fault: (message: string) => void): Drop {
  let cleanup: Promise<((session: string) => void) | undefined> | undefined;
  return async (session) => {
    try {
      cleanup ??= library();
      (await cleanup)?.(session);
    } catch (error) {
      fault(`model relay: the anchor of ${CODEX} was not dropped: ${String(error)}`);
    }
  };
}

async function library(): Promise<((session: string) => void) | undefined> {
  const adapter = import.meta.resolve('@deepseek-ai/dsh-llm-pi-ai');
  const manifest = findPackageJSON('@earendil-works/pi-ai', adapter);
  if (manifest === undefined) return undefined;
  const { main } = JSON.parse(readFileSync(manifest, 'utf8')) as { main?: string };
  const entry = pathToFileURL(join(dirname(manifest), main ?? 'index.js')).href;
  const found = await import(entry) as { cleanupSessionResources?: (session: string) => void };
  return found.cleanupSessionResources;
}
