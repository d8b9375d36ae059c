//! What a queue's policy may set. Holds numbers and decides nothing: the engine reads them.

use crate::keys::{Group, Key, Kind};
use crate::value::Value;

/// The preset that a policy starts from (spec section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// The whole relay.
    Relay,
    /// Candidates carry their health for everybody; the current one stays (H1 to H7).
    Health,
    /// A head and its fallbacks (C1 to C9).
    Chain,
    /// Round and round until an answer comes (P1 to P5).
    Persist,
    /// One try on the first candidate, nothing held, judged or recorded.
    None,
}

/// When a failover carries `continue_text` (R9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Continuing {
    /// On every failover.
    Always,
    /// Only when the conversation already has an assistant turn or a tool result.
    Auto,
    /// Never.
    Never,
}

/// When held output is let through (R10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitOn {
    /// At the first visible output.
    FirstOutput,
    /// At the first output or reasoning.
    FirstToken,
    /// When the whole answer is there.
    Complete,
}

/// What a context overflow does (R15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnOverflow {
    /// The client is told, so that it compacts.
    Tell,
    /// A candidate whose known window is larger is tried.
    Larger,
}

/// Which call moves on when a candidate was found out (H5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switching {
    /// This one.
    InCall,
    /// The next one; this one is told the failure.
    NextCall,
}

/// What a call does that finds every candidate cooling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllCooling {
    /// It waits, as R5 says.
    Wait,
    /// It tries the one whose cooldown ends first.
    Soonest,
    /// It tries the first one.
    Head,
}

/// Every field of a policy, with the gateway's defaults in [`PolicySettings::preset`].
///
/// Spans are milliseconds, sizes bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicySettings {
    /// Where the other fields start from.
    pub policy: Preset,
    /// Off: one try on the first candidate, nothing held, judged or recorded (R0).
    pub enabled: bool,
    /// Further attempts on the same candidate, 0 to 10 (R7).
    pub retries: u32,
    /// The pause before the first retry after `overloaded` or `server_error`; four times as long
    /// before the next ones (R7).
    pub retry_pause_ms: u64,
    /// Attempts in one call at most (R8).
    pub attempts_max: u32,
    /// The longest that a call may take in all; 0: no limit (R8).
    pub deadline_ms: u64,
    /// The text of the messages that a failover may carry (R9).
    pub continue_text: String,
    /// When a failover carries them (R9).
    pub continue_on_failover: Continuing,
    /// At most this many of them, 0 to 3 (R9).
    pub continues_max: u32,
    /// The pause before such a failover (R9).
    pub continue_delay_ms: u64,
    /// When held output is let through (R10).
    pub commit: CommitOn,
    /// More than this of an answer is not held back (R10).
    pub hold_max_bytes: u64,
    /// A client that reads nothing for this long counts as gone (R11).
    pub client_stall_ms: u64,
    /// Truncations in a row before the next call starts one candidate further; 0: never (R14).
    pub rotate_after: u32,
    /// What a context overflow does (R15).
    pub overflow: OnOverflow,
    /// Whether a content filter's refusal moves on to the next candidate.
    pub failover_on_filter: bool,
    /// How long a call waits for a candidate to come back, when none can run (R5).
    pub wait_max_ms: u64,
    /// Whether quarantined candidates are tried when nothing else can run (R5).
    pub retry_when_all_quarantined: bool,
    /// How long after a transient quarantine one call may try again; 0: never (R18).
    pub parole_after_ms: u64,
    /// `parole_after_ms` doubles up to this (R18).
    pub parole_max_ms: u64,
    /// The idle clock of a parole attempt at most (R18).
    pub parole_idle_ms: u64,
    /// How long a rate-limited route cools when no wait was named; 0: quarantine instead (R21).
    pub cooldown_ms: u64,
    /// A named wait is cut to this (R21).
    pub cooldown_max_ms: u64,
    /// A named wait up to this is simply waited for (R23).
    pub inline_wait_ms: u64,
    /// After how long an idle seat may be taken back (R26).
    pub lease_idle_ms: u64,
    /// How long a full route rests when a seat is given back; 0: not at all (R27).
    pub lease_rest_ms: u64,
    /// For how long a judged failure keeps other sessions' calls from retrying there (R8).
    pub judged_memory_ms: u64,
    /// Whether a judged failure takes a candidate out for the day (R17).
    pub quarantine: bool,
    /// Whether the candidate that answered last stays the first one while it is healthy (H3).
    pub sticky: bool,
    /// The classes that move on and count; of others the failure goes up (C3). `all` is all.
    pub switch_on: Vec<String>,
    /// Which call moves on (H5).
    pub switching: Switching,
    /// Failures of a route in a row that open its breaker, 0 to 100; 0: it has none (H1, C4).
    pub failure_threshold: u32,
    /// How long a route cools when its breaker opens (H1, C4).
    pub breaker_cooldown_ms: u64,
    /// It doubles up to this with each probe that fails (H1).
    pub breaker_cooldown_max_ms: u64,
    /// Classes that open the breaker at once, for the longest time (H2).
    pub breaker_at_once: Vec<String>,
    /// What a call does that finds every candidate cooling.
    pub all_cooling: AllCooling,
    /// Whether a call that is through the queue waits and goes round again (P1).
    pub persist: bool,
    /// How often it goes round again at most; 0: no limit (P1).
    pub max_rounds: u32,
    /// The wait before the first further round; it doubles (P2).
    pub backoff_ms: u64,
    /// It doubles up to this (P2).
    pub backoff_max_ms: u64,
    /// How far such a wait may be off, up or down, in per cent (P2).
    pub backoff_jitter: u32,
}

