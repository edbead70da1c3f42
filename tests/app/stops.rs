//! Stop points on the command line: set, shown, remembered by other processes, removed.

use serde_json::{Value, json};

use crate::place::Place;

#[test]
fn stop_points_are_stored_with_a_thread_until_they_are_removed() {
    let place = Place::new();
    let run = ["run", "release", "1.2.0", "--thread", "r1", "--stop-before", "Build", "--stop-after", "Build"];
    let stopped = place.json(11, &run);
    let stops = json!([{ "node": "Build", "after": false }, { "node": "Build", "after": true }]);
    assert_eq!(
        (&stopped["status"], &stopped["next"], &stopped["stops"]),
        (&json!("stopped"), &json!(["Build"]), &stops)
    );
    let status = place.call(&["status", "r1"]).out();
    assert!(status.contains("  stops: before Build, after Build\n"), "{status}");
    let after = place.json(11, &["proceed", "r1"]);
    assert_eq!((&after["next"], &after["stops"]), (&json!(["Ask"]), &stops), "another process stops there too");
    let status = place.json(10, &["proceed", "r1", "--no-stops"]);
    assert_eq!(status.get("stops"), None::<&Value>);
}

#[test]
fn stop_points_are_replaced() {
    let place = Place::new();
    place.json(11, &["run", "release", "1.2.0", "--thread", "r1", "--stop-before", "Build"]);
    let replaced = place.json(11, &["proceed", "r1", "--stop-before", "Ask"]);
    assert_eq!((&replaced["next"], &replaced["stops"]), (&json!(["Ask"]), &json!([{ "node": "Ask", "after": false }])));
}

#[test]
fn a_stop_point_at_an_unknown_node_is_refused() {
    let place = Place::new();
    let refused = place.call(&["run", "release", "1.2.0", "--thread", "r1", "--stop-before", "Biuld"]);
    assert_eq!(refused.code(), 2);
    insta::assert_snapshot!(refused.err(), @r"
    error: graph `release` has no node `Biuld` to stop at
     help: its nodes are Ask, Build, Ship
    ");
    assert_eq!(place.call(&["status", "r1"]).code(), 1, "no thread was made");
}

#[test]
fn a_run_stops_after_as_many_supersteps_as_it_may_have() {
    let place = Place::new();
    let run = ["run", "release", "1.2.0", "--thread", "r1", "--max-supersteps", "1"];
    let stopped = place.json(11, &run);
    assert_eq!((&stopped["status"], &stopped["step"]), (&json!("pending"), &json!(1)));
    assert_eq!(place.json(10, &["proceed", "r1"])["status"], json!("interrupted"));
    assert_eq!(place.call(&["run", "release", "1.2.0", "--max-supersteps", "0"]).code(), 2);
}
