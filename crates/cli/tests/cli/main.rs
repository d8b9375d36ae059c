//! The program as its users meet it: whole results of whole commands, kept as snapshots beside these
//! files (`INSTA_UPDATE=always` writes them anew).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod classify;
mod config;
mod control;
mod demo;
mod help;
mod program;
mod replay;
mod serve;
mod settings;
mod state;
