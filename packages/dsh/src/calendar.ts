/**
 * The logical day (R17): from reset hour to reset hour in one time zone. It reads no clock: moments
 * are given to it as Unix milliseconds.
 */

/** A logical day: its number, and when the next one begins (Unix time). */
export interface Day {
  readonly number: number;
  readonly endsMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Whether this machine knows the zone. */
export function knowsZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Where the day turns. */
export class Calendar {
  readonly #format: Intl.DateTimeFormat;
  readonly #resetHour: number;
  #last: (Day & { readonly beganMs: number }) | undefined;

  /** `zone` is an IANA name, none being the system's; the hour is 0 to 23. */
  constructor(zone: string | undefined, resetHour: number) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      ...(zone === undefined ? {} : { timeZone: zone }),
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    this.#resetHour = resetHour;
  }

  /** The day of a moment: it began at the last reset and ends at the next. */
  day(wallMs: number): Day {
    const last = this.#last;
    if (last && wallMs >= last.beganMs && wallMs < last.endsMs) return last;
    let number = Math.floor(this.#local(wallMs) / DAY_MS) + 1;
    // A zone that leaves out a whole day has two resets at one instant: the later date holds.
    while (this.#reset(number) > wallMs) number -= 1;
    const beganMs = this.#reset(number);
    this.#last = { number: Math.max(0, number), endsMs: this.#reset(number + 1), beganMs };
    return this.#last;
  }

  /** Local time as if it were UTC, in milliseconds. */
  #local(wallMs: number): number {
    const whole = Math.floor(wallMs / 1000) * 1000;
    const part: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(whole)) part[type] = Number(value);
    const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (wallMs - whole);
  }

  /**
   * The instant of a date's reset: an hour that the clock skips becomes the first instant after, one
   * that comes twice its first. It is the first instant whose local time is the reset or later.
   */
  #reset(number: number): number {
    const wanted = number * DAY_MS + this.#resetHour * HOUR_MS;
    // Offsets lie between -12 and +14 hours, and one that changes does so by a day at most.
    const [from, to] = [wanted - 40 * HOUR_MS, wanted + 40 * HOUR_MS];
    const steady = this.#offset(from);
    if (steady === this.#offset(to)) return wanted - steady;
    const jumps = [from];
    let before = steady;
    for (let at = from + HOUR_MS; at <= to; at += HOUR_MS) {
      const after = this.#offset(at);
      if (after !== before) jumps.push(this.#jump(at - HOUR_MS, at));
      before = after;
    }
    for (const [index, begins] of jumps.entries()) {
      const ends = jumps[index + 1] ?? Infinity;
      const at = Math.max(begins, wanted - this.#offset(begins));
      if (at < ends) return at;
    }
    return wanted;
  }

  #offset(wallMs: number): number {
    return this.#local(wallMs) - wallMs;
  }

  /** The instant between two at which the offset changes, to the second. */
  #jump(before: number, after: number): number {
    const old = this.#offset(before);
    let [low, high] = [before, after];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (middle <= low) break;
      if (this.#offset(middle) === old) low = middle;
      else high = middle;
    }
    return high;
  }
}
