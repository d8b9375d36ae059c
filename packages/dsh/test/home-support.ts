/** What tests of the state half need: a folder that goes, and a clock that is moved by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Clock } from '../src/ports.ts';

/** A folder that is gone after the test. */
export function folderFor(test: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'ekiden-'));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A clock that stands still until it is moved; timers that are due run then, in order. */
export class HandClock implements Clock {
  wall: number;
  #mono = 0;
  #timers: { readonly at: number; readonly due: () => void }[] = [];

  constructor(wall = Date.parse('2026-11-30T02:00:00Z')) {
    this.wall = wall;
  }

  wallMs(): number {
    return this.wall;
  }

  monoMs(): number {
    return this.#mono;
  }

  setTimer(ms: number, due: () => void): () => void {
    const timer = { at: this.#mono + ms, due };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.length;
  }

  move(ms: number): void {
    const end = this.#mono + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.wall += next.at - this.#mono;
      this.#mono = next.at;
      next.due();
    }
    this.wall += end - this.#mono;
    this.#mono = end;
  }
}