/// One field of [`PolicySettings`]: its key, and how it is written and read.
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) put: fn(&mut PolicySettings, &Value),
    pub(crate) show: fn(&PolicySettings) -> Value,
}

impl PolicySettings {
    /// A policy with nothing set on top of the preset.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        let relay = Self::relay();
        let plain = || Self {
            policy: preset,
            retries: 0,
            rotate_after: 0,
            parole_after_ms: 0,
            quarantine: false,
            ..Self::relay()
        };
        match preset {
            Preset::Relay => relay,
            Preset::None => Self { policy: preset, enabled: false, ..relay },
            Preset::Health => Self {
                sticky: true,
                switching: Switching::NextCall,
                failure_threshold: 1,
                breaker_at_once: names(&["auth", "not_found"]),
                all_cooling: AllCooling::Soonest,
                ..plain()
            },
            Preset::Chain => Self {
                switch_on: names(&SWITCH_ON),
                failure_threshold: 1,
                breaker_cooldown_ms: 30_000,
                breaker_cooldown_max_ms: 30_000,
                all_cooling: AllCooling::Head,
                ..plain()
            },
            Preset::Persist => Self { persist: true, ..plain() },
        }
    }

    fn relay() -> Self {
        Self {
            policy: Preset::Relay,
            enabled: true,
            retries: 2,
            retry_pause_ms: 250,
            attempts_max: 16,
            deadline_ms: 0,
            continue_text: "继续".to_owned(),
            continue_on_failover: Continuing::Never,
            continues_max: 3,
            continue_delay_ms: 0,
            commit: CommitOn::FirstOutput,
            hold_max_bytes: 8 << 20,
            client_stall_ms: 300_000,
            rotate_after: 2,
            overflow: OnOverflow::Tell,
            failover_on_filter: false,
            wait_max_ms: 30_000,
            retry_when_all_quarantined: true,
            parole_after_ms: 60_000,
            parole_max_ms: 3_600_000,
            parole_idle_ms: 30_000,
            cooldown_ms: 60_000,
            cooldown_max_ms: 3_600_000,
            inline_wait_ms: 3_000,
            lease_idle_ms: 300_000,
            lease_rest_ms: 5_000,
            judged_memory_ms: 60_000,
            quarantine: true,
            sticky: false,
            switch_on: names(&["all"]),
            switching: Switching::InCall,
            failure_threshold: 0,
            breaker_cooldown_ms: 60_000,
            breaker_cooldown_max_ms: 600_000,
            breaker_at_once: Vec::new(),
            all_cooling: AllCooling::Wait,
            persist: false,
            max_rounds: 0,
            backoff_ms: 1_000,
            backoff_max_ms: 30_000,
            backoff_jitter: 20,
        }
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// What a chain switches on (C3).
const SWITCH_ON: [&str; 8] = [
    "empty_response",
    "rate_limited",
    "overloaded",
    "server_error",
    "not_found",
    "timeout",
    "stall",
    "transport_remote",
];

/// The failure classes that a user may name, and `all`.
const CLASSES: [&str; 14] = [
    "rate_limited",
    "overloaded",
    "server_error",
    "timeout",
    "transport_remote",
    "empty_response",
    "stall",
    "quota_exhausted",
    "auth",
    "not_found",
    "invalid_request",
    "content_filter",
    "context_overflow",
    "all",
];
const SWITCHING: [&str; 2] = ["in-call", "next-call"];
const ALL_COOLING: [&str; 3] = ["wait", "soonest", "head"];

const CONTINUING: [&str; 3] = ["always", "auto", "never"];
const COMMIT_ON: [&str; 3] = ["first-output", "first-token", "complete"];
const ON_OVERFLOW: [&str; 2] = ["tell", "larger"];
pub(crate) const PRESETS: [&str; 5] = ["relay", "health", "chain", "persist", "none"];

impl Preset {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relay => PRESETS[0],
            Self::Health => PRESETS[1],
            Self::Chain => PRESETS[2],
            Self::Persist => PRESETS[3],
            Self::None => PRESETS[4],
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Relay, Self::Health, Self::Chain, Self::Persist, Self::None]
            .into_iter()
            .find(|preset| preset.name() == name)
    }
}

