/**
 * What the plugin's halves promise each other. Types and nothing else: no value of this file is
 * code. The core (calls, turns, the engine) asks for `Plans`, `Keeper`, `Catalog` and `Clock`; the
 * state half (files, settings, endpoints) asks for `Live`.
 *
 * Times are milliseconds; `…Ms` is a span or, where the comment says so, Unix time.
 */

/** One model of the host. As text `provider/model`, parted at the first slash. */
export interface Route {
  readonly provider: string;
  readonly model: string;
}

/** The closed list of failure classes (spec section 3). */
export type FailureClass =
  | 'rate_limited' | 'overloaded' | 'server_error' | 'timeout' | 'transport_remote'
  | 'empty_response' | 'stall' | 'quota_exhausted' | 'auth' | 'not_found' | 'invalid_request'
  | 'content_filter' | 'context_overflow' | 'local_network' | 'aborted' | 'truncated';

/** A candidate as the core needs it. */
export interface CandidatePlan extends Route {
  /** Reasoning effort of this row; sent only if the model declares it (R35). */
  readonly effort?: string;
  /** Context window in tokens, overridden or detected (R36). */
  readonly window?: number;
  /** Output limit of this row; never above what the caller asked for. */
  readonly maxTokens?: number;
  /** Whether the host knows its provider now (R40). */
  readonly present: boolean;
}

/** A queue as configured at one moment; never changed afterwards. */
export interface QueuePlan {
  readonly id: string;
  readonly name: string;
  /** Digest of everything that was configured, a number of at most 64 bits as text. */
  readonly digest: string;
  readonly candidates: readonly CandidatePlan[];
  readonly continueText: string;
  /** The longest that one call may take in all, in milliseconds; none: no limit (R8). */
  readonly deadlineMs?: number;
  /** Off: one try on the first candidate; nothing is held, retried, judged or recorded (R0). */
  readonly enabled: boolean;
  /** D6: whether a failure after commit is rescued by the step retry. */
  readonly rescue: boolean;
  /** The words after `queue NUMBER DIGEST` of the line protocol: policy, then candidates. */
  words(names: Names): string;
}

/** Numbers of names, as the engine counts them. The session `undefined` is `background`, number 0. */
export interface Names {
  route(route: Route): number;
  queue(id: string): number;
  session(id: string | undefined): string;
  routeOf(number: string): Route | undefined;
  queueOf(number: string): string | undefined;
  /** The session's id; '' is `background`. */
  sessionOf(number: string): string | undefined;
}

/** How turns go on by themselves (R42). */
export interface ContinuationPlan {
  readonly enabled: boolean;
  readonly onTruncation: boolean;
  readonly onFailure: boolean;
  readonly truncationsMax: number;
  readonly failuresMax: number;
  readonly delayMs: number;
  readonly text: string;
}

/** A policy for models outside our provider (`[direct]`, spec section 4). */
export interface DirectPlan {
  /** A queue of the engine whose first candidate is the asked model; undefined: none. */
  readonly policy: 'none' | 'health' | 'chain' | 'persist';
  /** A queue made for that head: the head first, then the fallbacks. */
  queueFor(head: Route): QueuePlan;
}

/** What was set. */
export interface Plans {
  all(): readonly QueuePlan[];
  /** By id, alias, or the id of a deleted queue, which goes to the first one (R1). */
  find(model: string):
    | { readonly queue: QueuePlan; readonly asked: 'id' | 'alias' | 'deleted' }
    | undefined;
  continuation(): ContinuationPlan;
  /** The logical day of that Unix time: its number, and when the next begins (Unix time). */
  day(nowMs: number): { readonly number: number; readonly endsMs: number };
  /** R0, the global switch. */
  enabled(): boolean;
  direct(): DirectPlan;
  /** Called after a change that was accepted; answers what ends the calling. */
  onChange(changed: () => void): () => void;
}

/** Where a fact belongs. `session` '' is `background`. */
export interface Place {
  readonly session: string;
  readonly queue: string;
  readonly route: Route;
}

