//! The engine's terms as words. It refuses to add anything: each term has its words in every
//! language, and one that is missing does not compile.

use ekiden_engine::{
    AttemptInput, Class, Clock, Finish, LastWord, Mode, Reason, Terminal, Verdict, Wait, WaitFor,
    Why,
};

use crate::terminal::Say;

/// A span of milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span(pub(crate) u64);

/// A span's figures with the largest unit first: `2 min 5 s`.
fn spelled(ms: u64, units: [&str; 5]) -> String {
    let [day, hour, minute, second, milli] = units;
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{large} {large_unit}"),
        small => format!("{large} {large_unit} {small} {small_unit}"),
    };
    let seconds = ms.saturating_add(500) / 1_000;
    match ms {
        0..1_000 => format!("{ms} {milli}"),
        // Cut, not rounded: nothing is said to have taken a minute that did not.
        1_000..60_000 if ms % 1_000 < 100 => format!("{} {second}", ms / 1_000),
        1_000..60_000 => format!("{}.{} {second}", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => two(seconds / 60, minute, seconds % 60, second),
        3_600_000..86_400_000 => two(seconds / 3_600, hour, seconds / 60 % 60, minute),
        _ => two(seconds / 86_400, day, seconds / 3_600 % 24, hour),
    }
}

impl Say for Span {
    fn english(&self) -> String {
        spelled(self.0, ["d", "h", "min", "s", "ms"])
    }

    fn chinese(&self) -> String {
        spelled(self.0, ["天", "小时", "分", "秒", "毫秒"])
    }
}

impl Say for Class {
    fn english(&self) -> String {
        match self {
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server error",
            Self::Timeout => "timed out",
            Self::TransportRemote => "connection broke",
            Self::EmptyResponse => "empty answer",
            Self::Stall => "silent for too long",
            Self::QuotaExhausted => "out of quota",
            Self::Auth => "key not accepted",
            Self::NotFound => "no such model",
            Self::InvalidRequest => "refused the request",
            Self::ContentFilter => "refused by a content filter",
            Self::ContextOverflow => "conversation too long",
            Self::LocalNetwork => "this machine's network is in trouble",
            Self::Aborted => "cancelled",
            Self::Truncated => "cut by its token limit",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::RateLimited => "触发限流",
            Self::Overloaded => "过载",
            Self::ServerError => "服务器出错",
            Self::Timeout => "超时",
            Self::TransportRemote => "连接中断",
            Self::EmptyResponse => "回答为空",
            Self::Stall => "停滞",
            Self::QuotaExhausted => "额度用尽",
            Self::Auth => "密钥不被接受",
            Self::NotFound => "没有这个模型",
            Self::InvalidRequest => "拒绝了请求",
            Self::ContentFilter => "被内容过滤拒绝",
            Self::ContextOverflow => "对话过长",
            Self::LocalNetwork => "本机网络有问题",
            Self::Aborted => "取消",
            Self::Truncated => "被输出上限截断",
        }
        .to_owned()
    }
}

impl Say for Reason {
    fn english(&self) -> String {
        match self {
            Self::Tried => "this call has tried it".to_owned(),
            // Which of the three, the gateway tells and a trace does not.
            Self::Missing => "it cannot serve this call: provider, key or dialect".to_owned(),
            Self::Quarantined(class) => format!("quarantined here ({})", class.english()),
            Self::ParoleRunning => "another call is trying it on parole".to_owned(),
            Self::Cooling(ms) => format!("cooling for another {}", Span(*ms).english()),
            Self::StandIn => "its limit is over, waiting for this session's other run".to_owned(),
            Self::Probing => "another call is trying it after its cooldown".to_owned(),
            Self::Full => "no seat free".to_owned(),
            Self::Resting(ms) => format!("resting for another {}", Span(*ms).english()),
            Self::WindowTooSmall => {
                "its context window is too small for this conversation".to_owned()
            }
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Tried => "本次请求已经试过".to_owned(),
            Self::Missing => "它不能处理这次请求：提供方、密钥或协议不符".to_owned(),
            Self::Quarantined(class) => format!("在此处隔离中（{}）", class.chinese()),
            Self::ParoleRunning => "另一个请求正在对它假释".to_owned(),
            Self::Cooling(ms) => format!("冷却中，还有 {}", Span(*ms).chinese()),
            Self::StandIn => "限制已过，等本会话的另一次运行结束".to_owned(),
            Self::Probing => "冷却之后，另一个请求正在试它".to_owned(),
            Self::Full => "没有空席位".to_owned(),
            Self::Resting(ms) => format!("收工歇，还有 {}", Span(*ms).chinese()),
            Self::WindowTooSmall => "它的上下文窗口装不下这段对话".to_owned(),
        }
    }
}

