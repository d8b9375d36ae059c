//! The configuration, from outside: the table of keys, the rules, the refusals, the environment.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "all of this crate is tests"
)]

mod common;
mod editing;
mod environment;
mod every_key_of_the_table_is_read;
mod files;
mod killed;
mod languages;
mod policies;
mod refusals;
mod rules;
mod the_reference_is_fresh;
