//! Engine and classifier behind a small C interface, as one WebAssembly file that imports nothing.
//!
//! It refuses to decide anything, to read a clock, to know JSON or a JavaScript type, and to ask
//! its host for anything: texts go in, texts come out. What the texts mean is written at
//! [`answer`]; how they cross is written at [`abi`].
//!
//! From JavaScript, with `ekiden.mjs`; the lines and their answers are those of
//! [`ekiden_engine::history`]:
//!
//! ```js
//! const ekiden = await load(await readFile('ekiden.wasm'));
//! const engine = ekiden.history();
//! engine.lines('presets');                       // preset relay on 2 250 16 …
//! engine.lines(`queue 1 0 ${relay} 1 7 present - - - 10000 90000 0 120000 600000 0`);
//! engine.lines('call 1 1 4 session main stream fresh 0 - 11 0\ndrive 1 0 1767225600000');
//! engine.beat(1, 1, 120, 'output', 20, 1767225600020);   // true: something is to be done
//! engine.lines('drive 1 20 1767225600020');      // call 1 effect commit 1 …
//! engine.lines('status 20 1767225600020');       // route 7 …, session 4 …
//! ```
//!
//! The standard library is linked for its allocator and nothing else: an allocator of our own would
//! be more unsafe code than everything here, to save some ten kilobytes.

pub mod abi;
pub mod answer;
mod evidence;
