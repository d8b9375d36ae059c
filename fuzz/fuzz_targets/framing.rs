//! libFuzzer's side of `ekiden_fuzz::framing`, which says what must hold. Nothing is decided here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ekiden_fuzz::framing(data));