impl Say for WaitFor {
    fn english(&self) -> String {
        match self {
            Self::Cooldown => "for a cooldown to end",
            Self::Rest => "for a rest to end",
            Self::Parole => "for a parole",
            Self::StandIn => "for this session's other run to end",
            Self::Seat => "for a free seat",
            Self::Probe => "for the call that is trying it after its cooldown",
            Self::Round => "to go round its queue again",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Cooldown => "等冷却结束",
            Self::Rest => "等收工歇结束",
            Self::Parole => "等可以假释",
            Self::StandIn => "等本会话的另一次运行结束",
            Self::Seat => "等空席位",
            Self::Probe => "等冷却后先行的那个请求",
            Self::Round => "等下一轮",
        }
        .to_owned()
    }
}

impl Say for Why {
    fn english(&self) -> String {
        match self {
            Self::Clock(clock) => format!("running; its {} is next", clock.english()),
            Self::Running => "running".to_owned(),
            Self::ClientBlocked => "the client does not read".to_owned(),
            Self::RetryPause => "before the retry".to_owned(),
            Self::NamedWait => "as the model asked for".to_owned(),
            Self::ContinueDelay => "before it says 'continue'".to_owned(),
            Self::LocalNetwork => "for this machine's network".to_owned(),
            Self::Candidate(wait) => wait.english(),
            Self::Lease => "for a seat".to_owned(),
            Self::Admission => "for the next decision".to_owned(),
            Self::Over => "over".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Clock(clock) => format!("运行中，下一个时限是{}", clock.chinese()),
            Self::Running => "运行中".to_owned(),
            Self::ClientBlocked => "客户端没有读取".to_owned(),
            Self::RetryPause => "重试之前".to_owned(),
            Self::NamedWait => "按模型要求的时长".to_owned(),
            Self::ContinueDelay => "发送「继续」之前".to_owned(),
            Self::LocalNetwork => "等本机网络恢复".to_owned(),
            Self::Candidate(wait) => wait.chinese(),
            Self::Lease => "等席位".to_owned(),
            Self::Admission => "等下一个决定".to_owned(),
            Self::Over => "已结束".to_owned(),
        }
    }
}

impl Say for Clock {
    fn english(&self) -> String {
        match self {
            Self::Connect => "connect clock",
            Self::Headers => "headers clock",
            Self::Idle => "idle clock",
            Self::Progress => "progress clock",
            Self::FirstOutput => "first-output clock",
            Self::Share => "share of the deadline",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Connect => "连接时限",
            Self::Headers => "响应头时限",
            Self::Idle => "沉默时限",
            Self::Progress => "进展时限",
            Self::FirstOutput => "首个输出时限",
            Self::Share => "截止时间中的份额",
        }
        .to_owned()
    }
}

impl Say for Mode {
    fn english(&self) -> String {
        match self {
            Self::Normal => "in order",
            Self::Probe => "alone, after its cooldown",
            Self::Parole => "on parole",
            Self::LastResort => "as a last resort, since all are quarantined",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::Normal => "按顺序",
            Self::Probe => "冷却之后，单独先行",
            Self::Parole => "假释",
            Self::LastResort => "全部隔离，作为最后手段",
        }
        .to_owned()
    }
}

impl Say for Verdict {
    fn english(&self) -> String {
        match self {
            Self::Spared => "nothing is held against it".to_owned(),
            Self::Whole => "its answer was whole".to_owned(),
            Self::Truncated => "its answer was cut by its token limit".to_owned(),
            Self::Cooled { ms } => format!("it cools for {}, for everybody", Span(*ms).english()),
            Self::Struck { named_ms: Some(ms) } => {
                format!("a strike against it; it cools for {}", Span(*ms).english())
            }
            Self::Struck { named_ms: None } => "a strike against it".to_owned(),
            Self::Quarantined { until_ms: Some(_) } => {
                "this session leaves it alone until its own reset".to_owned()
            }
            Self::Quarantined { until_ms: None } => "this session leaves it alone".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Spared => "不追究".to_owned(),
            Self::Whole => "回答完整".to_owned(),
            Self::Truncated => "回答被输出上限截断".to_owned(),
            Self::Cooled { ms } => format!("对所有会话冷却 {}", Span(*ms).chinese()),
            Self::Struck { named_ms: Some(ms) } => {
                format!("记一次失败；冷却 {}", Span(*ms).chinese())
            }
            Self::Struck { named_ms: None } => "记一次失败".to_owned(),
            Self::Quarantined { until_ms: Some(_) } => {
                "本会话将它隔离，到它自己的重置时刻".to_owned()
            }
            Self::Quarantined { until_ms: None } => "本会话将它隔离".to_owned(),
        }
    }
}

