//! From what was seen of a failed attempt to what the engine is told, and to what may be kept.
//!
//! It refuses to judge by itself: the classifier does, and a time on a calendar is looked up here
//! because the classifier knows no zones.

use ekiden_classify::{
    Civil, Context, Evidence as Seen, NamedWait, Peer, Sizes, TransportKind, Verdict, Zone,
    classify,
};
use ekiden_engine::class::{Class, Failure, Origin, Reach, Scope, Wait};
use http::HeaderMap;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::upstream::{At, Fault};

/// What a client is told whose call comes back to this gateway (R6). Gateways before it know it by
/// its first words, which must stay.
pub(crate) const LOOP: &str = "This call has already been here: a provider of this gateway leads \
    back to it. A queue cannot contain a queue; point the provider at the real upstream.";
const LOOP_WORDS: &str = "This call has already been here";
const LOOP_STATUS: u16 = 508;

/// A failure as it was understood.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) failure: Failure,
    pub(crate) code: Option<String>,
    pub(crate) param: Option<String>,
    /// Unmasked: it may echo a prompt or a key.
    pub(crate) message: String,
    pub(crate) sizes: Sizes,
}

/// What is known besides the evidence.
#[derive(Clone, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) wall_ms: u64,
    pub(crate) provider: &'a str,
    /// The zone of times that name none.
    pub(crate) zone: TimeZone,
    pub(crate) loopback: Loopback,
}

/// Whether the provider is this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loopback {
    Yes,
    No,
}

/// An HTTP answer that is an error, or a 200 whose body is no answer.
pub(crate) fn http(status: u16, headers: &HeaderMap, body: &[u8], around: &Around<'_>) -> Judged {
    let headers = text_headers(headers);
    let body = String::from_utf8_lossy(body);
    if status == LOOP_STATUS && body.contains(LOOP_WORDS) {
        return in_a_loop();
    }
    judged(&Seen::Http { status: Some(status), headers: &headers, body: &body }, around)
}

/// Another gateway says that the call goes round in a circle: that is how the two are set up, so
/// nothing is wrong with a candidate, and no other attempt ends better.
fn in_a_loop() -> Judged {
    let failure = Failure {
        origin: Origin::Client,
        scope: Scope::Request,
        reach: Reach::Universal,
        ..Failure::upstream(Class::InvalidRequest)
    };
    let (code, param, sizes) = (None, None, Sizes::default());
    Judged { failure, code, param, message: LOOP.to_owned(), sizes }
}

/// An error inside a stream that began with 200.
pub(crate) fn event(headers: &HeaderMap, data: &[u8], around: &Around<'_>) -> Judged {
    let headers = text_headers(headers);
    let data = String::from_utf8_lossy(data);
    judged(&Seen::StreamEvent { headers: &headers, data: &data }, around)
}

/// A connection that gave no answer, or broke off.
pub(crate) fn transport(fault: &Fault, around: &Around<'_>) -> Judged {
    let peer = match (fault.at, around.loopback) {
        (At::Proxy, _) => Peer::Proxy,
        (At::Connect | At::Request | At::Unserved | At::Body, Loopback::Yes) => Peer::Loopback,
        (At::Connect | At::Request | At::Unserved | At::Body, Loopback::No) => Peer::Remote,
    };
    let mut judged = judged(&Seen::Transport { kind: fault.kind, peer, text: &fault.text }, around);
    if around.loopback == Loopback::Yes && judged.failure.class == Class::LocalNetwork {
        // A local server that is down is that server's trouble: the next candidate may do.
        judged.failure = Failure::upstream(Class::TransportRemote);
    }
    judged
}

/// Whether a fault alone shows that this machine is offline, where nothing else can be asked.
pub(crate) fn surely_offline(fault: &Fault) -> bool {
    match fault.kind {
        Some(TransportKind::Unreachable) => true,
        Some(TransportKind::Dns) => fault.text.to_ascii_lowercase().contains("temporary failure"),
        Some(
            TransportKind::Refused
            | TransportKind::Tls
            | TransportKind::Reset
            | TransportKind::Timeout
            | TransportKind::Eof
            | TransportKind::MalformedChunk,
        )
        | None => false,
    }
}

fn judged(seen: &Seen<'_>, around: &Around<'_>) -> Judged {
    let context = Context {
        now_wall_ms: Some(around.wall_ms),
        provider: Some(around.provider),
        ..Context::default()
    };
    let Some(verdict) = classify(seen, &context) else {
        // A whole answer where it is none: JSON in place of a stream, for example.
        return Judged {
            failure: Failure::upstream(Class::ServerError),
            code: None,
            param: None,
            message: "the answer is not of the kind that was asked for".to_owned(),
            sizes: Sizes::default(),
        };
    };
    let wait = wait(&verdict, around);
    let Verdict { failure, message, code, param, sizes, .. } = verdict;
    Judged {
        failure: Failure { wait, ..failure },
        code,
        param,
        message: message.unwrap_or_default(),
        sizes,
    }
}

fn wait(verdict: &Verdict, around: &Around<'_>) -> Wait {
    match (&verdict.wait, verdict.wait.for_engine()) {
        (_, Some(wait)) => wait,
        (NamedWait::Civil(civil), None) => resolve(civil, around).map_or(Wait::Unnamed, Wait::At),
        (NamedWait::Unnamed | NamedWait::Ms(_) | NamedWait::At(_), None) => Wait::Unnamed,
    }
}

/// The offset of the zone now is good enough to find the day; the offset at what was found is then
/// the right one.
fn resolve(civil: &Civil, around: &Around<'_>) -> Option<u64> {
    if let Some(at) = civil.resolve_fixed(around.wall_ms) {
        return Some(at);
    }
    let named;
    let zone = match &civil.zone {
        Zone::Named(name) => {
            named = TimeZone::get(name).ok()?;
            &named
        }
        Zone::Unknown | Zone::Fixed(_) => &around.zone,
    };
    let offset = |ms: u64| {
        let at = Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
        Some(zone.to_offset(at).seconds())
    };
    let first = civil.resolve_at_offset(offset(around.wall_ms)?, around.wall_ms)?;
    civil.resolve_at_offset(offset(first)?, around.wall_ms)
}

fn text_headers(headers: &HeaderMap) -> Vec<(&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(zone: &TimeZone) -> Around<'static> {
        let wall_ms = "2026-11-29T12:00:00Z".parse::<Timestamp>().unwrap().as_millisecond() as u64;
        Around { wall_ms, provider: "p", zone: zone.clone(), loopback: Loopback::No }
    }

    #[test]
    fn r21_a_time_of_day_in_a_named_zone_is_looked_up() {
        let zone = TimeZone::UTC;
        let civil = Civil {
            date: None,
            hour: 9,
            minute: 0,
            second: 0,
            zone: Zone::Named("America/Los_Angeles".to_owned()),
        };
        let at = resolve(&civil, &around(&zone)).unwrap();
        let at = Timestamp::from_millisecond(at as i64).unwrap();
        assert_eq!(at.to_string(), "2026-11-29T17:00:00Z");
    }

    #[test]
    fn a_local_server_that_is_down_is_no_network_trouble() {
        let zone = TimeZone::UTC;
        let fault = Fault {
            kind: Some(TransportKind::Refused),
            text: "tcp connect error: Connection refused".to_owned(),
            at: At::Connect,
        };
        for loopback in [Loopback::Yes, Loopback::No] {
            let judged = transport(&fault, &Around { loopback, ..around(&zone) });
            assert_eq!(judged.failure.class, Class::TransportRemote, "{loopback:?}");
        }
    }
}
