//! The shell: HTTP in, HTTP out, a task for each call.
//!
//! It refuses to decide what a call does: the engine decides, and this crate carries it out. It is
//! the one crate in which anything waits.
//!
//! ```no_run
//! use ekiden_config::{Config, ProcessEnv};
//! use ekiden_gateway::{CoreOptions, Gateway, stop_signal};
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let loaded = Config::parse("listen = \"127.0.0.1:8787\"", "config.toml", &ProcessEnv)?;
//! let running = Gateway::start(loaded.config, CoreOptions::default()).await?;
//! stop_signal().await;
//! running.shutdown_or(stop_signal()).await;
//! # Ok(()) }
//! ```

pub mod body;
pub mod calls;
mod catalog;
mod changes;
pub mod clock;
pub mod core;
mod evidence;
pub mod explain;
mod front;
mod gateway;
pub mod inbound;
mod issuers;
pub mod names;
pub mod plan;
mod relay;
pub mod settings;
pub mod state;
mod tasks;
pub mod tokens;
mod upstream;

pub use crate::core::{Core, CoreOptions};
pub use front::{StartError, openapi, stop_signal};
pub use gateway::{Gateway, Running};
pub use tasks::Tasks;
pub use upstream::{Dial, MemoryStream, Proxies};

/// How an answer of HTTP/1.1 is read, without a connection: for tests and fuzzing.
pub mod http1 {
    pub use crate::upstream::{Malformed, Whole, read_whole};
}
