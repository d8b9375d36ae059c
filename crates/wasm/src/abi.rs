//! How texts cross. It refuses to look into them.
//!
//! A text is a pointer and a length in bytes of UTF-8; bytes that are none are read as U+FFFD. The
//! host gets room with [`alloc`], writes, calls, and may use the room again: a text that goes in is
//! only looked at. An answer is one number, the pointer in its upper and the length in its lower 32
//! bits; the host reads it and gives it back with [`free`].
//!
//! A broken promise of the engine ends in a trap. The instance is lost then, and [`trap_place`] says
//! where it happened; a new instance starts from nothing.

#![expect(unsafe_code, reason = "texts cross the border of WebAssembly as raw pointers")]

use std::cell::RefCell;

use ekiden_engine::history::History;
use ekiden_engine::{AttemptId, Beat, CallId, Now};

use crate::answer;

/// The number of this interface; a host refuses another.
pub const VERSION: u32 = 2;

/// Histories by their handles, which are never used twice.
struct Open {
    next: u32,
    /// A handful; a tree would be larger than all of them.
    histories: Vec<(u32, History)>,
}

impl Open {
    fn history(&mut self, handle: u32) -> Option<&mut History> {
        self.histories.iter_mut().find(|(own, _)| *own == handle).map(|(_, history)| history)
    }
}

thread_local! {
    static OPEN: RefCell<Open> =
        const { RefCell::new(Open { next: 1, histories: Vec::new() }) };
    static TRAP_PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// To be called first: arranges for [`trap_place`] and answers [`VERSION`].
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn start() -> u32 {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(note_place));
    VERSION
}

/// Notes file and line, never the message, which may quote what was sent.
#[cfg(target_family = "wasm")]
fn note_place(info: &std::panic::PanicHookInfo<'_>) {
    if let Some(place) = info.location() {
        TRAP_PLACE.with(|text| {
            if let Ok(mut text) = text.try_borrow_mut() {
                use std::fmt::Write as _;
                // Writing into a String cannot fail.
                let _ = write!(text, "{}:{}", place.file(), place.line());
            }
        });
    }
}

/// Where the trap happened; empty while none did.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn trap_place() -> u64 {
    hand_over(TRAP_PLACE.with(|text| text.borrow().clone()))
}

/// Room for a text of `len` bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast()
}

/// Takes back what [`alloc`] gave or what an answer was in.
///
/// # Safety
/// Pointer and length are those that were given, and each is given back once.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub unsafe extern "C" fn free(ptr: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: by contract this is the box that `alloc` or `hand_over` let go of.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(ptr, len)) });
    }
}

/// An engine that knows nothing; answers its handle.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn history_new() -> u32 {
    OPEN.with_borrow_mut(|open| {
        let handle = open.next;
        open.next += 1;
        open.histories.push((handle, History::new()));
        handle
    })
}

/// Runs lines of a history: see [`answer::lines`].
///
/// # Safety
/// `ptr` points to `len` bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub unsafe extern "C" fn history_line(handle: u32, ptr: *const u8, len: usize) -> u64 {
    // SAFETY: passed on.
    let text = unsafe { text(ptr, len) };
    hand_over(OPEN.with_borrow_mut(|open| match open.history(handle) {
        Some(history) => answer::lines(history, &text),
        None => {
            let mut out = String::new();
            answer::error(&mut out, 0, &"there is no such history");
            out
        }
    }))
}

/// A piece of an answer, without a text: see [`History::beat`]. Numbers come as JavaScript has
/// them; `kind` is 0 for bytes without content, 1 for reasoning, 2 for visible output. Answers 1
/// where the call has something to say, so that it is to be driven by a line; else 0.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn beat(
    handle: u32,
    call: f64,
    attempt: u32,
    bytes: u32,
    kind: u32,
    mono_ms: f64,
    wall_ms: f64,
) -> u32 {
    let now = Now { mono_ms: mono_ms as u64, wall_ms: wall_ms as u64 };
    let beat = match kind {
        0 => Beat::Wire,
        1 => Beat::Reasoning,
        _ => Beat::Output,
    };
    OPEN.with_borrow_mut(|open| {
        let history = open.history(handle);
        let said = history
            .map(|history| history.beat(now, CallId(call as u64), AttemptId(attempt), bytes, beat));
        u32::from(said.unwrap_or(false))
    })
}

/// Forgets an engine. A handle that is none is passed over.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn history_free(handle: u32) {
    OPEN.with_borrow_mut(|open| open.histories.retain(|(own, _)| *own != handle));
}

/// Replays a recorded call: see [`answer::replay`].
///
/// # Safety
/// `ptr` points to `len` bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub unsafe extern "C" fn replay(ptr: *const u8, len: usize) -> u64 {
    // SAFETY: passed on.
    hand_over(answer::replay(&unsafe { text(ptr, len) }))
}

/// Judges one failure: see [`answer::classify`].
///
/// # Safety
/// `ptr` points to `len` bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub unsafe extern "C" fn classify(ptr: *const u8, len: usize) -> u64 {
    // SAFETY: passed on.
    hand_over(answer::classify(&unsafe { text(ptr, len) }))
}

/// # Safety
/// `ptr` points to `len` bytes.
unsafe fn text(ptr: *const u8, len: usize) -> String {
    if len == 0 {
        return String::new();
    }
    // SAFETY: by contract.
    let bytes = unsafe { std::slice::from_raw_parts(ptr, len) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lets go of an answer, for [`free`] to take back.
fn hand_over(answer: String) -> u64 {
    let bytes = answer.into_bytes().into_boxed_slice();
    let len = bytes.len() as u64;
    let ptr = Box::into_raw(bytes).cast::<u8>() as usize as u64;
    (ptr << 32) | len
}
