/**
 * What may be kept of an error (R17). It refuses to keep what may echo a prompt, and anything that
 * looks like a credential. The rules are those of the gateway's store.
 */
import type { Evidence, FailureClass } from './ports.ts';

/** Characters of an error's message that are kept. */
export const ERROR_CHARS_MAX = 400;

/** Characters of a code, and of a member's name. */
const CODE_CHARS_MAX = 100;

const MASK = '***';

/** Beginnings of well-known credentials. */
const PREFIXES = [
  'sk-',
  'sk_',
  'pk-',
  'rk-',
  'AIza',
  'gsk_',
  'xai-',
  'ghp_',
  'github_pat_',
  'hf_',
  'eyJ',
  'AKIA',
  'csk-',
];

/** Evidence as it is kept and shown; each member is there, none is `null`. */
export interface Kept {
  readonly status: number | null;
  readonly code: string | null;
  readonly param: string | null;
  /** None for classes whose texts echo prompts. */
  readonly message: string | null;
}

/** Keeps what may be kept of what a candidate said. */
export function kept(failure: FailureClass | undefined, said: Evidence | undefined): Kept {
  const short = (text: string | undefined) => (text ? cut(masked(text), CODE_CHARS_MAX) : null);
  const echoes = failure === 'content_filter' || failure === 'invalid_request';
  return {
    status: said?.status ?? null,
    code: short(said?.code),
    param: short(said?.param),
    message: echoes || !said?.message ? null : masked(said.message),
  };
}

/** The first 400 characters of a text, with credentials masked before it is cut. */
export function masked(text: string): string {
  // Enough for the cut; more is not worth searching.
  const head = cut(text, ERROR_CHARS_MAX * 8);
  const words = head.replace(/[^\s"'`,=[\]{}()<>:;]+/gu, (word) =>
    looksSecret(word) ? MASK : word,
  );
  return cut(words, ERROR_CHARS_MAX);
}

/** The first characters of a text; none is parted in its middle. */
export function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return Array.from(text.slice(0, chars * 2))
    .slice(0, chars)
    .join('');
}

/** A name from outside, for a message: short, and without control characters. */
export function shown(name: string): string {
  return cut(name.replace(/\p{Cc}/gu, ''), 120);
}

/** Vendors print keys with stars in their middle; those are masked too. */
function looksSecret(token: string): boolean {
  const word = token.replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  if (PREFIXES.some((prefix) => word.startsWith(prefix) && word.length > prefix.length + 3))
    return true;
  const count = (pattern: RegExp) => word.match(pattern)?.length ?? 0;
  return /^[A-Za-z0-9_\-+~*]{24,}$/.test(word) && count(/[0-9]/g) >= 4 && count(/[A-Za-z]/g) >= 4;
}
