/**
 * Files of the state folder. It refuses to leave half a file behind, to wait for another process,
 * and to show a file to anybody but its owner.
 *
 * Several hosts may run on one home (`dsh web` and a headless run). Every file is shared; whoever
 * writes holds the folder's lock for the few milliseconds that it takes and looks first at what the
 * others wrote. Nothing inside a locked section is asynchronous, so that no section of one process
 * begins inside another of the same process.
 */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Only the owner reads and writes. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

/** A lock of a process that is gone may be taken away after this; nobody holds one so long. */
const STALE_MS = 10_000;
/** And any lock after this, also one of another machine, whose processes cannot be seen. */
const STALE_ELSEWHERE_MS = 60_000;

/** Larger files are none of ours. */
const READ_BYTES_MAX = 64 * 1024 * 1024;

/** Why something could not be kept, by what can be done about it. */
export type Trouble =
  /** The disk has no room: it goes on by itself when there is some. */
  | 'full'
  /** Another process has the folder at this instant: try again soon. */
  | 'locked'
  /** The folder or file cannot be read or written: a person has to look. */
  | 'disk';

/** Something was not kept. */
export class FileTrouble extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'FileTrouble';
    this.trouble = trouble;
  }

  /** What the system said, as something that can be acted upon. */
  static of(error: unknown): FileTrouble {
    if (error instanceof FileTrouble) return error;
    const full = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error) ?? '');
    return new FileTrouble(full ? 'full' : 'disk', messageOf(error), error);
  }
}

/** The system's name of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** What an error says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** How a file stood when it was last looked at: equal stamps, equal content. */
export interface Stamp {
  readonly ino: number;
  readonly size: number;
  readonly changedMs: number;
}

/** Text of a file with its stamp. */
export interface Seen {
  readonly text: string;
  readonly stamp: Stamp;
}

/** A folder that several processes of one user write to. */
export class Folder {
  readonly path: string;
  readonly #wallMs: () => number;
  #held = 0;

  /** Makes the folder if need be. Throws a [`FileTrouble`] where it cannot be used. */
  constructor(path: string, wallMs: () => number) {
    this.path = path;
    this.#wallMs = wallMs;
    guarded(() => mkdirSync(path, { recursive: true, mode: FOLDER_MODE }));
  }

  /** Where a file of that name is. */
  at(name: string): string {
    return join(this.path, name);
  }

  /** How the file stands; none: it is not there. */
  stamp(name: string): Stamp | undefined {
    return guarded(() => {
      const found = statSync(this.at(name), { throwIfNoEntry: false });
      return found && { ino: found.ino, size: found.size, changedMs: found.mtimeMs };
    });
  }

  /** The whole file; none: it is not there. */
  read(name: string): Seen | undefined {
    return guarded(() => {
      const fd = openIfThere(this.at(name));
      if (fd === undefined) return undefined;
      try {
        const found = fstatSync(fd);
        if (!found.isFile() || found.size > READ_BYTES_MAX) {
          throw new FileTrouble('disk', `${this.at(name)} is no file of ours, or too large`);
        }
        const text = readFileSync(fd, 'utf8');
        return { text, stamp: { ino: found.ino, size: found.size, changedMs: found.mtimeMs } };
      } finally {
        closeSync(fd);
      }
    });
  }

