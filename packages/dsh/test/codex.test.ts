/** The anchor of one provider's streams. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { StreamChunk } from '@deepseek-ai/dsh-llm';

import { dropper, isCodex, watched } from '../src/codex.ts';
import { failure, request, session, stop, text } from './core-support.ts';

async function read(chunks: StreamChunk[]): Promise<{ dropped: string[]; read: StreamChunk[] }> {
  const dropped: string[] = [];
  const source = (async function* () {
    yield* chunks;
  })();
  const through: StreamChunk[] = [];
  for await (const chunk of watched('s', source, (of) => Promise.resolve(void dropped.push(of)))) {
    through.push(chunk);
  }
  return { dropped, read: through };
}

test('p6_a_failed_stream_drops_the_sessions_anchor_and_a_good_one_keeps_it', async () => {
  const good = [...text('Hi.'), stop];
  assert.deepEqual(await read(good), { dropped: [], read: good });
  const bad = [...text('Hi.'), failure('TRANSPORT', 'terminated')];
  assert.deepEqual(await read(bad), { dropped: ['s'], read: bad });
});

test('p6_no_other_provider_is_touched_and_a_host_without_it_is_left_alone', async () => {
  assert.equal(isCodex(request('q', { provider: 'openai-codex', ...session('s') })), true);
  assert.equal(isCodex(request('q', { provider: 'openai' })), false);
  const faults: string[] = [];
  await dropper((fault) => faults.push(fault))('s');
  assert.match(faults[0] ?? '', /anchor/, 'told, not thrown');
});
