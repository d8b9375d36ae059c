import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, request as ask, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createUserMessage, type GenerateOptions, type StreamChunk } from '@deepseek-ai/dsh-llm';
import { QueueAdapter } from '../src/adapter.ts';
import { Core } from '../src/core.ts';
import { Endpoints } from '../src/endpoints.ts';
import { Events } from '../src/events.ts';
import { judge } from '../src/evidence.ts';
import { refusal } from '../src/guard.ts';
import { openHome } from '../src/home.ts';
import type { Live } from '../src/ports.ts';
import { loaderFrom } from '../src/load.ts';
import { NameTable } from '../src/names.ts';
import type { OperationsFrom } from '../src/asking.ts';
import { operations } from '../src/operations.ts';
import { RelayService } from '../src/service.ts';
import { perSecond } from '../src/views.ts';
import {
  answers,
  failure,
  hangs,
  says,
  serverError,
  settled,
  stop,
  TestClock,
  text,
  usage,
  WASM,
  type Script,
} from './core-support.ts';
import { folderFor } from './home-support.ts';
import { answerOf, isShared, misfits, schema } from './openapi.ts';

const SECRET = 'sk-marker-0123456789abcdef';
const PROMPT = 'MARKER-PROMPT';
const ANSWER = 'MARKER-ANSWER';

/** Kinds of journal entries that only this host has. */
const OWN_KINDS = [
  'turn_continued',
  'turn_not_continued',
  'rescued',
  'switched',
  'engine_lost',
  'served_instead',
  'seed_taken',
  'seed_refused',
];

interface Told {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  // What an answer holds is what a test is about to look into.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
  readonly text: string;
}

