//! A scripted upstream. It refuses to decide, to remember and to guess: it answers each request with
//! the next step of its script, byte for byte the same every time, and writes down what it saw.
//!
//! It speaks OpenAI Chat and Anthropic Messages, chosen by the request's path, streamed or whole as
//! the request's `stream` asks, over anything that reads and writes: a TCP socket, or one end of
//! [`tokio::io::duplex`] under a paused clock. Its delays are tokio's, so that a scripted hour
//! passes at once in a test whose time is virtual.
//!
//! ```
//! # async fn shown() -> Result<(), Box<dyn std::error::Error>> {
//! use ekiden_sim::{Script, Upstream};
//!
//! let upstream = Upstream::new("429:2; ok:All is well.".parse::<Script>()?);
//! upstream.script_for("small", "cut:3".parse()?);
//! let (listener, address) = Upstream::bind().await?;
//! upstream.clone().run(listener, std::future::pending()).await;
//! # Ok(()) }
//! ```

mod act;
mod dialect;
mod director;
mod exchange;
mod gzip;
mod log;
mod parse;
mod pen;
mod plan;
mod request;
mod script;
mod upstream;

pub use act::{
    Act, After, Answer, Beats, Coding, DEFAULT_TEXT, Fault, Finish, Pace, Place, Prefill,
    ResetPoint, Status, ToolCall, Trouble, Usage,
};
pub use director::{Asked, Director};
pub use log::{End, How, Log, Seen};
pub use parse::{ParseError, WORDS};
pub use request::Endpoint;
pub use script::{Script, Then};
pub use upstream::Upstream;
