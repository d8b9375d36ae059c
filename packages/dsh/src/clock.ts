/**
 * The one place that reads the time and sets timers. All timers of a clock are counted, and gone
 * when it is closed.
 */
import type { Clock } from './ports.ts';

/** The longest that the platform can wait at once. */
const MOST_MS = 2_147_483_647;

export class HostClock implements Clock {
  readonly #holds: boolean;
  readonly #timers = new Set<NodeJS.Timeout>();

  readonly #fault: (error: unknown) => void;

  /** Whether a timer that runs keeps the process: only those that somebody waits for may. */
  constructor(process: 'kept' | 'let-go', fault: (error: unknown) => void = () => {}) {
    this.#holds = process === 'kept';
    this.#fault = fault;
  }

  wallMs(): number {
    return Date.now();
  }

  monoMs(): number {
    return performance.now();
  }

  setTimer(ms: number, due: () => void): () => void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      try {
        due();
      } catch (error) {
        // Nobody above could catch it: it would end the host.
        this.#fault(error);
      }
    }, Math.min(ms, MOST_MS));
    if (!this.#holds) timer.unref();
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      clearTimeout(timer);
    };
  }

  /** How many run. */
  get timers(): number {
    return this.#timers.size;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
