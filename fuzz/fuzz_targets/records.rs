//! `cargo +nightly fuzz run records`
#![no_main]

#[path = "../bodies/records.rs"]
mod records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = records::body(data);
});
