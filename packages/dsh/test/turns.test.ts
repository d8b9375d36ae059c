/** Turns that go on by themselves, and what ran them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createUserMessage, type LlmFailure, type UserMessage } from '@deepseek-ai/dsh-llm';
import type { TurnEndReason } from '@deepseek-ai/dsh-session';

import { Turns, type Agents, type TurnSession } from '../src/turns.ts';
import { answers, Bench, failure, queueOf, says, serverError, session, settled } from './core-support.ts';

/** A host with agents that write down what they are sent. */
class TurnBench {
  readonly bench: Bench;
  readonly sent: UserMessage[] = [];
  readonly turns: Turns;
  agents: Agents | undefined;
  turn = 0;

  constructor(bench = new Bench([queueOf('q', ['a/one'])]).model('a/one', answers('x'))) {
    this.bench = bench;
    this.agents = { get: () => ({ followup: (message) => this.sent.push(message) }) };
    this.turns = new Turns({
      core: bench.core, plans: bench.plans, clock: bench.clock, agents: () => this.agents,
    });
  }

  async ready(): Promise<this> {
    await this.bench.core.engine.ready();
    return this;
  }

  /** A turn begun by a message, and its end. */
  run(reason: TurnEndReason, message: UserMessage = typed(), of: TurnSession = own): void {
    this.turn += 1;
    this.turns.heard(of, { type: 'turn/start', data: { turn: this.turn } });
    this.turns.heard(of, { type: 'user/message', data: message });
    this.turns.heard(of, { type: 'turn/end', data: { turn: this.turn, reason } });
  }

  /** Lets the delay pass, and runs what was sent then. */
  async goOn(reason: TurnEndReason): Promise<boolean> {
    const before = this.sent.length;
    await this.bench.clock.pass(5_000);
    const message = this.sent[before];
    if (message === undefined) return false;
    this.run(reason, message);
    return true;
  }

  /** Why the engine did not let the last turn go on. */
  whyNot(): string | undefined {
    return /^continue \d+ not (\S+)$/m.exec(this.bench.core.recorded().answers.split('\n')
      .findLast((line) => line.startsWith('continue ')) ?? '')?.[1];
  }
}

const own: TurnSession = { id: 'session-1', header: {} };
const typed = (words = 'go'): UserMessage => createUserMessage({
  content: [{ type: 'text', text: words }], source: { kind: 'user' },
});
const cut: TurnEndReason = { kind: 'max-tokens' };
const done: TurnEndReason = { kind: 'completed' };
const stopped: TurnEndReason = { kind: 'aborted', reason: { kind: 'user' } };
const failed = (code: string, message: string): TurnEndReason =>
  ({ kind: 'error', error: { code, message } });
const down = failed('SERVER', '500: upstream exploded');

test('r42_a_truncated_turn_is_continued_as_the_user_would_after_the_delay', async () => {
  const host = await new TurnBench().ready();
  host.run(cut);
  await host.bench.clock.pass(4_999);
  assert.equal(host.sent.length, 0);
  await host.bench.clock.pass(1);
  assert.deepEqual(host.sent.map((message) => [message.source, message.content]),
    [[{ kind: 'user' }, [{ type: 'text', text: '继续' }]]]);
  assert.deepEqual(host.bench.keeper.of('continued').map(({ cause, count }) => [cause, count]),
    [['truncation', 1]]);
});

test('r42_the_two_limits_are_apart_and_a_users_message_or_a_normal_end_resets_both', async () => {
  const host = await new TurnBench().ready();
  host.run(cut);
  for (let count = 1; count <= 9; count += 1) assert.equal(await host.goOn(cut), true, `${count}`);
  assert.equal(await host.goOn(down), true, 'the tenth truncation');
  assert.equal(await host.goOn(down), true, 'the first failure');
  assert.equal(await host.goOn(down), false);
  assert.equal(host.whyNot(), 'limit');
  host.run(cut);
  assert.equal(await host.goOn(done), true, 'the user has spoken');
  assert.equal(await host.goOn(done), false);
  host.run(down);
  assert.equal(await host.goOn(done), true, 'a normal end has reset them');
});

test('r42_a_stop_a_message_or_an_end_during_the_wait_cancels_it', async () => {
  const host = await new TurnBench().ready();
  host.run(down);
  host.run(done, typed('never mind'));
  await host.bench.clock.pass(10_000);
  assert.equal(host.sent.length, 0);
  host.run(stopped);
  await host.bench.clock.pass(10_000);
  assert.equal(host.sent.length, 0);
  host.run(down);
  host.turns.disposed('session-1');
  host.bench.core.endSession('session-1');
  await host.bench.clock.pass(10_000);
  assert.equal(host.sent.length, 0);
  assert.equal(host.turns.timers, 0);
});

