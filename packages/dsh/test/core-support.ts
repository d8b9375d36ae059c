/** A clock that moves by hand, a host whose models are scripted, and a core between them. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import type {
  FinishReason, GenerateOptions, LlmFailure, Message, StreamChunk,
} from '@deepseek-ai/dsh-llm';
import { createAssistantMessage, createUserMessage } from '@deepseek-ai/dsh-llm';

import { guarded, QueueAdapter } from '../src/adapter.ts';
import { Core } from '../src/core.ts';
import { loaderFrom } from '../src/load.ts';
import { NameTable, routeText } from '../src/names.ts';
import { LineRecorder } from '../src/recorder.ts';
import type {
  AttemptRow, CallRow, CandidatePlan, Catalog, Clock, ContinuationPlan, DirectPlan, Evidence, Fact,
  Keeper, ModelFacts, Note, Plans, QueuePlan, Route,
} from '../src/ports.ts';

const folder = process.env['EKIDEN_WASM_FOLDER'];
export const WASM = folder === undefined
  ? new URL('../../../crates/wasm/', import.meta.url) : pathToFileURL(`${folder}/`);
const loader = loaderFrom(WASM);
// Compiled before anything is measured by turns of the loop.
await loader();

/** Time that stands still until it is moved. */
export class TestClock implements Clock {
  mono = 1_000;
  wall = Date.UTC(2026, 10, 30, 12);
  readonly #timers = new Set<{ at: number; due: () => void }>();

  wallMs(): number {
    return this.wall;
  }

  monoMs(): number {
    return this.mono;
  }

  setTimer(ms: number, due: () => void): () => void {
    const timer = { at: this.mono + ms, due };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  /** Moves on, from timer to timer; whatever they lead to happens before the next. */
  async pass(ms: number): Promise<void> {
    const end = this.mono + ms;
    await settled();
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end)
        .sort((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#to(Math.max(this.mono, next.at));
      next.due();
      await settled();
    }
    this.#to(end);
    await settled();
  }

  #to(mono: number): void {
    this.wall += mono - this.mono;
    this.mono = mono;
  }
}

/** Until nothing moves by itself any more. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((next) => setImmediate(next));
}

/** One answer of a scripted model: pieces, then how it ends. */
export type Script = (options: GenerateOptions, clock: TestClock) => AsyncIterable<StreamChunk>;

export const text = (words: string, index = 0): StreamChunk[] => [
  { type: 'block-start', index, blockType: 'text' },
  ...words.split(/(?<= )/).map((word): StreamChunk => ({ type: 'text-delta', index, text: word })),
  { type: 'block-end', index, block: { type: 'text', text: words } },
];

export const reasoning = (words: string, index = 0): StreamChunk[] => [
  { type: 'block-start', index, blockType: 'reasoning' },
  { type: 'reasoning-delta', index, text: words },
  { type: 'block-end', index, block: { type: 'reasoning', text: words } },
];

export const usage = (outputTokens = 5): StreamChunk =>
  ({ type: 'usage', usage: { inputTokens: 11, outputTokens } });

export const finish = (reason: FinishReason, replayState?: { response: unknown }): StreamChunk =>
  ({ type: 'finish', reason, ...(replayState === undefined ? {} : { replayState }) });

export const stop = finish({ kind: 'stop' });

export const failure = (code: string, message: string, more: Partial<LlmFailure> = {}):
StreamChunk => finish({ kind: 'error', failure: { code, message, ...more } });

export const says = (...chunks: (StreamChunk | StreamChunk[])[]): Script =>
  async function* () {
    yield* chunks.flat();
  };

export const answers = (words: string): Script => says(text(words), usage(), stop);

/** Pieces, then silence until it is aborted; not even then if `deaf`. */
export const hangs = (before: StreamChunk[] = [], deaf = false): Script =>
  async function* (options) {
    yield* before;
    await new Promise<void>((aborted) => {
      if (!deaf) options.signal?.addEventListener('abort', () => aborted(), { once: true });
    });
    yield finish({ kind: 'aborted', failure: { code: 'ABORTED', message: 'aborted' } });
  };

export const serverError = says(usage(0), failure('SERVER', '500: upstream exploded'));

/** Each piece `ms` after the one before, by the test's clock. */
export const slowly = (ms: number, ...chunks: (StreamChunk | StreamChunk[])[]): Script =>
  async function* (_options, clock) {
    for (const chunk of chunks.flat()) {
      await new Promise<void>((due) => clock.setTimer(ms, due));
      yield chunk;
    }
  };

/** The relay's numbers as DSH has them. */
export interface Numbers {
  retries: number;
  waitMaxMs: number;
  cooldownMs: number;
  continuing: 'always' | 'auto' | 'never';
  continueDelayMs: number;
  commit: 'first-output' | 'first-token' | 'complete';
  rotateAfter: number;
  idleMs: number;
  paroleAfterMs: number;
  restMs: number;
  relay: 'on' | 'off';
}

