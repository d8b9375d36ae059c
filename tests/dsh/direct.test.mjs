// Policies for models outside our provider (`[direct]`): the host's own step is made again, on another route or after a wait. One host
// for each policy.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Stage } from './lab/stage.mjs'
import { answerOf, badKey, cut, exploded, noMoney, ok } from './lab/upstream.mjs'

async function under(direct, models, work) {
  const stage = new Stage({ direct })
  stage.queue('unused', 1)
  stage.models(...models)
  await stage.open()
  try {
    await work(stage)
  } finally {
    await stage.close()
  }
}

/** A turn by a model as the picker offers it. */
async function turn(stage, model, session) {
  return stage.web.turn(session ?? await stage.web.session('mock', model), 'hi')
}

test('C1, C2, C3, C4: a chain takes what the user picked as its head, and its fallbacks when that fails', () =>
  under({ policy: 'chain', fallbacks: ['mock/spare', 'mock/last'], breaker_cooldown: '1s' }, ['head', 'spare', 'last', 'other'], async stage => {
    stage.upstream.plan('head', [exploded(), ok()])
    const session = await stage.web.session('mock', 'head')
    const first = await turn(stage, 'head', session)
    assert.equal(first.text, answerOf('spare'))
    assert.equal(first.reason.kind, 'completed')
    assert.deepEqual(stage.upstream.order('head', 'spare', 'last'), ['head', 'spare'])
    const began = performance.now()
    let text
    do text = (await turn(stage, 'head', session)).text
    while (text !== answerOf('head') && performance.now() - began < 15_000)
    assert.equal(text, answerOf('head'), 'C4, C5: one real call tries it again, and success brings it back')
    const switched = await stage.journal('switched', entry => entry.session === session)
    assert.ok(switched.length > 0, 'C7')
    stage.upstream.plan('other', noMoney())
    assert.equal((await turn(stage, 'other')).reason.kind, 'error', 'C3: a class that does not switch goes up')
    stage.upstream.plan('other', cut('half of it '))
    assert.equal((await turn(stage, 'other')).text, answerOf('spare'), 'D6: what a broken answer wrote is dropped')
  }))

test('C8: without fallbacks everything passes', () =>
  under({ policy: 'chain' }, ['head'], async stage => {
    stage.upstream.plan('head', exploded())
    assert.equal((await turn(stage, 'head')).reason.kind, 'error')
    assert.equal(stage.upstream.of('head').length, 1)
  }))

test('P1, P3, P6: persist waits out what passes on the same open step, and never what does not', () =>
  under({ policy: 'persist', backoff: '100ms', backoff_max: '100ms' }, ['head', 'locked'], async stage => {
    stage.upstream.plan('head', [exploded(), cut('half '), exploded(), ok()])
    const { text, turn: number, messages } = await turn(stage, 'head')
    assert.equal(text, answerOf('head'))
    assert.deepEqual([number, messages.length], [1, 1], 'one turn, one answer')
    assert.equal(stage.upstream.of('head').length, 4)
    stage.upstream.plan('locked', badKey())
    assert.equal((await turn(stage, 'locked')).reason.kind, 'error')
    assert.equal(stage.upstream.of('locked').length, 1)
  }))

test('section 4: with no policy nothing outside our provider is touched', () =>
  under({}, ['head'], async stage => {
    stage.upstream.plan('head', exploded())
    assert.equal((await turn(stage, 'head')).reason.kind, 'error')
    assert.equal(stage.upstream.of('head').length, 1)
  }))