export interface QuarantineFacts {
  readonly class: FailureClass;
  /** The logical day that it belongs to. */
  readonly day: number;
  /** Unix time. */
  readonly sinceMs: number;
  /** Its own reset, Unix time. */
  readonly untilMs?: number;
  /** When one call may try again, Unix time; none: never. */
  readonly paroleMs?: number;
  /** How many paroles failed. */
  readonly paroles: number;
}

/** Who holds a seat: a session, or one call. */
export type Holder =
  | { readonly kind: 'session'; readonly session: string }
  | { readonly kind: 'call'; readonly call: string };

export type Verdict =
  | { readonly kind: 'spared' | 'whole' | 'truncated' }
  | { readonly kind: 'cooled'; readonly ms: number }
  | { readonly kind: 'quarantined'; readonly untilMs?: number }
  /** Counted by the breaker, which did not open. */
  | { readonly kind: 'struck'; readonly namedMs?: number };

/** Why something ended before its time. */
export type LiftedBy = 'success' | 'release' | 'reset';

/** What became true, as the engine said it, with names instead of numbers. `call` is a call's id. */
export type Fact =
  | { readonly kind: 'quarantined'; readonly place: Place; readonly quarantine: QuarantineFacts;
      readonly call: string; readonly attempt: number }
  | { readonly kind: 'lifted'; readonly place: Place; readonly by: LiftedBy }
  | { readonly kind: 'verified'; readonly place: Place; readonly day: number }
  | { readonly kind: 'unverified'; readonly place: Place }
  | { readonly kind: 'cooled'; readonly route: Route; readonly ms: number;
      readonly class: FailureClass; readonly call: string; readonly attempt: number }
  | { readonly kind: 'warmed'; readonly route: Route; readonly by: LiftedBy }
  | { readonly kind: 'failed-over'; readonly call: string; readonly from: Route; readonly to: Route }
  | { readonly kind: 'on-trial'; readonly place: Place; readonly call: string;
      readonly mode: 'parole' | 'last-resort' | 'probe' | 'normal' }
  | { readonly kind: 'rotated'; readonly session: string; readonly queue: string;
      readonly truncations: number }
  | { readonly kind: 'seated'; readonly route: Route; readonly holder: Holder }
  | { readonly kind: 'unseated'; readonly route: Route; readonly holder: Holder;
      readonly restMs: number }
  | { readonly kind: 'attempted'; readonly call: string; readonly attempt: number;
      readonly route: Route; readonly verdict: Verdict; readonly class?: FailureClass;
      readonly outputTokens?: number; readonly speakingMs: number }
  | { readonly kind: 'called'; readonly call: string }
  | { readonly kind: 'turned'; readonly day: number }
  | { readonly kind: 'opened'; readonly route: Route; readonly ms: number;
      readonly failures: number; readonly by: 'threshold' | 'probe' | 'named' | 'at-once';
      readonly class: FailureClass; readonly call: string; readonly attempt: number }
  | { readonly kind: 'served-instead'; readonly call: string; readonly head: Route;
      readonly route: Route }
  | { readonly kind: 'continued'; readonly session: string;
      readonly cause: 'truncation' | 'failure'; readonly count: number }
  | { readonly kind: 'not-continued'; readonly session: string; readonly why: string }
  /** No `session`: everybody's. */
  | { readonly kind: 'paused' | 'resumed'; readonly session?: string }
  /** A kind that this build does not translate yet: its words as they came. */
  | { readonly kind: 'other'; readonly words: readonly string[] };

/** What a candidate said when it failed, unmasked and uncut: the keeper masks and cuts (R17). */
export interface Evidence {
  readonly status?: number;
  readonly code?: string;
  readonly param?: string;
  readonly message?: string;
}