interface Options {
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

async function served(
  t: TestContext,
  document: unknown = {
    queues: {
      default: {
        name: '默认模板',
        candidates: ['mock/bad', { route: 'mock/good', max_sessions: 2, effort: 'low' }],
      },
      empty: {},
    },
  },
) {
  const path = folderFor(t);
  mkdirSync(join(path, 'ekiden'));
  writeFileSync(join(path, 'ekiden', 'settings.json'), JSON.stringify(document));
  const clock = new TestClock();
  const home = openHome(path, clock, {
    listProviders: () => [{ id: 'mock', name: 'Mock' }],
    listModels: () =>
      Promise.resolve([
        { id: 'good', name: 'Good' },
        { id: 'bad', name: 'Bad' },
      ]),
    resolveModelInfo: () =>
      Promise.resolve({
        context: { contextWindow: 1_000 },
        reasoning: { efforts: [{ id: 'low' }] },
      }),
  });
  const scripts: Record<string, Script> = {
    bad: says(usage(0), failure('QUOTA', `402: no credit for ${SECRET} ${'x'.repeat(500)}`)),
    good: answers(ANSWER),
    cut: says(text(ANSWER), failure('TRANSPORT', 'terminated')),
    hangs: hangs(),
    server: serverError,
    filtered: says(failure('CONTENT_FILTER', PROMPT)),
  };
  const stream = (options: GenerateOptions): AsyncIterable<StreamChunk> =>
    (scripts[options.model] ?? says(stop))(options, clock);
  const core = new Core({
    clock,
    waiting: clock,
    plans: home.plans,
    keeper: home.keeper,
    catalog: home.catalog,
    names: new NameTable(),
    loader: loaderFrom(WASM),
    instance: 'i1',
    stream: (_, options) => stream(options),
    fault: (message) => faults.push(message),
  });
  const faults: string[] = [];
  const adapter = new QueueAdapter({ core, ...home, straight: stream });
  await core.engine.ready();
  const of: OperationsFrom = {
    home,
    live: core,
    version: '0',
    instance: 'i1',
    nowMs: () => clock.wallMs(),
    timers: () => clock.timers,
    facts: (session) =>
      session === 's-sub'
        ? { subAgent: true, cwd: '/w' }
        : session === 's1'
          ? { title: 'One', cwd: '/w' }
          : undefined,
    probing: {
      clock,
      stream,
      judge: (said, provider) =>
        judge(said, provider, clock.wallMs(), (evidence) => core.engine.classify(evidence)),
    },
  };
  const events = new Events(home, core, clock, 'i1');
  const endpoints = new Endpoints(operations(of), events, clock, (message) => faults.push(message));
  const server = createServer((request, response) => void endpoints.handle(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  t.after(async () => {
    events.close();
    core.close();
    home.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    assert.deepEqual(faults, []);
    assert.equal(clock.timers, 0, 'timers left');
  });
  const run = async (
    session: string | undefined,
    model = 'default',
    over: Partial<GenerateOptions> = {},
  ) => {
    const messages = [
      createUserMessage({ content: [{ type: 'text', text: PROMPT }], source: { kind: 'user' } }),
    ];
    const chunks: StreamChunk[] = [];
    const done = (async () => {
      for await (const chunk of adapter.stream({
        provider: 'ekiden',
        model,
        messages,
        ...(session ? { sessionId: session as never } : {}),
        ...over,
      }))
        chunks.push(chunk);
    })();
    await clock.pass(6_000);
    return { done, chunks };
  };
  const tell = (method: string, at: string, options: Options = {}) =>
    told(port, method, `/ekiden/api/v1${at}`, options);
  return { clock, core, home, of, run, tell, port, events, path, scripts };
}

function told(
  port: number,
  method: string,
  path: string,
  { body, raw, headers }: Options = {},
): Promise<Told> {
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const sent = ask(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        agent: false,
        headers: {
          ...(text === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const whole = Buffer.concat(parts).toString('utf8');
          const json = response.headers['content-type'] === 'application/json';
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: whole,
            body: json ? (JSON.parse(whole) as unknown) : whole,
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end(text);
  });
}

test("shared paths answer in the gateway's shapes, and no secret, prompt or answer is in any", async (t) => {
  const { run, tell, clock, home, path } = await served(t);
  await (
    await run('s1')
  ).done;
  await (
    await run(undefined)
  ).done;
  await (
    await run('s2', 'empty')
  ).done;
  const open = await run('s3', 'default', {});
  await open.done;
  await home.catalog.rescan();
  await home.keeper.flush();
  const call = (await tell('GET', '/calls')).body.past.at(-1).call as string;
  const hash = (await tell('GET', '/settings')).body.hash as string;
  const file = (await tell('GET', '/export')).body as unknown;
  const asked: readonly (readonly [
    method: string,
    template: string,
    at: string,
    options?: Options,
  ])[] = [
    ['GET', '/state', '/state'],
    ['GET', '/sessions', '/sessions?limit=1'],
    ['GET', '/sessions/{session}', '/sessions/s1'],
    ['GET', '/sessions/{session}', '/sessions/background'],
    ['GET', '/sessions/{session}', '/sessions/nobody'],
    ['GET', '/sessions/{session}/notes', '/sessions/s1/notes'],
    ['GET', '/calls', '/calls?limit=5'],
    ['GET', '/calls/{call}', `/calls/${call}`],
    ['GET', '/calls/{call}/trace', `/calls/${call}/trace`],
    ['GET', '/calls/{call}', '/calls/none'],
    ['GET', '/journal', '/journal'],
    ['GET', '/journal', '/journal?what=refused&limit=1'],
    ['GET', '/ledger', '/ledger'],
    ['GET', '/ledger', '/ledger?by=route&limit=1'],
    ['GET', '/ledger/attempts', '/ledger/attempts'],
    ['GET', '/ledger/attempts', `/ledger/attempts?call=${call}`],
    ['GET', '/catalog', '/catalog'],
    ['GET', '/export', '/export'],
    ['GET', '/settings', '/settings'],
    ['POST', '/queues/{queue}/dry-run', '/queues/default/dry-run', { body: { session: 's1' } }],
    ['POST', '/queues/{queue}/dry-run', '/queues/empty/dry-run', { body: {} }],
    ['POST', '/queues/{queue}/dry-run', '/queues/none/dry-run', { body: {} }],
    ['POST', '/queues/{queue}/test', '/queues/default/test', { body: {} }],
    ['POST', '/release', '/release', { body: { session: 's1' } }],
    ['POST', '/release', '/release', { body: { route: 'mock/bad' } }],
    [
      'POST',
      '/release',
      '/release',
      { body: { session: 's2', queue: 'default', route: 'mock/bad' } },
    ],
    ['POST', '/release', '/release', { body: { queue: 'default' } }],
    ['POST', '/release', '/release', { body: { all: true } }],
    ['POST', '/sessions/{session}/end', '/sessions/s2/end', { body: {} }],
    ['POST', '/pause', '/pause', { body: { session: 's1' } }],
    ['POST', '/resume', '/resume', { body: {} }],
    ['POST', '/calls/{call}/stop', '/calls/none/stop', { body: {} }],
    ['POST', '/queues', '/queues', { body: { name: 'My queue', routes: ['gone/x'] } }],
    ['PUT', '/queues', '/queues', { body: { order: ['empty', 'default', 'my-queue'] } }],
    ['PATCH', '/queues/{queue}', '/queues/my-queue', { body: { name: '甲' } }],
    ['PATCH', '/queues/{queue}', '/queues/my-queue', { body: { name: 1 } }],
    ['DELETE', '/queues/{queue}', '/queues/my-queue'],
    ['DELETE', '/queues/{queue}', '/queues/my-queue?candidates=1'],
    ['POST', '/import', '/import', { body: file }],
    ['POST', '/import', '/import', { body: { ...(file as object), version: 2 } }],
    ['PATCH', '/settings', '/settings', { body: { changes: [] } }],
    [
      'PATCH',
      '/settings',
      '/settings',
      {
        body: { changes: [{ do: 'set', path: 'reset_hour', value: 3 }] },
        headers: { 'if-match': `"${hash}"` },
      },
    ],
    ['POST', '/settings/reload', '/settings/reload', { body: {} }],
    ['POST', '/catalog/rescan', '/catalog/rescan', { body: {} }],
    ['POST', '/catalog/rescan', '/catalog/rescan', { body: { providers: ['mock'] } }],
    ['POST', '/catalog/rescan', '/catalog/rescan', { body: { providers: ['none'] } }],
  ];
  const statuses: string[] = [];
  for (const [method, template, at, options] of asked) {
    const answer = await tell(method, at, options);
    statuses.push(`${method} ${at} ${answer.status}`);
    const form =
      answer.status >= 400 ? schema('Failure') : answerOf(method, template, answer.status);
    if (isShared(method, template)) {
      assert.notEqual(
        form,
        undefined,
        `${method} ${at}: the gateway does not answer ${answer.status}`,
      );
      const { entries } = answer.body as { entries?: { what: string }[] };
      const shown =
        template === '/journal' && entries
          ? { ...answer.body, entries: entries.filter(({ what }) => !OWN_KINDS.includes(what)) }
          : answer.body;
      assert.deepEqual(misfits(shown, form ?? false), [], `${method} ${at}`);
    }
    for (const marker of [SECRET, 'marker-0123', PROMPT, ANSWER])
      assert.ok(!answer.text.includes(marker), `${marker} in ${method} ${at}`);
  }
  assert.deepEqual(
    statuses.filter((line) => !/ 20[01]$/.test(line)),
    [
      'GET /sessions/nobody 404',
      'GET /calls/none 404',
      'POST /queues/none/dry-run 404',
      'POST /release 400',
      'POST /calls/none/stop 404',
      'PATCH /queues/my-queue 400',
      'DELETE /queues/my-queue 409',
      'POST /import 400',
      'PATCH /settings 428',
      'PATCH /settings 412',
      'POST /catalog/rescan 404',
    ],
  );
  await home.keeper.flush();
  for (const name of readdirSync(join(path, 'ekiden'))) {
    const kept = readFileSync(join(path, 'ekiden', name), 'utf8');
    for (const marker of [SECRET, 'marker-0123', PROMPT, ANSWER])
      assert.ok(!kept.includes(marker), `${marker} in ${name}`);
  }
  await clock.pass(1);
});

test('r17 r29 r30 r31 the state shows who is out and why, tallies, speeds, what runs', async (t) => {
  const { run, tell, clock } = await served(t);
  await (
    await run('s1')
  ).done;
  const state = (await tell('GET', '/state')).body;
  const [queue] = state.queues;
  assert.deepEqual(
    queue.candidates.map((row: Record<string, unknown>) => [
      row['route'],
      row['state'],
      row['today'],
      row['context_window'],
      row['max_sessions'],
      row['effort'],
    ]),
    [
      ['mock/bad', 'ready', { successes: 0, failures: 1 }, 1_000, null, null],
      ['mock/good', 'ready', { successes: 1, failures: 0 }, 1_000, 2, 'low'],
    ],
  );
  assert.deepEqual([queue.context_window, queue.compaction_point], [1_000, 800], 'r36');
  const [session] = state.sessions;
  assert.deepEqual(
    [session.key, session.title, session.running_now, session.seats],
    ['s1', 'One', 'mock/good', ['mock/good']],
  );
  const [out] = session.quarantined;
  assert.deepEqual(
    [out.route, out.class, out.evidence],
    ['mock/bad', 'quota_exhausted', undefined],
  );
  for (const at of ['/sessions/s1', '/sessions']) {
    const { body } = await tell('GET', at);
    const { evidence } = (body.sessions?.[0] ?? body).quarantined[0];
    assert.deepEqual([evidence.code, evidence.message.length], ['QUOTA', 400], at);
  }
  assert.deepEqual(session.verified, [{ queue: 'default', route: 'mock/good' }]);
  const call = (await tell('GET', '/calls')).body.past[0];
  assert.deepEqual(
    call.attempts.map((row: Record<string, unknown>) => [row['route'], row['class']]),
    [
      ['mock/bad', 'quota_exhausted'],
      ['mock/bad', 'quota_exhausted'],
      ['mock/bad', 'quota_exhausted'],
      ['mock/good', null],
    ],
  );
  const steps = (await tell('GET', `/calls/${call.call}`)).body.steps as Record<string, unknown>[];
  assert.deepEqual(
    steps.map(({ step, route }) =>
      route === undefined ? step : `${String(step)} ${String(route)}`,
    ),
    [
      ...Array.from({ length: 3 }, () => ['began mock/bad', 'failed']).flat(),
      'passed_over mock/bad',
      'asked_for_seat mock/good',
      'paused',
      'began mock/good',
      'ended',
    ],
    'r33',
  );
  const dry = await tell('POST', '/queues/default/dry-run', { body: { session: 's1' } });
  assert.deepEqual([dry.body.would, dry.body.route], ['run', 'mock/good']);
  assert.equal(
    (await tell('POST', '/queues/default/dry-run', { body: {} })).body.route,
    'mock/bad',
  );
  assert.deepEqual((await tell('POST', '/release', { body: { session: 's1' } })).body, {
    released: 'session',
    for_everybody: false,
  });
  assert.deepEqual((await tell('GET', '/sessions/s1')).body.quarantined, []);
  assert.equal(perSecond(994, 100_000), 9.9);
  assert.equal(perSecond(995, 100_000), 10);
  assert.equal(perSecond(0, 5), null);
  await clock.pass(1);
});

test('sub-agents are left out and other workspaces shown, unless it is set otherwise', async (t) => {
  const { run, tell, home } = await served(t, {
    queues: { default: { candidates: ['mock/good'] } },
  });
  for (const session of ['s1', 's-sub', 'unknown']) await (await run(session)).done;
  const keys = async (query = '') =>
    ((await tell('GET', `/sessions${query}`)).body.sessions as { key: string }[])
      .map(({ key }) => key)
      .sort();
  assert.deepEqual(await keys(), ['s1', 'unknown'], 'one that nobody knows stays');
  assert.deepEqual(await keys('?cwd=/other'), ['s1', 'unknown']);
  const { sessions, next } = (await tell('GET', '/sessions?limit=1')).body;
  assert.equal(sessions[0].key, next);
  assert.equal((await tell('GET', `/sessions?limit=1&after=${next}`)).body.next, null);
  home.settings.change(undefined, [
    { do: 'set', path: 'appearance.subagent_sessions', value: true },
    { do: 'set', path: 'appearance.foreign_sessions', value: false },
  ]);
  assert.deepEqual(await keys(), ['s-sub', 's1', 'unknown']);
  assert.deepEqual(await keys('?cwd=/other'), ['unknown']);
});

test("d3 only this machine's own pages are answered", async (t) => {
  const { port, tell } = await served(t);
  const status = async (headers: Record<string, string>, method = 'GET') =>
    (await told(port, method, '/ekiden/api/v1/state', { headers })).status;
  assert.equal(await status({}), 200);
  for (const host of [`localhost:${port}`, '127.0.0.1', '[::1]:1', '127.9.9.9', 'localhost.'])
    assert.equal(await status({ host }), 200, host);
  for (const host of [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '127.0.0.999',
    'a:b:c',
  ]) {
    assert.equal(await status({ host }), 403, host);
  }
  const own = `http://127.0.0.1:${port}`;
  assert.equal(await status({ origin: own }), 200);
  for (const origin of [
    'http://evil.example',
    'null',
    `http://127.0.0.1:${port + 1}`,
    `http://localhost:${port}`,
    `${own}/x`,
    'file://',
  ]) {
    assert.equal(await status({ origin }), 403, origin);
  }
  assert.equal(await status({ 'sec-fetch-site': 'same-origin' }), 200);
  assert.equal(await status({ 'sec-fetch-site': 'none' }), 200);
  for (const site of ['cross-site', 'same-site'])
    assert.equal(await status({ 'sec-fetch-site': site }), 403, site);
  const post = await tell('POST', '/release', {
    body: { all: true },
    headers: { 'sec-fetch-site': 'none' },
  });
  assert.equal(post.status, 403);
  assert.equal(post.headers['access-control-allow-origin'], undefined);
  const far = {
    socket: { remoteAddress: '192.168.1.9' },
    headers: { host: 'localhost' },
    method: 'GET',
  };
  assert.match(refusal(far as unknown as IncomingMessage) ?? '', /only this machine/);
  const mapped = {
    socket: { remoteAddress: '::ffff:127.0.0.1' },
    headers: { host: 'localhost' },
    method: 'GET',
  };
  assert.equal(refusal(mapped as unknown as IncomingMessage), undefined);
});

test('d3 bodies are JSON and bounded, methods and parameters are those that are known', async (t) => {
  const { tell, port } = await served(t);
  const code = async (method: string, at: string, options?: Options) => {
    const { status, body } = await tell(method, at, options);
    return `${status} ${body.error?.code}`;
  };
  assert.equal(
    await code('POST', '/release', {
      raw: '{"all":true}',
      headers: { 'content-type': 'text/plain' },
    }),
    '415 bad_body',
  );
  assert.equal(await code('POST', '/release', { raw: '{' }), '400 bad_body');
  assert.equal(await code('POST', '/release', { raw: '[]' }), '400 bad_body');
  const noText = Buffer.from([...Buffer.from('{"session":"'), 0xff, ...Buffer.from('"}')]);
  assert.equal(await code('POST', '/release', { raw: noText }), '400 bad_body');
  assert.equal(await code('POST', '/release', { body: { al: true } }), '400 bad_body');
  assert.equal(
    await code('POST', '/release', { raw: `{"x":"${'y'.repeat(1024 * 1024)}"}` }),
    '413 bad_body',
  );
  assert.equal(await code('POST', '/state', { body: {} }), '405 no_such_method');
  assert.equal(await code('OPTIONS', '/state'), '405 no_such_method');
  assert.equal(await code('GET', '/nothing'), '404 no_such_path');
  assert.equal((await told(port, 'GET', '/ekiden/api/v2/state')).status, 404);
  assert.equal((await told(port, 'GET', '/ekiden/api/v1/sessions/%E0%A4%A')).status, 404);
  for (const query of ['?limit=0', '?limit=1001', '?limit=1&limit=2', '?limi=1', '?limit=x'])
    assert.equal(await code('GET', `/calls${query}`), '400 bad_query', query);
  assert.equal(await code('GET', '/ledger?by=model'), '400 bad_query');
  assert.equal(
    await code('PATCH', '/settings', {
      body: { changes: [{ do: 'sett' }] },
      headers: { 'if-match': 'x' },
    }),
    '400 bad_body',
  );
});

test('r1 r41 queues are made, ordered, renamed, deleted; what was decided on an old look is refused', async (t) => {
  const { tell, home, core } = await served(t);
  const made = await tell('POST', '/queues', {
    body: { name: '快', routes: ['mock/good', 'gone/x'] },
  });
  assert.deepEqual([made.status, made.body.id, made.body.candidates], [201, 'queue', 2]);
  assert.equal(made.headers.etag, `"${made.body.hash}"`);
  assert.equal(
    (
      await tell('PATCH', '/queues/queue', {
        body: { name: '更快' },
        headers: { 'if-match': 'old' },
      })
    ).body.error.code,
    'changed',
  );
  const renamed = await tell('PATCH', '/queues/queue', {
    body: { name: '更快', order: ['gone/x', 'mock/good'] },
    headers: { 'if-match': made.body.hash },
  });
  assert.equal(renamed.status, 200);
  assert.deepEqual(core.status().lost, undefined);
  const state = (await tell('GET', '/state')).body;
  const row = state.queues[2];
  assert.deepEqual(
    [row.id, row.name, row.candidates[0].state, row.candidates[0].lack],
    ['queue', '更快', 'missing', 'the host has no provider gone now'],
    'r40',
  );
  const asked = await tell('DELETE', '/queues/queue');
  assert.deepEqual([asked.status, asked.body.error.code], [409, 'not_confirmed']);
  assert.match(asked.body.error.message, /^2 candidates/);
  assert.equal((await tell('DELETE', '/queues/queue?candidates=2')).status, 200);
  assert.equal(home.plans.find('queue')?.asked, 'deleted');
  assert.equal(
    (await tell('POST', '/queues', { body: { name: '快' } })).body.id,
    'queue-2',
    'a deleted id is not given again',
  );
  for (const id of ['empty', 'queue-2']) await tell('DELETE', `/queues/${id}?candidates=0`);
  assert.equal(
    (await tell('DELETE', '/queues/default?candidates=2')).body.error.code,
    'refused',
    'the last one stays',
  );
});

test('r40 what is exported can be imported, and a bad file changes nothing', async (t) => {
  const { tell, home } = await served(t);
  const file = (await tell('GET', '/export')).body;
  const before = home.settings.status().hash;
  const bad = structuredClone(file);
  bad.queues[1].settings.retries = 99;
  const refused = await tell('POST', '/import', { body: bad });
  assert.match(refused.body.error.message, /^queues\[1\]\.settings\.retries: /);
  assert.equal(home.settings.status().hash, before);
  const { body } = await tell('POST', '/import', { body: file });
  assert.deepEqual(
    body.imported.map(({ id, name, candidates }: Record<string, unknown>) => [
      id,
      name,
      candidates,
    ]),
    [
      ['queue-1', '默认模板 (1)', 2],
      ['empty-1', 'empty (1)', 0],
    ],
  );
  assert.deepEqual(
    (await tell('GET', '/export')).body.queues
      .slice(2)
      .map((queue: Record<string, unknown>) => ({ ...queue, name: undefined })),
    file.queues.map((queue: Record<string, unknown>) => ({ ...queue, name: undefined })),
  );
});

test('r39 a test of a queue leaves no trace in tallies and quarantines', async (t) => {
  const { tell } = await served(t);
  const { body } = await tell('POST', '/queues/default/test');
  assert.deepEqual(
    body.candidates.map((row: Record<string, unknown>) => [
      row['route'],
      row['ok'],
      row['class'],
      row['status'],
      row['code'],
    ]),
    [
      ['mock/bad', false, 'quota_exhausted', 402, 'QUOTA'],
      ['mock/good', true, null, null, null],
    ],
  );
  const state = (await tell('GET', '/state')).body;
  assert.deepEqual(
    state.queues[0].candidates.map(({ today }: Record<string, unknown>) => today),
    Array(2).fill({ successes: 0, failures: 0 }),
  );
  assert.deepEqual(state.sessions, []);
});

test('events tell each change, go on where a reader stopped, and say when something was missed', async (t) => {
  const { run, home, port, events, clock } = await served(t);
  const reader = (since?: string) =>
    new Promise<{ texts: string[]; next(what: string): Promise<void>; close(): void }>(
      (resolve) => {
        const sent = ask(
          {
            port,
            host: '127.0.0.1',
            path: '/ekiden/api/v1/events',
            agent: false,
            headers: since ? { 'last-event-id': since } : {},
          },
          (response) => {
            const texts: string[] = [];
            let heard = () => {};
            response.on('data', (part: Buffer) => {
              texts.push(part.toString('utf8'));
              heard();
            });
            response.on('error', () => {});
            const next = (what: string): Promise<void> =>
              new Promise((seen) => {
                heard = () => {
                  if (texts.join('').includes(what)) seen();
                };
                heard();
              });
            resolve({ texts, next, close: () => sent.destroy() });
          },
        );
        sent.on('error', () => {});
        sent.end();
      },
    );
  const first = await reader();
  await (
    await run('s1')
  ).done;
  await home.keeper.flush();
  home.settings.change(undefined, [{ do: 'delete_queue', id: 'empty' }]);
  await first.next('event: settings');
  const lines = first.texts
    .join('')
    .split('\n\n')
    .flatMap((one) => /^data: (.*)$/m.exec(one)?.[1] ?? [])
    .map((one) => JSON.parse(one) as { event: string; what?: string });
  const kinds = new Set(lines.map(({ event }) => event));
  for (const kind of [
    'call_opened',
    'attempt',
    'call_ended',
    'journal',
    'verified',
    'tally',
    'seat',
    'queue_deleted',
    'settings',
  ])
    assert.ok(kinds.has(kind), kind);
  for (const line of lines) {
    if (line.event === 'catalog' || OWN_KINDS.includes(line.what ?? '')) continue;
    assert.deepEqual(misfits(line, schema('Event')), [], JSON.stringify(line));
  }
  const ids = [...first.texts.join('').matchAll(/^id: (.*)$/gm)].map((found) => found[1]);
  const second = await reader(ids[2]);
  await second.next('event: settings');
  assert.deepEqual(
    [...second.texts.join('').matchAll(/^id: (.*)$/gm)]
      .map((found) => found[1])
      .slice(0, ids.length - 3),
    ids.slice(3),
  );
  for (const since of ['other.3', 'i1.99999', 'x']) {
    const lost = await reader(since);
    await lost.next('event: reset');
    lost.close();
  }
  await clock.pass(15_000);
  await second.next('\n\n: \n\n');
  first.close();
  second.close();
  while (events.readers > 0) await settled();
});

test('at most 64 look on, and a reader that takes nothing is let go', async (t) => {
  const { home, port, events, clock } = await served(t);
  const sockets = await Promise.all(
    Array.from(
      { length: 64 },
      () =>
        new Promise<IncomingMessage>((resolve) => {
          const sent = ask(
            { port, host: '127.0.0.1', path: '/ekiden/api/v1/events', agent: false },
            (response) => {
              response.on('error', () => {});
              resolve(response);
            },
          );
          sent.on('error', () => {});
          sent.end();
        }),
    ),
  );
  assert.equal((await told(port, 'GET', '/ekiden/api/v1/events')).body.error.code, 'too_many');
  for (const socket of sockets.slice(1)) socket.destroy();
  while (events.readers > 1) await settled();
  for (let n = 0; n < 60; n += 1) {
    for (let m = 0; m < 200; m += 1)
      home.keeper.tell({ what: 'settings_refused', place: 'x', message: 'y'.repeat(380) });
    home.keeper.flushNow();
    await settled();
  }
  await clock.pass(30_000);
  while (events.readers > 0) await settled();
});

test('h6 the service tells how it stands, lets go, and sets; it throws at nobody', async (t) => {
  const { of, run, home } = await served(t);
  const service = new RelayService(of);
  await (
    await run('s1')
  ).done;
  assert.equal((service.status() as { sessions: { key: string }[] }).sessions[0]?.key, 's1');
  assert.deepEqual(service.reset({ session: 's1' }), { ok: true, released: 'session' });
  assert.deepEqual(service.reset(), { ok: true, released: 'all' });
  assert.equal(service.reset({ session: 'nobody' }).ok, false);
  const outcome = service.updateSettings({
    reset_hour: 4,
    defaults: { retries: 1 },
    queues: { default: { name: 'D', candidates: ['mock/good'] } },
  });
  assert.equal(outcome.ok, true);
  assert.deepEqual(
    home.settings.config.queues[0]?.candidates.map(({ text: route }) => route),
    ['mock/good'],
  );
  assert.equal(home.settings.config.sections['defaults']?.['retries'], 1);
  assert.equal(service.updateSettings({ defaults: { retries: null } }).ok, true);
  assert.equal(home.settings.config.sections['defaults']?.['retries'], undefined);
  const bad = service.updateSettings({ defaults: { retries: 11 } });
  assert.ok(!bad.ok && /at most 10/.test(bad.message));
  assert.equal((await service.probe('default'))?.[0]?.ok, true);
  assert.equal(await service.probe('none'), undefined);
});

test('p5 a pause is kept, and a call can be stopped', async (t) => {
  const { tell, run, home, clock } = await served(t, {
    queues: { default: { candidates: ['mock/hangs'] } },
  });
  const { done } = await run('s1');
  const [open] = (await tell('GET', '/calls')).body.open;
  assert.equal(open.session, 's1');
  const pause = async (at: string, body: object) => (await tell('POST', at, { body })).body;
  const pauses = async () => (await tell('GET', '/state')).body.pauses;
  assert.deepEqual(await pause('/pause', {}), { paused: true, session: null });
  assert.deepEqual(await pause('/pause', { session: 's1' }), { paused: true, session: 's1' });
  assert.deepEqual(await pauses(), [null, 's1']);
  assert.deepEqual(await pause('/resume', {}), { paused: false, session: null });
  assert.deepEqual(await pauses(), ['s1'], 'the one of a session is apart');
  assert.deepEqual([...home.keeper.state.paused], ['s1']);
  assert.deepEqual((await tell('POST', `/calls/${open.call}/stop`, { body: {} })).body, {
    stopped: open.call,
  });
  await clock.pass(10);
  await done;
  assert.equal((await tell('GET', '/calls')).body.open.length, 0);
  const { entries } = (await tell('GET', '/journal?what=stopped')).body;
  assert.deepEqual([entries[0].call, entries[0].session], [open.call, 's1']);
});

test('r33 calls from before a restart are still known, without their steps', async (t) => {
  const before = await served(t);
  await (
    await before.run('s1')
  ).done;
  await before.home.keeper.flush();
  const [past] = (await before.tell('GET', '/calls')).body.past;
  const live = { ...before.of.live, calls: () => [], call: () => undefined } as unknown as Live;
  const of = { ...before.of, live };
  const asked = { query: {}, body: {}, headers: {} };
  const answer = async (path: string, names: Record<string, string> = {}) => {
    const operation = operations(of).find((one) => one.path === path && one.method === 'GET');
    return (await operation?.answer({ ...asked, path: names }))?.body;
  };
  const shown = await answer('/calls/{call}', { call: past.call });
  assert.deepEqual(misfits(shown, schema('Call')), []);
  const bare = (call: typeof past) => ({
    ...call,
    attempts: call.attempts.map((row: object) => ({ ...row, evidence: undefined })),
  });
  assert.deepEqual(JSON.parse(JSON.stringify(shown)), JSON.parse(JSON.stringify(bare(past))));
  assert.deepEqual(await answer('/calls'), { open: [], past: [shown] });
});
