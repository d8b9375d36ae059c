//! Settings: TOML text or the environment, checked. Refuses to guess: an unknown key, a value out
//! of its bounds or a name that nothing bears is an error with a place and a hint, never a default.
//!
//! ```
//! use ekiden_config::{Config, FixedEnv, Lookup};
//!
//! let text = r#"
//!     [providers.deepseek]
//!     base_url = "https://api.deepseek.com/v1"
//!     dialect = "openai-chat"
//!     api_key_env = "DEEPSEEK_API_KEY"
//!
//!     [queues.default]
//!     candidates = ["deepseek/deepseek-v4-pro"]
//!     idle_timeout = "90s"
//! "#;
//! let env = FixedEnv::from([("DEEPSEEK_API_KEY".into(), "sk-…".into())]);
//! let loaded = Config::parse(text, "config.toml", &env)?;
//! assert_eq!(loaded.config.queues[0].candidates[0].clocks.idle_ms, 90_000);
//! # Ok::<(), ekiden_config::Problems>(())
//! ```
//!
//! The file is read as a tree with spans and checked against the table of keys, rather than through
//! derived deserializers: those stop at the first problem, and the table could then say something
//! else than the types. The reference and the schema are printed from the same table.

mod assemble;
mod candidates;
mod check;
mod clocks;
mod discover;
pub mod edit;
mod env;
mod hindrance;
pub mod keys;
mod load;
mod lookup;
mod mask;
mod mistake;
mod models;
mod named;
pub mod paths;
mod policy;
mod price;
mod problem;
mod read;
pub mod reference;
mod replace;
mod say;
mod settings;
mod show;
mod stored;
mod url;
mod value;

pub use check::is_line;
pub use clocks::{ClockSettings, Clocks, Locality};
pub use discover::{LOCAL_SERVERS, LocalServer, Source, WELL_KNOWN, WellKnown};
pub use env::{Env, FixedEnv, ProcessEnv};
pub use hindrance::Hindrance;
pub use keys::NAME_MAX_CHARS;
pub use load::{CONFIG_VARIABLE, LoadError, Loaded, QueuesFrom};
pub use lookup::{Lookup, PICKER_PREFIX, Via, matches};
pub use mistake::Mistake;
pub use models::{
    DATE as MODELS_DATE, KnownModel, SOURCE as MODELS_SOURCE, known_model, known_models,
};
pub use policy::{AllCooling, CommitOn, Continuing, OnOverflow, PolicySettings, Preset, Switching};
pub use price::{Budget, Currency, MoneyError, NANO, Price, amount};
pub use problem::{Place, Problem, Problems, Severity};
pub use replace::{ReplaceError, replace_private};
pub use say::Language;
pub use settings::{
    Alias, Candidate, Config, Credential, Dialect, Direct, Journal, Limits, LogLevel, Origin,
    PriceOf, Profile, Provider, Queue, SessionField, UnknownModel,
};
pub use show::Setting;
pub use stored::{KEYS_FILE, KeysError, StoredKeys, WithKeys};
pub use url::{BaseUrl, UrlError, guarded_address};
pub use value::{UnitError, Value, parse_size_bytes, parse_span_ms, show_size_bytes, show_span_ms};
