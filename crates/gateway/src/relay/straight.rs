//! One small question to a candidate, straight: outside the relay (R39).
//!
//! It refuses to leave a trace: no seat, no tally, no quarantine, no journal, no ledger.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use ekiden_config::{Language, say};
use ekiden_dialect::splice::{Edits, splice};
use ekiden_dialect::whole::{End, Whole};
use ekiden_dialect::{Dialect, request};
use ekiden_engine::{AttemptId, Class};
use ekiden_store::masked;
use http::{HeaderMap, Method};

use crate::core::Core;
use crate::evidence::{self, Around, Judged, Loopback};
use crate::plan::{CandidateRuntime, Lack};
use crate::relay::attempt::{Running, Step, Streamed};
use crate::upstream::Ask;

/// Output tokens that are asked for.
const TOKENS_MAX: u32 = 8;
/// How long a candidate may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// What became of the question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// What went wrong; `None`: it answered. A truncated answer is one.
    pub(crate) class: Option<Class>,
    pub(crate) status: Option<u16>,
    pub(crate) code: Option<String>,
    /// Its words with keys masked.
    pub(crate) message: Option<String>,
    /// How long it took, in milliseconds.
    pub(crate) took_ms: u64,
}

impl Core {
    /// Asks a candidate `hi`. Dropping the future cancels the question.
    pub(crate) async fn ask_straight(
        &self,
        candidate: &CandidateRuntime,
        language: Language,
    ) -> Told {
        let began = self.clock.now();
        let asked = tokio::time::timeout(PATIENCE, self.question(candidate, language)).await;
        let told = asked.unwrap_or_else(|_| {
            let says = say!(language, "no answer within 15 s", "15 秒内没有回答");
            Told::failed(Class::Timeout, says)
        });
        let took_ms = self.clock.now().mono_ms.saturating_sub(began.mono_ms);
        Told { took_ms, ..told }
    }

    async fn question(&self, candidate: &CandidateRuntime, language: Language) -> Told {
        let provider = &candidate.provider;
        let dialect = provider.dialect;
        if let Some(lack) = candidate.lack(dialect) {
            return Told::failed(lacking(&lack), lack.say(language));
        }
        let body = Bytes::from(text(candidate));
        let (Ok(read), Some(endpoint)) = (request::read(dialect, &body), &provider.endpoint) else {
            return Told::failed(Class::InvalidRequest, Lack::BadAddress.say(language));
        };
        let dropped = &provider.settings.drop_fields;
        let drop: Vec<&str> = dropped.iter().map(String::as_str).collect();
        let body = splice(&read, &Edits { drop_members: &drop, ..Edits::default() });
        let (uri, asked) = (endpoint.clone(), body.clone());
        let headers = provider.headers.request(&HeaderMap::new(), "application/json");
        let ask = Ask { method: Method::POST, uri, headers, body: asked };
        let sending = provider.lane.send_fresh(ask);
        let sent = (body, 0);
        let mut running =
            Running::start(AttemptId(1), 0, sent, sending, Streamed::No, (dialect, 1));
        loop {
            let step = poll_fn(|cx| running.poll(cx)).await;
            if let Some(told) = self.told(candidate, &running.headers, step, language) {
                return told;
            }
        }
    }

    fn told(
        &self,
        candidate: &CandidateRuntime,
        headers: &HeaderMap,
        step: Step,
        language: Language,
    ) -> Option<Told> {
        let settings = &candidate.provider.settings;
        let around = Around {
            wall_ms: self.clock.now().wall_ms,
            provider: &settings.id,
            zone: self.clock.zone(),
            loopback: if settings.base_url.is_loopback() { Loopback::Yes } else { Loopback::No },
        };
        let known: Vec<&str> = candidate.provider.secrets().collect();
        let failed = |status, judged: Judged| Told {
            class: Some(judged.failure.class),
            status,
            code: judged.code.map(|code| masked(&code, &known)),
            message: Some(masked(&judged.message, &known)),
            took_ms: 0,
        };
        match step {
            Step::Sent | Step::Head | Step::Event(..) | Step::HeadOfError => None,
            Step::Whole(status, _, Whole::Answer(answer)) => Some(ended(status, answer.end())),
            Step::Whole(status, bytes, Whole::Error(_) | Whole::Malformed(_)) => {
                Some(failed(Some(status), evidence::http(status, headers, &bytes, &around)))
            }
            Step::Error { status, body } => {
                Some(failed(Some(status), evidence::http(status, headers, &body, &around)))
            }
            Step::Broken { fault, .. } => Some(failed(None, evidence::transport(&fault, &around))),
            Step::Ended | Step::TooLarge => {
                let says = say!(language, "the answer is no answer", "返回的不是一个回答");
                Some(Told::failed(Class::ServerError, says))
            }
        }
    }
}

impl Told {
    fn failed(class: Class, message: String) -> Self {
        let message = Some(message);
        Self { class: Some(class), status: None, code: None, message, took_ms: 0 }
    }
}

const fn lacking(lack: &Lack) -> Class {
    match lack {
        Lack::NoProvider { .. } | Lack::OtherDialect { .. } | Lack::NoKey { .. } => Class::Auth,
        Lack::BadAddress => Class::InvalidRequest,
    }
}

fn ended(status: u16, end: End) -> Told {
    let class = match end {
        End::Whole | End::Truncated => None,
        End::Filtered => Some(Class::ContentFilter),
        End::Torn => Some(Class::ServerError),
        End::Empty | End::Cut => Some(Class::EmptyResponse),
    };
    Told { class, status: Some(status), code: None, message: None, took_ms: 0 }
}

fn text(candidate: &CandidateRuntime) -> String {
    let limit = match candidate.provider.dialect {
        // The vendor's reasoning models refuse the older name, and third parties the newer one.
        Dialect::OpenAiChat if candidate.provider.is_native() => "max_completion_tokens",
        Dialect::OpenAiChat | Dialect::AnthropicMessages => "max_tokens",
        Dialect::OpenAiResponses => "max_output_tokens",
    };
    serde_json::json!({
        "model": candidate.model,
        limit: TOKENS_MAX,
        "messages": [{ "role": "user", "content": "hi" }],
    })
    .to_string()
}
