//! libFuzzer's side of `ekiden_fuzz::requests`, which says what must hold. Nothing is decided here.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ekiden_fuzz::requests(data));
