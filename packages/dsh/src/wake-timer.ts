/**
 * The one timer of a call. The engine may move the moment with every piece of an answer; a timer
 * that runs is left alone where the new moment is later, and looks again when it comes up.
 */
import type { Clock } from './ports.ts';

export class WakeTimer {
  readonly #clock: Clock;
  readonly #due: () => void;
  #wakeAt: number | undefined;
  #running: { readonly at: number; readonly clear: () => void } | undefined;

  constructor(clock: Clock, due: () => void) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Monotonic; undefined: never. */
  wake(atMs: number | undefined): void {
    this.#wakeAt = atMs;
    if (atMs === undefined) return this.clear();
    if (this.#running === undefined || this.#running.at > atMs) this.#set(atMs);
  }

  clear(): void {
    this.#running?.clear();
    this.#running = undefined;
    this.#wakeAt = undefined;
  }

  #set(at: number): void {
    this.#running?.clear();
    const ms = Math.max(0, Math.ceil(at - this.#clock.monoMs()));
    this.#running = { at, clear: this.#clock.setTimer(ms, () => this.#rang()) };
  }

  #rang(): void {
    this.#running = undefined;
    this.#due();
    if (this.#running === undefined && this.#wakeAt !== undefined) this.#set(this.#wakeAt);
  }
}
