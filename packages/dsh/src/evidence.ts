/**
 * From what the host says of a failure to what the engine takes. The class is the classifier's;
 * here only named civil times are resolved, which need a calendar, and a wait that the host hands
 * over beside its text is put where it belongs.
 */
import type { LlmFailure } from '@deepseek-ai/dsh-llm';

import type { Failure } from './engine.ts';
import type { Evidence, FailureClass } from './ports.ts';

/** A failure, judged. */
export interface Judged extends Failure {
  readonly evidence: Evidence;
}

/** Nothing in our hands says more than that the far side broke. */
const UNREADABLE: Failure = {
  class: 'server_error',
  words: 'server_error upstream candidate unnamed model-specific',
};

/** A virtual provider that leads back here: nobody's failure, told once (R6). */
export const LOOP: Failure = {
  class: 'invalid_request',
  words: 'invalid_request local request unnamed universal',
};

/** Code of the finish that ends such a call. */
export const LOOP_CODE = 'QUEUE_LOOP';

/** Judges a failure of the host. `classify` answers undefined where there is no engine. */
export function judge(
  failure: LlmFailure,
  provider: string,
  wallMs: number,
  classify: (evidence: string) => string | undefined,
): Judged {
  const evidence = evidenceOf(failure);
  if (failure.code === LOOP_CODE) return { ...LOOP, evidence };
  const answer = classify(evidenceText(failure, provider, wallMs));
  if (answer === undefined) return { ...UNREADABLE, evidence };
  const said = read(answer);
  const words = said.get('failure')?.split(' ');
  const [name, origin, scope, ...rest] = words ?? [];
  if (name === undefined || origin === undefined || scope === undefined) {
    return { ...UNREADABLE, evidence };
  }
  const reach = rest.at(-1) ?? 'model-specific';
  const wait = rest[0] === 'unnamed' ? waitOf(said.get('wait'), failure, wallMs) : rest.slice(0, -1);
  const code = said.get('code');
  const param = said.get('param');
  return {
    class: name as FailureClass,
    words: [name, origin, scope, ...wait, reach].join(' '),
    evidence: {
      ...evidence,
      ...(code === undefined ? {} : { code }),
      ...(param === undefined ? {} : { param }),
      ...(said.message === '' ? {} : { message: said.message }),
    },
  };
}

function evidenceOf(failure: LlmFailure): Evidence {
  const status = failure.status ?? leadingStatus(failure.message);
  return {
    code: failure.code,
    message: failure.message,
    ...(status === undefined ? {} : { status }),
  };
}

/** Adapters that know no status put it before the text: `429: {…}`. */
function leadingStatus(message: string): number | undefined {
  const digits = /^(\d{3})[: ]/.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function evidenceText(failure: LlmFailure, provider: string, wallMs: number): string {
  const lines = ['kind host', `code ${oneLine(failure.code)}`];
  if (failure.status !== undefined) lines.push(`status ${failure.status}`);
  lines.push(`now ${Math.floor(wallMs)}`, `provider ${oneLine(provider)}`);
  return `${lines.join('\n')}\n\n${failure.message}`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ');
}

class Said extends Map<string, string> {
  message = '';
}

function read(answer: string): Said {
  const said = new Said();
  const gap = answer.indexOf('\n\n');
  const head = gap < 0 ? answer : answer.slice(0, gap);
  if (gap >= 0) said.message = answer.slice(gap + 2);
  for (const line of head.split('\n')) {
    const blank = line.indexOf(' ');
    if (blank > 0) said.set(line.slice(0, blank), line.slice(blank + 1));
  }
  return said;
}

function waitOf(named: string | undefined, failure: LlmFailure, wallMs: number): string[] {
  const handed = failure.providerRetryAfterMs;
  if (handed !== undefined && handed > 0) return ['ms', String(Math.ceil(handed))];
  const at = named === undefined ? undefined : civilMs(named, wallMs);
  return at === undefined ? ['unnamed'] : ['at', String(at)];
}

/**
 * `civil DATE TIME ZONE` as Unix time: the next such moment where no date, or no year, is given.
 * Undefined where the text names no moment that there is.
 */
export function civilMs(text: string, wallMs: number): number | undefined {
  const [, date, time, zone] = text.split(' ');
  if (date === undefined || time === undefined || zone === undefined) return undefined;
  const clock = /^(\d\d):(\d\d):(\d\d)$/.exec(time)?.slice(1).map(Number);
  if (clock === undefined) return undefined;
  const offset = offsets(zone);
  if (offset === undefined) return undefined;
  const here = new Date(wallMs + offset(wallMs));
  const whole = /^(\d{4})-(\d\d)-(\d\d)$/.exec(date)?.slice(1).map(Number);
  const yearly = /^----(\d\d)-(\d\d)$/.exec(date)?.slice(1).map(Number);
  const moment = (year: number, month: number, day: number): number => {
    const local = Date.UTC(year, month, day, ...(clock as [number, number, number]));
    // Twice, since the offset is asked of an instant that the offset decides.
    const guess = local - offset(local);
    return local - offset(guess);
  };
  if (whole !== undefined) return moment(whole[0] ?? 0, (whole[1] ?? 1) - 1, whole[2] ?? 1);
  const candidates = yearly !== undefined
    ? [0, 1].map((on) => moment(here.getUTCFullYear() + on, (yearly[0] ?? 1) - 1, yearly[1] ?? 1))
    : [0, 1].map((on) => moment(here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate() + on));
  return candidates.find((at) => at > wallMs);
}

/** Milliseconds that a zone's clocks are ahead of UTC at an instant. */
function offsets(zone: string): ((at: number) => number) | undefined {
  if (/^[+-]\d+$/.test(zone)) return () => Number(zone) * 1000;
  const timeZone = zone === '-' ? undefined : zone;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric',
      hour: 'numeric', minute: 'numeric', second: 'numeric',
    });
    return (at) => {
      const parts = new Map(format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
      const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
      const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'),
        of('second'));
      return local - Math.floor(at / 1000) * 1000;
    };
  } catch {
    // A zone that this host's calendar does not know.
    return undefined;
  }
}
