/**
 * D6: an answer that broke after it was let through starts anew with the next candidate, in the
 * host's own retry of the step, which drops the partial text. It remembers who broke in the step
 * that is open; who comes next, and when nobody is left, the engine says.
 */
import type { FailureClass, QueuePlan, Route } from './ports.ts';
import { routeText } from './names.ts';

/** Another model would be refused as well, or nothing broke. */
const TOLD_AS_THEY_ARE: readonly FailureClass[] =
  ['context_overflow', 'content_filter', 'invalid_request', 'aborted', 'truncated'];

export interface Broken {
  readonly route: Route;
  readonly class: FailureClass;
}

interface Step {
  readonly turn: number;
  readonly step: number;
  readonly queue: string | undefined;
  readonly broken: readonly Broken[];
  /** The last call of the step broke, and the host has not been told to retry yet. */
  readonly due: boolean;
}

export class Rescue {
  readonly #steps = new Map<string, Step>();

  /** The host is about to make a request in that step. */
  requesting(session: string, turn: number, step: number): void {
    const known = this.#steps.get(session);
    if (known?.turn === turn && known.step === step) return;
    this.#steps.set(session, { turn, step, queue: undefined, broken: [], due: false });
  }

  /** Who broke earlier in the open step, if the same queue is asked again. */
  triedIn(session: string, queue: string): readonly Broken[] {
    const known = this.#steps.get(session);
    return known !== undefined && known.queue === queue ? known.broken : [];
  }

  /** An answer broke off; answers whether it is to be rescued. */
  broke(session: string, queue: QueuePlan, broken: Broken): boolean {
    const known = this.#steps.get(session);
    if (known === undefined || !queue.rescue || TOLD_AS_THEY_ARE.includes(broken.class)) {
      return false;
    }
    const before = known.queue === queue.id ? known.broken : [];
    const all = [...before, broken];
    const gone = new Set(all.map((one) => routeText(one.route)));
    const due = queue.candidates.some((one) => one.present && !gone.has(routeText(one)));
    this.#steps.set(session, { ...known, queue: queue.id, broken: all, due });
    return due;
  }

  /** Whether the failed request of that step is to be made again; asked once. */
  take(session: string, turn: number, step: number): boolean {
    const known = this.#steps.get(session);
    if (known === undefined || known.turn !== turn || known.step !== step || !known.due) return false;
    this.#steps.set(session, { ...known, due: false });
    return true;
  }

  /** The turn is over, or the session is. */
  forget(session: string): void {
    this.#steps.delete(session);
  }
}
