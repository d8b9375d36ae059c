/** A call through a queue, against models that do as they are told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm';

import type { CallStep } from '../src/ports.ts';
import {
  answers, assistantMessage, Bench, failure, finish, hangs, queueOf, reasoning, says, serverError,
  session, settled, slowly, stop, text, usage, userMessage, type Script,
} from './core-support.ts';

const rateLimit = (message: string): ReturnType<typeof says> =>
  says(usage(0), failure('RATE_LIMIT', message));

test('r2_the_first_candidate_answers', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', answers('Hello there.'));
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'Hello there.');
  assert.deepEqual(reader.reason, { kind: 'stop' });
  assert.deepEqual(bench.routes(), ['a/one']);
  assert.deepEqual(bench.faults, []);
  assert.equal(bench.clock.timers, 1, 'the day alone');
  assert.equal(bench.keeper.calls[0]?.state, 'whole');
});

test('r1_an_empty_queue_says_where_to_add_candidates_and_an_unknown_one_names_the_nearest', async () => {
  const bench = new Bench([queueOf('empty', [])]);
  const empty = await bench.answer('empty');
  assert.equal(empty.failure?.code, 'QUEUE_EMPTY');
  assert.match(empty.failure.message, /Settings → Model relay/);
  const unknown = await bench.answer('emty');
  assert.equal(unknown.failure?.code, 'UNKNOWN_MODEL');
  assert.match(unknown.failure.message, /“empty”/);
  bench.plans.deleted.add('gone');
  const deleted = await bench.answer('gone');
  assert.equal(deleted.failure?.code, 'QUEUE_EMPTY', 'it went to the first queue');
  assert.equal(bench.keeper.noted[1]?.what, 'deleted-queue');
});

test('r1_a_model_can_be_asked_for_by_its_own_name_through_us', async () => {
  const bench = new Bench([queueOf('q', ['a/one'])]).model('b/two', answers('Two.'));
  bench.catalog.models.set('b/two', { window: 5_000 });
  assert.equal((await bench.answer('b/two')).text, 'Two.');
  assert.equal((await bench.adapter.resolveModel('ekiden', 'b/two')).context?.contextWindow, 5_000);
  bench.catalog.absent.add('b');
  assert.equal((await bench.answer('b/two')).failure?.code, 'UNKNOWN_MODEL');
  // Under the policy for models outside our provider (C1): the head, then the fallbacks.
  bench.model('c/three', serverError).model('a/one', answers('One.'));
  bench.plans.directPlan = { policy: 'chain',
    queueFor: (head) => queueOf('c/three', [{ ...head }, 'a/one'], { retries: 0, continueDelayMs: 0 }) };
  assert.equal((await bench.answer('c/three')).text, 'One.');
});

test('r7_retries_are_the_same_bytes_and_success_after_one_is_verified', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', serverError, serverError, answers('At last.'));
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'At last.');
  assert.deepEqual(bench.routes(), ['a/one', 'a/one', 'a/one']);
  const [first, second] = bench.asked.map(({ options: { signal: _, ...rest } }) => rest);
  assert.deepEqual(first, second);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  assert.equal(bench.keeper.of('verified').length, 1);
});

test('r8_r9_after_its_retries_a_candidate_is_judged_and_the_next_carries_continue_after_the_delay',
  async () => {
    const bench = new Bench([queueOf('q', ['a/one', 'b/two', 'c/three'])])
      .model('a/one', serverError).model('b/two', serverError).model('c/three', answers('Mine.'));
    const began = bench.clock.mono;
    const reader = await bench.answer('q');
    assert.equal(reader.text, 'Mine.');
    assert.deepEqual(bench.routes(), ['a/one', 'a/one', 'a/one', 'b/two', 'b/two', 'b/two', 'c/three']);
    assert.ok(bench.clock.mono - began >= 10_000, 'two failovers, two delays');
    const words = bench.asked.map(({ options }) => options.messages.slice(1).map(
      (message) => (message.content[0] as { text: string }).text));
    assert.deepEqual(words, [[], [], [], ['继续'], ['继续'], ['继续'], ['继续', '继续']]);
    assert.deepEqual(bench.keeper.of('quarantined').map(({ place }) => place.route.model), ['one', 'two']);
    assert.equal(bench.keeper.of('failed-over').length, 2);
    const [first] = bench.keeper.facts.filter(({ fact }) => fact.kind === 'quarantined');
    assert.deepEqual([first?.evidence?.status, first?.evidence?.code], [500, 'SERVER']);
  });

test('r10_r16_no_byte_of_a_failed_attempt_leaks', async () => {
  const torn = says(text('Half a'), failure('TRANSPORT', 'terminated'));
  const thought = says(reasoning('Hm.'), failure('SERVER', '500: broke'));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 }, false)])
    .model('a/one', thought).model('b/two', answers('Whole.'));
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'Whole.');
  assert.equal(reader.chunks.some((chunk) => chunk.type === 'reasoning-delta'), false);
  assert.equal(reader.chunks.filter((chunk) => chunk.type === 'usage').length, 1);
  // After commit it is told as it is.
  const broken = new Bench([queueOf('q', ['a/one', 'b/two'], {}, false)]).model('a/one', torn);
  const told = await broken.answer('q');
  assert.equal(told.text, 'Half a');
  assert.deepEqual(told.failure, { code: 'TRANSPORT', message: 'terminated' });
  assert.deepEqual(broken.routes(), ['a/one']);
  assert.equal(broken.keeper.calls[0]?.state, 'broken');
  assert.equal(broken.keeper.of('quarantined').length, 1);
});

test('r10_with_first_token_reasoning_streams_through_as_it_comes', async () => {
  const bench = new Bench([queueOf('q', ['a/one'])])
    .model('a/one', slowly(1_000, reasoning('Thinking.'), text('Said.', 1), usage(), stop));
  const reader = bench.ask('q');
  const read = reader.one();
  await bench.clock.pass(2_000);
  assert.equal((await read)?.type, 'block-start');
  const next = await reader.one();
  assert.equal(next?.type, 'reasoning-delta', 'while the answer is still being written');
  await bench.finish(reader);
  assert.equal(reader.text, 'Said.');
});

test('r11_a_stall_is_abandoned_without_waiting_not_retried_and_judged', async () => {
  const bench = new Bench([queueOf('q', ['a/deaf', 'b/two'])])
    .model('a/deaf', hangs([], true)).model('b/two', answers('Here.'));
  const began = bench.clock.mono;
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'Here.');
  assert.deepEqual(bench.routes(), ['a/deaf', 'b/two']);
  const took = bench.clock.mono - began;
  assert.ok(took >= 125_000 && took < 127_000, `${took}`);
  assert.equal(bench.keeper.of('quarantined')[0]?.quarantine.class, 'stall');
  assert.equal(bench.asked[0]?.options.signal?.aborted, true);
  assert.deepEqual(bench.keeper.noted.map((note) => note.what), ['stalled']);
});

test('r11_every_chunk_reasoning_too_starts_the_idle_clock_anew', async () => {
  const slow = slowly(100_000, reasoning('One.'), reasoning('Two.', 1), text('Said.', 2), stop);
  const bench = new Bench([queueOf('q', ['a/slow', 'b/two'])]).model('a/slow', slow);
  const reader = bench.ask('q');
  const drained = reader.drain();
  await bench.clock.pass(1_100_000);
  await drained;
  assert.equal(reader.text, 'Said.');
  assert.deepEqual(bench.routes(), ['a/slow']);
});

test('r11_no_clock_runs_while_the_host_does_not_read', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', answers('One two three.'));
  const reader = bench.ask('q');
  await reader.one();
  await bench.clock.pass(290_000);
  await bench.finish(reader);
  assert.equal(reader.text, 'One two three.');
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  // One that never reads again is gone.
  const gone = bench.ask('q');
  await gone.one();
  await bench.clock.pass(900_000);
  assert.equal(bench.keeper.calls.at(-1)?.state, 'left');
  assert.equal(bench.clock.timers, 1);
});

test('r12_an_abort_is_nobodys_failure_and_cancels_at_once', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', hangs());
  const stopper = new AbortController();
  const reader = bench.ask('q', { signal: stopper.signal });
  const drained = reader.drain();
  await bench.clock.pass(1_000);
  stopper.abort();
  await drained;
  assert.equal(reader.reason?.kind, 'aborted');
  assert.equal(bench.asked[0]?.options.signal?.aborted, true);
  await settled();
  assert.deepEqual(bench.keeper.kinds().filter((kind) => kind === 'quarantined'), []);
  assert.equal(bench.keeper.calls[0]?.state, 'left');
  // Aborted before it began: nobody is asked.
  const late = await bench.answer('q', { signal: AbortSignal.abort() });
  assert.equal(late.reason?.kind, 'aborted');
  assert.equal(bench.asked.length, 1);
  // During the delay before a failover.
  const waiting = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
    .model('a/one', serverError).model('b/two', answers('No.'));
  const other = new AbortController();
  const waits = waiting.ask('q', { signal: other.signal });
  const ends = waits.drain();
  await waiting.clock.pass(2_000);
  other.abort();
  await ends;
  assert.deepEqual(waiting.routes(), ['a/one']);
  assert.equal(waiting.clock.timers, 1);
});

test('r12_a_host_that_breaks_out_of_the_stream_has_left', async () => {
  const bench = new Bench([queueOf('q', ['a/one'])])
    .model('a/one', hangs(text('Hello there. '), true));
  const reader = bench.ask('q');
  await reader.one();
  await reader.iterator.return?.();
  await settled();
  assert.equal(bench.asked[0]?.options.signal?.aborted, true);
  assert.equal(bench.keeper.calls[0]?.state, 'left');
  assert.equal((await reader.iterator.next()).done, true);
});

test('r13_an_empty_answer_and_a_stream_without_an_end_are_failures', async () => {
  const empty = says(usage(0), stop);
  const cut = says(reasoning('Hm.'));
  const bench = new Bench([queueOf('q', ['a/empty', 'b/cut', 'c/three'], { retries: 0 }, false)])
    .model('a/empty', empty).model('b/cut', cut).model('c/three', answers('Full.'));
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'Full.');
  assert.deepEqual(bench.keeper.of('quarantined').map(({ quarantine }) => quarantine.class),
    ['empty_response', 'transport_remote']);
});

test('r14_a_truncation_goes_out_as_it_is_and_two_in_a_row_turn_the_ring', async () => {
  const cut = says(text('Cut'), usage(), finish({ kind: 'max-tokens' }));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', cut).model('b/two', cut);
  for (let turn = 0; turn < 6; turn += 1) {
    const reader = await bench.answer('q');
    assert.deepEqual(reader.reason, { kind: 'max-tokens' });
  }
  assert.deepEqual(bench.routes(), ['a/one', 'a/one', 'b/two', 'b/two', 'a/one', 'a/one']);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  assert.ok(bench.keeper.of('rotated').length >= 2);
});

test('r15_overflow_is_the_hosts_own_code_before_any_visible_chunk', async () => {
  const words = "400: This model's maximum context length is 8192 tokens.";
  for (const code of ['CONTEXT_WINDOW_EXCEEDED', 'PI_AI_ERROR', 'INVALID_REQUEST']) {
    const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
      .model('a/one', says(usage(0), failure(code, words)));
    const reader = await bench.answer('q');
    assert.equal(reader.failure?.code, 'CONTEXT_WINDOW_EXCEEDED');
    assert.equal(reader.chunks.length, 1);
    assert.deepEqual(bench.routes(), ['a/one']);
    assert.deepEqual(bench.keeper.of('quarantined'), []);
  }
});

test('r21_r22_a_rate_limit_cools_until_the_time_that_its_text_names', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { continueDelayMs: 0 })])
    .model('a/one', rateLimit('429: Rate limit reached, retry after 25s'), answers('Back.'))
    .model('b/two', answers('Stand-in.'));
  assert.equal((await bench.answer('q')).text, 'Stand-in.');
  assert.deepEqual(bench.keeper.of('cooled').map(({ ms, class: how }) => [ms, how]),
    [[25_000, 'rate_limited']]);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  assert.equal((await bench.answer('q')).text, 'Stand-in.', 'still cooling');
  await bench.clock.pass(25_000);
  assert.equal((await bench.answer('q')).text, 'Back.');
});

test('r21_a_wait_that_the_host_hands_over_counts_as_named', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { continueDelayMs: 0 })])
    .model('a/one', says(failure('RATE_LIMIT', 'slow down', { providerRetryAfterMs: 40_000 })))
    .model('b/two', answers('Stand-in.'));
  await bench.answer('q');
  assert.equal(bench.keeper.of('cooled')[0]?.ms, 40_000);
});

test('r23_a_short_named_wait_is_waited_for', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', rateLimit('429: Rate limit reached, retry after 2s'), answers('Here.'));
  const began = bench.clock.mono;
  assert.equal((await bench.answer('q')).text, 'Here.');
  assert.deepEqual(bench.routes(), ['a/one', 'a/one']);
  assert.ok(bench.clock.mono - began >= 2_000);
});

test('r24_r25_r27_a_seat_is_the_sessions_until_it_ends', async () => {
  const narrow = { provider: 'a', model: 'one', maxSessions: 1 };
  const bench = new Bench([queueOf('q', [narrow, 'b/two'])])
    .model('a/one', answers('One.')).model('b/two', answers('Two.'));
  assert.equal((await bench.answer('q', session('first'))).text, 'One.');
  assert.equal((await bench.answer('q', session('second'))).text, 'Two.');
  assert.equal((await bench.answer('q', session('first'))).text, 'One.');
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  bench.core.endSession('first');
  assert.equal((await bench.answer('q', session('second'))).text, 'Two.', 'it rests');
  await bench.clock.pass(5_000);
  assert.equal((await bench.answer('q', session('second'))).text, 'One.');
  const [route] = bench.core.status().routes.filter((one) => one.route.provider === 'a');
  assert.deepEqual(route?.holders, [{ kind: 'session', session: 'second' }]);
});

test('r24_a_candidate_that_leaves_its_queue_gives_its_seats_back', async () => {
  const narrow = { provider: 'a', model: 'one', maxSessions: 1 };
  const bench = new Bench([queueOf('q', [narrow, 'b/two'])])
    .model('a/one', answers('One.')).model('b/two', answers('Two.'));
  await bench.answer('q', session('first'));
  bench.plans.change([queueOf('q', ['b/two'])]);
  assert.equal(bench.keeper.of('unseated').length, 1);
  assert.equal((await bench.answer('q', session('first'))).text, 'Two.');
});

test('r5_when_nothing_can_run_the_host_is_told_when_to_come_back', async () => {
  const bench = new Bench([queueOf('q', ['a/one'])])
    .model('a/one', rateLimit('429: Rate limit reached, retry after 300s'));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'RATE_LIMIT');
  const ms = reader.failure.providerRetryAfterMs ?? 0;
  assert.ok(ms >= 1_000 && ms <= 60_000, `${ms}`);
  assert.ok(Number.isInteger(ms / 1_000));
  const again = await bench.answer('q');
  assert.match(again.failure?.message ?? '', /a\/one: cooling \d+ s/);
});

test('r45_the_last_word_names_each_candidate_with_its_class', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two',
    { provider: 'gone', model: 'x', present: false }], { retries: 0, continueDelayMs: 0, waitMaxMs: 0,
    paroleAfterMs: 0 })])
    .model('a/one', says(failure('AUTH', '401: Incorrect API key provided')))
    .model('b/two', says(failure('QUOTA', '402: Insufficient Balance')));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'QUEUE_EXHAUSTED');
  assert.match(reader.failure.message, /a\/one: auth; b\/two: quota_exhausted; gone\/x: missing/);
  assert.equal(bench.keeper.calls[0]?.told?.code, 'do_not_retry');
  // A universal refusal goes out as it came.
  const refused = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', says(failure('CONTENT_FILTER', '400: content_filter: blocked')));
  const filtered = await refused.answer('q');
  assert.deepEqual([filtered.failure?.code, filtered.failure?.message],
    ['CONTENT_FILTER', '400: content_filter: blocked']);
});

test('r47_internal_calls_choose_with_the_sessions_view_and_write_nothing_to_it', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
    .model('a/one', serverError).model('b/two', answers('A title'));
  const reader = await bench.answer('q', { purpose: 'session-title', maxTokens: 64 });
  assert.equal(reader.text, 'A title');
  assert.deepEqual(bench.asked.map(({ options }) => [options.purpose, options.maxTokens,
    options.messages.length]), [['session-title', 64, 1], ['session-title', 64, 1]],
  'no continue_text, the limit kept');
  assert.deepEqual(bench.keeper.of('quarantined').map(({ place }) => place.session), ['']);
  assert.equal(bench.core.session('session-1')?.verified.length ?? 0, 0);
  assert.deepEqual(bench.keeper.attempts.map((row) => row.internal), [true, true]);
});

test('r35_the_rows_effort_is_sent_only_where_the_model_declares_it', async () => {
  const row = { provider: 'a', model: 'one', effort: 'high', maxTokens: 1_000 };
  const bench = new Bench([queueOf('q', [row])]).model('a/one', answers('x'));
  const outer = { reasoningEffort: 'max' as NonNullable<GenerateOptions['reasoningEffort']> };
  await bench.answer('q', outer);
  assert.equal('reasoningEffort' in (bench.asked[0]?.options ?? {}), false);
  bench.catalog.models.set('a/one', { efforts: ['low', 'high'] });
  await bench.answer('q', { ...outer, maxTokens: 4_000 });
  assert.equal(bench.asked[1]?.options.reasoningEffort, 'high');
  assert.equal(bench.asked[1]?.options.maxTokens, 1_000);
  // A level that is no longer declared is left out, once, at nobody's expense.
  const refusal = failure('UNSUPPORTED_REASONING_EFFORT',
    'provider "a" model "one" does not support reasoning effort "high"');
  bench.model('a/one', says(refusal), answers('Without.'));
  assert.equal((await bench.answer('q')).text, 'Without.');
  assert.equal('reasoningEffort' in (bench.asked[3]?.options ?? {}), false);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
});

test('r43_local_network_trouble_blames_nobody', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', says(failure('TRANSPORT', 'fetch failed: getaddrinfo ENOTFOUND api.example')));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'TRANSPORT');
  assert.match(reader.failure.message, /cannot reach the network/);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  assert.equal(bench.routes().includes('b/two'), false);
});

test('r6_a_queue_that_leads_back_to_a_queue_is_told_once_and_nobody_is_judged', async () => {
  const bench: Bench = new Bench([queueOf('q', ['other/virtual', 'b/two'])])
    .model('other/virtual', () => bench.adapter.stream({ provider: 'ekiden', model: 'q', messages: [] }));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'QUEUE_LOOP');
  assert.deepEqual(bench.routes(), ['other/virtual']);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
});

test('r0_switched_off_nothing_is_held_retried_judged_or_recorded', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { relay: 'off' })])
    .model('a/one', serverError);
  const reader = await bench.answer('q');
  assert.deepEqual(reader.failure, { code: 'SERVER', message: '500: upstream exploded' });
  assert.deepEqual(bench.routes(), ['a/one']);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
});

test('r17_what_was_kept_is_recalled_and_the_day_turns_it_away', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { paroleAfterMs: 0 })])
    .model('a/one', answers('One.')).model('b/two', answers('Two.'));
  const day = bench.plans.day(bench.clock.wall);
  const place = [bench.names.session('session-1'), bench.names.queue('q'),
    bench.names.route({ provider: 'a', model: 'one' })].join(' ');
  bench.keeper.recalled = [`quarantined ${place} server_error ${day.number} ${bench.clock.wall} - - 0 0 0`];
  assert.equal((await bench.answer('q')).text, 'Two.');
  assert.equal((await bench.answer('q', session('other'))).text, 'One.', 'per session');
  await bench.clock.pass(day.endsMs - bench.clock.wall + 1);
  assert.equal(bench.keeper.of('turned').at(-1)?.day, day.number + 1);
  assert.equal((await bench.answer('q')).text, 'One.');
});

test('r19_release_by_hand_is_for_one_session', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0, paroleAfterMs: 0 })])
    .model('a/one', serverError, serverError, answers('One.')).model('b/two', answers('Two.'));
  await bench.answer('q', session('first'));
  await bench.answer('q', session('second'));
  bench.core.release({ what: 'session', session: 'first' });
  assert.equal((await bench.answer('q', session('first'))).text, 'One.');
  assert.equal((await bench.answer('q', session('second'))).text, 'Two.');
});

test('r20_calls_without_a_session_are_background', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
    .model('a/one', serverError, answers('One.')).model('b/two', answers('Two.'));
  const { sessionId: _, ...options } = { ...session('x') };
  await bench.finish(bench.ask('q', { ...options, sessionId: undefined } as never));
  assert.deepEqual(bench.keeper.of('quarantined').map(({ place }) => place.session), ['']);
  assert.equal((await bench.answer('q', session('real'))).text, 'One.');
});

test('r30_r34_the_ledger_has_a_row_an_attempt_and_waste_told_apart', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
    .model('a/one', serverError).model('b/two', slowly(100, text('One two. '), usage(42), stop));
  await bench.answer('q');
  const rows = bench.keeper.attempts;
  assert.deepEqual(rows.map((row) => [row.attempt, row.wasted, row.state, row.class ?? null,
    row.outputTokens ?? null]), [[1, true, 'unknown', 'server_error', null], [2, false, 'complete', null, 42]]);
  assert.ok((rows[1]?.speakingMs ?? 0) > 0);
  assert.equal(bench.core.session('session-1')?.speeds[0]?.tokens, 42);
});

test('r33_every_call_explains_itself_while_it_runs_and_afterwards', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 1, continueDelayMs: 1_000 })])
    .model('a/one', serverError).model('b/two', answers('Two.'));
  await bench.answer('q');
  const [view] = bench.core.calls();
  const call = bench.core.call(view?.call ?? '');
  assert.deepEqual(call?.steps.map((step) => step.step), ['began', 'failed', 'began', 'failed',
    'passed_over', 'paused', 'began', 'ended']);
  assert.equal(call?.steps.at(-1)?.['finish'], 'stop');
  assert.equal(call?.steps[4]?.['route'], 'a/one');
  assert.match(bench.core.trace(call?.call ?? '') ?? '', /^ekiden-trace /);
  const dry = bench.core.dryRun('q', 'session-1');
  assert.deepEqual([dry?.would, dry?.route?.model, dry?.steps[0]?.['reason']],
    ['run', 'two', 'quarantined']);
  assert.equal(bench.core.dryRun('q', undefined)?.route?.model, 'one');
});

test('r33_r14_every_candidate_is_named_with_the_reason_for_its_place', async () => {
  const cut = says(text('Cut'), usage(), finish({ kind: 'max-tokens' }));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two',
    { provider: 'gone', model: 'x', present: false }], { continueDelayMs: 0 })])
    .model('a/one', cut).model('b/two', cut);
  const told = (steps: readonly CallStep[] | undefined): string[] => (steps ?? [])
    .filter((step) => 'route' in step)
    .map((step) => `${String(step['route'])} ${String(step['reason'] ?? step.step)}`);
  const last = (): readonly CallStep[] | undefined =>
    bench.core.call(bench.core.calls()[0]?.call ?? '')?.steps;
  const lack = { code: 'no_provider', provider: 'gone' };
  await bench.answer('q');
  assert.deepEqual(told(last()), ['a/one began', 'b/two not_reached', 'gone/x missing']);
  assert.deepEqual(last()?.at(-1)?.['lack'], lack);
  await bench.answer('q');
  const rotated = ['a/one rotated', 'b/two began', 'gone/x missing'];
  const dry = bench.core.dryRun('q', 'session-1');
  assert.deepEqual(told(dry?.steps), rotated);
  await bench.answer('q');
  assert.deepEqual(told(last()), rotated);
});

test('r33_r3_who_stands_behind_the_verified_is_named_with_the_reason', async () => {
  const limited = says(failure('RATE_LIMIT', '429: slow down', { providerRetryAfterMs: 5_000 }));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two', 'c/three'],
    { retries: 0, continueDelayMs: 0 })])
    .model('a/one', serverError).model('b/two', limited).model('c/three', answers('Three.'));
  await bench.answer('q');
  await bench.clock.pass(6_000);
  const dry = bench.core.dryRun('q', 'session-1');
  assert.deepEqual(dry?.steps.map((step) => [step['route'], step['reason'] ?? step.step]),
    [['a/one', 'quarantined'], ['b/two', 'unverified'], ['c/three', 'began']]);
});

test('r9_auto_continues_only_what_is_under_way', async () => {
  const queue = queueOf('q', ['a/one', 'b/two'], { retries: 0, continuing: 'auto' });
  const bench = new Bench([queue]).model('a/one', serverError).model('b/two', answers('x'));
  await bench.answer('q', session('fresh'));
  assert.equal(bench.asked[1]?.options.messages.length, 1);
  const messages = [userMessage('a'), assistantMessage('b'), userMessage('c')];
  await bench.answer('q', { ...session('ongoing'), messages });
  assert.equal(bench.asked[3]?.options.messages.length, 4);
});

test('p5_a_call_can_be_stopped_by_hand', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })]).model('a/one', serverError)
    .model('b/two', answers('Never.'));
  const reader = bench.ask('q');
  const drained = reader.drain();
  await bench.clock.pass(1_000);
  const [open] = bench.core.calls();
  assert.equal(bench.core.stop(open?.call ?? ''), true);
  await drained;
  assert.equal(reader.failure?.code, 'STOPPED');
  assert.equal(bench.core.stop(open?.call ?? ''), false);
  // While an attempt runs: it is cancelled, and nobody is blamed.
  const silent = new Bench([queueOf('q', ['a/deaf', 'b/two'])]).model('a/deaf', hangs([], true));
  const hung = silent.ask('q');
  const ends = hung.drain();
  await silent.clock.pass(1_000);
  assert.equal(silent.core.stop(silent.core.calls()[0]?.call ?? ''), true);
  await ends;
  assert.equal(hung.failure?.code, 'STOPPED');
  assert.equal(silent.asked[0]?.options.signal?.aborted, true);
  assert.deepEqual(silent.keeper.of('quarantined'), []);
  isToldAsStopped(silent);
});

test('p5_an_answer_that_is_stopped_after_output_is_told_as_stopped_and_not_rescued', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', hangs(text('Some').slice(0, 2))).model('b/two', answers('Never.'));
  const reader = bench.ask('q');
  const drained = reader.drain();
  await bench.clock.pass(1_000);
  assert.equal(bench.core.stop(bench.core.calls()[0]?.call ?? ''), true);
  await drained;
  assert.equal(reader.failure?.code, 'STOPPED');
  assert.equal(bench.asked.length, 1);
  isToldAsStopped(bench);
});

test('d4_a_stream_that_throws_at_once_is_a_failure_of_its_candidate', async () => {
  const throws = (): never => {
    throw new Error('503: cannot even begin');
  };
  const odd = (): AsyncIterable<never> => ({ [Symbol.asyncIterator]: () => ({ next: throws }) });
  const bench = new Bench([queueOf('q', ['a/one', 'b/odd', 'c/three'], { retries: 0, continueDelayMs: 0 })])
    .model('a/one', throws).model('b/odd', odd).model('c/three', answers('Three.'));
  assert.equal((await bench.answer('q')).text, 'Three.');
  assert.deepEqual(bench.keeper.of('quarantined').map(({ quarantine }) => quarantine.class),
    ['overloaded', 'overloaded']);
  assert.deepEqual(bench.faults, []);
});

test('r8_r11_a_deadline_ends_the_call_and_blames_nobody', async () => {
  const bench = new Bench([{ ...queueOf('q', ['a/one', 'b/two']), deadlineMs: 10_000 }])
    .model('a/one', hangs([], true));
  const reader = await bench.answer('q');
  assert.equal(reader.failure?.code, 'TIMEOUT');
  assert.deepEqual(bench.routes(), ['a/one']);
  assert.deepEqual(bench.keeper.of('quarantined'), []);
  assert.deepEqual(bench.keeper.noted.map((note) => note.what), ['refused']);
});

test('the_hosts_options_may_be_frozen_to_the_bottom', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
    .model('a/one', serverError).model('b/two', answers('x'));
  const freeze = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null && !(value instanceof AbortSignal)) {
      for (const part of Object.values(value)) freeze(part);
      Object.freeze(value);
    }
    return value;
  };
  const reader = bench.ask('q', freeze({ messages: [userMessage('a'), assistantMessage('b')],
    tools: [{ name: 't', description: '', parameters: {} }] }));
  await bench.finish(reader);
  assert.equal(reader.text, 'x');
  assert.equal(bench.asked[1]?.options.tools?.length, 1);
});

test('d4_what_is_no_piece_of_an_answer_is_a_failure_of_its_candidate', async () => {
  const odd = (value: unknown): StreamChunk => value as StreamChunk;
  const iterating = (iterator: unknown): Script =>
    (() => ({ [Symbol.asyncIterator]: () => iterator })) as unknown as Script;
  const reading = (read: unknown): Script => iterating({ next: () => Promise.resolve(read) });
  const broken: Record<string, Script> = {
    'no iterator': iterating(null),
    'no value': reading({ done: false, value: null }),
    'no read': reading({}),
    'a finish without a reason': says(odd({ type: 'finish' })),
    'an error without a failure': says(odd({ type: 'finish', reason: { kind: 'error' } })),
    'a failure of numbers': says(odd({ type: 'finish',
      reason: { kind: 'error', failure: { code: 5, message: 7 } } })),
    'a delta without text': says(odd({ type: 'text-delta', index: 0 })),
    'arguments that are none': says(odd({ type: 'tool-call-delta', index: 0, id: 't' })),
    'an end of nothing': says(odd({ type: 'block-end', index: 0 })),
    'something thrown that names no failure': iterating(
      { next: () => Promise.reject(Object.assign(new Error('x'), { failure: {} })) }),
    'a wait without end': says(failure('RATE_LIMIT', 'slow down', { providerRetryAfterMs: Infinity })),
    'a wait of ages': says(failure('RATE_LIMIT', 'slow down', { providerRetryAfterMs: 1e21 })),
    'a return that throws': iterating({
      next: () => Promise.resolve({ done: false, value: failure('SERVER', '500: broke') }),
      return: () => { throw new Error('not even that'); },
    }),
  };
  for (const [what, script] of Object.entries(broken)) {
    const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0 })])
      .model('a/one', script).model('b/two', answers('Well.'));
    assert.equal((await bench.answer('q')).text, 'Well.', what);
    assert.deepEqual([bench.routes(), bench.faults], [['a/one', 'b/two'], []], what);
  }
});

test('d4_numbers_that_cannot_be_meant_and_pieces_of_a_later_host_do_no_harm', async () => {
  for (const tokens of [1e300, Number.NaN, -5, Number.MAX_SAFE_INTEGER]) {
    const bench = new Bench([queueOf('q', ['a/one'])])
      .model('a/one', says({ type: 'later' } as unknown as StreamChunk, text('Fine.'), usage(tokens), stop));
    assert.equal((await bench.answer('q')).text, 'Fine.', String(tokens));
    assert.deepEqual(bench.faults, [], String(tokens));
  }
});

test('r12_a_host_that_leaves_while_the_engine_is_made_ready_opens_nothing', async () => {
  const bench = new Bench([queueOf('q', ['a/one'])]).model('a/one', answers('Late.'));
  const reader = bench.ask('q');
  const [read, left] = [reader.iterator.next(), reader.iterator.return?.()];
  assert.deepEqual(await read, { done: true, value: undefined });
  assert.deepEqual(await left, { done: true, value: undefined });
  await settled();
  assert.deepEqual([bench.routes(), bench.keeper.calls], [[], []]);
});

/** In the call's record and in the journal; as nobody's stall. */
function isToldAsStopped(bench: Bench): void {
  const call = bench.core.call(bench.core.calls()[0]?.call ?? '');
  assert.deepEqual([call?.state, call?.told], ['stopped', { code: 'stopped' }]);
  assert.ok(call?.steps.some((step) => step.step === 'stopped'), JSON.stringify(call?.steps));
  assert.deepEqual(bench.keeper.noted.map(({ what }) => what), ['refused'], 'no stall');
}
