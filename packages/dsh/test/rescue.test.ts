/** Rescue after commit, and provider-private state through a queue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Message } from '@deepseek-ai/dsh-llm';

import { answeredBy, relabel, wrapReplay } from '../src/replay-state.ts';
import {
  answers, assistantMessage, Bench, failure, finish, hangs, queueOf, reasoning, says, serverError,
  session, stop, text, usage, userMessage, type Reader,
} from './core-support.ts';

const torn = says(text('Half a'), failure('TRANSPORT', 'terminated'));

/** A step of the host's loop: request, and the request again as long as the plugin says so. */
async function step(bench: Bench, queue: string, turn: number, number: number): Promise<Reader[]> {
  const read: Reader[] = [];
  for (;;) {
    bench.core.rescue.requesting('session-1', turn, number);
    const reader = await bench.answer(queue);
    read.push(reader);
    if (reader.failure === undefined) return read;
    if (!bench.core.rescue.take('session-1', turn, number)) return read;
  }
}

test('d6_a_step_that_broke_after_commit_starts_anew_with_the_next_candidate', async () => {
  const bench = new Bench([queueOf('q', ['a/torn', 'b/two'])])
    .model('a/torn', torn).model('b/two', answers('Whole.'));
  const [first, second] = await step(bench, 'q', 1, 1);
  assert.deepEqual(first?.failure, { code: 'RELAY_RESCUE', message: 'terminated' });
  assert.equal(second?.text, 'Whole.');
  assert.deepEqual(bench.routes(), ['a/torn', 'b/two']);
  assert.equal(bench.asked[1]?.options.messages.length, 2, 'it counts as a failover (R9)');
  assert.deepEqual(bench.keeper.noted.map((note) => note.what), ['rescued']);
  assert.deepEqual(bench.keeper.attempts.map((row) => row.wasted), [true, false]);
  assert.deepEqual(bench.keeper.of('quarantined').map(({ place }) => place.route.model), ['torn']);
});

test('d6_it_ends_when_no_candidate_is_left_and_the_last_failure_is_told_as_it_is', async () => {
  const bench = new Bench([queueOf('q', ['a/torn', 'b/stalls', 'c/three'], { retries: 0 })])
    .model('a/torn', torn).model('b/stalls', hangs(text('And '), true)).model('c/three', serverError);
  const read = await step(bench, 'q', 1, 1);
  assert.equal(read.length, 3);
  assert.deepEqual(bench.routes(), ['a/torn', 'b/stalls', 'c/three']);
  const last = read.at(-1)?.failure;
  assert.match(last?.message ?? '', /a\/torn: transport_remote; b\/stalls: stall; c\/three: server_error/);
  // All of them torn: nothing is asked again.
  const all = new Bench([queueOf('q', ['a/torn', 'b/torn'], { retries: 0 })])
    .model('a/torn', torn).model('b/torn', torn);
  const told = await step(all, 'q', 1, 1);
  assert.equal(told.length, 2);
  assert.equal(told.at(-1)?.failure?.message, 'terminated');
  assert.equal(told.at(-1)?.failure?.code, 'TRANSPORT', 'which the host does not try again');
});

test('d6_the_next_step_begins_at_the_top_and_knows_nothing_of_the_last', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])])
    .model('a/one', torn, answers('Again.')).model('b/two', answers('Two.'));
  await step(bench, 'q', 1, 1);
  bench.core.release({ what: 'all' });
  const [only] = await step(bench, 'q', 1, 2);
  assert.equal(only?.text, 'Again.');
});

test('d6_off_is_the_seeds_rule_and_some_failures_are_never_rescued', async () => {
  const off = new Bench([queueOf('q', ['a/torn', 'b/two'], {}, false)]).model('a/torn', torn);
  assert.equal((await step(off, 'q', 1, 1)).length, 1);
  const overflow = says(text('Half'), failure('CONTEXT_WINDOW_EXCEEDED', 'prompt is too long'));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', overflow);
  const [only, ...more] = await step(bench, 'q', 1, 1);
  assert.equal(only?.failure?.code, 'CONTEXT_WINDOW_EXCEEDED');
  assert.equal(more.length, 0);
});

test('d6_calls_outside_a_step_and_internal_ones_are_not_rescued', async () => {
  const bench = new Bench([queueOf('q', ['a/torn', 'b/two'])]).model('a/torn', torn)
    .model('b/two', torn);
  await bench.answer('q', session('no-agent'));
  assert.equal(bench.core.rescue.take('no-agent', 1, 1), false);
  bench.core.rescue.requesting('session-1', 1, 1);
  await bench.answer('q', { purpose: 'compaction' });
  assert.equal(bench.core.rescue.take('session-1', 1, 1), false);
});

test('d7_an_answers_state_goes_back_to_its_own_provider', async () => {
  const state = { response: { id: 'resp_1' }, blocks: [{ signature: 'sig' }, null] };
  const bench = new Bench([queueOf('q', ['a/one'])])
    .model('a/one', says(reasoning('Hm.'), text('Said.', 1), usage(), finish({ kind: 'stop' }, state)));
  const reader = await bench.answer('q');
  const last = reader.chunks.at(-1);
  const kept = last?.type === 'finish' ? last.replayState : undefined;
  assert.equal(kept?.blocks?.length, 2, 'as many entries as blocks');
  const stored = assistantMessage('Said.', JSON.parse(JSON.stringify(kept)));
  await bench.answer('q', { messages: [userMessage('a'), stored, userMessage('b')] });
  const source = bench.asked[1]?.options.messages[1]?.source;
  assert.deepEqual(source, { kind: 'model', provider: 'a', model: 'one', replayState: state });
  assert.equal(bench.asked[1]?.options.messages[1]?.id, stored.id);
  assert.equal(Object.isFrozen(bench.asked[1]?.options.messages[1]), true);
  assert.deepEqual(answeredBy(stored), { provider: 'a', model: 'one' });
});

test('d7_an_answer_without_state_keeps_its_name_and_others_are_left_alone', () => {
  const ours = assistantMessage('x', wrapReplay({ provider: 'a', model: 'b/c' }, undefined));
  const foreign: Message = assistantMessage('y', { response: { id: 1 } });
  const user = userMessage('z');
  const [again, other, same] = relabel([ours, foreign, user]);
  assert.deepEqual(again?.source, { kind: 'model', provider: 'a', model: 'b/c' });
  assert.equal(other, foreign);
  assert.equal(same, user);
  assert.equal(relabel([ours])[0], again, 'rebuilt once');
});

test('r10_a_call_that_ends_well_closes_the_hosts_stream', async () => {
  let closed = false;
  const bench = new Bench([queueOf('q', ['a/one'])]).model('a/one', async function* () {
    try {
      yield* text('Hi.');
      yield stop;
    } finally {
      closed = true;
    }
  });
  await bench.answer('q');
  assert.equal(closed, true);
});