export const DSH: Numbers = {
  retries: 2, waitMaxMs: 30_000, cooldownMs: 60_000, continuing: 'always', continueDelayMs: 5_000,
  commit: 'first-token', rotateAfter: 2, idleMs: 120_000, paroleAfterMs: 600_000, restMs: 5_000,
  relay: 'on',
};

export interface TestCandidate extends Route {
  effort?: string;
  window?: number;
  maxTokens?: number;
  maxSessions?: number;
  present?: boolean;
}

export function queueOf(
  id: string, candidates: readonly (string | TestCandidate)[], numbers: Partial<Numbers> = {},
  rescue = true,
): QueuePlan {
  const set = { ...DSH, commit: rescue ? 'first-token' : 'first-output', ...numbers };
  const rows = candidates.map((one): TestCandidate => {
    if (typeof one !== 'string') return one;
    const [provider = '', model = ''] = one.split('/');
    return { provider, model };
  });
  const policy = [set.relay, set.retries, 0, 16, set.waitMaxMs, 3_000, set.cooldownMs, 3_600_000,
    set.continuing, 3, set.continueDelayMs, set.commit, 8_388_608, set.rotateAfter, 'tell', 'on',
    'off', set.paroleAfterMs, 14_400_000, 30_000, set.restMs, 1_800_000, 60_000, 300_000,
    ...LATER_WORDS];
  return {
    id, name: `Queue ${id}`, enabled: set.relay !== 'off', rescue, continueText: '继续',
    digest: String(Math.abs(hash(JSON.stringify([rows, set])))),
    candidates: rows.map((row): CandidatePlan => ({
      provider: row.provider, model: row.model, present: row.present ?? true,
      ...(row.effort === undefined ? {} : { effort: row.effort }),
      ...(row.window === undefined ? {} : { window: row.window }),
      ...(row.maxTokens === undefined ? {} : { maxTokens: row.maxTokens }),
    })),
    words: (names) => [...policy, rows.length, ...rows.flatMap((row) => [names.route(row),
      row.present === false ? 'missing' : 'present', row.maxSessions ?? '-', '-',
      row.window ?? '-', 0, 0, 0, set.idleMs, 0, 0])].join(' '),
  };
}

/** The policy's words that the preset relay does not use. */
const LATER_WORDS = ['on', 'off', 'all', 'in-call', 0, 60_000, 600_000, 0, 'wait', 'off', 0, 1_000,
  30_000, 2_000];

