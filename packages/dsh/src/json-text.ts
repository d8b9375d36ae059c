/**
 * Where things stand in a JSON text, so that a problem can be shown with its line. It refuses what
 * `JSON.parse` refuses, and a member that stands twice, which `JSON.parse` takes silently.
 */

/** From 1, both. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

/** The text is no JSON. */
export class BadJson extends Error {
  readonly spot: Spot;

  constructor(message: string, spot: Spot) {
    super(message);
    this.name = 'BadJson';
    this.spot = spot;
  }
}

/** What a text says, and where each member stands, by its path (`queues.default.retries`). */
export interface Read {
  readonly value: unknown;
  readonly spots: ReadonlyMap<string, Spot>;
}

/** Deeper texts are none of ours. */
const DEPTH_MAX = 20;

/** Reads a JSON text. Throws a [`BadJson`]. */
export function readJson(text: string): Read {
  // Editors on Windows begin a file with this mark.
  const reader = new Reader(text.charCodeAt(0) === 0xfeff ? ` ${text.slice(1)}` : text);
  return { value: reader.whole(), spots: reader.spots };
}

class Reader {
  readonly spots = new Map<string, Spot>();
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): unknown {
    const value = this.#value('', 0);
    this.#space();
    if (this.#at < this.#text.length) this.#fail('something follows the end');
    return value;
  }

  #value(path: string, depth: number): unknown {
    this.#space();
    if (depth > DEPTH_MAX) this.#fail('this is nested too deeply');
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(path, depth);
    if (first === '[') return this.#array(path, depth);
    return this.#scalar();
  }

  #object(path: string, depth: number): Record<string, unknown> {
    // No member may reach the prototype.
    const found: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    this.#at += 1;
    for (this.#space(); !this.#took('}'); this.#space()) {
      if (Object.keys(found).length > 0) this.#expect(',');
      this.#space();
      const spot = this.#spot();
      if (this.#text[this.#at] !== '"') this.#fail('a member begins with its name in quotes');
      const name = this.#scalar() as string;
      const inside = path === '' ? name : `${path}.${name}`;
      if (name in found) throw new BadJson(`\`${inside}\` stands twice`, spot);
      this.spots.set(inside, spot);
      this.#space();
      this.#expect(':');
      found[name] = this.#value(inside, depth + 1);
    }
    return found;
  }

  #array(path: string, depth: number): unknown[] {
    const found: unknown[] = [];
    this.#at += 1;
    for (this.#space(); !this.#took(']'); this.#space()) {
      if (found.length > 0) this.#expect(',');
      this.#space();
      const inside = `${path}.${found.length}`;
      this.spots.set(inside, this.#spot());
      found.push(this.#value(inside, depth + 1));
    }
    return found;
  }

  #scalar(): unknown {
    const scalar = /"(?:[^"\\]|\\.)*"|[^\s,:[\]{}"]+/suy;
    scalar.lastIndex = this.#at;
    const found = scalar.exec(this.#text)?.[0];
    if (found === undefined)
      this.#fail(this.#at < this.#text.length ? 'a value is missing' : 'the text ends too early');
    try {
      const value: unknown = JSON.parse(found);
      this.#at += found.length;
      return value;
    } catch {
      return this.#fail('this is no JSON value');
    }
  }

  #space(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1;
  }

  #took(mark: string): boolean {
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#took(mark)) this.#fail(`\`${mark}\` is missing`);
  }

  #spot(): Spot {
    const before = this.#text.slice(0, this.#at);
    return { line: before.split('\n').length, column: this.#at - before.lastIndexOf('\n') };
  }

  #fail(message: string): never {
    throw new BadJson(message, this.#spot());
  }
}
