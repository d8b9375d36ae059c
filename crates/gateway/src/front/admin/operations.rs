//! Every operation of our own interface as data: its path, what it takes, what it gives.
//!
//! It refuses to be one of several lists: requests are routed by this table, their queries read by
//! it, and the OpenAPI document is printed from it.

mod paths;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use ekiden_store::What;

use super::{
    calls, catalog, dry_run, events, journal, ledger, pause, queues, release, settings, state,
    test_queue, tokens,
};

pub(in crate::front) use paths::find;

/// What the paths begin with.
pub(super) const BASE: &str = "/api/v1";

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::front) enum Op {
    State,
    Sessions,
    Session,
    EndSession,
    Calls,
    Call,
    Trace,
    Release,
    Journal,
    Ledger,
    Attempts,
    DryRun,
    TestQueue,
    Events,
    Tokens,
    CreateToken,
    RevokeToken,
    Settings,
    ChangeSettings,
    ReloadSettings,
    StoreKey,
    ForgetKey,
    CreateQueue,
    OrderQueues,
    ChangeQueue,
    DeleteQueue,
    ExportQueues,
    ImportQueues,
    Catalog,
    Rescan,
    Pause,
    Resume,
    StopCall,
    OpenApi,
}

/// One operation.
pub(in crate::front) struct Operation {
    pub(super) op: Op,
    pub(super) verb: Verb,
    /// Behind [`BASE`]; `{name}` stands for one segment.
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) query: &'static [Param],
    pub(super) body: Option<SchemaOf>,
    pub(super) gives: Gives,
    /// Codes of its own failures, with their status.
    pub(super) fails: &'static [(u16, &'static str)],
}

/// The methods that there are. Copied at compile time, as HTTP's own type is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What a success carries.
#[derive(Clone, Copy)]
pub(super) enum Gives {
    /// JSON of that schema.
    Json(u16, SchemaOf),
    /// Plain text.
    Text(&'static str),
    /// Server-sent events with JSON of that schema.
    Events(SchemaOf),
}

/// One parameter of a query.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) about: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    /// How many lines, from 1.
    Count { most: u64 },
    /// A number, from 0.
    Number { most: u64 },
    /// Text.
    Text,
    /// One of these.
    Choice(&'static [&'static str]),
}

const fn param(name: &'static str, takes: Takes, about: &'static str) -> Param {
    Param { name, takes, about }
}

const fn limit(about: &'static str) -> Param {
    param("limit", Takes::Count { most: 1_000 }, about)
}

/// JSON numbers up to here are exact everywhere.
const EXACT_MAX: u64 = (1 << 53) - 1;
const NUMBER: Takes = Takes::Number { most: EXACT_MAX };
const DAY: Takes = Takes::Number { most: u32::MAX as u64 };

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "object" })
}

const fn get(op: Op, path: &'static str, about: &'static str, gives: SchemaOf) -> Operation {
    Operation {
        op,
        verb: Verb::Get,
        path,
        about,
        query: &[],
        body: None,
        gives: Gives::Json(200, gives),
        fails: &[],
    }
}

const fn post(op: Op, path: &'static str, about: &'static str, gives: SchemaOf) -> Operation {
    Operation { verb: Verb::Post, ..get(op, path, about, gives) }
}

const NO_CALL: &[(u16, &str)] = &[(404, "no_such_call")];
const PAUSES: &[(u16, &str)] =
    &[(400, "bad_body"), (404, "no_such_session"), (409, "ambiguous_session"), (503, "not_kept")];
const NO_SESSION: &[(u16, &str)] = &[(404, "no_such_session"), (409, "ambiguous_session")];
/// Of everything that writes the settings file.
const EDITS: &[(u16, &str)] = &[
    (400, "bad_body"),
    (400, "invalid_settings"),
    (404, "no_such_queue"),
    (404, "no_such_setting"),
    (409, "not_confirmed"),
    (409, "read_only"),
    (409, "refused"),
    (412, "changed"),
    (503, "not_kept"),
];
const NO_QUEUE: &[(u16, &str)] = &[(404, "no_such_queue")];

