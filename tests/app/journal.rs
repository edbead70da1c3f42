//! The journals of tasks on the command line, and fixtures exported for tests.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_task_is_shown_with_its_journal() {
    let place = Place::new();
    place.json(14, &["run", "nap", "--input", r#"{"millis": 3600000}"#, "--thread", "n1"]);
    let shown = place.json(0, &["show", "n1"]);
    let entry = &shown["tasks"][0]["journal"]["entries"][0];
    assert_eq!((&entry["kind"], &entry["attempt"], entry["until"].is_string()), (&json!("sleep"), &json!(1), true));
    let listed = place.json(0, &["history", "n1", "--tasks"]);
    assert_eq!(listed[0]["tasks"][0]["journal"]["entries"][0], *entry);
    assert!(place.json(0, &["history", "n1"])[0].get("tasks").is_none());
    let events = place.json(0, &["events", "n1"]);
    let journaled: Vec<_> = events.as_array().unwrap().iter().filter(|event| event["kind"] == "journal").collect();
    assert_eq!((journaled.len(), &journaled[0]["entry"]["until"]), (1, &entry["until"]));
    for words in [&["show", "n1"][..], &["history", "n1", "--tasks"], &["events", "n1"]] {
        let text = place.call(words).out();
        let until = entry["until"].as_str().unwrap();
        assert!(text.contains("waits until") && text.contains(until), "{words:?} {text}");
    }
}

#[test]
fn a_thread_is_exported_as_a_fixture() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    let exported = place.call(&["export", "r1", "--fixture", "r1.superstep"]);
    assert_eq!(exported.code(), 0, "{}", exported.err());
    let out = exported.out();
    assert!(out.contains("written to r1.superstep"), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let test = lines[lines.len() - 3..].join("\n");
    assert_eq!(
        test,
        "  let fixture = superstep::graph::kit::Fixture::load(\"r1.superstep\")?;\n  \
         let report = fixture.verify(&graph).await?;\n  assert!(report.agrees(), \"{report}\");"
    );
    let fixture = superstep::graph::kit::Fixture::load(place.path("r1.superstep")).unwrap();
    assert_eq!(fixture.about().graph.as_deref(), Some("release"));
    let again = place.call(&["export", "r1", "--fixture", "r1.superstep"]);
    assert_eq!((again.code(), again.err().contains("r1.superstep")), (1, true), "{}", again.err());
    let other = place.json(0, &["export", "r1", "--fixture", "other.superstep"]);
    assert!(other["verify"]["verdict"].is_string() && other["test"].as_str().unwrap().contains("other.superstep"));
    assert_eq!(place.call(&["export", "r1", "a", "--fixture", "b"]).code(), 2);
}
