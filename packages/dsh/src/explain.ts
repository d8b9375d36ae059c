/**
 * Why a call did what it did, in order (R33): the engine's `why` lines with names, in the members
 * that the gateway's `calls/{call}` has. It adds no prose.
 */
import type { CallStep, DryRun, QueuePlan } from './ports.ts';
import { routeText } from './names.ts';
import { readLastWord, Words } from './words.ts';

/**
 * The steps that the lines tell; `beganMono` is when the call came. Of one that is over every candidate
 * of the queue is named.
 */
export function explain(answer: string, queue: QueuePlan, beganMono: number,
  standing: 'open' | 'over'): CallStep[] {
  const reader = new StepReader(queue, beganMono);
  for (const line of answer.split('\n')) if (line.startsWith('why ')) reader.line(line);
  if (standing === 'over') reader.rest();
  return reader.steps;
}

/** What a preview says that a call would do now. */
export function dryRun(answer: string, queue: QueuePlan): DryRun | undefined {
  const reader = new StepReader(queue, 0);
  const line = answer.split('\n').find((one) => one.startsWith('why '));
  if (line === undefined) return undefined;
  const decided = reader.line(line);
  reader.rest();
  const steps = reader.steps.map((step) => ({ ...step, at_ms: 0 }));
  const route = queue.candidates[decided?.candidate ?? -1];
  const ms = decided?.ms;
  return {
    would: decided?.would ?? 'refuse', steps,
    ...(route === undefined ? {} : { route: { provider: route.provider, model: route.model } }),
    ...(ms === undefined ? {} : { waitMs: ms }),
  };
}

interface Decided {
  readonly would: DryRun['would'];
  readonly candidate?: number;
  readonly ms?: number;
}

class StepReader {
  readonly steps: CallStep[] = [];
  readonly #queue: QueuePlan;
  readonly #began: number;
  #passed = '';

  constructor(queue: QueuePlan, began: number) {
    this.#queue = queue;
    this.#began = began;
  }

  line(line: string): Decided | undefined {
    const words = new Words(line);
    words.next();
    const kind = words.next();
    const at = Math.max(0, words.number() - Math.floor(this.#began));
    words.number();
    if (kind === 'admitted') return this.#admitted(words, at);
    this.#fed(words, at);
    return undefined;
  }

  #admitted(words: Words, at: number): Decided {
    const passed: CallStep[] = [];
    for (let left = words.number(); left > 0; left -= 1) {
      passed.push(this.#passedOver(at, words.number(), reason(words)));
    }
    const moved: CallStep[] = [];
    for (let left = words.number(); left > 0; left -= 1) {
      moved.push(this.#passedOver(at, words.number(), reason(words)));
    }
    // A call that asks again and finds the same says so once.
    const told = JSON.stringify(passed.map(({ at_ms: _at, ms: _ms, ...rest }) => rest));
    if (told !== this.#passed) this.steps.push(...passed);
    this.#passed = told;
    this.steps.push(...moved);
    return this.#decided(words, at);
  }

  /** A candidate that was passed over, or stands further back than its place in the queue says. */
  #passedOver(at: number, candidate: number, why: Reason): CallStep {
    const route = this.#queue.candidates[candidate];
    const lack = why.reason === 'missing' && route !== undefined
      ? { lack: { code: 'no_provider', provider: route.provider } } : {};
    return { at_ms: at, step: 'passed_over', route: this.#route(candidate), ...why, ...lack };
  }

  /** Those of whom nothing was said: their turn did not come. */
  rest(): void {
    const at = this.steps.at(-1)?.at_ms ?? 0;
    const named = new Set(this.steps.map((step) => step['route']));
    for (const [index, candidate] of this.#queue.candidates.entries()) {
      const route = this.#route(index);
      if (named.has(route)) continue;
      if (candidate.present) this.#push(at, 'not_reached', { route });
      else this.steps.push(this.#passedOver(at, index, { reason: 'missing' }));
    }
  }

  #decided(words: Words, at: number): Decided {
    const kind = words.next('a decision');
    switch (kind) {
      case 'go': {
        const [attempt, candidate] = [words.number(), words.number()];
        words.number();
        const [continues, mode, mended] = [words.number(), words.next(), words.yes()];
        this.#push(at, 'began', { route: this.#route(candidate), attempt,
          mode: snake(mode), continues, mended });
        return { would: 'run', candidate };
      }
      case 'lease': {
        const candidate = words.number();
        this.#push(at, 'asked_for_seat', { route: this.#route(candidate) });
        return { would: 'run', candidate };
      }
      case 'pause':
      case 'wait': {
        const ms = words.number();
        const why = snake(words.rest().join('_'));
        this.#push(at, kind === 'pause' ? 'paused' : 'waited', { ms, why });
        return { would: 'wait', ms };
      }
      case 'judge':
        this.#push(at, 'judged', { route: this.#route(words.number()) });
        return { would: 'refuse' };
      default:
        this.#push(at, 'exhausted', { told: snake(readLastWord(words).kind) });
        return { would: 'refuse' };
    }
  }

  #fed(words: Words, at: number): void {
    const kind = words.next('an input');
    if (kind === 'client-gone') return this.#push(at, 'client_gone', {});
    if (kind === 'stop') return this.#push(at, 'stopped', {});
    if (kind !== 'attempt') return;
    const attempt = words.number();
    switch (words.next()) {
      case 'failed': {
        const failed = words.next();
        return this.#push(at, 'failed',
          { attempt, class: failed, mendable: words.rest().at(-1) === 'possible' });
      }
      case 'end': {
        const finish = words.maybe((some) => some.next());
        return this.#push(at, 'ended', { attempt,
          finish: finish === undefined ? null : snake(finish), terminal: words.next() === 'seen' });
      }
      case 'malformed':
        return this.#push(at, 'malformed', { attempt });
      default:
    }
  }

  #push(at: number, step: string, members: Record<string, string | number | boolean | null>): void {
    this.steps.push({ at_ms: at, step, ...members });
  }

  #route(candidate: number): string {
    const route = this.#queue.candidates[candidate];
    return route === undefined ? `#${candidate}` : routeText(route);
  }
}

interface Reason {
  readonly reason: string;
  readonly class?: string;
  readonly ms?: number;
}

function reason(words: Words): Reason {
  const reason = words.next('a reason');
  switch (reason) {
    case 'quarantined':
      return { reason, class: words.next() };
    case 'cooling':
    case 'resting':
      return { reason, ms: words.number() };
    default:
      return { reason: snake(reason) };
  }
}

function snake(word: string): string {
  return word.replaceAll('-', '_');
}
