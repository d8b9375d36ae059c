//! Base URLs and the addresses behind them. Resolves no name: what a name resolves to is checked
//! by the gateway, with [`guarded_address`], when it connects.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

use crate::clocks::Locality;
use crate::say;
use crate::say::Language;

/// A base URL: `http` or `https`, a host, perhaps a port and a path, nothing else.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BaseUrl {
    text: String,
    host: String,
    port: u16,
    secure: bool,
}

/// Why a text is no base URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UrlError {
    /// It does not start with `http://` or `https://`.
    Scheme,
    /// It names no host.
    Host,
    /// The host is an IPv4 address in one of the notations that only few programs read.
    OddAddress,
    /// It carries a user name or password.
    Credential,
    /// It carries a query or a fragment.
    Query,
    /// A SOCKS proxy names no port.
    Port,
    /// Anything else.
    Malformed,
}

impl UrlError {
    /// In words.
    #[must_use]
    pub fn say(self, language: Language) -> String {
        match self {
            Self::Scheme => say!(
                language,
                "a URL starts with `http://` or `https://`",
                "URL 须以 `http://` 或 `https://` 开头",
            ),
            Self::Host => say!(language, "the URL names no host", "URL 中没有主机"),
            Self::OddAddress => say!(
                language,
                "the host is a number that is no whole IPv4 address",
                "主机是一个数字，却不是完整的 IPv4 地址",
            ),
            Self::Credential => {
                say!(language, "the URL carries a user name or password", "URL 中带有用户名或密码",)
            }
            Self::Query => {
                say!(language, "the URL carries a query or a fragment", "URL 中带有查询或片段")
            }
            Self::Port => say!(language, "the proxy names no port", "代理没有写端口"),
            Self::Malformed => say!(language, "not a URL", "这不是 URL"),
        }
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for UrlError {}

const SECURE_PORT: u16 = 443;
const PLAIN_PORT: u16 = 80;

impl BaseUrl {
    /// Reads a base URL; slashes at its end are taken off.
    ///
    /// # Errors
    ///
    /// When it is not a plain `http` or `https` address.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        Self::with_scheme(text, &["https://", "http://"])
    }

    /// Reads a proxy's address, which may be `socks5://` too and then names its port.
    ///
    /// # Errors
    ///
    /// When it is not such an address.
    pub fn parse_proxy(text: &str) -> Result<Self, UrlError> {
        let proxy = Self::with_scheme(text, &["https://", "http://", "socks5://"])?;
        let socks = proxy.text.to_ascii_lowercase().starts_with("socks5");
        let written = proxy.text.rsplit(['/', ']']).find(|part| !part.is_empty());
        if socks && !written.is_some_and(|part| part.contains(':')) {
            return Err(UrlError::Port);
        }
        Ok(proxy)
    }

    fn with_scheme(text: &str, schemes: &[&str]) -> Result<Self, UrlError> {
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        let scheme = schemes.iter().find(|scheme| lower.starts_with(**scheme));
        let scheme = scheme.ok_or(UrlError::Scheme)?;
        let secure = scheme.starts_with("https");
        let start = scheme.len();
        let text = &text[..text.trim_end_matches('/').len().max(start)];
        if text.contains(['?', '#']) {
            return Err(UrlError::Query);
        }
        let authority = text[start..].split('/').next().unwrap_or_default();
        if authority.is_empty() {
            return Err(UrlError::Host);
        }
        if authority.contains('@') {
            return Err(UrlError::Credential);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed)?;
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        if host.parse::<IpAddr>().is_err() && ends_in_number(&host) {
            return Err(UrlError::OddAddress);
        }
        // `http` reads a port that does not fit as none at all.
        if authority.rsplit(']').next().is_some_and(|end| end.contains(':')) && uri.port().is_none()
        {
            return Err(UrlError::Malformed);
        }
        let port = uri.port_u16().unwrap_or(if secure { SECURE_PORT } else { PLAIN_PORT });
        Ok(Self { text: text.to_owned(), host, port, secure })
    }

    /// As written, without slashes at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host in lower case, an IPv6 address without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, the scheme's own where none is written.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is `https`.
    #[must_use]
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether it is this machine, by its name or address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(ip) => plain(ip).is_loopback() || plain(ip).is_unspecified(),
            Err(_) => self.host == "localhost" || self.host.ends_with(".localhost"),
        }
    }

    /// Whether it is this machine or a private network, as far as its text tells.
    #[must_use]
    pub fn locality(&self) -> Locality {
        let private = match self.host.parse::<IpAddr>().map(plain) {
            Ok(IpAddr::V4(ip)) => ip.is_private(),
            Ok(IpAddr::V6(ip)) => ip.is_unique_local(),
            Err(_) => {
                let suffixes = [".local", ".lan", ".internal", ".home.arpa"];
                !self.host.contains('.') || suffixes.iter().any(|end| self.host.ends_with(end))
            }
        };
        if private || self.is_loopback() { Locality::Local } else { Locality::Remote }
    }

    /// Whether its text already shows a link-local or metadata address (G9).
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(ip) => guarded_address(ip),
            Err(_) => METADATA_NAMES.contains(&self.host.as_str()),
        }
    }

    /// Host and port where the port is not the scheme's own: who stands behind two hosts of one
    /// domain, nobody can tell from their names.
    #[must_use]
    pub fn vendor(&self) -> String {
        let own = if self.secure { SECURE_PORT } else { PLAIN_PORT };
        if self.port == own { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }

    /// Whether the host is a domain or one below it.
    pub(crate) fn is_below(&self, domain: &str) -> bool {
        let rest = self.host.strip_suffix(domain);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

/// The names under which clouds serve credentials to their machines.
const METADATA_NAMES: [&str; 4] =
    ["metadata", "metadata.google.internal", "metadata.goog", "instance-data"];

/// Whether an address is link-local or serves a cloud's credentials (G9): no upstream of anybody's
/// lives there, and a redirected name would hand out the machine's own identity.
#[must_use]
pub fn guarded_address(ip: IpAddr) -> bool {
    match plain(ip) {
        IpAddr::V4(ip) => {
            ip.is_link_local()
                // Alibaba, Oracle, Azure, in this order, from their documentation of instances.
                || [
                    Ipv4Addr::new(100, 100, 100, 200),
                    Ipv4Addr::new(192, 0, 0, 192),
                    Ipv4Addr::new(168, 63, 129, 16),
                ]
                .contains(&ip)
        }
        IpAddr::V6(ip) => {
            let amazon = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
            let google = Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254);
            ip.is_unicast_link_local() || ip == amazon || ip == google
        }
    }
}

fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
    }
}

