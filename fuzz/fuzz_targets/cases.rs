//! `cargo +nightly fuzz run cases`
#![no_main]
#![allow(dead_code, reason = "the conformance suite uses the rest")]

#[path = "../bodies/cases.rs"]
mod cases;
#[path = "../../tests/conformance/eval.rs"]
mod eval;
#[path = "../../tests/conformance/expr.rs"]
mod expr;
#[path = "../../tests/conformance/model.rs"]
mod model;
#[path = "../../tests/conformance/number.rs"]
mod number;
#[path = "../../tests/conformance/ops.rs"]
mod ops;
#[path = "../../tests/conformance/python.rs"]
mod python;
#[path = "../../tests/conformance/script.rs"]
mod script;
#[path = "../../tests/conformance/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    cases::body(data);
});