test('r42_sub_agents_are_left_to_their_parents', async () => {
  const host = await new TurnBench().ready();
  host.run(down, typed(), { id: 'child', header: { origin: 'subagent' } });
  await host.bench.clock.pass(10_000);
  assert.equal(host.sent.length, 0);
  assert.equal(host.whyNot(), 'sub-agent');
});

test('r43_never_for_overflow_missing_adapter_bad_credential_or_local_network', async () => {
  const cases: [string, string, string][] = [
    ['CONTEXT_WINDOW_EXCEEDED', 'prompt is too long', 'context-overflow'],
    ['NO_ADAPTER', 'no adapter registered for provider "x"', 'missing-adapter'],
    ['MISSING_CREDENTIAL', 'no key', 'auth'],
    ['AUTH', '401: Incorrect API key provided', 'auth'],
    ['TRANSPORT', 'fetch failed: getaddrinfo ENOTFOUND api.example', 'local-network'],
    ['SERVER', 'getaddrinfo EAI_AGAIN api.example', 'local-network'],
  ];
  for (const [code, message, why] of cases) {
    const host = await new TurnBench().ready();
    host.run(failed(code, message));
    await host.bench.clock.pass(10_000);
    assert.deepEqual([host.sent.length, host.whyNot()], [0, why], message);
  }
  // Remote trouble still continues.
  for (const message of ['502: upstream returned 502 Bad Gateway', 'request timed out', 'overloaded']) {
    const host = await new TurnBench().ready();
    host.run(failed('PI_AI_ERROR', message));
    assert.equal(await host.goOn(done), true, message);
  }
});

test('r42_off_is_off_and_without_agents_it_is_silent', async () => {
  const host = await new TurnBench().ready();
  host.bench.plans.set = { ...host.bench.plans.set, onFailure: false };
  host.bench.plans.change(host.bench.plans.queues);
  host.run(down);
  await host.bench.clock.pass(10_000);
  assert.deepEqual([host.sent.length, host.whyNot()], [0, 'off']);
  const headless = await new TurnBench().ready();
  headless.agents = undefined;
  headless.run(cut);
  assert.equal(headless.turns.timers, 0);
  // The host closes while we wait, and throws.
  const closing = await new TurnBench().ready();
  closing.run(cut);
  closing.agents = { get: () => ({ followup: () => { throw new Error('inactive context'); } }) };
  await closing.bench.clock.pass(10_000);
});

test('r42_what_a_queue_told_is_judged_by_its_candidates_not_by_its_words', async () => {
  const unauthorised = says(failure('AUTH', '401: Incorrect API key provided'));
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'], { retries: 0, continueDelayMs: 0 })])
    .model('a/one', unauthorised).model('b/two', unauthorised);
  const host = await new TurnBench(bench).ready();
  const told = (await bench.answer('q')).failure as LlmFailure;
  host.run({ kind: 'error', error: told });
  assert.equal(host.whyNot(), 'auth');
  bench.core.release({ what: 'all' });
  bench.model('b/two', serverError);
  const again = (await bench.answer('q')).failure as LlmFailure;
  host.run({ kind: 'error', error: again });
  assert.equal(await host.goOn(done), true);
});

test('r44_the_turn_tells_which_model_ran_it_only_if_a_queue_did', async () => {
  const host = await new TurnBench().ready();
  const turn = async (number: number, work: () => Promise<unknown>): Promise<void> => {
    host.turns.heard(own, { type: 'turn/start', data: { turn: number } });
    await work();
    host.turns.heard(own, { type: 'turn/end', data: { turn: number, reason: done } });
  };
  host.bench.catalog.models.set('a/one', { name: 'Alpha One' });
  await turn(1, () => host.bench.answer('q'));
  await turn(2, () => Promise.resolve());
  await turn(3, () => host.bench.answer('q', { purpose: 'session-title' }));
  await turn(4, () => host.bench.answer('q'));
  const route = { provider: 'a', model: 'one' };
  assert.deepEqual(host.bench.core.notes('session-1'), [
    { turn: 1, queue: 'q', route, name: 'Alpha One' }, { turn: 4, queue: 'q', route, name: 'Alpha One' },
  ]);
  assert.deepEqual(host.bench.core.notes('other'), []);
});

test('d4_nothing_is_left_after_unloading', async () => {
  const host = await new TurnBench().ready();
  host.run(cut);
  const reader = host.bench.ask('q', session('open'));
  host.turns.close();
  host.bench.core.close();
  await settled();
  assert.equal(host.bench.clock.timers, 0);
  assert.equal(host.bench.plans.heard.size, 0);
  const drained = await reader.drain();
  assert.equal(drained.failure?.code, 'ENGINE_LOST');
});
