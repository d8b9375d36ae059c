//! What went wrong, from a closed list (spec section 3).

/// The class of a failure. Closed: whatever happens is one of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Too many requests for a window of at most an hour.
    RateLimited,
    /// The upstream says that it is too busy.
    Overloaded,
    /// The upstream broke.
    ServerError,
    /// Something on the way gave up waiting.
    Timeout,
    /// The connection or the stream broke off on the far side.
    TransportRemote,
    /// A whole answer without visible output that was not cut by its token limit (R13).
    EmptyResponse,
    /// No byte, or no progress, for the time allowed (R11).
    Stall,
    /// Money, plan or a quota of a day or longer is used up.
    QuotaExhausted,
    /// The credential is missing, wrong, or not allowed here.
    Auth,
    /// The model or the endpoint does not exist.
    NotFound,
    /// The request is refused as it is.
    InvalidRequest,
    /// A safety filter refused.
    ContentFilter,
    /// The conversation is larger than the model's window (R15).
    ContextOverflow,
    /// This machine's own network is in trouble.
    LocalNetwork,
    /// We were told to stop.
    Aborted,
    /// Cut by the output-token limit: not a failure (R14).
    Truncated,
}

/// Whose doing a failure is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Origin {
    /// The candidate or something behind it.
    Upstream,
    /// Whoever called us.
    Client,
    /// This machine or this process.
    Local,
}

/// The smallest thing that a failure proves to be out of order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// One model at one provider.
    Candidate,
    /// The credential and all models behind it.
    Account,
    /// The whole provider.
    Provider,
    /// This request alone.
    Request,
    /// The network between us and everything.
    Network,
}

/// When a failure says that it will be over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Wait {
    /// Nothing was said.
    #[default]
    Unnamed,
    /// A span, in milliseconds.
    Ms(u64),
    /// An instant, in Unix milliseconds.
    At(u64),
}

/// Whether an `invalid_request` would be refused by every model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Reach {
    /// Another model may accept the same request, or nothing is proven.
    #[default]
    ModelSpecific,
    /// The text proves that no model can accept it.
    Universal,
}

/// One failure as the decisions see it: no text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Failure {
    /// What went wrong.
    pub class: Class,
    /// Whose doing it is.
    pub origin: Origin,
    /// What it proves to be out of order.
    pub scope: Scope,
    /// When it will be over, if that was said.
    pub wait: Wait,
    /// Read only for [`Class::InvalidRequest`].
    pub reach: Reach,
}

impl Class {
    /// Every class, in the order of the specification.
    pub const ALL: [Self; 16] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::Timeout,
        Self::TransportRemote,
        Self::EmptyResponse,
        Self::Stall,
        Self::QuotaExhausted,
        Self::Auth,
        Self::NotFound,
        Self::InvalidRequest,
        Self::ContentFilter,
        Self::ContextOverflow,
        Self::LocalNetwork,
        Self::Aborted,
        Self::Truncated,
    ];

    /// The name used in code, API, journal and docs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::TransportRemote => "transport_remote",
            Self::EmptyResponse => "empty_response",
            Self::Stall => "stall",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::InvalidRequest => "invalid_request",
            Self::ContentFilter => "content_filter",
            Self::ContextOverflow => "context_overflow",
            Self::LocalNetwork => "local_network",
            Self::Aborted => "aborted",
            Self::Truncated => "truncated",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Whether it may pass by itself within the day, so that parole makes sense (R18).
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Overloaded
                | Self::ServerError
                | Self::Timeout
                | Self::TransportRemote
                | Self::EmptyResponse
                | Self::Stall
        )
    }
}

impl Class {
    /// Whether policy `persist` waits for it to pass (P3, P4). This machine's own trouble is waited
    /// out too, but not round by round.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::Timeout
            | Self::TransportRemote
            | Self::EmptyResponse
            | Self::Stall
            // Said by an upstream, these are a broken answer.
            | Self::Aborted
            | Self::Truncated => true,
            Self::QuotaExhausted
            | Self::Auth
            | Self::NotFound
            | Self::InvalidRequest
            | Self::ContentFilter
            | Self::ContextOverflow
            | Self::LocalNetwork => false,
        }
    }
}

impl Failure {
    /// A failure of the upstream's candidate that names no wait.
    #[must_use]
    pub const fn upstream(class: Class) -> Self {
        Self {
            class,
            origin: Origin::Upstream,
            scope: Scope::Candidate,
            wait: Wait::Unnamed,
            reach: Reach::ModelSpecific,
        }
    }
}