/// Resolvers read `2852039166` and `0xa9.254` as IPv4 addresses, though no person writes them.
fn ends_in_number(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex =
        last.strip_prefix("0x").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_hexdigit()));
    hex || (!last.is_empty() && last.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> BaseUrl {
        BaseUrl::parse(text).unwrap()
    }

    #[test]
    fn a_base_url_is_a_host_with_perhaps_a_port_and_a_path() {
        let base = url("https://API.DeepSeek.com/v1/");
        assert_eq!(base.as_str(), "https://API.DeepSeek.com/v1");
        assert_eq!((base.host(), base.port()), ("api.deepseek.com", 443));
        assert_eq!(base.vendor(), "api.deepseek.com");
        assert_eq!(url("http://127.0.0.1:1234/v1").vendor(), "127.0.0.1:1234");
        assert!(base.is_below("deepseek.com") && !base.is_below("seek.com"));
        assert_eq!(url("http://[::1]:8080").port(), 8080);
        let wrong = [
            ("api.deepseek.com/v1", UrlError::Scheme),
            ("ftp://x.example", UrlError::Scheme),
            ("https://", UrlError::Host),
            ("https:///v1", UrlError::Host),
            ("https://:80", UrlError::Host),
            ("https://me:secret@x.example", UrlError::Credential),
            ("https://x.example/v1?key=1", UrlError::Query),
            ("https://x.example/#a", UrlError::Query),
            ("https://x y.example", UrlError::Malformed),
            ("https://x.example:99999", UrlError::Malformed),
            ("http://2852039166", UrlError::OddAddress),
            ("http://0xa9fea9fe", UrlError::OddAddress),
            ("http://169.254.43518", UrlError::OddAddress),
        ];
        for (text, error) in wrong {
            assert_eq!(BaseUrl::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn g14_a_proxy_may_speak_socks_and_then_names_its_port() {
        for text in [
            "http://p.example:3128",
            "https://p.example",
            "socks5://127.0.0.1:1080",
            "socks5://p.example:80",
        ] {
            assert_eq!(BaseUrl::parse_proxy(text).unwrap().as_str(), text);
        }
        assert_eq!(BaseUrl::parse_proxy("socks5://p.example"), Err(UrlError::Port));
        assert_eq!(BaseUrl::parse_proxy("p.example:3128"), Err(UrlError::Scheme));
        assert_eq!(BaseUrl::parse("socks5://p.example:1080"), Err(UrlError::Scheme));
    }

    #[test]
    fn r11_local_base_urls_are_told_from_remote_ones() {
        for text in [
            "http://localhost:11434",
            "http://127.0.0.2",
            "http://[::1]",
            "http://192.168.1.5:80",
            "http://box.local",
            "http://ollama:11434",
            "http://[fd12::1]",
        ] {
            assert_eq!(url(text).locality(), Locality::Local, "{text}");
        }
        for text in ["https://api.openai.com", "http://8.8.8.8", "https://[2001:db8::1]"] {
            assert_eq!(url(text).locality(), Locality::Remote, "{text}");
        }
    }

    #[test]
    fn g9_link_local_and_metadata_addresses_are_guarded() {
        for text in [
            "http://169.254.169.254",
            "http://[fe80::1]",
            "http://[fd00:ec2::254]",
            "http://100.100.100.200",
            "http://metadata.google.internal",
            "http://[::ffff:169.254.169.254]",
            "http://metadata.google.internal.",
        ] {
            assert!(url(text).is_guarded(), "{text}");
        }
        for text in ["http://127.0.0.1", "http://192.168.0.1", "https://api.openai.com"] {
            assert!(!url(text).is_guarded(), "{text}");
        }
    }
}