function hash(words: string): number {
  let sum = 7;
  for (const letter of words) sum = (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0;
  return sum;
}

export class TestPlans implements Plans {
  queues: QueuePlan[];
  deleted = new Set<string>();
  on = true;
  set: ContinuationPlan = { enabled: true, onTruncation: true, onFailure: true,
    truncationsMax: 10, failuresMax: 1, delayMs: 5_000, text: '继续' };
  directPlan: DirectPlan = { policy: 'none', queueFor: (head) => queueOf('direct', [head]) };
  readonly heard = new Set<() => void>();

  constructor(queues: QueuePlan[]) {
    this.queues = queues;
  }

  all(): readonly QueuePlan[] {
    return this.queues;
  }

  find(model: string): ReturnType<Plans['find']> {
    const queue = this.queues.find((one) => one.id === model);
    if (queue !== undefined) return { queue, asked: 'id' };
    const [first] = this.queues;
    return this.deleted.has(model) && first !== undefined
      ? { queue: first, asked: 'deleted' } : undefined;
  }

  continuation(): ContinuationPlan {
    return this.set;
  }

  day(nowMs: number): { number: number; endsMs: number } {
    const number = Math.floor((nowMs - 3_600_000) / 86_400_000);
    return { number, endsMs: (number + 1) * 86_400_000 + 3_600_000 };
  }

  enabled(): boolean {
    return this.on;
  }

  direct(): DirectPlan {
    return this.directPlan;
  }

  onChange(changed: () => void): () => void {
    this.heard.add(changed);
    return () => this.heard.delete(changed);
  }

  change(queues: QueuePlan[]): void {
    this.queues = queues;
    for (const changed of this.heard) changed();
  }
}

export class TestKeeper implements Keeper {
  recalled: string[] = [];
  readonly facts: { fact: Fact; evidence?: Evidence | undefined }[] = [];
  readonly noted: Note[] = [];
  readonly attempts: AttemptRow[] = [];
  readonly calls: CallRow[] = [];

  recall(): readonly string[] {
    return this.recalled;
  }

  keep(fact: Fact, evidence?: Evidence): void {
    this.facts.push({ fact, evidence });
  }

  note(note: Note): void {
    this.noted.push(note);
  }

  attempted(row: AttemptRow): void {
    this.attempts.push(row);
  }

  ended(call: CallRow): void {
    this.calls.push(call);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  kinds(): string[] {
    return this.facts.map(({ fact }) => fact.kind);
  }

  of<K extends Fact['kind']>(kind: K): Extract<Fact, { kind: K }>[] {
    return this.facts.map(({ fact }) => fact)
      .filter((fact): fact is Extract<Fact, { kind: K }> => fact.kind === kind);
  }
}

export class TestCatalog implements Catalog {
  readonly models = new Map<string, ModelFacts>();
  readonly absent = new Set<string>();

  info(route: Route): ModelFacts | undefined {
    return this.models.get(routeText(route));
  }

  present(provider: string): boolean {
    return !this.absent.has(provider);
  }

  rescan(): Promise<void> {
    return Promise.resolve();
  }
}

/** A request that a model of the host got. */
export interface Asked {
  readonly route: string;
  readonly options: GenerateOptions;
}

export class Bench {
  readonly clock = new TestClock();
  readonly keeper = new TestKeeper();
  readonly catalog = new TestCatalog();
  readonly names = new NameTable();
  readonly recorder = new LineRecorder();
  readonly asked: Asked[] = [];
  readonly scripts = new Map<string, Script[]>();
  readonly faults: string[] = [];
  readonly plans: TestPlans;
  readonly core: Core;
  readonly adapter: QueueAdapter;

  constructor(queues: QueuePlan[], load = loader) {
    this.plans = new TestPlans(queues);
    const { clock, keeper, catalog, plans } = this;
    this.core = new Core({
      clock, plans, keeper, catalog, names: this.names, loader: load, instance: 'test',
      recorder: this.recorder,
      stream: (call, options) => guarded(call, () => this.stream(options)),
      fault: (message) => this.faults.push(message),
    });
    this.adapter = new QueueAdapter({
      core: this.core, plans, catalog, keeper, straight: (options) => this.stream(options),
    });
  }

  /** What a model says: call after call; the last script stays. */
  model(route: string, ...scripts: Script[]): this {
    this.scripts.set(route, scripts);
    return this;
  }

  stream(options: GenerateOptions): AsyncIterable<StreamChunk> {
    const route = `${options.provider}/${options.model}`;
    this.asked.push({ route, options });
    const scripts = this.scripts.get(route) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    return (script ?? says(failure('NO_ADAPTER', `no adapter for ${route}`)))(options, this.clock);
  }

  routes(): string[] {
    return this.asked.map((one) => one.route);
  }

  /** A request of the host; read to its end with `drain` or piece by piece. */
  ask(queue: string, more: Partial<GenerateOptions> = {}): Reader {
    return new Reader(this.adapter.stream(request(queue, more)));
  }

  /** The whole answer while time passes as it must. */
  async answer(queue: string, more: Partial<GenerateOptions> = {}): Promise<Reader> {
    const reader = this.ask(queue, more);
    await this.finish(reader);
    return reader;
  }

  async finish(reader: Reader): Promise<void> {
    const drained = reader.drain();
    for (let turn = 0; turn < 400 && !reader.done; turn += 1) await this.clock.pass(500);
    if (!reader.done) throw new Error('the answer does not end');
    await drained;
  }
}

export function request(queue: string, more: Partial<GenerateOptions> = {}): GenerateOptions {
  return {
    provider: 'ekiden', model: queue, messages: [userMessage('hello')],
    sessionId: 'session-1' as NonNullable<GenerateOptions['sessionId']>, ...more,
  };
}

export const session = (id: string): { sessionId: NonNullable<GenerateOptions['sessionId']> } =>
  ({ sessionId: id as NonNullable<GenerateOptions['sessionId']> });

export const userMessage = (words: string): Message => createUserMessage({
  content: [{ type: 'text', text: words }], source: { kind: 'user' },
});

export const assistantMessage = (words: string, replayState?: unknown): Message =>
  createAssistantMessage({
    content: [{ type: 'text', text: words }],
    source: { provider: 'ekiden', model: 'default',
      ...(replayState === undefined ? {} : { replayState }) },
  });

/** Whoever reads a stream of ours. */
export class Reader {
  readonly chunks: StreamChunk[] = [];
  readonly iterator: AsyncIterator<StreamChunk>;
  done = false;

  constructor(stream: AsyncIterable<StreamChunk>) {
    this.iterator = stream[Symbol.asyncIterator]();
  }

  async drain(): Promise<this> {
    for (;;) {
      const read = await this.iterator.next();
      if (read.done === true) break;
      this.chunks.push(read.value);
    }
    this.done = true;
    return this;
  }

  /** Reads one piece. */
  async one(): Promise<StreamChunk | undefined> {
    const read = await this.iterator.next();
    if (read.done === true) return undefined;
    this.chunks.push(read.value);
    return read.value;
  }

  get text(): string {
    return this.chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.text : '')).join('');
  }

  get reason(): FinishReason | undefined {
    const last = this.chunks.at(-1);
    return last?.type === 'finish' ? last.reason : undefined;
  }

  get failure(): LlmFailure | undefined {
    const reason = this.reason;
    return reason?.kind === 'error' || reason?.kind === 'aborted' ? reason.failure : undefined;
  }
}

export const bytesOfEngine = (): number => readFileSync(new URL('ekiden.wasm', WASM)).length;
