/**
 * What the policies set where nobody sets it (spec section 4). It refuses to be another list of
 * rules: these are the engine's own presets, which a test compares, by our keys.
 */
import type { Value } from './values.ts';

/** Classes that `chain` switches on (C3). */
const SWITCHING = [
  'rate_limited',
  'overloaded',
  'server_error',
  'timeout',
  'transport_remote',
  'empty_response',
  'stall',
  'not_found',
];

/** Fields in which the policies differ, as `relay` has them. */
const RELAY: Readonly<Record<string, Value>> = {
  quarantine: true,
  sticky: false,
  switch_on: ['all'],
  switching: 'in-call',
  failure_threshold: 0,
  breaker_cooldown: 60_000,
  breaker_cooldown_max: 600_000,
  breaker_at_once: [],
  all_cooling: 'wait',
  persist: false,
  max_rounds: 0,
  backoff: 1_000,
  backoff_max: 30_000,
  backoff_jitter: 20,
};

/** No quarantine, parole, rotation, continue; no retries. */
const PLAIN: Readonly<Record<string, Value>> = {
  ...RELAY,
  quarantine: false,
  retries: 0,
  rotate_after: 0,
  parole_after: 0,
  continue_on_failover: 'never',
};

const PRESETS: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  health: {
    ...PLAIN,
    sticky: true,
    switching: 'next-call',
    failure_threshold: 1,
    breaker_at_once: ['auth', 'not_found'],
    all_cooling: 'soonest',
  },
  chain: {
    ...PLAIN,
    switch_on: SWITCHING,
    failure_threshold: 1,
    breaker_cooldown: 30_000,
    breaker_cooldown_max: 30_000,
    all_cooling: 'head',
  },
  persist: { ...PLAIN, persist: true },
};

/** What a policy sets; none: the key's own default holds. */
export function presetValue(policy: Value | undefined, name: string): Value | undefined {
  return (PRESETS[String(policy)] ?? RELAY)[name];
}
