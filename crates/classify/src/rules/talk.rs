//! Words that decide nothing by themselves: they tell whether a text is about a connection at all.

use ekiden_engine::class::Class;

use super::Rule;

/// The table; its order is that of the numbers in the module above.
pub(super) const RULES: &[Rule] = &[
    Rule::new("connection-talk", Class::TransportRemote).words(&[
        "econn",
        "enotfound",
        "etimedout",
        "eai_again",
        "und_err",
        "fetch failed",
        "failed to fetch",
        "getaddrinfo",
        "name resolution",
        "socket hang up",
        "~terminated~",
        "other side closed",
        "unable to connect",
        "connection error",
        "error sending request",
        "stream disconnected",
        "ssl",
        "certificate",
        "enetunreach",
        "ehostunreach",
        "epipe",
        "remoteprotocolerror",
        "apiconnectionerror",
        "dns",
        "proxy",
        "network is unreachable",
        "premature close",
        "unexpected eof",
        "connection reset",
        "connection closed",
        "error decoding response body",
        "without [done]",
        "socket connection",
        "network connection",
        "err_",
        "stream ended",
        "stream closed",
        "peer closed",
        "incomplete chunked",
        "tunneling",
        "tunnel_destination",
        "transferencodingerror",
        "payload is not completed",
    ]),
    Rule::new("turned-away", Class::TransportRemote)
        .words(&[
            "refused",
            "econnreset",
            "reset by peer",
            "failed to connect",
            "could not connect",
        ])
        .unless(&["proxyerror", "tunneling socket"]),
];
