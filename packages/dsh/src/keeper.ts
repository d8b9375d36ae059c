/**
 * What outlives a call, kept on disk: facts, journal, ledger. It refuses to stand in the way of
 * serving: what cannot be written waits in memory within bounds, is tried again, and what is dropped
 * is counted and said.
 *
 * Records are gathered for 250 ms and written in one section that no other process can be in. A
 * process that is killed loses at most those; a crash of the system at most what the disk had not
 * taken yet.
 */
import { FileTrouble, messageOf, type Folder, type Trouble } from './files.ts';
import {
  Journal,
  JOURNAL_VERSION,
  entryOf,
  factEntry,
  noteEntry,
  type Entry,
  type Happened,
} from './journal.ts';
import {
  Ledger,
  LEDGER_VERSION,
  ATTEMPTS_MAX,
  CALLS_MAX,
  attemptLine,
  callLine,
} from './ledger.ts';
import { routeText } from './settings.ts';
import { SharedLog, type Line } from './shared-log.ts';
import { KeptState, STATE_VERSION, factLine } from './state.ts';
import type {
  AttemptRow,
  CallRow,
  Clock,
  Evidence,
  Fact,
  FailureClass,
  Keeper,
  Names,
  Note,
} from './ports.ts';

const GATHER_MS = 250;
const LOCKED_AGAIN_MS = 20;
const TROUBLE_AGAIN_MS = 1_000;
/** How often the last flush of a process tries where another one holds the lock. */
const LAST_TRIES = 25;
/** A flush that somebody waits for gives up after this. */
const FLUSH_MS = 2_000;

const FACTS_MAX = 16_384;
const ROWS_MAX = 4_096;
/** Calls whose attempts are still being joined. */
const JOINED_MAX = 1_000;

/** What the keeper asks of its surroundings. */
export interface KeeperFrom {
  /** None: everything is kept in memory alone. */
  readonly folder: Folder | undefined;
  readonly clock: Clock;
  /** The logical day's number at a Unix time. */
  day(wallMs: number): number;
  /** Entries of the journal that are kept; 0: it is off. */
  journalMax(): number;
}

/** Whether records are kept. */
export interface Recording {
  readonly trouble: Trouble | null;
  readonly dropped: number;
  readonly folder: string | null;
  readonly whyNot: string | null;
}

/** What changed in what is kept, for those who look on. */
export type Kept =
  | { readonly kind: 'journal'; readonly entry: Entry }
  | { readonly kind: 'tally'; readonly route: string }
  | { readonly kind: 'speed'; readonly session: string; readonly route: string };

interface Logs {
  readonly state: SharedLog;
  readonly journal: SharedLog;
  readonly ledger: SharedLog;
}

export class HomeKeeper implements Keeper {
  readonly state = new KeptState();
  readonly journal = new Journal();
  readonly ledger = new Ledger();
  readonly #from: KeeperFrom;
  readonly #logs: Logs | undefined;
  readonly #heard = new Set<(kept: Kept) => void>();
  readonly #lastClass = new Map<string, FailureClass>();
  readonly #joined = new Map<
    string,
    { row?: AttemptRow; fact?: Extract<Fact, { kind: 'attempted' }> }
  >();
  #facts: Line[] = [];
  #rows: Line[] = [];
  #entries: (Happened & { readonly at_ms: number; readonly call: string | null })[] = [];
  #timer: (() => void) | undefined;
  #trouble: Trouble | null = null;
  #whyNot: string | null = null;
  #dropped = 0;
  #syncing = 0;
  readonly #awaited: (() => void)[] = [];