  /**
   * Does something while no other process writes. Throws a `locked` trouble at once if another one
   * does, and whatever the work throws. Sections may stand inside each other.
   */
  locked<T>(work: () => T): T {
    if (this.#held > 0) return work();
    const token = this.#take();
    this.#held += 1;
    try {
      return work();
    } finally {
      this.#held -= 1;
      this.#giveBack(token);
    }
  }

  /**
   * Puts a text in the place of a file's content, on the disk when it returns: it is written beside
   * it and exchanged in one step, so that a reader finds the old text or the new one. A symbolic
   * link stays one.
   */
  replace(name: string, text: string): Stamp {
    return guarded(() => {
      const target = linkTarget(this.at(name));
      const beside = `${target}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
      const fd = openSync(beside, 'wx', FILE_MODE);
      try {
        writeAll(fd, text);
        fsyncSync(fd);
        const made = fstatSync(fd);
        renameSync(beside, target);
        syncFolder(this.path);
        return { ino: made.ino, size: made.size, changedMs: made.mtimeMs };
      } catch (error) {
        ignored(() => unlinkSync(beside));
        throw error;
      } finally {
        closeSync(fd);
      }
    });
  }

  /**
   * Adds lines to a file, all or none, and answers how it stands then. `text` ends with a line end.
   * A line that a killed process left unfinished is ended first; readers pass over it. The system is
   * told to bring it to the disk, and `synced` hears when it is there.
   */
  append(name: string, text: string, synced?: (trouble?: FileTrouble) => void): Stamp {
    return guarded(() => {
      const fd = openSync(this.at(name), 'a+', FILE_MODE);
      let closing = true;
      try {
        const before = fstatSync(fd).size;
        try {
          writeAll(fd, endsInside(fd, before) ? `\n${text}` : text);
        } catch (error) {
          ignored(() => ftruncateSync(fd, before));
          throw error;
        }
        const made = fstatSync(fd);
        if (synced) {
          closing = false;
          fsync(fd, (error) => {
            ignored(() => closeSync(fd));
            synced(error ? FileTrouble.of(error) : undefined);
          });
        }
        return { ino: made.ino, size: made.size, changedMs: made.mtimeMs };
      } finally {
        if (closing) closeSync(fd);
      }
    });
  }

  /** What stands in a file behind a byte, whole lines alone. */
  tail(name: string, from: number): Seen | undefined {
    return guarded(() => {
      const fd = openIfThere(this.at(name));
      if (fd === undefined) return undefined;
      try {
        const found = fstatSync(fd);
        const bytes = Buffer.alloc(Math.max(0, Math.min(found.size - from, READ_BYTES_MAX)));
        const read = bytes.length === 0 ? 0 : readSync(fd, bytes, 0, bytes.length, from);
        const text = bytes.toString('utf8', 0, bytes.lastIndexOf(10, read - 1) + 1);
        return { text, stamp: { ino: found.ino, size: found.size, changedMs: found.mtimeMs } };
      } finally {
        closeSync(fd);
      }
    });
  }

  /** Puts a file that cannot be read out of the way, where a person finds it. */
  putAside(name: string): void {
    guarded(() => renameSync(this.at(name), this.at(`${name}.broken`)));
  }

  /** Why the file cannot be written from here; none: it can. */
  readOnly(name: string): string | undefined {
    try {
      accessSync(this.path, constants.W_OK);
      const target = linkTarget(this.at(name));
      if (statSync(target, { throwIfNoEntry: false })) accessSync(target, constants.W_OK);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  #take(): string {
    const path = this.at('lock');
    const token = `${hostname()} ${process.pid} ${randomBytes(8).toString('hex')}`;
    for (const again of [true, false]) {
      try {
        const fd = openSync(path, 'wx', FILE_MODE);
        try {
          writeAll(fd, token);
        } finally {
          closeSync(fd);
        }
        return token;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw FileTrouble.of(error);
        if (!again || !this.#breakStale(path)) break;
      }
    }
    throw new FileTrouble('locked', `another process is writing to ${this.path}`);
  }

  #giveBack(token: string): void {
    const path = this.at('lock');
    ignored(() => {
      // One that was taken from us, because we stood still for a minute, is another's by now.
      if (readFileSync(path, 'utf8') === token) unlinkSync(path);
    });
  }

  /**
   * Takes away the lock of a process that died holding it. Two that find it at once must not take
   * away each other's new one: only who holds `lock.break` may, after a second look.
   */
  #breakStale(path: string): boolean {
    try {
      const found = readFileSync(path, 'utf8');
      if (!this.#isStale(path, found)) return false;
      const breaking = `${path}.break`;
      try {
        closeSync(openSync(breaking, 'wx', FILE_MODE));
      } catch {
        if (this.#wallMs() - statSync(breaking).mtimeMs > STALE_ELSEWHERE_MS) unlinkSync(breaking);
        return false;
      }
      try {
        if (readFileSync(path, 'utf8') === found) unlinkSync(path);
      } finally {
        unlinkSync(breaking);
      }
      return true;
    } catch (error) {
      // It went by itself meanwhile.
      return codeOf(error) === 'ENOENT';
    }
  }

  #isStale(path: string, token: string): boolean {
    const ageMs = this.#wallMs() - statSync(path).mtimeMs;
    if (ageMs > STALE_ELSEWHERE_MS) return true;
    const [host, pid] = token.split(' ');
    return ageMs > STALE_MS && host === hostname() && !lives(Number(pid));
  }
}

function lives(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw FileTrouble.of(error);
  }
}

/** For what is tidied up on the way: its failure changes nothing. */
function ignored(work: () => void): void {
  try {
    work();
  } catch {
    // Nothing follows from it.
  }
}

function openIfThere(path: string): number | undefined {
  try {
    // A pipe in its place is no file, and must not hold up the host until somebody writes into it.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function linkTarget(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return path;
    throw error;
  }
}

function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  let at = 0;
  while (at < bytes.length) at += writeSync(fd, bytes, at);
}

function endsInside(fd: number, size: number): boolean {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== 10;
}

function syncFolder(path: string): void {
  // Windows has no such thing: there a rename is on the disk when the file system says so.
  if (process.platform === 'win32') return;
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
