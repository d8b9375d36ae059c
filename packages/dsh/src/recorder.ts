/**
 * Keeps every line that the engine was sent and what it answered, so that the same history can be
 * run elsewhere and compared. Numbers and names of the closed lists alone: no word of a prompt.
 */
import type { Recorder } from './engine.ts';
import type { Live } from './ports.ts';

/** Beyond this it records no more: a history without its beginning proves nothing. */
const CHARACTERS_MAX = 16 * 1024 * 1024;

export class LineRecorder implements Recorder {
  readonly #lines: string[] = [];
  readonly #answers: string[] = [];
  readonly #also: ((line: string, answer: string) => void) | undefined;
  #characters = 0;
  #whole = true;

  /** `also` hears every line as well: a file, say. */
  constructor(also?: (line: string, answer: string) => void) {
    this.#also = also;
  }

  line(line: string, answer: string): void {
    this.#also?.(line, answer);
    this.#characters += line.length + answer.length;
    if (this.#characters > CHARACTERS_MAX) {
      this.#whole = false;
      return;
    }
    this.#lines.push(line);
    this.#answers.push(answer);
  }

  recorded(): ReturnType<Live['recorded']> {
    const lines = this.#lines.map((line) => `${line}\n`).join('');
    return { lines, answers: this.#answers.join(''), whole: this.#whole };
  }
}
