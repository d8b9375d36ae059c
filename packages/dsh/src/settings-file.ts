/**
 * The settings of a plugin that runs: taken anew when their file changes, and written. It refuses to
 * run on what does not hold: after a bad edit the last good settings stay, and every place that
 * shows settings says so.
 */
import { createHash } from 'node:crypto';
import { EditError, edited, withQueues, type Change, type Document } from './edits.ts';
import { FileTrouble, messageOf, type Folder, type Stamp } from './files.ts';
import { BadJson, readJson, type Read, type Spot } from './json-text.ts';
import { readSettings, type Config, type Problem } from './settings.ts';
import type { Clock } from './ports.ts';

const NAME = 'settings.json';
const LOOK_EVERY_MS = 1_000;
const TEXT_CHARS_MAX = 1024 * 1024;

/** What stands for a file that is not there. */
const ABSENT = 'absent';

/** How the settings stand. */
export interface SettingsStatus {
  readonly file: string | null;
  /** Of the text that runs: the precondition of a change. */
  readonly hash: string;
  /** Unix time. */
  readonly sinceMs: number;
  /** Why the newest edit is not used. */
  readonly refused: readonly Problem[];
  /** Why the file cannot be written from here. */
  readonly readOnly: string | undefined;
}

/** What somebody wants to hear about changes. */
export interface SettingsHeard {
  taken(now: Config, before: Config): void;
  refused(problem: Problem): void;
}

interface Running {
  readonly config: Config;
  readonly hash: string;
  readonly spots: ReadonlyMap<string, Spot>;
  readonly sinceMs: number;
}

export class SettingsFile {
  readonly #folder: Folder | undefined;
  readonly #clock: Clock;
  readonly #heard = new Set<SettingsHeard>();
  readonly #whyNot: string | undefined;
  #running: Running;
  #refused: readonly Problem[] = [];
  /** The text that was looked at last, and whether it stood there in two looks. */
  #looked: { readonly stamp: Stamp | undefined; readonly settled: boolean } | undefined;
  #stop: (() => void) | undefined;

  /** Without a folder, settings live in memory; `whyNot` says why. Nobody has heard anything yet. */
  constructor(folder: Folder | undefined, clock: Clock, whyNot?: string) {
    this.#folder = folder;
    this.#clock = clock;
    this.#whyNot = whyNot;
    const read = parsed('{}');
    this.#running = { ...read, hash: ABSENT, sinceMs: clock.wallMs() };
    this.#take();
  }

  get config(): Config {
    return this.#running.config;
  }

  /** Where a key stands in the file that runs. */
  spot(path: string): Spot | undefined {
    return this.#running.spots.get(path);
  }