impl Say for LastWord {
    fn english(&self) -> String {
        match self {
            Self::AsItCame(attempt) => format!("the error of attempt {}, as it came", attempt.0),
            Self::Overflow(_) => "its own overflow error, so that it compacts".to_owned(),
            Self::ComeBack(ms) => format!("429: come back in {}", Span(*ms).english()),
            Self::DoNotRetry => {
                "an error that says not to retry: nothing comes back today".to_owned()
            }
            Self::EmptyQueue => "an error: the queue has no candidates".to_owned(),
            Self::LocalNetwork => "an error: this machine's network is in trouble".to_owned(),
            Self::Deadline => "an error: the call's own time was up".to_owned(),
            Self::Stopped => "an error: somebody stopped the call".to_owned(),
            Self::Broken(_, class) => {
                format!("an error instead of the answer's end: {}", class.english())
            }
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::AsItCame(attempt) => format!("第 {} 次尝试的错误，原样转达", attempt.0),
            Self::Overflow(_) => "其协议的超长错误，让它自行压缩".to_owned(),
            Self::ComeBack(ms) => format!("429：{}后再来", Span(*ms).chinese()),
            Self::DoNotRetry => "「不要重试」的错误：今天不会恢复".to_owned(),
            Self::EmptyQueue => "错误：队列没有候选".to_owned(),
            Self::LocalNetwork => "错误：本机网络有问题".to_owned(),
            Self::Deadline => "错误：请求自身的时间已到".to_owned(),
            Self::Stopped => "错误：有人停止了这次请求".to_owned(),
            Self::Broken(_, class) => format!("以错误结束，而不是正常结尾：{}", class.chinese()),
        }
    }
}

impl Say for Wait {
    fn english(&self) -> String {
        match self {
            Self::Unnamed => String::new(),
            Self::Ms(ms) => format!(", come back in {}", Span(*ms).english()),
            Self::At(_) => ", come back at a time that it names".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Unnamed => String::new(),
            Self::Ms(ms) => format!("，要求 {}后再来", Span(*ms).chinese()),
            Self::At(_) => "，并给出了恢复时刻".to_owned(),
        }
    }
}

/// What happened to an attempt; nothing for what needs no words.
impl Say for AttemptInput {
    fn english(&self) -> String {
        match self {
            Self::Sent => "sent".to_owned(),
            Self::Head => "its answer began".to_owned(),
            Self::Chunk { bytes, .. } => format!("{bytes} bytes came"),
            Self::Malformed { .. } => "a chunk that cannot be read".to_owned(),
            Self::End { finish: Some(Finish::Truncated), .. } => {
                "cut by its token limit".to_owned()
            }
            Self::End { finish: Some(_), .. } | Self::End { terminal: Terminal::Seen, .. } => {
                "ended".to_owned()
            }
            Self::End { finish: None, terminal: Terminal::Missing, .. } => {
                "closed without the answer's end".to_owned()
            }
            Self::Failed { failure, .. } => {
                format!("{}{}", failure.class.english(), failure.wait.english())
            }
            Self::Unserved => "a reused connection had died; sent once more".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Sent => "已发送".to_owned(),
            Self::Head => "回答开始".to_owned(),
            Self::Chunk { bytes, .. } => format!("收到 {bytes} 字节"),
            Self::Malformed { .. } => "一个无法读取的分块".to_owned(),
            Self::End { finish: Some(Finish::Truncated), .. } => "被输出上限截断".to_owned(),
            Self::End { finish: Some(_), .. } | Self::End { terminal: Terminal::Seen, .. } => {
                "结束".to_owned()
            }
            Self::End { finish: None, terminal: Terminal::Missing, .. } => {
                "没有收尾就关闭".to_owned()
            }
            Self::Failed { failure, .. } => {
                format!("{}{}", failure.class.chinese(), failure.wait.chinese())
            }
            Self::Unserved => "复用的连接已断，重新发送一次".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_the_unit_that_fits() {
        let said: Vec<String> =
            [0, 250, 1_000, 1_540, 59_999, 60_000, 125_000, 3_900_000, 90_000_000]
                .map(|ms| Span(ms).english())
                .into();
        assert_eq!(
            said,
            [
                "0 ms",
                "250 ms",
                "1 s",
                "1.5 s",
                "59.9 s",
                "1 min",
                "2 min 5 s",
                "1 h 5 min",
                "1 d 1 h"
            ]
        );
        assert_eq!(Span(125_000).chinese(), "2 分 5 秒");
    }

    #[test]
    fn every_class_has_words_of_its_own() {
        for words in [Class::english as fn(&Class) -> String, Class::chinese] {
            let mut all: Vec<String> = Class::ALL.iter().map(words).collect();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), Class::ALL.len());
        }
    }
}
