//! The output of `--log` and `SUPERSTEP_LOG`.

use super::place::Place;

#[test]
fn a_log_goes_to_standard_error_alone() {
    let place = Place::new();
    let words = ["run", "release", "1.2.0", "--thread", "r1"];
    let called = place.call(&[&words[..], &["--log"]].concat());
    let log = called.err();
    assert_eq!(called.code(), 10);
    for part in
        ["run{thread=\"r1\" graph=\"release\"}", "superstep{step=1", "task{node=\"Build\"", "a task asked a question"]
    {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    assert!(!log.contains('\u{1b}'), "{log}");
    let other = Place::new();
    assert_eq!(called.out().lines().count(), other.call(&words).out().lines().count());
    assert!(other.call(&["approve", "r1"]).err().is_empty());
}

#[test]
fn a_log_is_as_detailed_as_its_level() {
    let place = Place::new();
    let mut quiet = place.command(&["run", "release", "1.2.0", "--thread", "r1", "--json"]);
    let quiet = quiet.env("SUPERSTEP_LOG", "warn").output().unwrap();
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    serde_json::from_slice::<serde_json::Value>(&quiet.stdout).unwrap();
    std::fs::write(place.path("broken"), "").unwrap();
    let loud = place.call(&["run", "release", "1.2.0", "--thread", "r2", "--log=warn"]);
    assert!(loud.err().contains("WARN") && loud.err().contains("a task failed"), "{}", loud.err());
    assert_eq!(place.call(&["threads", "--log=loud"]).code(), 2);
}
