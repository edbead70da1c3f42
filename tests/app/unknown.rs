//! Unknown threads, and comparisons that compare nothing.

use rstest::rstest;
use serde_json::json;

use crate::place::Place;

#[rstest]
#[case(&["status", "order-71"])]
#[case(&["history", "order-71"])]
#[case(&["show", "order-71"])]
#[case(&["events", "order-71"])]
#[case(&["update", "order-71", "--values", "{}"])]
#[case(&["fork", "order-71", "--at", "1"])]
#[case(&["delete", "order-71"])]
#[case(&["proceed", "order-71"])]
#[case(&["retry", "order-71"])]
#[case(&["approve", "order-71"])]
#[case(&["export", "order-71", "order.bin"])]
#[case(&["diff", "order-71", "1", "2"])]
#[case(&["replay", "order-71"])]
#[case(&["replay", "order-71", "--mode", "verify"])]
#[case(&["replay", "order-71", "--mode", "what-if"])]
#[case(&["replay", "order-71", "--mode", "live"])]
fn a_mistyped_thread_is_an_error_that_suggests_similar_names(#[case] words: &[&str]) {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "order-17"]);
    let called = place.call(words);
    assert_eq!(
        (called.code(), &*called.err()),
        (1, "error: there is no thread `order-71`\n help: did you mean `order-17`?\n"),
        "{words:?}"
    );
    assert_eq!(place.json(0, &["threads"]).as_array().unwrap().len(), 1, "{words:?}");
}

#[test]
fn a_comparison_that_compares_nothing_has_an_exit_code_of_its_own() {
    let place = Place::new();
    place.json(14, &["run", "nap", "--input", r#"{"millis": 3600000}"#, "--thread", "n1"]);
    let verified = place.json(15, &["replay", "n1", "--mode", "verify"]);
    assert_eq!((&verified["verdict"], &verified["bodies"]), (&json!("nothing_compared"), &json!(0)));
    let text = place.call(&["replay", "n1", "--mode", "verify"]).out();
    assert!(text.starts_with("nothing compared in 1 superstep: 0 bodies and 0 routers run"), "{text}");
}

#[test]
fn a_strict_comparison_accepts_no_recorded_result() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    let verified = place.json(0, &["replay", "r1", "--mode", "verify"]);
    assert_eq!(verified["verdict"], "same_in_part", "{verified}");
    assert!(verified["routers"].as_u64().unwrap() > 0, "{verified}");
    place.json(15, &["replay", "r1", "--mode", "verify", "--strict"]);
}
