//! Who may speak to us at all (G9, G14, R6).
//!
//! It refuses to trust what a web page can make a browser send: a name that was rebound to this
//! machine, a write from another site, a look from another site. On loopback it asks for no token:
//! any key is taken, and none is passed on. Elsewhere nothing but health is answered without one.

use std::net::{IpAddr, SocketAddr};

use http::request::Parts;
use http::{HeaderMap, Method, header};

use crate::front::denial::{Forbidden, Unauthorized};
use crate::front::route::decoded;
use crate::tokens::{ClientTokens, PREFIX, Scope, Shown};
use crate::upstream::KEYS;

/// Shorter texts with the prefix are names.
const TOKEN_CHARS_MIN: usize = 60;

/// The header in which each gateway that a call went through leaves its name.
pub(crate) const HOP_HEADER: &str = "x-ekiden-hop";

/// Why nobody is let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// 401: no token, or none that holds.
    Unauthorized(Unauthorized),
    /// 403.
    Forbidden(Forbidden),
    /// 508: the call has been here before (R6).
    Loop,
}

/// What holds for an answer to a browser app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// No browser app, or one of this machine.
    Plain,
    /// An app of an allowed origin: it may read the answer.
    Allowed(String),
    /// Its question beforehand, which is the whole call.
    Preflight(String),
}

/// Lets a request in, or says why not.
pub(crate) fn check(
    parts: &Parts,
    listen: SocketAddr,
    allowed_origins: &[String],
    instance: &str,
    shown: &Shown,
) -> Result<Access, Refusal> {
    match shown {
        // Who rebinds a name makes a browser ask, and no browser knows a token.
        Shown::Known(_) => {}
        // It is refused whatever it asks for, and shall hear why.
        Shown::Unknown => {}
        Shown::Nothing => host(parts, listen)?,
    }
    unambiguous(parts)?;
    let access = origin(parts, allowed_origins)?;
    if matches!(access, Access::Plain) && text(&parts.headers, "sec-fetch-site") == "cross-site" {
        return Err(Refusal::Forbidden(Forbidden::OtherSite));
    }
    let hops = parts.headers.get_all(HOP_HEADER).iter().filter_map(|hop| hop.to_str().ok());
    if hops.flat_map(|hop| hop.split(',')).any(|hop| hop.trim() == instance) {
        return Err(Refusal::Loop);
    }
    Ok(access)
}

/// Whether other machines reach an address.
pub(crate) fn beyond_loopback(listen: SocketAddr) -> bool {
    !listen.ip().to_canonical().is_loopback()
}

/// What a request shows of ours, in any header in which clients send keys.
pub(crate) fn shown(headers: &HeaderMap, tokens: &ClientTokens) -> Shown {
    let mut found = Shown::Nothing;
    let keys = headers.iter().filter(|(name, _)| KEYS.contains(&name.as_str()));
    for value in keys.filter_map(|(_, value)| value.to_str().ok()) {
        let value = value.trim();
        let bare = value.split_once(' ').map_or(value, |(_, token)| token.trim());
        match tokens.judge(bare) {
            Shown::Nothing => {}
            Shown::Unknown => return Shown::Unknown,
            known @ Shown::Known(_) => found = known,
        }
    }
    found
}

/// Whether what was shown suffices for what is asked (G9).
pub(crate) fn admit(
    asked: Asks,
    shown: &Shown,
    query: Option<&str>,
    listen: SocketAddr,
) -> Result<(), Refusal> {
    if query.is_some_and(holds_token) {
        return Err(Refusal::Unauthorized(Unauthorized::InUrl));
    }
    let beyond = beyond_loopback(listen);
    match (asked, shown) {
        (_, Shown::Unknown) => Err(Refusal::Unauthorized(Unauthorized::Unknown)),
        (Asks::Health, Shown::Nothing | Shown::Known(_)) => Ok(()),
        (Asks::Calls | Asks::Admin, Shown::Nothing) if beyond => {
            Err(Refusal::Unauthorized(Unauthorized::None))
        }
        (Asks::Calls | Asks::Admin, Shown::Nothing) | (Asks::Calls, Shown::Known(_)) => Ok(()),
        (Asks::Admin, Shown::Known(token)) => match token.made_as.scope {
            Scope::Admin => Ok(()),
            Scope::Client => Err(Refusal::Forbidden(Forbidden::ForCalls)),
        },
    }
}

fn holds_token(query: &str) -> bool {
    let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let token = |value: String| value.starts_with(PREFIX) && value.len() >= TOKEN_CHARS_MIN;
    values.map(decoded).any(|value| token(value.trim_start_matches("Bearer").trim().to_owned()))
}

/// What is asked for, as far as tokens go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// Whether the process lives: nothing is told that a port scan does not tell.
    Health,
    /// Calls, models, and everything that is not there.
    Calls,
    /// Our own interface.
    Admin,
}

/// A proxy before us may have read another request out of the same bytes.
fn unambiguous(parts: &Parts) -> Result<(), Refusal> {
    match parts.headers.get_all(header::HOST).iter().nth(1) {
        Some(_) => Err(Refusal::Forbidden(Forbidden::TwoHosts)),
        None => Ok(()),
    }
}

