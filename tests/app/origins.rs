//! Imported threads, files that hold no thread, and what a failed import or fork leaves behind.

use rstest::rstest;
use serde_json::json;

use crate::place::Place;

/// Returns a directory whose store holds an imported thread, and the imported file.
fn with_imported() -> (Place, String) {
    let (place, other) = (Place::new(), Place::new());
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let file = other.path("r1.superstep").display().to_string();
    place.json(0, &["export", "r1", &file]);
    (other, file)
}

#[test]
fn an_imported_thread_is_marked_everywhere() {
    let (place, file) = with_imported();
    insta::assert_snapshot!(place.call(&["import", &file]).out(), @r"
    thread `r1`: 3 checkpoints imported, 11 records
    it is marked as imported: it can be inspected, compared and replayed from its records, but not run
    next
      own_tool show r1
    if you trust its author and its content, trust it with
      own_tool trust r1
    ");
    let printed = |words: &[&str]| place.call(words).out();
    assert!(printed(&["threads"]).contains("interrupted, imported"), "{}", printed(&["threads"]));
    assert!(printed(&["show", "r1"]).contains("imported: made elsewhere and not trusted"));
    let status = printed(&["status", "r1"]);
    assert!(status.contains("imported: made elsewhere and not trusted") && status.ends_with("own_tool trust r1\n"));
    for words in [&["status", "r1"][..], &["show", "r1"]] {
        let json = place.json(0, words);
        assert_eq!((&json["foreign"], &json["trusted"]), (&json!(true), &json!(false)), "{words:?}");
    }
    assert_eq!(place.json(0, &["threads"])[0]["foreign"], true);
    assert_eq!(place.json(0, &["import", &file, "--thread", "r2"])["foreign"], true);

    assert_eq!(printed(&["trust", "r1"]), "r1 can be run now\n");
    assert_eq!(printed(&["trust", "r1"]), "r1 was trusted already: it can be run\n");
    assert_eq!(place.json(0, &["status", "r1"])["trusted"], true);
    place.json(10, &["run", "release", "1.2.0", "--thread", "own"]);
    assert_eq!(printed(&["trust", "own"]), "own was not imported: it can be run\n");
    assert_eq!(place.json(0, &["status", "own"])["foreign"], false);
}

#[test]
fn a_fork_of_an_imported_thread_is_refused() {
    let (place, file) = with_imported();
    place.json(0, &["import", &file]);
    let refused = place.call(&["fork", "r1", "--at", "3", "--to", "r2"]);
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused.err(), @r"
    error: thread `r1` was created elsewhere and is not trusted: it can be inspected and replayed from its records, but not run, answered or forked
     help: if you trust the author and the content of its file, `own_tool trust r1`
    ");
    assert_eq!(place.json(0, &["threads"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_fork_that_fails_leaves_no_thread() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let taken = place.call(&["fork", "r1", "--at", "3", "--to", "r1"]);
    insta::assert_snapshot!(taken.err(), @r"
    error: there is a thread `r1` already, of the graph `release`: interrupted
     help: give `--to` another name, or delete that thread first
    ");
    assert_eq!(place.call(&["fork", "r1", "--at", "99", "--to", "r2"]).code(), 1);
    assert_eq!(place.json(0, &["threads"]).as_array().unwrap().len(), 1);
}

/// `/dev/zero` never ends: a file is rejected by its first bytes.
#[rstest]
#[case::text("notes.txt")]
#[case::endless("/dev/zero")]
#[case::directory(".")]
#[case::missing("nowhere")]
fn a_failed_import_creates_no_store(#[case] file: &str) {
    let place = Place::new();
    std::fs::write(place.path("notes.txt"), "not a thread, though it is a file").unwrap();
    let refused = place.call(&["import", file]);
    assert_ne!(refused.code(), 0);
    assert!(refused.err().starts_with(&format!("error: {file}: ")), "{}", refused.err());
    assert!(!place.path(".superstep").exists());
}
