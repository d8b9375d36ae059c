//! Journal entries in words. It refuses to explain what the entry does not hold.

use ekiden_engine::{Class, Clock, Mode};
use serde::Deserialize;

use crate::moments::{day, moment};
use crate::running::{EvidenceTold, ToldWord, one_line};
use crate::sessions::shown;
use crate::terminal::{Ink, Say};
use crate::why::why;
use crate::words::Span;

/// An entry as the API tells it (docs/api.md): a code, and what belongs to that code.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) at_ms: u64,
    pub(super) call: Option<String>,
    pub(super) what: String,
    pub(super) session: Option<String>,
    queue: Option<String>,
    pub(super) route: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    head: Option<String>,
    class: Option<String>,
    evidence: Option<EvidenceTold>,
    until_ms: Option<u64>,
    parole_ms: Option<u64>,
    ms: Option<u64>,
    by: Option<String>,
    mode: Option<String>,
    clock: Option<String>,
    #[serde(rename = "for")]
    waited_for: Option<String>,
    truncations: Option<u64>,
    times: Option<u64>,
    param: Option<String>,
    told: Option<ToldWord>,
    asked: Option<String>,
    day: Option<u32>,
    place: Option<String>,
    message: Option<String>,
}

impl Entry {
    /// The colour of what happened.
    pub(super) fn ink(&self) -> Ink {
        match self.what.as_str() {
            "quarantined" | "refused" | "settings_refused" => Ink::Bad,
            "lifted" | "warmed" | "settings_taken" => Ink::Good,
            "cooled" | "stalled" | "failed_over" | "served_instead" | "rotated" | "on_trial" => {
                Ink::Slow
            }
            "chunk_skipped" | "queue_gone" => Ink::Broken,
            _ => Ink::Dim,
        }
    }

    fn class(&self) -> Option<Class> {
        Class::from_name(self.class.as_deref()?)
    }

    fn head(&self) -> &str {
        self.head.as_deref().unwrap_or_default()
    }

    fn route(&self) -> &str {
        self.route.as_deref().unwrap_or_default()
    }

    fn queue(&self) -> &str {
        self.queue.as_deref().unwrap_or_default()
    }

    fn session(&self) -> &str {
        shown(self.session.as_deref().unwrap_or_default())
    }

    /// The session, or who is meant where none is named.
    fn whose<'s>(&'s self, everybody: &'s str) -> &'s str {
        self.session.as_deref().map_or(everybody, shown)
    }

    fn ms(&self) -> Span {
        Span(self.ms.unwrap_or(0))
    }

    /// What the candidate said, between what opens and what closes it.
    fn said(&self, open: &str, close: &str) -> String {
        let words = self.evidence.as_ref().and_then(EvidenceTold::words);
        words.map_or_else(String::new, |words| format!("{open}{words}{close}"))
    }

    fn mode(&self) -> Option<Mode> {
        Some(match self.mode.as_deref()? {
            "probe" => Mode::Probe,
            "parole" => Mode::Parole,
            "last_resort" => Mode::LastResort,
            _ => return None,
        })
    }

    fn clock(&self) -> Option<Clock> {
        Some(match self.clock.as_deref()? {
            "connect" => Clock::Connect,
            "headers" => Clock::Headers,
            "idle" => Clock::Idle,
            "progress" => Clock::Progress,
            "first_output" => Clock::FirstOutput,
            "share" => Clock::Share,
            _ => return None,
        })
    }

    /// File and problem.
    fn problem(&self) -> String {
        let message = one_line(self.message.as_deref().unwrap_or_default());
        match self.place.as_deref() {
            Some(place) if !place.is_empty() => format!("{place}: {message}"),
            Some(_) | None => message,
        }
    }
}

