/**
 * The engine for JavaScript hosts. It refuses to do I/O: give it the bytes of `ekiden.wasm`.
 *
 * What the texts mean is written at the Rust functions `answer::lines`, `answer::replay` and
 * `answer::classify`. A number over 2^53 stays a text.
 */

const VERSION = 2;
/** Room kept for texts that go in, in bytes; a larger text gets room of its own. */
const ROOM = 16 * 1024;

/** What a piece of an answer is to the client. */
const KINDS = { wire: 0, reasoning: 1, output: 2 };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The engine broke a promise; this instance is lost, a new one starts from nothing. */
export class Trapped extends Error {
  constructor(place, cause) {
    super(`the engine trapped at ${place || 'an unknown place'}`, { cause });
    this.name = 'Trapped';
    this.place = place;
  }
}

/** @param {BufferSource | WebAssembly.Module} source */
export async function load(source) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  return new Ekiden(await WebAssembly.instantiate(module, {}));
}

/** One instance: engines and calls live in its memory. */
class Ekiden {
  #exports;
  #room;
  #lost = null;

  constructor(instance) {
    this.#exports = instance.exports;
    const version = this.#exports.start();
    if (version !== VERSION) {
      throw new Error(`ekiden.wasm speaks version ${version} of its interface, not ${VERSION}`);
    }
    this.#room = this.#exports.alloc(ROOM);
  }

  /** An engine that knows nothing. */
  history() {
    const handle = this.#guard(() => this.#exports.history_new());
    return {
      /** Runs lines of a history and answers what they led to. */
      lines: (text) => this.#ask(text, (ptr, len) => this.#exports.history_line(handle, ptr, len)),
      /**
       * A piece of an answer, without any text: the cheap form of
       * `feed CALL MONO WALL attempt ATTEMPT chunk BYTES KIND`.
       *
       * @param {number} call
       * @param {number} attempt
       * @param {number} bytes
       * @param {'wire' | 'reasoning' | 'output'} kind
       * @param {number} monoMs
       * @param {number} wallMs
       * @returns {boolean} whether the call has something to say: run `drive CALL MONO WALL` then.
       *   Else nothing is to be done; a timer that rings early is answered with the new moment.
       */
      beat: (call, attempt, bytes, kind, monoMs, wallMs) => {
        if (this.#lost) throw this.#lost;
        try {
          return this.#exports.beat(handle, call, attempt, bytes, KINDS[kind], monoMs, wallMs) === 1;
        } catch (error) {
          return this.#guard(() => { throw error; });
        }
      },
      /** Forgets the engine; afterwards every line is answered with an error. */
      free: () => this.#guard(() => this.#exports.history_free(handle)),
    };
  }

  /** Replays a recorded call. */
  replay(trace) {
    return this.#ask(trace, (ptr, len) => this.#exports.replay(ptr, len));
  }

  /** Judges one failure; `evidenceText` makes the text. */
  classify(evidence) {
    return this.#ask(evidence, (ptr, len) => this.#exports.classify(ptr, len));
  }

  /** Bytes of memory that the instance has taken. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  #ask(text, call) {
    return this.#guard(() => {
      const { alloc, free } = this.#exports;
      // A UTF-16 unit is at most three bytes of UTF-8.
      const most = text.length * 3;
      const ptr = most <= ROOM ? this.#room : alloc(most);
      const size = most <= ROOM ? ROOM : most;
      const memory = new Uint8Array(this.#exports.memory.buffer, ptr, size);
      const { written } = encoder.encodeInto(text, memory);
      const packed = call(ptr, written);
      if (ptr !== this.#room) free(ptr, most);
      // WebAssembly's 64 bits come signed.
      const answerPtr = Number((packed >> 32n) & 0xffffffffn);
      const answerLen = Number(packed & 0xffffffffn);
      if (answerLen === 0) return '';
      const answer = new Uint8Array(this.#exports.memory.buffer, answerPtr, answerLen);
      const said = decoder.decode(answer);
      free(answerPtr, answerLen);
      return said;
    });
  }

  #guard(work) {
    if (this.#lost) throw this.#lost;
    try {
      return work();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.#lost = new Trapped(this.#place(), error);
      throw this.#lost;
    }
  }

  #place() {
    try {
      const packed = this.#exports.trap_place();
      const ptr = Number((packed >> 32n) & 0xffffffffn);
      const len = Number(packed & 0xffffffffn);
      return decoder.decode(new Uint8Array(this.#exports.memory.buffer, ptr, len));
    } catch {
      return '';
    }
  }
}

/**
 * The text that `classify` reads.
 *
 * @param {{
 *   kind: 'http' | 'event' | 'transport' | 'host', status?: number | null,
 *   headers?: Record<string, string>, code?: string | null, transport?: string, peer?: string,
 *   abort?: 'stopped' | 'deadline', now?: number, provider?: string | null, text?: string,
 * }} evidence
 */
export function evidenceText(evidence) {
  const lines = [];
  const member = (name, value) => {
    // A line break would begin a member of its own.
    if (value !== undefined && value !== null) lines.push(`${name} ${oneLine(value)}`);
  };
  member('kind', evidence.kind);
  member('status', evidence.status);
  for (const [name, value] of Object.entries(evidence.headers ?? {})) {
    lines.push(`header ${oneLine(name)} ${oneLine(value)}`);
  }
  for (const name of ['code', 'transport', 'peer', 'abort', 'now', 'provider']) {
    member(name, evidence[name]);
  }
  return `${lines.join('\n')}\n\n${evidence.text ?? ''}`;
}

function oneLine(value) {
  return String(value).replace(/[\r\n]+/g, ' ');
}
