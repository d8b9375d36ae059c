//! The clocks of a candidate (R11). Reads no clock: these are limits, in milliseconds.

use crate::keys::{Group, Key, Kind};
use crate::value::Value;

/// Limits on silence, in milliseconds; 0 switches a clock off (R11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// Until the connection stands.
    pub connect_ms: u64,
    /// From the request until the head of a streamed answer.
    pub headers_ms: u64,
    /// Until the first byte; replaces `idle_ms` before it. 0: `idle_ms` holds from the start.
    pub first_byte_ms: u64,
    /// No byte since the attempt was sent or since the last byte.
    pub idle_ms: u64,
    /// Bytes, but neither output nor reasoning.
    pub progress_ms: u64,
    /// From the start of the attempt until visible output.
    pub first_output_ms: u64,
}

/// Clocks that somebody set; those that nobody set depend on where the provider is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockSettings {
    /// See [`Clocks::connect_ms`].
    pub connect_ms: Option<u64>,
    /// See [`Clocks::headers_ms`].
    pub headers_ms: Option<u64>,
    /// See [`Clocks::first_byte_ms`].
    pub first_byte_ms: Option<u64>,
    /// See [`Clocks::idle_ms`].
    pub idle_ms: Option<u64>,
    /// See [`Clocks::progress_ms`].
    pub progress_ms: Option<u64>,
    /// See [`Clocks::first_output_ms`].
    pub first_output_ms: Option<u64>,
}

/// Where a provider's base URL points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locality {
    /// This machine or a private network: models may have to be loaded first.
    Local,
    /// Anywhere else.
    Remote,
}

/// One clock: its key, and how it is written and read.
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) put: fn(&mut ClockSettings, u64),
    pub(crate) show: fn(&Clocks) -> u64,
}

impl Clocks {
    /// What holds for a provider where nothing is set.
    #[must_use]
    pub const fn default_for(locality: Locality) -> Self {
        let remote = Self {
            connect_ms: 10_000,
            headers_ms: 90_000,
            first_byte_ms: 0,
            idle_ms: 120_000,
            progress_ms: 600_000,
            first_output_ms: 0,
        };
        match locality {
            Locality::Remote => remote,
            Locality::Local => Self { headers_ms: 600_000, first_byte_ms: 600_000, ..remote },
        }
    }
}

impl ClockSettings {
    /// These, and `outer` where these say nothing.
    #[must_use]
    pub fn over(self, outer: Self) -> Self {
        Self {
            connect_ms: self.connect_ms.or(outer.connect_ms),
            headers_ms: self.headers_ms.or(outer.headers_ms),
            first_byte_ms: self.first_byte_ms.or(outer.first_byte_ms),
            idle_ms: self.idle_ms.or(outer.idle_ms),
            progress_ms: self.progress_ms.or(outer.progress_ms),
            first_output_ms: self.first_output_ms.or(outer.first_output_ms),
        }
    }

    /// The clocks that hold for a provider at `locality`.
    #[must_use]
    pub fn resolve(self, locality: Locality) -> Clocks {
        let default = Clocks::default_for(locality);
        Clocks {
            connect_ms: self.connect_ms.unwrap_or(default.connect_ms),
            headers_ms: self.headers_ms.unwrap_or(default.headers_ms),
            first_byte_ms: self.first_byte_ms.unwrap_or(default.first_byte_ms),
            idle_ms: self.idle_ms.unwrap_or(default.idle_ms),
            progress_ms: self.progress_ms.unwrap_or(default.progress_ms),
            first_output_ms: self.first_output_ms.unwrap_or(default.first_output_ms),
        }
    }

    pub(crate) fn put(&mut self, name: &str, value: &Value) {
        if let Value::Ms(ms) = value
            && let Some(row) = ROWS.iter().find(|row| row.key.name == name)
        {
            (row.put)(self, *ms);
        }
    }
}

macro_rules! row {
    ($name:literal, $max_s:literal, $field:ident, $en:literal, $zh:literal) => {
        Row {
            key: Key::new(
                Group::Clock,
                $name,
                Kind::Span { min_ms: 0, max_ms: $max_s * 1_000 },
                $en,
                $zh,
            ),
            put: |clocks, ms| clocks.$field = Some(ms),
            show: |clocks| clocks.$field,
        }
    };
}

/// The clocks, in the order of the reference.
#[rustfmt::skip]
pub(crate) static ROWS: [Row; 6] = [
    row!("connect_timeout", 600, connect_ms,
        "Until the connection stands; 0 is off (R11).",
        "建立连接的时限；0 表示关闭（R11）。"),
    row!("headers_timeout", 3_600, headers_ms,
        "From the request until the head of a streamed answer; 0 is off. 600 s for local base URLs (R11).",
        "从发出请求到流式回答响应头的时限；0 表示关闭。本地地址为 600 秒（R11）。"),
    row!("first_byte_timeout", 3_600, first_byte_ms,
        "Until the first byte of a streamed answer, in place of `idle_timeout`; 0 leaves it to `idle_timeout`. 600 s for local base URLs, which may load a model first (R11).",
        "流式回答首字节之前代替 `idle_timeout` 的时限；0 则由 `idle_timeout` 计时。本地地址可能要先加载模型，为 600 秒（R11）。"),
    row!("idle_timeout", 3_600, idle_ms,
        "No byte of a streamed answer since the attempt was sent or since the last byte; 0 is off. An answer that is not streamed has its share of `deadline`, or of the time that its client waits (R8, R11).",
        "流式回答自发出或上一个字节起没有任何字节的时限；0 表示关闭。非流式的回答只受 `deadline` 或客户端等待时间中它那一份的限制（R8、R11）。"),
    row!("progress_timeout", 3_600, progress_ms,
        "Bytes, but neither output nor reasoning; 0 is off (R11).",
        "有字节却既无输出也无推理的时限；0 表示关闭（R11）。"),
    row!("first_output_timeout", 3_600, first_output_ms,
        "From the start of the attempt until visible output; 0 is off (R11).",
        "从尝试开始到首个可见输出的时限；0 表示关闭（R11）。"),
];