/// Who let a candidate in again.
fn by_english(by: Option<&str>) -> String {
    match by {
        Some("success") => "it answered".to_owned(),
        Some("release") => "by hand".to_owned(),
        Some("reset") => "its time was over".to_owned(),
        Some(other) => other.to_owned(),
        None => String::new(),
    }
}

fn by_chinese(by: Option<&str>) -> String {
    match by {
        Some("success") => "它作答了".to_owned(),
        Some("release") => "手动".to_owned(),
        Some("reset") => "到时".to_owned(),
        Some(other) => other.to_owned(),
        None => String::new(),
    }
}

impl Entry {
    /// What concerns the gateway rather than a candidate.
    fn of_the_gateway_english(&self) -> String {
        match self.what.as_str() {
            "settings_taken" => "other settings hold".to_owned(),
            "settings_refused" => {
                format!("the settings cannot be used, the last good ones hold: {}", self.problem())
            }
            "paused" => format!("paused: calls of {} do not persist", self.whose("everybody")),
            "resumed" => format!("resumed: calls of {} persist again", self.whose("everybody")),
            "stopped" => format!("somebody stopped a call of queue {}", self.queue()),
            "slept" => format!("this machine slept for {}", self.ms().english()),
            "turned" => format!("a new day: {}", day(self.day.unwrap_or(0))),
            other => other.to_owned(),
        }
    }

    /// What concerns the gateway rather than a candidate.
    fn of_the_gateway_chinese(&self) -> String {
        match self.what.as_str() {
            "settings_taken" => "新的设置已生效".to_owned(),
            "settings_refused" => {
                format!("设置不可用，沿用上一份可用的：{}", self.problem())
            }
            "paused" => format!("已暂停：{}的请求不再坚持", self.whose("所有会话")),
            "resumed" => format!("已恢复：{}的请求继续坚持", self.whose("所有会话")),
            "stopped" => format!("有人停止了队列 {} 的一次请求", self.queue()),
            "slept" => format!("本机睡眠了 {}", self.ms().chinese()),
            "turned" => format!("新的一天：{}", day(self.day.unwrap_or(0))),
            other => other.to_owned(),
        }
    }
}

impl Say for Entry {
    fn english(&self) -> String {
        let (route, queue, session) = (self.route(), self.queue(), self.session());
        let class = self.class().map_or_else(String::new, |class| class.english());
        let by = || by_english(self.by.as_deref());
        match self.what.as_str() {
            "quarantined" => {
                let until = match (self.until_ms, self.parole_ms) {
                    (Some(until), _) => format!(" until {}", moment(until)),
                    (None, Some(parole)) => format!(", on parole from {}", moment(parole)),
                    (None, None) => String::new(),
                };
                let said = self.said(" (", ")");
                format!("{route} quarantined in {queue} for {session}: {class}{until}{said}")
            }
            "lifted" => format!("{route} in again in {queue} for {session}: {}", by()),
            "on_trial" => {
                let mode = self.mode().map_or_else(String::new, |mode| mode.english());
                format!("{route} tried in {queue} for {session}, {mode}")
            }
            "cooled" => {
                format!(
                    "{route} cools for {}: {class}{}",
                    self.ms().english(),
                    self.said(" (", ")")
                )
            }
            "warmed" => format!("{route} cools no more: {}", by()),
            "failed_over" => {
                let from = self.from.as_deref().unwrap_or_default();
                let to = self.to.as_deref().unwrap_or_default();
                let why = if class.is_empty() { class } else { format!(": {class}") };
                format!("from {from} on to {to}{why}")
            }
            "served_instead" => format!("{route} answered instead of {}", self.head()),
            "rotated" => format!(
                "{session} starts further down in {queue}: cut {} times in a row",
                self.truncations.unwrap_or(0)
            ),
            "stalled" => {
                let clock = self.clock().map_or_else(String::new, |clock| clock.english());
                format!("{route} silent for too long ({clock})")
            }
            "waited" => {
                let why = self.waited_for.as_deref().and_then(why);
                let why = why.map_or_else(String::new, |why| why.english());
                format!("{session} waited in {queue} {why}")
            }
            "continued" => format!("{route} told to continue, {} times", self.times.unwrap_or(0)),
            "repaired" => {
                format!("{route}: request mended ({})", self.param.as_deref().unwrap_or_default())
            }
            "chunk_skipped" => format!("{route}: a chunk could not be read and was skipped"),
            "refused" => {
                let told = self.told.as_ref().map_or_else(String::new, Say::english);
                format!("{session} was told in {queue}: {told}")
            }
            "queue_gone" => {
                let asked = self.asked.as_deref().unwrap_or_default();
                format!("{asked} was deleted; {queue} answers for it")
            }
            _ => self.of_the_gateway_english(),
        }
    }

