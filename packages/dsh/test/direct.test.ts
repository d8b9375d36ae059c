/** Policies for models outside our provider, by the host's steps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LlmFailure } from '@deepseek-ai/dsh-llm';
import type { TurnEndReason } from '@deepseek-ai/dsh-session';

import type { DirectPlan, Route } from '../src/ports.ts';
import { Steps } from '../src/steps.ts';
import { Bench, queueOf, settled, type TestCandidate } from './core-support.ts';

type Policy = 'health' | 'chain' | 'persist';

/** The policy's words after `client_stall`, as the presets have them. */
const WORDS: Record<Policy, readonly (string | number)[]> = {
  health: ['off', 'on', 'all', 'next-call', 1, 60_000, 600_000, 2, 'auth', 'not_found', 'soonest', 'off', 0, 1_000, 30_000, 2_000],
  chain: ['off', 'off', 8, 'empty_response', 'rate_limited', 'overloaded', 'server_error', 'not_found', 'timeout', 'stall',
    'transport_remote', 'in-call', 1, 30_000, 30_000, 0, 'head', 'off', 0, 1_000, 30_000, 2_000],
  persist: ['off', 'off', 'all', 'in-call', 0, 60_000, 600_000, 0, 'wait', 'on', 0, 1_000, 30_000, 2_000],
};

/** A host's loop: one step asks until it has an answer or nobody wants to ask again. */
class Loop {
  readonly bench = new Bench([queueOf('q', ['a/one'])]);
  readonly steps = new Steps(this.bench.core, this.bench.plans);
  readonly asked: string[] = [];
  readonly session = { id: 'session-1', header: {} };
  turn = 0;

  constructor(policy: Policy, ...fallbacks: (string | TestCandidate)[]) {
    const plan = (head: Route): ReturnType<DirectPlan['queueFor']> => {
      const rest = fallbacks.filter((one) => one !== `${head.provider}/${head.model}`);
      const made = queueOf(`${head.provider}/${head.model}`, [{ ...head }, ...rest], {
        retries: 0, rotateAfter: 0, paroleAfterMs: 0, continuing: 'never', commit: 'complete', idleMs: 0,
      });
      // Two words of the shared support stand for the relay's.
      return { ...made, words: (names) => made.words(names).replace(RELAY_WORDS, WORDS[policy].join(' ')) };
    };
    this.bench.plans.directPlan = { policy, queueFor: plan };
  }

  async ready(): Promise<this> {
    await this.bench.core.engine.ready();
    return this;
  }

  /** Answers what the step ended with; `says` is what each model answers. */
  async step(
    head: string, says: (route: string) => LlmFailure | undefined, signal = new AbortController().signal,
  ): Promise<LlmFailure | undefined> {
    this.turn += 1;
    const step = { session: this.session.id, turn: this.turn, step: 1 };
    const [provider = '', model = ''] = head.split('/');
    for (;;) {
      const config = await this.steps.requesting(step, { provider, model, temperature: 1 }, signal);
      const route = `${config.provider}/${config.model}`;
      this.asked.push(route);
      const failure = says(route);
      if (failure === undefined) {
        this.#end({ kind: 'completed' }, true);
        return undefined;
      }
      if (!await this.steps.failed(step, failure, signal)) {
        this.#end({ kind: 'error', error: failure }, false);
        return failure;
      }
    }
  }

  /** The step while time passes as it must. */
  async run(head: string, says: (route: string) => LlmFailure | undefined): Promise<LlmFailure | undefined> {
    let done = false;
    const step = this.step(head, says).finally(() => {
      done = true;
    });
    for (let at = 0; at < 2_000 && !done; at += 1) await this.bench.clock.pass(250);
    assert.ok(done, 'the step ends');
    return step;
  }

  #end(reason: TurnEndReason, answered: boolean): void {
    if (answered) {
      const message = { content: [{ type: 'text', text: 'x' }] };
      this.steps.heard(this.session, { type: 'assistant/message',
        data: { turn: this.turn, step: 1, message, usage: { inputTokens: 1, outputTokens: 5 } } });
    }
    this.steps.heard(this.session, { type: 'turn/end', data: { turn: this.turn, reason } });
  }
}

const RELAY_WORDS = 'on off all in-call 0 60000 600000 0 wait off 0 1000 30000 2000';
const down: LlmFailure = { code: 'SERVER', message: '500: upstream exploded' };
const bad: LlmFailure = { code: 'AUTH', message: '401: Incorrect API key provided' };
const only = (route: string, failure: LlmFailure) => (asked: string): LlmFailure | undefined =>
  asked === route ? failure : undefined;

test('c1_c4_c5_a_head_that_breaks_is_served_by_a_fallback_and_comes_back', async () => {
  const loop = await new Loop('chain', 'b/two').ready();
  assert.equal(await loop.run('a/one', only('a/one', down)), undefined);
  assert.deepEqual(loop.asked, ['a/one', 'b/two']);
  assert.equal(await loop.run('a/one', () => undefined), undefined);
  assert.deepEqual(loop.asked.slice(2), ['b/two'], 'the head cools');
  await loop.bench.clock.pass(30_000);
  await loop.run('a/one', () => undefined);
  assert.deepEqual(loop.asked.slice(3), ['a/one'], 'half open by one real call');
  const switched = loop.bench.keeper.noted.filter((note) => note.what === 'switched');
  assert.deepEqual(switched.map((note) => [note.turn, note.from.model, note.to.model, note.reason]),
    [[1, 'one', 'two', 'threshold'], [2, 'one', 'two', 'threshold']]);
  assert.equal(switched[0]?.failure?.status, 500);
  assert.deepEqual(loop.bench.keeper.of('quarantined'), []);
});