/** What the journal is told beside facts (R32). */
export type Note =
  | { readonly what: 'stalled'; readonly call: string; readonly session: string;
      readonly queue: string; readonly route: Route; readonly clock: string }
  | { readonly what: 'refused'; readonly call: string; readonly session: string;
      readonly queue: string; readonly told: Told }
  | { readonly what: 'deleted-queue'; readonly session: string; readonly asked: string;
      readonly queue: string }
  | { readonly what: 'rescued'; readonly session: string; readonly queue: string;
      readonly route: Route; readonly class: FailureClass }
  | { readonly what: 'switched'; readonly session: string; readonly turn: number;
      readonly step: number; readonly head: Route; readonly from: Route; readonly to: Route;
      readonly reason: string; readonly failure?: Evidence }
  | { readonly what: 'engine-lost'; readonly place: string };

/** What a client was told instead of a whole answer. */
export interface Told {
  readonly code: 'as_it_came' | 'overflow' | 'come_back' | 'do_not_retry' | 'empty_queue'
    | 'local_network' | 'deadline' | 'stopped' | 'broken';
  readonly class?: FailureClass;
  /** After how long to come back. */
  readonly seconds?: number;
}

/** A row of the ledger: one attempt (R34). */
export interface AttemptRow {
  readonly call: string;
  readonly attempt: number;
  readonly session: string;
  readonly queue: string;
  readonly route: Route;
  /** Unix time. */
  readonly beganMs: number;
  readonly tookMs: number;
  /** `unknown`: it ended before usage came; `complete`: usage was reported. */
  readonly state: 'sent' | 'unknown' | 'complete';
  readonly class?: FailureClass;
  readonly status?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** From first token to end. */
  readonly speakingMs: number;
  /** Nothing of it reached the client, or the host dropped it again (D6). */
  readonly wasted: boolean;
  readonly internal: boolean;
  readonly evidence?: Evidence;
}

/** A row of the ledger: one call that is over. */
export interface CallRow {
  readonly call: string;
  readonly session: string;
  readonly queue: string;
  /** Unix time. */
  readonly beganMs: number;
  readonly tookMs: number;
  readonly attempts: number;
  /** Whose answer the client got. */
  readonly route?: Route;
  readonly state: 'whole' | 'truncated' | 'refused' | 'broken' | 'left' | 'stopped';
  readonly internal: boolean;
  readonly told?: Told;
}

/** What outlives a call. It never throws: what cannot be kept is not kept, and said elsewhere. */
export interface Keeper {
  /** Facts to recall at start, as the words of a fact, with numbers of `names`. */
  recall(names: Names): readonly string[];
  keep(fact: Fact, evidence?: Evidence): void;
  note(note: Note): void;
  attempted(row: AttemptRow): void;
  ended(call: CallRow): void;
  flush(): Promise<void>;
}

/** What the host declares of a model, as last asked (R37). Nothing here asks upstream. */
export interface ModelFacts {
  readonly name?: string;
  readonly window?: number;
  readonly maxTokens?: number;
  readonly efforts?: readonly string[];
}

export interface Catalog {
  info(route: Route): ModelFacts | undefined;
  /** Whether the host has an adapter for the provider at this moment. */
  present(provider: string): boolean;
  rescan(): Promise<void>;
}

/** The only way to tell time and to wait. */
export interface Clock {
  /** Unix milliseconds. */
  wallMs(): number;
  /** Milliseconds that never go back. */
  monoMs(): number;
  /** Runs `due` once after `ms`; answers what takes it back. The process may end before. */
  setTimer(ms: number, due: () => void): () => void;
}

/** What a candidate lacks. */
export interface Lack {
  readonly code: string;
  readonly provider: string;
}

/** A step of a call, in the members that the gateway's `calls/{call}` has. */
export interface CallStep {
  readonly at_ms: number;
  readonly step: string;
  readonly [member: string]: string | number | boolean | null | Lack;
}

/** A call as it stands or ended. */
export interface CallView {
  readonly call: string;
  readonly session: string;
  readonly queue: string;
  readonly internal: boolean;
  /** Unix time. */
  readonly beganMs: number;
  readonly tookMs: number;
  readonly state: 'open' | CallRow['state'];
  readonly route?: Route;
  readonly told?: Told;
  readonly attempts: readonly AttemptRow[];
  /** What it does now, while it is open. */
  readonly why?: string;
}

