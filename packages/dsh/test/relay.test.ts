/** A call through a queue, against models that do as they are told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  answers, Bench, failure, hangs, queueOf, reasoning, says, serverError, text, usage,
} from './core-support.ts';

test('r2_the_first_candidate_answers', async () => {
  const bench = new Bench([queueOf('q', ['a/one', 'b/two'])]).model('a/one', answers('Hello there.'));
  const reader = await bench.answer('q');
  assert.equal(reader.text, 'Hello there.');
  assert.deepEqual(reader.reason, { kind: 'stop' });
  assert.deepEqual(bench.routes(), ['a/one']);
  assert.deepEqual(bench.faults, []);
  assert.equal(bench.clock.timers, 1, 'the day alone');
});