  /** Reads what was kept. It does not throw: what cannot be read is said by `recording`. */
  constructor(from: KeeperFrom, whyNot?: string) {
    this.#from = from;
    this.#whyNot = from.folder ? null : (whyNot ?? 'there is no folder to keep it in');
    const { folder } = from;
    this.#logs = folder && {
      state: new SharedLog(folder, 'state.jsonl', STATE_VERSION),
      journal: new SharedLog(folder, 'journal.jsonl', JOURNAL_VERSION),
      ledger: new SharedLog(folder, 'ledger.jsonl', LEDGER_VERSION),
    };
    try {
      this.#catchUp();
    } catch (error) {
      // Another version's files stay as they are.
      this.#whyNot = messageOf(error);
    }
    this.turn(from.day(from.clock.wallMs()));
  }

  recall(names: Names): readonly string[] {
    return this.state.recall(names);
  }

  keep(fact: Fact, evidence?: Evidence): void {
    const line = factLine(fact, evidence);
    if (line) this.#fact(line);
    if (fact.kind === 'attempted') this.#join(`${fact.call}\n${fact.attempt}`, { fact });
    if (fact.kind === 'called') this.#lastClass.delete(fact.call);
    const told = factEntry(
      fact,
      evidence,
      'call' in fact ? this.#lastClass.get(fact.call) : undefined,
    );
    if (told) this.tell(told.what, told.call);
  }

  note(note: Note): void {
    const { what, call } = noteEntry(note);
    this.tell(what, call);
  }

  /** Adds an entry to the journal. */
  tell(what: Happened, call: string | null = null): void {
    if (this.#from.journalMax() === 0) return;
    this.#entries.push({ at_ms: this.#from.clock.wallMs(), call, ...what });
    if (this.#entries.length > ROWS_MAX) this.#drop(this.#entries);
    this.#later(GATHER_MS);
  }

  attempted(row: AttemptRow): void {
    if (row.class) {
      this.#lastClass.set(row.call, row.class);
      trim(this.#lastClass, JOINED_MAX);
    }
    if (row.state !== 'sent') this.#join(`${row.call}\n${row.attempt}`, { row });
    this.#row(attemptLine(row, this.state.day));
  }

  ended(call: CallRow): void {
    this.#row(callLine(call));
  }

  /** A queue is gone: its id is remembered (R1). */
  queueDeleted(queue: string): void {
    this.#fact({ what: 'queue_deleted', queue });
  }

  /** An id is a queue's again. */
  queueMade(queue: string): void {
    if (this.state.deleted.has(queue)) this.#fact({ what: 'queue_made', queue });
  }

  /** The day is that one; what belongs to an earlier one is gone. A day that was before does nothing. */
  turn(day: number): void {
    if (day > this.state.day) this.#fact({ what: 'turned', day });
  }

  /** A fact that was found elsewhere, such as in another program's files. */
  adopt(line: Line): void {
    this.#fact(line);
  }

  recording(): Recording {
    return {
      trouble: this.#trouble,
      dropped: this.#dropped,
      folder: this.#whyNot === null ? (this.#from.folder?.path ?? null) : null,
      whyNot: this.#whyNot,
    };
  }

  /** Calls that one for each change; answers what ends it. */
  on(heard: (kept: Kept) => void): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  /** Everything is on the disk when it resolves, or said to be in trouble. It never rejects. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      const until = this.#from.clock.monoMs() + FLUSH_MS;
      const again = () => {
        this.flushNow();
        const left = this.#facts.length + this.#rows.length + this.#entries.length + this.#syncing;
        const waits = this.#trouble === null || this.#trouble === 'locked';
        if (left === 0 || !waits || this.#from.clock.monoMs() >= until) resolve();
        else if (this.#syncing > 0) this.#awaited.push(again);
        else this.#from.clock.setTimer(LOCKED_AGAIN_MS, again);
      };
      again();
    });
  }

  /** Writes what waits, without waiting for the disk: for the last moment of a process. */
  flushNow(): void {
    this.#timer?.();
    this.#timer = undefined;
    const logs = this.#whyNot === null ? this.#logs : undefined;
    const { folder } = this.#from;
    if (!logs || !folder) return this.#inMemory();
    if (this.#facts.length + this.#rows.length + this.#entries.length === 0) return;
    try {
      folder.locked(() => this.#write(logs));
      this.#trouble = null;
    } catch (error) {
      const { trouble } = FileTrouble.of(error);
      this.#trouble = trouble;
      this.#later(trouble === 'locked' ? LOCKED_AGAIN_MS : TROUBLE_AGAIN_MS);
      // Another process is done in a moment; a full disk is not.
      if (trouble !== 'locked') this.#showUnwritten();
    }
  }

  /** Writes what waits, also where another process writes at this moment: it is done in a moment. */
  flushAtLast(): void {
    for (let tries = 0; tries < LAST_TRIES; tries += 1) {
      this.flushNow();
      if (this.#trouble !== 'locked') return;
      // Nobody would come back to a promise: the process ends here.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCKED_AGAIN_MS);
    }
  }

  /** No more is written by itself. */
  close(): void {
    this.flushAtLast();
    this.#timer?.();
    this.#timer = undefined;
    this.#heard.clear();
  }

  #write(logs: Logs): void {
    this.#catchUp();
    const facts = this.#facts;
    if (facts.length > 0) {
      const lasting = facts.some(
        ({ what }) => what !== 'tallied' && what !== 'wrote' && what !== 'verified',
      );
      logs.state.append(facts, lasting ? this.#synced() : undefined);
      this.#facts = [];
      if (logs.state.lines > 1_000 + 3 * this.state.size) logs.state.rewrite(this.state.lines());
    }
    if (this.#entries.length > 0) {
      const entries = this.#entries.map((entry, at) => ({
        number: this.journal.next() + at,
        ...entry,
      }));
      logs.journal.append(entries);
      this.#entries = [];
      this.#show(entries);
    }
    const most = this.#from.journalMax();
    if (logs.journal.lines > 2 * most + 100) {
      this.journal.prune(most);
      logs.journal.rewrite(this.journal.entries);
    }
    if (this.#rows.length > 0) {
      logs.ledger.append(this.#rows);
      this.#rows = [];
      if (logs.ledger.lines > 2 * (ATTEMPTS_MAX + CALLS_MAX))
        logs.ledger.rewrite(this.ledger.lines());
    }
  }

  #synced(): (trouble?: FileTrouble) => void {
    this.#syncing += 1;
    return (trouble) => {
      this.#syncing -= 1;
      if (trouble) this.#trouble = trouble.trouble;
      for (const again of this.#awaited.splice(0)) again();
    };
  }

  /** Takes in what other processes wrote. */
  #catchUp(): void {
    const logs = this.#logs;
    if (!logs) return;
    // A file that is another one by now, because somebody made it shorter or took it away, is the
    // truth, and what waits to be written comes on top.
    const state = logs.state.news();
    if (state.anew) this.state.clear();
    for (const line of [...state.lines, ...(state.anew ? this.#facts : [])]) this.state.apply(line);
    const journal = logs.journal.news();
    if (journal.anew) this.journal.clear();
    for (const line of journal.lines) {
      const entry = entryOf(line);
      if (entry) this.journal.take(entry, this.#from.journalMax());
    }
    const ledger = logs.ledger.news();
    if (ledger.anew) this.ledger.clear();
    for (const line of [...ledger.lines, ...(ledger.anew ? this.#rows : [])])
      this.ledger.take(line);
  }

  #inMemory(): void {
    this.#facts = [];
    this.#rows = [];
    this.#showUnwritten();
  }

  #showUnwritten(): void {
    const entries = this.#entries.map((entry, at) => ({
      number: this.journal.next() + at,
      ...entry,
    }));
    if (this.#whyNot === null) this.#dropped += entries.length;
    this.#entries = [];
    this.#show(entries);
  }

  #show(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.journal.take(entry, this.#from.journalMax());
      this.#tellOthers({ kind: 'journal', entry });
    }
  }

  /** R29, R30: an attempt's numbers are known when both its row and its verdict are. */
  #join(
    key: string,
    part: { row?: AttemptRow; fact?: Extract<Fact, { kind: 'attempted' }> },
  ): void {
    const { row, fact } = { ...this.#joined.get(key), ...part };
    if (!row || !fact) {
      this.#joined.set(key, { ...(row && { row }), ...(fact && { fact }) });
      return trim(this.#joined, JOINED_MAX);
    }
    this.#joined.delete(key);
    const { kind } = fact.verdict;
    if (kind === 'spared' || row.internal) return;
    const good = kind === 'whole' || kind === 'truncated';
    const route = routeText(row.route);
    const { day } = this.state;
    this.#fact({ what: 'tallied', day, route, successes: good ? 1 : 0, failures: good ? 0 : 1 });
    this.#tellOthers({ kind: 'tally', route });
    if (fact.speakingMs <= 0) return;
    const tokens = good ? (fact.outputTokens ?? 0) : 0;
    const ms = tokens > 0 ? fact.speakingMs : 0;
    this.#fact({
      what: 'wrote',
      day,
      session: row.session,
      route,
      tokens,
      ms,
      usedMs: fact.speakingMs,
      runs: 1,
    });
    this.#tellOthers({ kind: 'speed', session: row.session, route });
  }

  #fact(line: Line): void {
    this.state.apply(line);
    this.#facts.push(line);
    if (this.#facts.length > FACTS_MAX) this.#drop(this.#facts);
    this.#later(GATHER_MS);
  }

  #row(line: Line): void {
    this.ledger.take(line);
    this.#rows.push(line);
    if (this.#rows.length > ROWS_MAX) this.#drop(this.#rows);
    this.#later(GATHER_MS);
  }

  #drop(from: unknown[]): void {
    from.shift();
    this.#dropped += 1;
  }

  #later(ms: number): void {
    this.#timer ??= this.#from.clock.setTimer(ms, () => {
      this.#timer = undefined;
      this.flushNow();
    });
  }

  #tellOthers(kept: Kept): void {
    for (const heard of this.#heard) heard(kept);
  }
}

function trim<T>(map: Map<string, T>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
