/**
 * A file of JSON lines that several processes add to. It refuses to overwrite what another process
 * added: whoever writes holds the folder's lock and reads first what came meanwhile.
 *
 * The first line says what the file is and of which version. A line that cannot be read is passed
 * over; a file of a newer version is left as it is, and nothing is written to it.
 */
import { FileTrouble, type Folder, type Stamp } from './files.ts';

/** One line. */
export type Line = Readonly<Record<string, unknown>>;

/** What others wrote since the last look. */
export interface News {
  readonly lines: readonly Line[];
  /** The file is another one now: what was known of it holds no more. */
  readonly anew: boolean;
}

export class SharedLog {
  readonly name: string;
  readonly #folder: Folder;
  readonly #version: number;
  #seen: Stamp | undefined;
  #lines = 0;

  constructor(folder: Folder, name: string, version: number) {
    this.#folder = folder;
    this.name = name;
    this.#version = version;
  }

  /** Lines in the file as last seen, to know when it has grown too long. */
  get lines(): number {
    return this.#lines;
  }

  /** Reads what came since the last look. Throws a [`FileTrouble`]. */
  news(): News {
    const stamp = this.#folder.stamp(this.name);
    const seen = this.#seen;
    if (!stamp) {
      this.#seen = undefined;
      this.#lines = 0;
      return { lines: [], anew: seen !== undefined };
    }
    if (seen && seen.ino === stamp.ino && seen.size === stamp.size)
      return { lines: [], anew: false };
    const goesOn = seen !== undefined && seen.ino === stamp.ino && seen.size < stamp.size;
    const found = this.#folder.tail(this.name, goesOn ? seen.size : 0);
    const texts = (found?.text ?? '').split('\n').filter((text) => text.trim() !== '');
    if (!goesOn && !this.#ours(texts, stamp.size)) return { lines: [], anew: seen !== undefined };
    this.#lines = (goesOn ? this.#lines : 0) + texts.length;
    this.#seen = found && {
      ...found.stamp,
      size: (goesOn ? seen.size : 0) + Buffer.byteLength(found.text),
    };
    return { lines: texts.flatMap(lineOf), anew: seen !== undefined && !goesOn };
  }

  /** Adds lines, all or none. To be called in a locked section, after `news`. */
  append(lines: readonly Line[], synced?: (trouble?: FileTrouble) => void): void {
    if (lines.length === 0) return;
    const begun = this.#seen ? [] : [this.#head()];
    this.#seen = this.#folder.append(this.name, textOf([...begun, ...lines]), synced);
    this.#lines += begun.length + lines.length;
  }

  /** Puts other lines in the place of all that are there. To be called like `append`. */
  rewrite(lines: readonly Line[]): void {
    this.#seen = this.#folder.replace(this.name, textOf([this.#head(), ...lines]));
    this.#lines = lines.length + 1;
  }

  #head(): Line {
    return { ekiden: this.name.replace(/\.jsonl$/, ''), version: this.#version };
  }

  /** Whether this version can read the file. One that is damaged is put aside. */
  #ours(texts: readonly string[], size: number): boolean {
    const [first] = texts;
    const [head] = first === undefined ? [] : lineOf(first);
    const version = head?.['version'];
    if (head?.['ekiden'] === this.#head()['ekiden'] && typeof version === 'number') {
      if (version <= this.#version) return true;
      throw new FileTrouble(
        'disk',
        `${this.name} is of version ${version}; this program knows ${this.#version}`,
      );
    }
    // An empty one is as good as none.
    if (size > 0) this.#folder.putAside(this.name);
    this.#seen = undefined;
    this.#lines = 0;
    return false;
  }
}

function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function lineOf(text: string): Line[] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? [value as Line]
      : [];
  } catch {
    return [];
  }
}