export interface RouteStatus {
  readonly route: Route;
  readonly coolingMs?: number;
  readonly restingMs?: number;
  readonly probing: boolean;
  readonly inFlight: number;
  readonly seatsTaken: number;
  readonly holders: readonly Holder[];
  /** Today's attempts (R29). */
  readonly successes: number;
  readonly failures: number;
  /** Failures in a row that its breaker has counted, and how often in a row it opened. */
  readonly strikes: number;
  readonly opened: number;
}

export interface SessionStatus {
  /** '' is `background`. */
  readonly session: string;
  readonly quarantined: readonly (QuarantineFacts & { readonly queue: string; readonly route: Route })[];
  readonly verified: readonly { readonly queue: string; readonly route: Route }[];
  readonly speeds: readonly { readonly route: Route; readonly tokens: number; readonly ms: number }[];
  readonly truncations: readonly { readonly queue: string; readonly count: number }[];
  /** Attempts that run. */
  readonly running: number;
  readonly runningNow?: Route;
  /** Where it holds a seat, or has asked for one (R24). */
  readonly seats: readonly Route[];
  /** Cooling routes that its own runs hold back beyond their cooldown (R22). */
  readonly standsInFor: readonly Route[];
  readonly paused: boolean;
  readonly subAgent: boolean;
  readonly continuedTruncations: number;
  readonly continuedFailures: number;
  /** When a turn is to be continued, Unix time. */
  readonly continueAtMs?: number;
}

export interface EngineStatus {
  readonly routes: readonly RouteStatus[];
  readonly sessions: readonly SessionStatus[];
  /** Sessions that are paused; '' stands for everybody. */
  readonly paused: readonly string[];
  /** Why the engine does not answer; none: it does. */
  readonly lost?: string;
  /** Bytes of WebAssembly memory. */
  readonly memoryBytes: number;
}

/** Which model ran a turn (R44). */
export interface TurnNote {
  readonly turn: number;
  readonly queue: string;
  readonly route: Route;
  /** The model's name as the host shows it. */
  readonly name?: string;
}

export type ReleaseWhat =
  | { readonly what: 'session'; readonly session: string }
  | { readonly what: 'place'; readonly place: Place }
  | { readonly what: 'route'; readonly route: Route }
  | { readonly what: 'all' };

/** What a call would do now (`queues/{queue}/dry-run`). */
export interface DryRun {
  readonly would: 'run' | 'wait' | 'refuse';
  readonly route?: Route;
  readonly waitMs?: number;
  readonly steps: readonly CallStep[];
}

/** What people may look at and change while the plugin runs. Nothing here throws. */
export interface Live {
  status(): EngineStatus;
  session(id: string): SessionStatus | undefined;
  /** Running calls, then ended ones, newest first; bounded. */
  calls(): readonly CallView[];
  call(id: string): (CallView & { readonly steps: readonly CallStep[] }) | undefined;
  /** The recorded trace of a call, as `ekiden replay` reads it. */
  trace(id: string): string | undefined;
  release(what: ReleaseWhat): void;
  endSession(id: string): void;
  pause(session?: string): void;
  resume(session?: string): void;
  /** Ends one call as if its wait were over; false: no such call runs. */
  stop(call: string): boolean;
  dryRun(queue: string, session: string | undefined): DryRun | undefined;
  notes(session: string): readonly TurnNote[];
  /** Every line sent to the engine and what it answered, if recording is on. */
  recorded(): { readonly lines: string; readonly answers: string; readonly whole: boolean };
  /** Facts, call openings and ends, as they happen; answers what ends the calling. */
  onEvent(heard: (event: LiveEvent) => void): () => void;
}

export type LiveEvent =
  | { readonly event: 'fact'; readonly fact: Fact; readonly evidence?: Evidence }
  | { readonly event: 'call-opened'; readonly call: CallView }
  | { readonly event: 'attempt'; readonly row: AttemptRow }
  | { readonly event: 'call-ended'; readonly call: CallRow };