/// A name that was rebound to this machine is still the attacker's name.
fn host(parts: &Parts, listen: SocketAddr) -> Result<(), Refusal> {
    let named = match parts.headers.get(header::HOST) {
        Some(host) => host.to_str().unwrap_or("?"),
        // HTTP/1.0 and calls in the same process; no browser leaves it out.
        None => match parts.uri.authority() {
            Some(authority) => authority.as_str(),
            None => return Ok(()),
        },
    };
    let name = host_name(named);
    // Only names can be rebound; on which of its addresses a machine is reached, it cannot know.
    let beyond = beyond_loopback(listen);
    let same = name.parse::<IpAddr>().is_ok_and(|ip| beyond || ip == listen.ip());
    if is_loopback(name) || same {
        return Ok(());
    }
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    Err(Refusal::Forbidden(if beyond {
        Forbidden::AnyHost { host: shown }
    } else {
        Forbidden::OtherHost { host: shown, listen }
    }))
}

fn origin(parts: &Parts, allowed: &[String]) -> Result<Access, Refusal> {
    let Some(origin) = parts.headers.get(header::ORIGIN) else { return Ok(Access::Plain) };
    let origin = origin.to_str().unwrap_or("?");
    let named = allowed.iter().any(|known| known.trim_end_matches('/') == origin);
    let preflight = parts.method == Method::OPTIONS
        && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    match (named, preflight) {
        (true, true) => Ok(Access::Preflight(origin.to_owned())),
        (true, false) => Ok(Access::Allowed(origin.to_owned())),
        (false, _) if local_origin(origin) => Ok(Access::Plain),
        (false, _) => {
            let shown: String = origin.chars().filter(|c| !c.is_control()).take(120).collect();
            Err(Refusal::Forbidden(Forbidden::Origin { origin: shown }))
        }
    }
}

fn local_origin(origin: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|host| is_loopback(host_name(host)))
}

/// The name in `name:port` or `[address]:port`.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or("", |(address, _)| address);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback()) {
        return true;
    }
    let top = name.rsplit('.').next().unwrap_or_default();
    top.eq_ignore_ascii_case("localhost")
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    super::client::text(headers, name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn ask(headers: &[(&str, &str)]) -> Result<Access, Refusal> {
        let mut request = Request::post("/v1/messages");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("request").into_parts();
        let allowed = ["https://app.example".to_owned()];
        let listen = "127.0.0.1:8787".parse().expect("address");
        check(&parts, listen, &allowed, "me", &Shown::Nothing)
    }

    #[test]
    fn g09_only_names_of_this_machine_are_hosts() {
        for host in [
            "localhost",
            "LOCALHOST:8787",
            "127.0.0.1:8787",
            "127.1.2.3",
            "[::1]:8787",
            "a.localhost",
        ] {
            assert_eq!(ask(&[("host", host)]), Ok(Access::Plain), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8787",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "10.0.0.1",
            "[::]",
            "",
            "0.0.0.0:8787",
        ] {
            assert!(matches!(ask(&[("host", host)]), Err(Refusal::Forbidden(_))), "{host}");
        }
    }

    #[test]
    fn g09_two_hosts_are_refused() {
        let hosts = [("host", "localhost"), ("host", "localhost")];
        assert!(matches!(ask(&hosts), Err(Refusal::Forbidden(_))));
    }

    #[test]
    fn g09_an_origin_of_elsewhere_is_refused() {
        assert_eq!(ask(&[("origin", "http://localhost:3000")]), Ok(Access::Plain));
        assert_eq!(ask(&[("origin", "http://[::1]:3000")]), Ok(Access::Plain));
        for origin in ["https://evil.example", "null", "file://", "http://localhost.evil.example"] {
            assert!(matches!(ask(&[("origin", origin)]), Err(Refusal::Forbidden(_))), "{origin}");
        }
    }

    #[test]
    fn g14_an_allowed_origin_may_call_even_across_sites() {
        let app = ("origin", "https://app.example");
        let allowed = Access::Allowed("https://app.example".into());
        assert_eq!(ask(&[app, ("sec-fetch-site", "cross-site")]), Ok(allowed));
    }

    #[test]
    fn g09_cross_site_requests_without_an_origin_are_refused() {
        let refused = ask(&[("sec-fetch-site", "cross-site")]);
        assert!(matches!(refused, Err(Refusal::Forbidden(_))));
        for site in ["same-origin", "same-site", "none"] {
            assert_eq!(ask(&[("sec-fetch-site", site)]), Ok(Access::Plain), "{site}");
        }
    }

    #[test]
    fn r06_a_call_that_was_here_before_is_refused() {
        assert_eq!(ask(&[(HOP_HEADER, "other")]), Ok(Access::Plain));
        assert_eq!(ask(&[(HOP_HEADER, "other, me")]), Err(Refusal::Loop));
        assert_eq!(ask(&[(HOP_HEADER, "other"), (HOP_HEADER, "me")]), Err(Refusal::Loop));
    }
}
