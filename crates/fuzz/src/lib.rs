//! What must hold for any bytes, whoever sent them. Nothing here is shipped, and nothing here invents the bytes.
//!
//! Each target is a function that reads some bytes in its own way and panics where a promise is broken. libFuzzer
//! feeds them in `fuzz/` (`cargo xtask fuzz`, a nightly toolchain); the tests of this crate feed them the kept
//! inputs of `fuzz/corpus`, so that what was once reached stays reached on a stable one.

mod answers;
mod classifying;
mod configuring;
mod deciding;
mod framing;
mod input;
mod requests;
mod speaking;

pub use answers::answers;
pub use classifying::classifying;
pub use configuring::configuring;
pub use deciding::{deciding, replaying};
pub use framing::framing;
pub use requests::requests;
pub use speaking::speaking;

/// A target: any bytes go in, and a panic is a broken promise.
pub type Target = fn(&[u8]);

/// Every target by its name, which is that of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Target); 8] = [
    ("framing", framing),
    ("answers", answers),
    ("requests", requests),
    ("classifying", classifying),
    ("configuring", configuring),
    ("deciding", deciding),
    ("replaying", replaying),
    ("speaking", speaking),
];
