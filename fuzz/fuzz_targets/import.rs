//! `cargo +nightly fuzz run import`
#![no_main]

#[path = "../bodies/import.rs"]
mod import;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = import::body(data);
});
