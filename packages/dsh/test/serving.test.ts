import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Context } from '@deepseek-ai/cordis';
import { openHome } from '../src/home.ts';
import type { Live, SessionStatus } from '../src/ports.ts';
import { serve } from '../src/serving.ts';
import { folderFor, HandClock } from './home-support.ts';

/** A host's context that notes what was asked of it. */
class FakeContext {
  readonly provided = new Map<string, unknown>();
  readonly warned: string[] = [];
  readonly heard = new Map<string, (...given: unknown[]) => void>();
  readonly undo: (() => void)[] = [];
  readonly taken: readonly string[];
  readonly llm = {};
  readonly logger = { warn: (message: string) => this.warned.push(message) };
  handler: ((request: unknown, response: unknown) => Promise<void>) | undefined;
  readonly webServer = {
    register: (route: {
      path: string;
      kind: string;
      handler: (request: unknown, response: unknown) => Promise<void>;
    }) => {
      assert.deepEqual([route.kind, route.path], ['prefix', '/ekiden']);
      this.handler = route.handler;
      return () => {
        this.handler = undefined;
      };
    },
  };
  sessions = new Map<string, object>();

  constructor(taken: readonly string[] = []) {
    this.taken = taken;
  }

  on(name: string, heard: (...given: unknown[]) => void): void {
    this.heard.set(name, heard);
  }

  get(name: string): unknown {
    return name === 'sessions' ? this.sessions : undefined;
  }

  provide(name: string, value: unknown): void {
    if (this.taken.includes(name)) throw new Error(`service "${name}" has been registered`);
    this.provided.set(name, value);
  }

  inject(_names: string[], work: (inner: FakeContext) => void): void {
    work(this);
  }

  effect(work: () => () => void): void {
    this.undo.push(work());
  }
}

function statusOf(session: string): SessionStatus {
  return {
    session,
    quarantined: [],
    verified: [{ queue: 'q', route: { provider: 'p', model: 'm' } }],
    speeds: [],
    truncations: [],
    running: 0,
    seats: [],
    standsInFor: [],
    paused: false,
    subAgent: false,
    continuedTruncations: 0,
    continuedFailures: 0,
  };
}

test('d1 d4 endpoints and service are there while the plugin is, and go with it', async (t) => {
  const clock = new HandClock();
  const home = openHome(folderFor(t), clock, {
    listProviders: () => [],
    listModels: () => Promise.resolve([]),
    resolveModelInfo: () => Promise.resolve({}),
  });
  t.after(() => home.close());
  const sessions = ['s1', 's2', 's3', 's4'].map(statusOf);
  const heard = new Set<unknown>();
  const live = {
    status: () => ({ routes: [], sessions, memoryBytes: 0, paused: [] }),
    calls: () => [],
    onEvent: (one: unknown) => {
      heard.add(one);
      return () => heard.delete(one);
    },
  } as unknown as Live;
  const context = new FakeContext(['modelFailover']);
  context.sessions.set('s1', {
    header: { cwd: '/w' },
    events: [
      { type: 'session/title', data: { title: 'old' } },
      { type: 'session/title', data: { title: 'from the log' } },
    ],
  });
  context.sessions.set('s2', { header: { origin: 'subagent' }, events: [] });
  serve(context as unknown as Context, {
    home,
    live,
    clock,
    instance: 'i',
    timers: () => 0,
    classify: () => undefined,
  });
  assert.deepEqual([...context.provided.keys()], ['ekiden']);
  assert.match(
    context.warned.join(),
    /modelFailover is taken/,
    'another plugin has that name; this one lives on',
  );
  context.heard.get('session/event')?.(
    { id: 's3' },
    { type: 'session/title', data: { title: 'as it was told' } },
  );
  context.heard.get('session/event')?.({ id: 's3' }, { type: 'turn/start', data: {} });
  const server = createServer((request, response) => void context.handler?.(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const state = (await (await fetch(`http://127.0.0.1:${port}/ekiden/api/v1/state`)).json()) as {
    version: string;
    sessions: {
      key: string;
      title: string | null;
      cwd: string | null;
      sub_agent: boolean | null;
    }[];
  };
  assert.match(state.version, /^\d+\.\d+\.\d+/);
  assert.deepEqual(
    state.sessions.map(({ key, title, cwd, sub_agent }) => [key, title, cwd, sub_agent]),
    [
      ['s1', 'from the log', '/w', false],
      ['s3', 'as it was told', null, null],
      ['s4', null, null, null],
    ],
  );
  assert.equal(heard.size, 1);
  for (const undo of context.undo) undo();
  assert.equal(context.handler, undefined);
  assert.equal(heard.size, 0);
});

test('d4 a path that is taken is told, and throws at nobody', (t) => {
  const clock = new HandClock();
  const home = openHome(folderFor(t), clock, {
    listProviders: () => [],
    listModels: () => Promise.resolve([]),
    resolveModelInfo: () => Promise.resolve({}),
  });
  t.after(() => home.close());
  const context = new FakeContext();
  context.webServer.register = () => {
    throw new Error('duplicate route');
  };
  const live = { onEvent: () => () => {} } as unknown as Live;
  const none = { timers: () => 0, classify: () => undefined };
  serve(context as unknown as Context, { home, live, clock, instance: 'i', ...none });
  assert.match(context.warned.join(), /\/ekiden is taken: duplicate route/);
  for (const undo of context.undo) undo();
});