/// All of them, in the order of the documents.
pub(in crate::front) static OPERATIONS: [Operation; 34] = [
    Operation {
        query: &[limit("At most so many sessions.")],
        ..get(
            Op::State,
            "/state",
            "Everything at this instant: the day, queues with their candidates, sessions.",
            of::<state::State>,
        )
    },
    Operation {
        query: &[
            limit("At most so many."),
            param("after", Takes::Text, "Only those behind this place: the next page."),
        ],
        ..get(
            Op::Sessions,
            "/sessions",
            "Sessions; those that run or have something out come first.",
            of::<state::Sessions>,
        )
    },
    Operation {
        fails: NO_SESSION,
        ..get(Op::Session, "/sessions/{session}", "One session.", of::<state::SessionState>)
    },
    Operation {
        fails: NO_SESSION,
        ..post(
            Op::EndSession,
            "/sessions/{session}/end",
            "The session is over: its seats go back.",
            of::<release::Ended>,
        )
    },
    Operation {
        query: &[limit("At most so many past ones.")],
        ..get(
            Op::Calls,
            "/calls",
            "Open calls, oldest first, and past ones, newest first.",
            of::<calls::List>,
        )
    },
    Operation {
        fails: NO_CALL,
        ..get(
            Op::Call,
            "/calls/{call}",
            "One call; once it is over with all its steps and why they were taken.",
            of::<calls::Call>,
        )
    },
    Operation {
        gives: Gives::Text("The trace, as `ekiden replay` reads it."),
        fails: NO_CALL,
        ..get(
            Op::Trace,
            "/calls/{call}/trace",
            "Everything that was decided and from what, without any text of a call.",
            anything,
        )
    },
    Operation {
        fails: NO_CALL,
        ..post(
            Op::StopCall,
            "/calls/{call}/stop",
            "Ends an open call: its client is told so, and no candidate is blamed.",
            of::<pause::Stopped>,
        )
    },
    Operation {
        body: Some(of::<pause::Wish>),
        fails: PAUSES,
        ..post(
            Op::Pause,
            "/pause",
            "Calls no longer persist, for everybody or one session: one that waits for another round \
             ends with its last failure. It outlives the process.",
            of::<pause::Told>,
        )
    },
    Operation {
        body: Some(of::<pause::Wish>),
        fails: PAUSES,
        ..post(
            Op::Resume,
            "/resume",
            "Calls persist again. The pause of everybody and those of sessions are apart.",
            of::<pause::Told>,
        )
    },
    Operation {
        body: Some(of::<release::Wish>),
        fails: &[
            (400, "bad_release"),
            (404, "no_such_session"),
            (404, "no_such_route"),
            (404, "no_such_queue"),
            (409, "ambiguous_session"),
        ],
        ..post(
            Op::Release,
            "/release",
            "Lets go by hand: a session, one place of it, a route for everybody, or everything.",
            of::<release::Released>,
        )
    },
    Operation {
        query: &[
            limit("At most so many."),
            param("before", NUMBER, "Only entries with a smaller number: the next page."),
            param("after", NUMBER, "Only entries with a larger number."),
            param("call", Takes::Text, "Only what this call led to."),
            param("session", Takes::Text, "Only what is about this session, by its whole key."),
            param("route", Takes::Text, "Only what is about this route."),
            param("what", Takes::Choice(&What::KINDS), "Only entries of this kind."),
        ],
        ..get(
            Op::Journal,
            "/journal",
            "What happened and why, newest first.",
            of::<journal::Journal>,
        )
    },
    Operation {
        query: &[
            param(
                "by",
                Takes::Choice(&["day", "queue", "route", "session", "call", "token"]),
                "One line for each; `day` if left out.",
            ),
            param("from_day", DAY, "The number of the first day."),
            param("to_day", DAY, "The number of the last day."),
            param("session", Takes::Text, "One session alone, by its whole key."),
            param("queue", Takes::Text, "One queue alone."),
            param("route", Takes::Text, "One route alone."),
            param("after", Takes::Text, "Only lines behind this key: the next page."),
            limit("At most so many lines."),
        ],
        ..get(
            Op::Ledger,
            "/ledger",
            "Attempts and tokens, summed; reported and estimated tokens and waste apart.",
            of::<ledger::Ledger>,
        )
    },
    Operation {
        query: &[
            param("call", Takes::Text, "The attempts of this call, in order."),
            limit("At most so many."),
        ],
        ..get(
            Op::Attempts,
            "/ledger/attempts",
            "Single attempts of the ledger, newest first.",
            of::<ledger::Attempts>,
        )
    },
    Operation {
        body: Some(of::<dry_run::Wish>),
        fails: &[(400, "bad_body"), (404, "no_such_queue"), (409, "ambiguous_session")],
        ..post(
            Op::DryRun,
            "/queues/{queue}/dry-run",
            "What a call would do now, and why. Nothing is sent, taken or kept.",
            of::<dry_run::DryRun>,
        )
    },
    Operation {
        fails: NO_QUEUE,
        ..post(
            Op::TestQueue,
            "/queues/{queue}/test",
            "Asks every candidate straight, four at a time, outside the relay: `hi`, at most 8 \
             output tokens, 15 s. It costs what such a request costs. Nothing is kept.",
            of::<test_queue::Tested>,
        )
    },
    Operation {
        gives: Gives::Events(of::<events::Event>),
        fails: &[(503, "too_many_readers")],
        ..get(
            Op::Events,
            "/events",
            "Changes as they happen. `Last-Event-ID` resumes; where that is too long ago, or the \
             reader fell behind, the first event is `reset`: read the state anew.",
            anything,
        )
    },
    get(
        Op::Tokens,
        "/tokens",
        "Tokens of clients and administrators, without the tokens themselves.",
        of::<tokens::List>,
    ),
    Operation {
        body: Some(of::<tokens::Wish>),
        gives: Gives::Json(201, of::<tokens::Made>),
        fails: &[
            (400, "bad_body"),
            (404, "no_such_queue"),
            (409, "too_many_tokens"),
            (503, "not_kept"),
        ],
        ..post(
            Op::CreateToken,
            "/tokens",
            "Makes a token. It is shown this once; a digest of it is kept.",
            of::<tokens::Made>,
        )
    },
    Operation {
        verb: Verb::Delete,
        fails: &[(404, "no_such_token"), (409, "last_token"), (503, "not_kept")],
        ..get(
            Op::RevokeToken,
            "/tokens/{token}",
            "Revokes a token: from now on it is answered with 401.",
            of::<tokens::Revoked>,
        )
    },
    get(
        Op::Settings,
        "/settings",
        "Every setting that holds, with its default, its bounds and where it comes from. `ETag` is \
         the hash that a change names.",
        of::<settings::Settings>,
    ),
    Operation {
        body: Some(of::<settings::Wish>),
        verb: Verb::Patch,
        fails: &[
            (400, "bad_body"),
            (400, "invalid_settings"),
            (404, "no_such_setting"),
            (409, "read_only"),
            (409, "refused"),
            (412, "changed"),
            (428, "no_precondition"),
            (503, "not_kept"),
        ],
        ..get(
            Op::ChangeSettings,
            "/settings",
            "Changes the settings file as a person would: all of the changes or none. `If-Match` \
             names the hash that they were decided on.",
            of::<settings::ChangedTo>,
        )
    },
    Operation {
        fails: &[(400, "invalid_settings"), (503, "not_kept")],
        ..post(
            Op::ReloadSettings,
            "/settings/reload",
            "Looks at the settings file now; it is looked at every second anyway.",
            of::<settings::ChangedTo>,
        )
    },
    Operation {
        verb: Verb::Put,
        body: Some(of::<settings::KeyWish>),
        fails: &[(400, "bad_body"), (404, "no_such_provider"), (503, "not_kept")],
        ..get(
            Op::StoreKey,
            "/providers/{provider}/key",
            "Stores a provider's key in a file that only its owner can read. A variable or a file \
             that gives one comes before it.",
            of::<settings::KeyChanged>,
        )
    },
    Operation {
        verb: Verb::Delete,
        fails: &[(404, "no_such_key"), (503, "not_kept")],
        ..get(
            Op::ForgetKey,
            "/providers/{provider}/key",
            "Forgets a stored key.",
            of::<settings::KeyChanged>,
        )
    },
    Operation {
        body: Some(of::<queues::NewQueue>),
        gives: Gives::Json(201, of::<queues::QueueMade>),
        fails: EDITS,
        ..post(Op::CreateQueue, "/queues", "Makes a queue, at the end.", of::<queues::QueueMade>)
    },
    Operation {
        verb: Verb::Put,
        body: Some(of::<queues::QueueOrder>),
        fails: EDITS,
        ..get(
            Op::OrderQueues,
            "/queues",
            "Gives the queues an order; the first is the first queue.",
            of::<settings::ChangedTo>,
        )
    },
    Operation {
        verb: Verb::Patch,
        body: Some(of::<queues::QueueChange>),
        fails: EDITS,
        ..get(
            Op::ChangeQueue,
            "/queues/{queue}",
            "Renames a queue, which keeps its id, or orders its candidates.",
            of::<settings::ChangedTo>,
        )
    },
    Operation {
        verb: Verb::Delete,
        query: &[param("candidates", NUMBER, "How many candidates go with it: that it is meant.")],
        fails: EDITS,
        ..get(
            Op::DeleteQueue,
            "/queues/{queue}",
            "Deletes a queue. Who does not say how many candidates go with it is told, and nothing \
             is deleted.",
            of::<queues::QueueDeleted>,
        )
    },
    get(
        Op::ExportQueues,
        "/export",
        "All queues to carry elsewhere: no ids, no other settings, no secrets.",
        of::<queues::QueueFile>,
    ),
    Operation {
        body: Some(of::<queues::QueueFile>),
        gives: Gives::Json(201, of::<queues::QueuesImported>),
        fails: EDITS,
        ..post(
            Op::ImportQueues,
            "/import",
            "Adds the queues of an export: all or none. Equal names become `name (1)`; nothing that \
             is there changes.",
            of::<queues::QueuesImported>,
        )
    },
    get(
        Op::Catalog,
        "/catalog",
        "Providers with their models, windows, levels of effort and prices, as they were kept. Nobody \
         is asked.",
        of::<catalog::Catalog>,
    ),
    Operation {
        body: Some(of::<catalog::Rescan>),
        fails: &[(400, "bad_body"), (404, "no_such_provider")],
        ..post(
            Op::Rescan,
            "/catalog/rescan",
            "Forgets what providers said of their models and asks them again, four at a time, 15 s each.",
            of::<catalog::Catalog>,
        )
    },
    get(Op::OpenApi, "/openapi.json", "This document.", anything),
];
