//! Why a candidate was passed over, or stood further back than its place in the queue says. It refuses
//! to guess: a code that is not known here is left out.

use ekiden_config::Language;
use ekiden_engine::{Behind, Class, Reason};
use ekiden_gateway::plan::Lack;

use crate::running::StepTold;
use crate::terminal::Say;

/// Why a candidate did not run at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Passing {
    /// It was passed over.
    Over(Reason),
    /// It cannot serve the client.
    Lacking(Lack),
    /// It stood behind the one that ran.
    Behind(Behind),
}

impl Passing {
    /// What a step of the API says.
    pub(crate) fn of(step: &StepTold) -> Option<Self> {
        let behind = match step.reason.as_deref()? {
            "missing" => {
                return Some(step.lack().map_or(Self::Over(Reason::Missing), Self::Lacking));
            }
            "unverified" => Behind::Unverified,
            "rotated" => Behind::Rotated,
            "not_current" => Behind::NotCurrent,
            _ => return reason(step).map(Self::Over),
        };
        Some(Self::Behind(behind))
    }

    /// The same without how long it still lasts.
    pub(super) fn without_span(&self) -> Self {
        match self {
            Self::Over(reason) => Self::Over(reason.without_span()),
            Self::Lacking(_) | Self::Behind(_) => self.clone(),
        }
    }
}

/// The reason behind a code of the API.
fn reason(step: &StepTold) -> Option<Reason> {
    let ms = step.ms.unwrap_or(0);
    Some(match step.reason.as_deref()? {
        "tried" => Reason::Tried,
        "quarantined" => Reason::Quarantined(Class::from_name(step.class.as_deref()?)?),
        "parole_running" => Reason::ParoleRunning,
        "cooling" => Reason::Cooling(ms),
        "stand_in" => Reason::StandIn,
        "probing" => Reason::Probing,
        "full" => Reason::Full,
        "resting" => Reason::Resting(ms),
        "window_too_small" => Reason::WindowTooSmall,
        _ => return None,
    })
}

/// The candidates that are passed over, with their reasons, in order.
pub(crate) fn passed_over(steps: &[StepTold]) -> Vec<(&str, Passing)> {
    let passed = steps.iter().filter(|step| step.step == "passed_over");
    passed.filter_map(|step| step.route.as_deref().zip(Passing::of(step))).collect()
}

/// The candidates whose turn did not come.
pub(crate) fn not_reached(steps: &[StepTold]) -> Vec<&str> {
    let rest = steps.iter().filter(|step| step.step == "not_reached");
    rest.filter_map(|step| step.route.as_deref()).collect()
}

impl Say for Passing {
    fn english(&self) -> String {
        match self {
            Self::Over(reason) => reason.english(),
            Self::Lacking(lack) => lack.say(Language::English),
            Self::Behind(behind) => behind.english(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Over(reason) => reason.chinese(),
            Self::Lacking(lack) => lack.say(Language::Chinese),
            Self::Behind(behind) => behind.chinese(),
        }
    }
}

impl Say for Behind {
    fn english(&self) -> String {
        match self {
            Self::Missing => Reason::Missing.english(),
            Self::Quarantined(class) => Reason::Quarantined(*class).english(),
            Self::ParoleRunning => Reason::ParoleRunning.english(),
            Self::Unverified => {
                "a candidate before it is quarantined here, so those that have answered here today \
                 come first"
                    .to_owned()
            }
            Self::Rotated => {
                "rotated: after truncated answers in a row the call starts further down".to_owned()
            }
            Self::NotCurrent => "the one that answered last stays first".to_owned(),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Missing => Reason::Missing.chinese(),
            Self::Quarantined(class) => Reason::Quarantined(*class).chinese(),
            Self::ParoleRunning => Reason::ParoleRunning.chinese(),
            Self::Unverified => "它前面有候选在此处隔离，今天在此处作答过的候选先来".to_owned(),
            Self::Rotated => "轮转：连续截断之后，请求从更靠后的候选开始".to_owned(),
            Self::NotCurrent => "上次作答的候选仍排第一".to_owned(),
        }
    }
}

/// A candidate that was passed over.
pub(crate) struct PassedOver<'a> {
    /// Which.
    pub(crate) route: &'a str,
    /// Why.
    pub(crate) passing: &'a Passing,
}

impl Say for PassedOver<'_> {
    fn english(&self) -> String {
        let (route, why) = (self.route, self.passing.english());
        match self.passing {
            Passing::Over(_) | Passing::Lacking(_) => format!("{route}: passed over, {why}"),
            Passing::Behind(_) => format!("{route}: further back, {why}"),
        }
    }

    fn chinese(&self) -> String {
        let (route, why) = (self.route, self.passing.chinese());
        match self.passing {
            Passing::Over(_) | Passing::Lacking(_) => format!("{route}：跳过，{why}"),
            Passing::Behind(_) => format!("{route}：靠后，{why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(reason: &str, more: &Value) -> StepTold {
        let mut step =
            json!({ "at_ms": 0, "step": "passed_over", "route": "a/m", "reason": reason });
        let members = step.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    fn said(step: &StepTold) -> (String, String) {
        let passing = Passing::of(step).unwrap();
        let passed = PassedOver { route: "a/m", passing: &passing };
        (passed.english(), passed.chinese())
    }

    #[test]
    fn r33_every_reason_of_a_place_has_words_in_both_languages() {
        let none = json!({});
        let other = json!({
            "lack": { "code": "other_dialect", "speaks": "anthropic-messages", "asked": "openai-chat" },
        });
        for (reason, more, english, chinese) in [
            (
                "unverified",
                &none,
                "a/m: further back, a candidate before it is quarantined here, so those that have \
                 answered here today come first",
                "a/m：靠后，它前面有候选在此处隔离，今天在此处作答过的候选先来",
            ),
            (
                "rotated",
                &none,
                "a/m: further back, rotated: after truncated answers in a row the call starts further \
                 down",
                "a/m：靠后，轮转：连续截断之后，请求从更靠后的候选开始",
            ),
            (
                "not_current",
                &none,
                "a/m: further back, the one that answered last stays first",
                "a/m：靠后，上次作答的候选仍排第一",
            ),
            (
                "missing",
                &other,
                "a/m: passed over, it speaks anthropic-messages and cannot answer a client that speaks \
                 openai-chat",
                "a/m：跳过，它使用 anthropic-messages 协议，无法回答使用 openai-chat 协议的客户端",
            ),
            (
                "missing",
                &none,
                "a/m: passed over, it cannot serve this call: provider, key or dialect",
                "a/m：跳过，它不能处理这次请求：提供方、密钥或协议不符",
            ),
        ] {
            assert_eq!(said(&step(reason, more)), (english.to_owned(), chinese.to_owned()));
        }
    }

    #[test]
    fn a_lack_that_is_not_known_here_is_still_a_lack() {
        let newer = step("missing", &json!({ "lack": { "code": "of_tomorrow" } }));
        assert_eq!(Passing::of(&newer), Some(Passing::Over(Reason::Missing)));
        assert_eq!(Passing::of(&step("of_tomorrow", &json!({}))), None);
    }
}
