//! Names of things, as numbers. The shell knows the words behind them.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $inner);
    };
}

id! {
    /// A provider × model.
    RouteId(u32)
}
id! {
    /// An ordered list of candidates plus a policy.
    QueueId(u32)
}
id! {
    /// One conversation of a client.
    SessionId(u64)
}
id! {
    /// One request of a client.
    CallId(u64)
}
id! {
    /// One request of ours to a candidate; counted from 1 inside its call.
    AttemptId(u32)
}
id! {
    /// A session's wish for a seat on a route.
    LeaseId(u64)
}

impl SessionId {
    /// The bucket of calls that have no session (R20).
    pub const BACKGROUND: Self = Self(0);
}