    fn chinese(&self) -> String {
        let (route, queue, session) = (self.route(), self.queue(), self.session());
        let class = self.class().map_or_else(String::new, |class| class.chinese());
        let by = || by_chinese(self.by.as_deref());
        match self.what.as_str() {
            "quarantined" => {
                let until = match (self.until_ms, self.parole_ms) {
                    (Some(until), _) => format!("，到 {}", moment(until)),
                    (None, Some(parole)) => format!("，{} 起可以假释", moment(parole)),
                    (None, None) => String::new(),
                };
                let said = self.said("（", "）");
                format!("会话 {session} 在 {queue} 中隔离 {route}：{class}{until}{said}")
            }
            "lifted" => format!("会话 {session} 在 {queue} 中重新启用 {route}：{}", by()),
            "on_trial" => {
                let mode = self.mode().map_or_else(String::new, |mode| mode.chinese());
                format!("会话 {session} 在 {queue} 中试用 {route}：{mode}")
            }
            "cooled" => {
                format!("{route} 冷却 {}：{class}{}", self.ms().chinese(), self.said("（", "）"))
            }
            "warmed" => format!("{route} 不再冷却：{}", by()),
            "failed_over" => {
                let from = self.from.as_deref().unwrap_or_default();
                let to = self.to.as_deref().unwrap_or_default();
                let why = if class.is_empty() { class } else { format!("：{class}") };
                format!("从 {from} 转到 {to}{why}")
            }
            "served_instead" => format!("{route} 代替 {} 作答", self.head()),
            "rotated" => format!(
                "会话 {session} 在 {queue} 中改从下一个候选开始：连续截断 {} 次",
                self.truncations.unwrap_or(0)
            ),
            "stalled" => {
                let clock = self.clock().map_or_else(String::new, |clock| clock.chinese());
                format!("{route} 停滞（{clock}）")
            }
            "waited" => {
                let why = self.waited_for.as_deref().and_then(why);
                let why = why.map_or_else(String::new, |why| why.chinese());
                format!("会话 {session} 在 {queue} 中等待：{why}")
            }
            "continued" => format!("要求 {route} 继续，{} 次", self.times.unwrap_or(0)),
            "repaired" => {
                format!("{route}：已修正请求（{}）", self.param.as_deref().unwrap_or_default())
            }
            "chunk_skipped" => format!("{route}：跳过一个无法读取的分块"),
            "refused" => {
                let told = self.told.as_ref().map_or_else(String::new, Say::chinese);
                format!("会话 {session} 在 {queue} 中得到：{told}")
            }
            "queue_gone" => {
                let asked = self.asked.as_deref().unwrap_or_default();
                format!("{asked} 已删除，由 {queue} 代为作答")
            }
            _ => self.of_the_gateway_chinese(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ekiden_store::What;

    use super::*;

    #[test]
    fn r32_every_kind_of_entry_has_words_in_both_languages() {
        for what in What::KINDS {
            let entry = Entry { what: what.to_owned(), ..Entry::default() };
            assert_ne!(entry.english(), what);
            assert_ne!(entry.chinese(), what);
        }
    }
}
