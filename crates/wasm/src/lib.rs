//! Engine and classifier behind a small C interface, as one WebAssembly file that imports nothing.
//!
//! It refuses to decide anything, to read a clock, to know JSON or a JavaScript type, and to ask
//! its host for anything: texts go in, texts come out. What the texts mean is written at
//! [`answer`]; how they cross is written at [`abi`].
//!
//! The standard library is linked for its allocator and nothing else: an allocator of our own would
//! be more unsafe code than everything here, to save some ten kilobytes.

pub mod abi;
pub mod answer;
mod evidence;
