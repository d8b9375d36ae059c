/**
 * Which model ran a turn, if a queue ran it (R44). Shown and never kept: calls know their session
 * but not their turn, turns know no call, so that what changed between a turn's start and its end
 * is what ran it.
 */
import type { TurnNote } from './ports.ts';

const SESSIONS_MAX = 500;
const TURNS_MAX = 50;

export type Ran = Omit<TurnNote, 'turn'>;

interface Session {
  ran: Ran | undefined;
  /** What had run when the open turn began. */
  before: Ran | undefined;
  notes: TurnNote[];
}

export class TurnNotes {
  readonly #sessions = new Map<string, Session>();

  /** A queue's candidate has just answered; every answer is another object. */
  ran(session: string, ran: Ran): void {
    this.#of(session).ran = ran;
  }

  started(session: string): void {
    const known = this.#sessions.get(session);
    if (known !== undefined) known.before = known.ran;
  }

  ended(session: string, turn: number): void {
    const known = this.#sessions.get(session);
    if (known?.ran === undefined || known.ran === known.before) return;
    known.before = known.ran;
    known.notes = [...known.notes, { turn, ...known.ran }].slice(-TURNS_MAX);
  }

  of(session: string): readonly TurnNote[] {
    return this.#sessions.get(session)?.notes ?? [];
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  #of(session: string): Session {
    const known = this.#sessions.get(session) ?? { ran: undefined, before: undefined, notes: [] };
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
    const oldest = this.#sessions.keys().next().value;
    if (this.#sessions.size > SESSIONS_MAX && oldest !== undefined) this.#sessions.delete(oldest);
    return known;
  }
}
