/**
 * What the host's models are: names, windows, levels of effort (R35 to R38). It refuses to ask
 * anybody because somebody looks: it answers from what was asked before, which outlives the process,
 * until a rescan forgets it and asks again. Our own provider is never in it.
 */
import type { Folder } from './files.ts';
import { messageOf } from './files.ts';
import { masked } from './masked.ts';
import { PROVIDER, routeText, splitRoute } from './settings.ts';
import type { Catalog, Clock, ModelFacts, Route } from './ports.ts';

const NAME = 'catalog.json';
const VERSION = 1;

/** A provider that lists its models may have to ask upstream first. */
const LIST_MS = 20_000;
const RESOLVE_MS = 10_000;
const AT_ONCE = 8;
const MODELS_MAX = 2_000;
const PROVIDERS_MAX = 200;
const TEXTS_MAX = 100;

/** What a model declares of itself, as far as the catalog wants it. */
export interface Declared {
  readonly name?: string;
  readonly context?: { readonly contextWindow?: number };
  readonly defaultMaxTokens?: number;
  readonly reasoning?: { readonly efforts?: readonly { readonly id: string }[] };
}

/** The host's own list of models. */
export interface HostModels {
  listProviders(): readonly { readonly id: string; readonly name: string }[];
  listModels(provider: string): Promise<readonly { readonly id: string; readonly name: string }[]>;
  resolveModelInfo(provider: string, model: string, signal?: AbortSignal): Promise<Declared>;
}

/** A model as it is shown. */
export interface ModelShown {
  readonly model: string;
  readonly name: string;
  readonly context_window: number | null;
  readonly max_tokens: number | null;
  /** `null`: not asked yet; empty: the model has none. */
  readonly efforts: readonly string[] | null;
}

/** A provider as it is shown. */
export interface ProviderShown {
  readonly id: string;
  readonly name: string;
  readonly hidden: boolean;
  readonly models: readonly ModelShown[];
  /** Why it could not be asked, in the last scan. */
  readonly trouble: string | null;
}

interface Provider {
  readonly name: string;
  readonly models: readonly string[];
  readonly trouble: string | null;
}

export interface CatalogFrom {
  readonly folder: Folder | undefined;
  readonly clock: Clock;
  readonly host: HostModels;
  /** Providers that are not offered (R38). */
  hidden(): readonly string[];
}

export class HostCatalog implements Catalog {
  readonly #from: CatalogFrom;
  readonly #heard = new Set<() => void>();
  readonly #asking = new Set<string>();
  #providers = new Map<string, Provider>();
  #facts = new Map<string, ModelFacts>();
  #scannedMs: number | undefined;
  #present: ReadonlySet<string> | undefined;
  #scanning: Promise<void> | undefined;
  #closed = false;

  /** Reads what was asked before; what cannot be read is thrown away. */
  constructor(from: CatalogFrom) {
    this.#from = from;
    try {
      const text = from.folder?.read(NAME)?.text;
      if (text !== undefined) this.#readText(text);
    } catch {
      // It is asked again.
    }
  }

  /** When the host was asked last (Unix time); none: never. */
  get scannedMs(): number | undefined {
    return this.#scannedMs;
  }

  get isScanning(): boolean {
    return this.#scanning !== undefined;
  }

  /** Whether the host has any provider but ours. */
  get hasProviders(): boolean {
    return this.#listProviders().some(({ id }) => id !== PROVIDER);
  }