test('c3_c6_other_classes_go_up_and_the_last_fallbacks_failure_is_final', async () => {
  const loop = await new Loop('chain', 'b/two').ready();
  const refused: LlmFailure = { code: 'CONTENT_FILTER', message: '400: content_filter: blocked' };
  assert.equal(await loop.run('a/one', only('a/one', refused)), refused);
  assert.deepEqual(loop.asked, ['a/one']);
  const last: LlmFailure = { code: 'SERVER', message: '503: so does the last' };
  assert.equal(await loop.run('a/one', (route) => (route === 'a/one' ? down : last)), last);
  assert.deepEqual(loop.asked, ['a/one', 'a/one', 'b/two']);
});

test('c8_without_fallbacks_every_failure_passes', async () => {
  const loop = await new Loop('chain').ready();
  for (let turn = 0; turn < 3; turn += 1) assert.equal(await loop.run('a/one', () => down), down);
  assert.deepEqual(loop.asked, ['a/one', 'a/one', 'a/one']);
});

test('h1_h3_h5_health_switches_from_the_next_call_and_stays', async () => {
  const loop = await new Loop('health', 'b/two').ready();
  assert.equal(await loop.run('a/one', only('a/one', down)), down);
  assert.equal(await loop.run('a/one', () => undefined), undefined);
  assert.deepEqual(loop.asked, ['a/one', 'b/two']);
  await loop.bench.clock.pass(120_000);
  await loop.run('a/one', () => undefined);
  assert.equal(loop.asked.at(-1), 'b/two', 'sticky, though the earlier one has recovered');
});

test('h2_a_missing_credential_cools_at_once_to_the_maximum', async () => {
  const loop = await new Loop('health', 'b/two').ready();
  await loop.run('a/one', only('a/one', bad));
  await loop.bench.clock.pass(590_000);
  assert.ok((loop.bench.core.status().routes[0]?.coolingMs ?? 0) > 0);
});

test('p1_p2_a_transient_failure_is_waited_out_on_the_same_step', async () => {
  const loop = await new Loop('persist').ready();
  let left = 5;
  const began = loop.bench.clock.mono;
  assert.equal(await loop.run('a/one', () => (left-- > 0 ? down : undefined)), undefined);
  assert.equal(loop.asked.length, 6);
  assert.ok(loop.bench.clock.mono - began >= 20_000, 'it backs off');
});

test('p3_never_for_what_does_not_pass', async () => {
  const loop = await new Loop('persist').ready();
  for (const failure of [bad, { code: 'QUOTA', message: '402: Insufficient Balance, try again later' },
    { code: 'CONTEXT_WINDOW_EXCEEDED', message: 'prompt is too long' }]) {
    assert.equal(await loop.run('a/one', () => failure), failure);
  }
  assert.equal(loop.asked.length, 3);
});

test('p5_a_pause_a_stop_and_an_abort_end_the_wait', async () => {
  const loop = await new Loop('persist').ready();
  const begin = async (signal?: AbortSignal): Promise<{ step: Promise<LlmFailure | undefined> }> => {
    const step = loop.step('a/one', () => down, signal);
    await loop.bench.clock.pass(3_000);
    return { step };
  };
  const paused = await begin();
  loop.bench.core.pause();
  await loop.bench.clock.pass(60_000);
  assert.equal(await paused.step, down);
  loop.bench.core.resume();
  const stopped = await begin();
  const open = loop.bench.core.calls().find((call) => call.state === 'open');
  assert.equal(loop.bench.core.stop(open?.call ?? ''), true);
  assert.equal(await stopped.step, down);
  const ended = loop.bench.core.call(open?.call ?? '');
  assert.deepEqual([ended?.state, ended?.told], ['stopped', { code: 'stopped' }]);
  const controller = new AbortController();
  const aborted = await begin(controller.signal);
  controller.abort();
  assert.equal(await aborted.step, down);
  await settled();
  assert.equal(loop.bench.clock.timers, 1, 'the day alone');
});

test('direct_none_leaves_every_request_alone', async () => {
  const loop = await new Loop('chain', 'b/two').ready();
  loop.bench.plans.directPlan = { ...loop.bench.plans.directPlan, policy: 'none' };
  assert.equal(await loop.run('a/one', only('a/one', down)), down);
  const asked = { provider: 'ekiden', model: 'q' };
  const step = { session: 's', turn: 1, step: 1 };
  loop.bench.plans.directPlan = { ...loop.bench.plans.directPlan, policy: 'chain' };
  assert.equal(await loop.steps.requesting(step, asked, new AbortController().signal), asked);
});

test('r35_a_fallback_gets_its_own_effort_and_never_the_heads', async () => {
  const loop = await new Loop('chain', { provider: 'b', model: 'two', effort: 'high' }).ready();
  await loop.run('a/one', only('a/one', down));
  const step = { session: 's', turn: 1, step: 1 };
  const asked = { provider: 'a', model: 'one', reasoningEffort: 'max' as never, maxTokens: 9 };
  const signal = new AbortController().signal;
  assert.deepEqual(await loop.steps.requesting(step, asked, signal),
    { provider: 'b', model: 'two', maxTokens: 9 });
  loop.bench.catalog.models.set('b/two', { efforts: ['high'] });
  assert.deepEqual(await loop.steps.requesting({ ...step, step: 2 }, asked, signal),
    { provider: 'b', model: 'two', maxTokens: 9, reasoningEffort: 'high' });
  loop.steps.close();
  assert.equal(loop.bench.clock.timers, 1);
});
