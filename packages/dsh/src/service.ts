/**
 * What other plugins find on the host's context as `ekiden` and `modelFailover`: how it stands,
 * letting go, and settings at run time (H6). It refuses to throw at them: what was not done is told.
 */
import type { Change } from './edits.ts';
import { Refusal } from './http.ts';
import { masked } from './masked.ts';
import { messageOf } from './files.ts';
import { probe, type Tested } from './probe.ts';
import { change, release, type OperationsFrom } from './asking.ts';
import { stateView } from './views.ts';

/** What came of a wish. */
export type Outcome =
  | { readonly ok: true; readonly hash?: string; readonly released?: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Tables of the settings inside which a patch goes on; a queue is one as well. */
const TABLES: readonly string[] = [
  'defaults',
  'direct',
  'journal',
  'continuation',
  'appearance',
  'aliases',
  'queues',
];

export class RelayService {
  readonly #of: OperationsFrom;

  constructor(of: OperationsFrom) {
    this.#of = of;
  }

  /** Everything at one instant, as `/ekiden/api/v1/state` shows it. */
  status(): unknown {
    return stateView(this.#of);
  }

  /** Lets go, as `/ekiden/api/v1/release` does; of everything where nothing is named. */
  reset(what: Readonly<Record<string, unknown>> = { all: true }): Outcome {
    return attempted(() => ({ ok: true, released: release(this.#of, what).released }));
  }

  /** Sets what a patch names, in the form of the settings file; `null` is the default again. */
  updateSettings(patch: Readonly<Record<string, unknown>>): Outcome {
    return attempted(() => ({ ok: true, hash: change(this.#of, undefined, changesOf(patch, '')) }));
  }

  /** Asks every candidate of a queue straight (R39); none: there is no such queue. */
  async probe(queue: string): Promise<readonly Tested[] | undefined> {
    const found = this.#of.home.plans.all().find(({ id }) => id === queue);
    return found && probe(this.#of.probing, found.candidates);
  }
}

function changesOf(patch: Readonly<Record<string, unknown>>, path: string): Change[] {
  return Object.entries(patch).flatMap(([name, value]): Change[] => {
    const at = path === '' ? name : `${path}.${name}`;
    if (value === null) return [{ do: 'unset', path: at }];
    const inside = path === '' ? TABLES.includes(name) : path === 'queues';
    const isTable = typeof value === 'object' && !Array.isArray(value);
    return inside && isTable
      ? changesOf(value as Record<string, unknown>, at)
      : [{ do: 'set', path: at, value }];
  });
}

function attempted(work: () => Outcome): Outcome {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 'internal';
    return { ok: false, code, message: masked(messageOf(error)) };
  }
}