  /** Providers that came after the last scan, and were never asked. */
  get unasked(): readonly string[] {
    const hidden = this.#from.hidden();
    return this.#listProviders()
      .map(({ id }) => id)
      .filter((id) => id !== PROVIDER && !hidden.includes(id) && !this.#providers.has(id));
  }

  info(route: Route): ModelFacts | undefined {
    return this.#facts.get(routeText(route));
  }

  present(provider: string): boolean {
    if (provider === PROVIDER) return false;
    this.#present ??= new Set(this.#listProviders().map(({ id }) => id));
    return this.#present.has(provider);
  }

  /** Adapters came or went. */
  adaptersChanged(): void {
    this.#present = undefined;
    this.#changed();
  }

  /** The providers that there are or were, with their models; hidden ones without. */
  shown(): readonly ProviderShown[] {
    const hidden = this.#from.hidden();
    const live = new Map(this.#listProviders().map(({ id, name }) => [id, name]));
    const ids = new Set([...live.keys(), ...this.#providers.keys(), ...hidden]);
    ids.delete(PROVIDER);
    return [...ids].map((id) => {
      const known = this.#providers.get(id);
      const models = hidden.includes(id) ? [] : (known?.models ?? []);
      return {
        id,
        name: live.get(id) ?? known?.name ?? id,
        hidden: hidden.includes(id),
        models: models.map((model) => this.#modelShown({ provider: id, model })),
        trouble: known?.trouble ?? null,
      };
    });
  }

  /**
   * Forgets everything, or what these providers said, and asks the host again; who asks meanwhile
   * waits for the same answer.
   */
  rescan(only?: readonly string[]): Promise<void> {
    this.#scanning ??= this.#scan(only).finally(() => {
      this.#scanning = undefined;
    });
    return this.#scanning;
  }

  /** Asks once for models that nothing is known of yet, such as those of a queue that list nobody. */
  learn(routes: readonly Route[]): void {
    const unknown = routes.filter((route) => {
      const text = routeText(route);
      return !this.#facts.has(text) && !this.#asking.has(text) && this.present(route.provider);
    });
    if (unknown.length === 0 || this.#closed) return;
    for (const route of unknown) this.#asking.add(routeText(route));
    const asked = inTurn(unknown, AT_ONCE, async (route) => {
      const facts = await this.#ask(route);
      // One that does not answer is asked again by a rescan, not by every look.
      if (facts) this.#facts.set(routeText(route), facts);
    });
    void asked.then(() => this.#asked());
  }

  onChange(changed: () => void): () => void {
    this.#heard.add(changed);
    return () => this.#heard.delete(changed);
  }

  /** Answers that come now change nothing. */
  close(): void {
    this.#closed = true;
    this.#heard.clear();
  }

  async #scan(only: readonly string[] | undefined): Promise<void> {
    this.#asking.clear();
    const asked = (provider: string) => only === undefined || only.includes(provider);
    const hidden = this.#from.hidden();
    const providers = this.#listProviders().filter(
      ({ id }) => id !== PROVIDER && !hidden.includes(id),
    );
    // What a queue taught us of models that nobody lists is asked again when it is needed.
    const facts = new Map(
      [...this.#facts].filter(([route]) => !asked(splitRoute(route)?.provider ?? '')),
    );
    const found = new Map([...this.#providers].filter(([id]) => !asked(id)));
    await inTurn(
      providers.filter(({ id }) => asked(id)).slice(0, PROVIDERS_MAX),
      AT_ONCE,
      async ({ id, name }) => {
        const { models, trouble } = await this.#list(id);
        found.set(id, { name, models: models.map((model) => model.id), trouble });
        await inTurn(models, AT_ONCE, async (model) => {
          const declared = await this.#ask({ provider: id, model: model.id });
          facts.set(`${id}/${model.id}`, { name: model.name, ...declared });
        });
      },
    );
    // The order of the host, not of who answered first.
    this.#providers = new Map(
      providers.flatMap(({ id }) => {
        const provider = found.get(id);
        return provider ? [[id, provider] as const] : [];
      }),
    );
    this.#facts = facts;
    this.#scannedMs = this.#from.clock.wallMs();
    this.#asked();
  }

  async #list(
    provider: string,
  ): Promise<{
    models: readonly { readonly id: string; readonly name: string }[];
    trouble: string | null;
  }> {
    try {
      const models = await inTime(this.#from.clock, LIST_MS, () =>
        this.#from.host.listModels(provider),
      );
      return { models: models.slice(0, MODELS_MAX), trouble: null };
    } catch (error) {
      return { models: [], trouble: masked(messageOf(error)) };
    }
  }

  async #ask({ provider, model }: Route): Promise<ModelFacts | undefined> {
    try {
      const declared = await inTime(this.#from.clock, RESOLVE_MS, (signal) =>
        this.#from.host.resolveModelInfo(provider, model, signal),
      );
      return factsOf(declared);
    } catch {
      return undefined;
    }
  }

  #asked(): void {
    if (this.#closed) return;
    try {
      const { folder } = this.#from;
      folder?.locked(() => folder.replace(NAME, this.#text()));
    } catch {
      // It is asked again after the next start.
    }
    this.#changed();
  }

  #changed(): void {
    for (const heard of this.#heard) heard();
  }

  #listProviders(): readonly { readonly id: string; readonly name: string }[] {
    try {
      return this.#from.host.listProviders();
    } catch {
      return [];
    }
  }

  #modelShown(route: Route): ModelShown {
    const facts = this.info(route);
    return {
      model: route.model,
      name: facts?.name ?? route.model,
      context_window: facts?.window ?? null,
      max_tokens: facts?.maxTokens ?? null,
      efforts: facts?.efforts ?? null,
    };
  }

  #text(): string {
    const providers = [...this.#providers].map(([id, provider]) => ({ id, ...provider }));
    const facts = Object.fromEntries(this.#facts);
    return `${JSON.stringify({ version: VERSION, scanned_ms: this.#scannedMs ?? null, providers, facts })}\n`;
  }

  /** Throws where the text is not of this version or not of this form. */
  #readText(text: string): void {
    const kept = JSON.parse(text) as {
      version: number;
      scanned_ms: number | null;
      facts: Record<string, Declared>;
      providers: readonly { id: string; name: string; models: string[]; trouble: string | null }[];
    };
    if (kept.version !== VERSION) return;
    const providers = kept.providers.map(({ id, name, models, trouble }) => {
      if (![id, name, ...models].every((one) => typeof one === 'string'))
        throw new TypeError('not a text');
      return [id, { name, models, trouble: typeof trouble === 'string' ? trouble : null }] as const;
    });
    const facts = Object.entries(kept.facts).filter(([route]) => splitRoute(route));
    this.#facts = new Map(facts.map(([route, one]) => [route, checkedFacts(one as ModelFacts)]));
    this.#providers = new Map(providers);
    if (typeof kept.scanned_ms === 'number') this.#scannedMs = kept.scanned_ms;
  }
}

function factsOf(declared: Declared): ModelFacts {
  return checkedFacts({
    ...(declared.name === undefined ? {} : { name: declared.name }),
    ...(declared.context?.contextWindow === undefined
      ? {}
      : { window: declared.context.contextWindow }),
    ...(declared.defaultMaxTokens === undefined ? {} : { maxTokens: declared.defaultMaxTokens }),
    efforts: declared.reasoning?.efforts?.map(({ id }) => id) ?? [],
  });
}

/** Only what is of its kind: adapters and files are others' work. */
function checkedFacts(facts: ModelFacts): ModelFacts {
  const whole = (value: unknown): value is number =>
    Number.isSafeInteger(value) && (value as number) > 0;
  const { name, window, maxTokens, efforts } = facts;
  return {
    ...(typeof name === 'string' && name !== '' ? { name } : {}),
    ...(whole(window) ? { window } : {}),
    ...(whole(maxTokens) ? { maxTokens } : {}),
    ...(Array.isArray(efforts)
      ? { efforts: efforts.filter((one) => typeof one === 'string').slice(0, TEXTS_MAX) }
      : {}),
  };
}

/** Does work for each, so many at a time. The work does not reject. */
export async function inTurn<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, at: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const at = next;
      next += 1;
      await work(items[at] as T, at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}

/** What work answers, or a rejection when its time is up; what it says afterwards concerns nobody. */
export function inTime<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const stop = clock.setTimer(ms, () => {
      over.abort();
      reject(new Error(`no answer within ${ms / 1000} s`));
    });
    const settle =
      <V>(then: (value: V) => void) =>
      (value: V) => {
        stop();
        then(value);
      };
    // Work may throw before there is a promise.
    Promise.resolve()
      .then(() => work(over.signal))
      .then(settle(resolve), settle(reject));
  });
}