  /** Looks at the file every second, until what is answered is called. */
  watch(): () => void {
    const again = () => {
      this.#stop = this.#clock.setTimer(LOOK_EVERY_MS, () => {
        this.#look();
        again();
      });
    };
    again();
    return () => this.#stop?.();
  }

  /** Calls that one after each change; answers what ends it. */
  on(heard: SettingsHeard): () => void {
    this.#heard.add(heard);
    return () => this.#heard.delete(heard);
  }

  /** Looks at the file now. What does not hold is thrown as an [`EditError`]. */
  reload(): string {
    this.#take();
    const [first] = this.#refused;
    if (first)
      throw new EditError('invalid_settings', `${placeOf(first)}${first.message}; ${first.hint}`);
    return this.#running.hash;
  }

  status(): SettingsStatus {
    return {
      file: this.#folder ? this.#folder.at(NAME) : null,
      hash: this.#running.hash,
      sinceMs: this.#running.sinceMs,
      refused: this.#refused,
      readOnly: this.#folder
        ? this.#folder.readOnly(NAME)
        : (this.#whyNot ?? 'there is no folder to keep them in'),
    };
  }

  /**
   * Makes changes, all or none, on the disk when it returns; answers the new hash. `seen` is the hash
   * that they were decided upon; none: they are made to whatever stands there.
   */
  change(seen: string | undefined, changes: readonly Change[]): string {
    const folder = this.#folder;
    if (!folder)
      throw new EditError('read_only', this.#whyNot ?? 'there is no folder to keep settings in');
    try {
      return folder.locked(() => this.#changed(folder, seen, changes));
    } catch (error) {
      if (!(error instanceof FileTrouble)) throw error;
      throw new EditError('not_kept', error.message);
    }
  }

  /** Writes the first settings; a file that is there by now stays. */
  create(document: Document): void {
    const folder = this.#folder;
    if (!folder) return;
    folder.locked(() => {
      if (folder.stamp(NAME)) return;
      this.#put(folder, document);
    });
  }

  #changed(folder: Folder, seen: string | undefined, changes: readonly Change[]): string {
    const text = folder.read(NAME)?.text;
    const hash = hashOf(text);
    // Whoever saw what runs has missed nothing that could be used; the file itself is the cause.
    const stale =
      seen !== undefined &&
      seen !== hash &&
      !(seen === this.#running.hash && this.#refused.length > 0);
    if (stale)
      throw new EditError(
        'changed',
        'the settings file has changed since it was looked at; look again',
        hash,
      );
    let document: Document;
    try {
      document = parsed(text ?? '{}').document;
    } catch (error) {
      const why =
        error instanceof Refused
          ? `${placeOf(error.problem)}${error.problem.message}`
          : messageOf(error);
      throw new EditError(
        'refused',
        `the settings file cannot be used as it stands: ${why}; mend it first`,
      );
    }
    return this.#put(folder, edited(document, changes));
  }

  /** Puts a document in the file's place, if it holds, and runs on it. */
  #put(folder: Folder, document: Document): string {
    const next = `${JSON.stringify(document, null, 2)}\n`;
    let read: Parsed;
    try {
      read = parsed(next);
    } catch (error) {
      if (error instanceof Refused)
        throw new EditError(
          'invalid_settings',
          `${error.problem.path}: ${error.problem.message}; ${error.problem.hint}`,
        );
      throw error;
    }
    const readOnly = folder.readOnly(NAME);
    if (readOnly !== undefined) throw new EditError('read_only', readOnly);
    this.#looked = { stamp: folder.replace(NAME, next), settled: true };
    this.#run(read, hashOf(next));
    return hashOf(next);
  }

  #look(): void {
    const stamp = attempt(() => this.#folder?.stamp(NAME));
    const before = this.#looked;
    if (before && same(before.stamp, stamp)) {
      if (!before.settled) this.#take();
      return;
    }
    // An editor may empty the file first and write it then.
    this.#looked = { stamp, settled: false };
  }

  #take(): void {
    const found = attempt(() => this.#folder?.read(NAME));
    this.#looked = { stamp: found?.stamp, settled: true };
    // A file that is gone counts as an edit that cannot be used, once there was one.
    if (found === undefined && this.#running.hash !== ABSENT) {
      return this.#refuse([
        {
          path: '',
          message: 'the file is gone, or cannot be read',
          hint: 'write it again; until then the last settings hold',
        },
      ]);
    }
    const hash = hashOf(found?.text);
    if (hash === this.#running.hash && hash !== ABSENT) {
      this.#refused = [];
      return;
    }
    try {
      this.#run(parsed(found?.text ?? '{}'), hash);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#refuse(error.problems);
    }
  }

  #run(read: Parsed, hash: string): void {
    const before = this.#running.config;
    const first = this.#running.hash === hash;
    this.#refused = [];
    this.#running = { config: read.config, spots: read.spots, hash, sinceMs: this.#clock.wallMs() };
    if (!first) for (const heard of this.#heard) heard.taken(read.config, before);
  }

  #refuse(problems: readonly Problem[]): void {
    const known = JSON.stringify(this.#refused) === JSON.stringify(problems);
    this.#refused = problems;
    const [first] = problems;
    if (first && !known) for (const heard of this.#heard) heard.refused(first);
  }
}

/** Line and column of a problem, for the beginning of a sentence. */
export function placeOf(problem: Problem): string {
  const line = problem.spot ? `${NAME}:${problem.spot.line}:${problem.spot.column}: ` : '';
  return `${line}${problem.path === '' ? '' : `${problem.path}: `}`;
}

interface Parsed {
  readonly document: Document;
  readonly config: Config;
  readonly spots: ReadonlyMap<string, Spot>;
}

/** A text does not hold. */
class Refused extends Error {
  readonly problems: readonly Problem[];
  readonly problem: Problem;

  constructor(first: Problem, rest: readonly Problem[] = []) {
    super(first.message);
    this.problem = first;
    this.problems = [first, ...rest];
  }
}

function parsed(text: string): Parsed {
  if (text.length > TEXT_CHARS_MAX) {
    throw new Refused({
      path: '',
      message: 'the file is too large',
      hint: `at most ${TEXT_CHARS_MAX} characters are read`,
    });
  }
  let read: Read;
  try {
    // An empty file sets nothing.
    read = readJson(text.trim() === '' ? '{}' : text);
  } catch (error) {
    if (!(error instanceof BadJson)) throw error;
    throw new Refused({
      path: '',
      message: error.message,
      hint: 'the file is JSON, without comments',
      spot: error.spot,
    });
  }
  const document = withQueuesIn(read.value);
  const { config, problems } = readSettings(document);
  const placed = problems.map((problem) => {
    const spot = nearestSpot(read.spots, problem.path);
    return spot ? { ...problem, spot } : problem;
  });
  const [first, ...rest] = placed;
  if (first) throw new Refused(first, rest);
  return { document: document as Document, config, spots: read.spots };
}

function withQueuesIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? withQueues(value as Document)
    : value;
}

/** Where a path stands, or the member that it is inside of. */
function nearestSpot(spots: ReadonlyMap<string, Spot>, path: string): Spot | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const spot = spots.get(at);
    if (spot) return spot;
  }
  return undefined;
}

function hashOf(text: string | undefined): string {
  return text === undefined ? ABSENT : createHash('sha256').update(text).digest('hex');
}

function same(a: Stamp | undefined, b: Stamp | undefined): boolean {
  return a === b || (a?.ino === b?.ino && a?.size === b?.size && a?.changedMs === b?.changedMs);
}

/** A disk that does not answer shows what it showed before: nothing new. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