impl Continuing {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => CONTINUING[0],
            Self::Auto => CONTINUING[1],
            Self::Never => CONTINUING[2],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Always, Self::Auto, Self::Never].into_iter().find(|when| when.name() == name)
    }
}

impl CommitOn {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstOutput => COMMIT_ON[0],
            Self::FirstToken => COMMIT_ON[1],
            Self::Complete => COMMIT_ON[2],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::FirstOutput, Self::FirstToken, Self::Complete]
            .into_iter()
            .find(|when| when.name() == name)
    }
}

impl OnOverflow {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tell => ON_OVERFLOW[0],
            Self::Larger => ON_OVERFLOW[1],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Tell, Self::Larger].into_iter().find(|what| what.name() == name)
    }
}

impl Switching {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InCall => SWITCHING[0],
            Self::NextCall => SWITCHING[1],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::InCall, Self::NextCall].into_iter().find(|which| which.name() == name)
    }
}

impl AllCooling {
    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => ALL_COOLING[0],
            Self::Soonest => ALL_COOLING[1],
            Self::Head => ALL_COOLING[2],
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Wait, Self::Soonest, Self::Head].into_iter().find(|what| what.name() == name)
    }
}

macro_rules! row {
    ($name:literal, $kind:expr, $field:ident: $variant:ident as $type:ty, $en:literal, $zh:literal) => {
        Row {
            key: Key::new(Group::Policy, $name, $kind, $en, $zh),
            put: |policy, value| {
                if let Value::$variant(value) = value
                    && let Ok(value) = <$type>::try_from(value.clone())
                {
                    policy.$field = value;
                }
            },
            show: |policy| Value::$variant(policy.$field.clone().into()),
        }
    };
    ($name:literal, $kind:expr, $field:ident: choice $type:ty, $en:literal, $zh:literal) => {
        Row {
            key: Key::new(Group::Policy, $name, $kind, $en, $zh),
            put: |policy, value| {
                if let Value::Text(name) = value
                    && let Some(choice) = <$type>::from_name(name)
                {
                    policy.$field = choice;
                }
            },
            show: |policy| Value::Text(policy.$field.name().to_owned()),
        }
    };
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn span(max_s: u64) -> Kind {
    Kind::Span { min_ms: 0, max_ms: max_s * 1_000 }
}

/// The fields, in the order of the reference.
#[rustfmt::skip]
pub(crate) static ROWS: [Row; 41] = [
    row!("policy", Kind::Choice(&PRESETS), policy: choice Preset,
        "The preset that the other fields stand on: `relay` is the whole relay; `health` cools what fails for everybody and keeps the current candidate; `chain` is a head with fallbacks; `persist` goes round and round until an answer comes; `none` is one try on the first candidate.",
        "预设，其余字段叠加其上：`relay` 为完整接力；`health` 对所有会话冷却出错的候选并保持当前候选；`chain` 为链头加备用；`persist` 一轮轮重试直到成功；`none` 只在第一个候选上试一次。"),
    row!("enabled", Kind::Bool, enabled: Bool as bool,
        "Off: one try on the first candidate; nothing is held, retried, judged or recorded (R0).",
        "关闭后只在第一个候选上试一次，不暂存、不重试、不判定、不记录（R0）。"),
    row!("retries", count(0, 10), retries: Integer as u32,
        "Further attempts on the same candidate after a failure, byte for byte the same; 0 is one try (R7).",
        "失败后在同一候选上原样重发的次数；0 表示只试一次（R7）。"),
    row!("retry_pause", span(60), retry_pause_ms: Ms as u64,
        "The pause before the first retry after `overloaded` or `server_error`, four times as long before later ones, jittered; 0 is no pause (R7).",
        "遇到 `overloaded` 或 `server_error` 后首次重试前的停顿，之后为四倍，带抖动；0 表示不停顿（R7）。"),
    row!("attempts_max", count(1, 100), attempts_max: Integer as u32,
        "Attempts in one call at most; retries are left out before an untried candidate loses its one attempt (R8).",
        "一次请求的尝试总数上限；先省去重试，未试过的候选总有一次机会（R8）。"),
    row!("deadline", span(86_400), deadline_ms: Ms as u64,
        "The longest that one call may take in all; 0 is no limit. A deadline blames no candidate (R8, R11).",
        "一次请求的总时限；0 表示不限。到时不归咎于任何候选（R8、R11）。"),
    row!("continue_text", Kind::Text { max_chars: 2_000 }, continue_text: Text as String,
        "What the user messages say that a failover may carry (R9).",
        "接力时可附带的用户消息内容（R9）。"),
    row!("continue_on_failover", Kind::Choice(&CONTINUING), continue_on_failover: choice Continuing,
        "When a failover carries `continue_text`: `always`, `auto` (only when the conversation already has an assistant turn or a tool result), `never` (R9).",
        "接力何时附带 `continue_text`：`always` 总是；`auto` 仅当对话已有助手回合或工具结果；`never` 从不（R9）。"),
    row!("continues_max", count(0, 3), continues_max: Integer as u32,
        "How many such messages a call carries at most (R9).",
        "一次请求最多附带几条这样的消息（R9）。"),
    row!("continue_delay", span(600), continue_delay_ms: Ms as u64,
        "The pause before a failover that carries `continue_text`; retries never wait for it (R9).",
        "附带 `continue_text` 的接力之前的停顿；重试从不等它（R9）。"),
    row!("commit", Kind::Choice(&COMMIT_ON), commit: choice CommitOn,
        "When held output is let through: at the first visible output, at the first token (reasoning too), or when the answer is complete (R10).",
        "暂存的输出何时放行：首个可见输出、首个词元（含推理），或整条回答完成后（R10）。"),
    row!("hold_bytes_max", Kind::Bytes { min: 64 << 10, max: 64 << 20 }, hold_max_bytes: Bytes as u64,
        "How much of one answer is held back at most; beyond it the call commits (R10).",
        "单条回答最多暂存多少；超出即放行（R10）。"),
    row!("client_stall", span(3_600), client_stall_ms: Ms as u64,
        "A client that reads nothing for this long counts as gone; 0 is never (R11).",
        "客户端这么久不读取即视为离开；0 表示从不（R11）。"),
    row!("rotate_after", count(0, 100), rotate_after: Integer as u32,
        "Truncations in a row in a session before its next call starts one candidate further; 0 is never (R14).",
        "同一会话连续截断几次后，下一次请求从后一个候选开始；0 表示从不（R14）。"),
    row!("overflow", Kind::Choice(&ON_OVERFLOW), overflow: choice OnOverflow,
        "What a context overflow does: `tell` the client, so that it compacts, or try a candidate whose known window is `larger` (R15).",
        "上下文超限时：`tell` 告知客户端以便其压缩，`larger` 改试已知窗口更大的候选（R15）。"),
    row!("failover_on_filter", Kind::Bool, failover_on_filter: Bool as bool,
        "Whether a content filter's refusal moves on to the next candidate.",
        "内容过滤拒绝时是否换下一个候选。"),
    row!("wait_max", span(600), wait_max_ms: Ms as u64,
        "How long a call waits for a candidate to come back when none can run (R5).",
        "没有候选可用时，一次请求最多等多久（R5）。"),
    row!("retry_when_all_quarantined", Kind::Bool, retry_when_all_quarantined: Bool as bool,
        "Whether quarantined candidates are tried, in order, when nothing else can run; success lifts the quarantine (R5).",
        "别无可用时是否按序重试被隔离的候选；成功即解除隔离（R5）。"),
    row!("parole_after", span(86_400), parole_after_ms: Ms as u64,
        "How long after a transient quarantine one live call may try the candidate again, doubling each time; 0 is never (R18).",
        "临时性隔离多久后放一次真实请求去试，每次加倍；0 表示从不（R18）。"),
    row!("parole_max", span(86_400), parole_max_ms: Ms as u64,
        "`parole_after` doubles up to this (R18).",
        "`parole_after` 加倍的上限（R18）。"),
    row!("parole_idle", span(3_600), parole_idle_ms: Ms as u64,
        "The idle clock of a parole attempt at most (R18).",
        "假释尝试的空闲时限上限（R18）。"),
    row!("cooldown", span(3_600), cooldown_ms: Ms as u64,
        "How long a rate-limited route cools, for every session, when the answer names no wait; 0 falls back to quarantine (R21).",
        "限流且未给出等待时间时，该线路对所有会话冷却多久；0 则改为隔离（R21）。"),
    row!("cooldown_max", span(3_600), cooldown_max_ms: Ms as u64,
        "A wait that an answer names is cut to this, then the route is tried once (R21).",
        "回答给出的等待时间以此为上限，到时试一次（R21）。"),
    row!("inline_wait", span(60), inline_wait_ms: Ms as u64,
        "A named wait up to this is simply waited for and the same bytes go again (R23).",
        "给出的等待不超过此值时就地等待后原样重发（R23）。"),
    row!("lease_idle", span(86_400), lease_idle_ms: Ms as u64,
        "An idle seat may be taken back after this, when the cap is full and somebody wants in (R26).",
        "席位已满且有人等候时，空闲超过此值的席位可被收回（R26）。"),
    row!("lease_rest", span(300), lease_rest_ms: Ms as u64,
        "How long a route that was full rests for other sessions when a seat is given back; 0 is off (R27).",
        "满员线路交还席位后对其他会话休息多久；0 表示关闭（R27）。"),
    row!("judged_memory", span(3_600), judged_memory_ms: Ms as u64,
        "For how long a judged failure on another session leaves a call one attempt on that route, without retry (R8).",
        "其他会话在该线路上判定失败后的这段时间内，请求在其上只试一次、不重试（R8）。"),
    row!("quarantine", Kind::Bool, quarantine: Bool as bool,
        "Whether a judged failure takes the candidate out for the day, for its session and queue (R17); off with `health`, `chain` and `persist`.",
        "判定失败是否将候选对该会话与队列隔离当日（R17）；`health`、`chain`、`persist` 下关闭。"),
    row!("sticky", Kind::Bool, sticky: Bool as bool,
        "Whether the candidate that answered a session last stays its first one while it is healthy, even when an earlier one recovers (H3); on with `health`.",
        "上次答复该会话的候选健康时是否一直排在最前，即使更靠前的已恢复（H3）；`health` 下开启。"),
    row!("switch_on", Kind::Choices(&CLASSES), switch_on: Texts as Vec<String>,
        "The failure classes that count and move on; a failure of another class goes up, uncounted (C3). `all` is every class; `chain` has a list of its own.",
        "计数并换候选的失败类别；其他类别直接上抛且不计数（C3）。`all` 为全部；`chain` 有自己的清单。"),
    row!("switching", Kind::Choice(&SWITCHING), switching: choice Switching,
        "Whether the call that finds a candidate out moves on itself (`in-call`), or is told the failure and only the next call moves on (`next-call`, which `health` has; H5).",
        "发现候选出错的那次请求自己换候选（`in-call`），还是上抛失败、下一次请求才换（`next-call`，`health` 如此；H5）。"),
    row!("failure_threshold", count(0, 100), failure_threshold: Integer as u32,
        "Failures of a route in a row that open its breaker; below it the failure goes up; 0 is no breaker. Counts where `quarantine` is off; 1 with `health` and `chain` (H1, C4).",
        "线路连续失败几次后熔断；未达到时失败上抛；0 表示不熔断。仅在 `quarantine` 关闭时计数；`health`、`chain` 下为 1（H1、C4）。"),
    row!("breaker_cooldown", span(3_600), breaker_cooldown_ms: Ms as u64,
        "How long a route cools, for everybody, when its breaker opens; then one live call probes it. 30 s with `chain` (H1, C4).",
        "熔断时线路对所有会话冷却多久，之后放一次真实请求试探；`chain` 下为 30 秒（H1、C4）。"),
    row!("breaker_cooldown_max", span(86_400), breaker_cooldown_max_ms: Ms as u64,
        "`breaker_cooldown` doubles up to this with each probe that fails; 30 s with `chain`, so that it does not (H1).",
        "每次试探失败 `breaker_cooldown` 加倍，以此为上限；`chain` 下为 30 秒，即不加倍（H1）。"),
    row!("breaker_at_once", Kind::Choices(&CLASSES), breaker_at_once: Texts as Vec<String>,
        "Failure classes that open the breaker at once, for `breaker_cooldown_max`; `auth` and `not_found` with `health` (H2).",
        "立即熔断到 `breaker_cooldown_max` 的失败类别；`health` 下为 `auth` 与 `not_found`（H2）。"),
    row!("all_cooling", Kind::Choice(&ALL_COOLING), all_cooling: choice AllCooling,
        "What a call does that finds every candidate cooling: `wait` (R5), try the one whose cooldown ends `soonest` (with `health`), or the `head` (with `chain`).",
        "所有候选都在冷却时：`wait` 等待（R5），`soonest` 试最先结束的（`health`），`head` 试第一个（`chain`）。"),
    row!("persist", Kind::Bool, persist: Bool as bool,
        "Whether a call that is through the queue waits and goes round again, for failures that may pass (P1, P3); on with `persist`.",
        "一轮试完后，对可能恢复的失败是否等待并再来一轮（P1、P3）；`persist` 下开启。"),
    row!("max_rounds", count(0, 1_000_000), max_rounds: Integer as u32,
        "How often a call goes round again at most; 0 is no limit (P1).",
        "一次请求最多再来几轮；0 表示不限（P1）。"),
    row!("backoff", span(600), backoff_ms: Ms as u64,
        "The wait before the first further round; it doubles with each (P2).",
        "再来一轮之前的等待，每轮加倍（P2）。"),
    row!("backoff_max", span(3_600), backoff_max_ms: Ms as u64,
        "`backoff` doubles up to this (P2).",
        "`backoff` 加倍的上限（P2）。"),
    row!("backoff_jitter", count(0, 100), backoff_jitter: Integer as u32,
        "How far such a wait may be off, up or down, in per cent (P2).",
        "此等待上下浮动的百分比（P2）。"),
];
