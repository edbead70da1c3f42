//! Printed help: of commands, of threads to resume, of refused commands, of missing checkpoints.

use rstest::rstest;
use superstep::checkpoint::{CheckpointId, Checkpointer, Claim, Commit, Key};
use superstep::prelude::*;

use crate::place::{Place, steady};

#[rstest]
#[case(&["help"], &["--help"])]
#[case(&["help", "gc"], &["gc", "--help"])]
#[case(&["help", "run", "release"], &["run", "release", "--help"])]
fn help_is_a_command_too(#[case] words: &[&str], #[case] same: &[&str]) {
    let place = Place::new();
    let (called, help) = (place.call(words), place.call(same));
    assert_eq!((called.code(), called.out()), (0, help.out()));
}

/// Returns the commands that the help lists.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().take_while(|line| *line != "Options:").filter_map(|line| line.strip_prefix("  "));
    lines.filter_map(|line| line.split_whitespace().next()).collect()
}

#[rstest]
#[case("-h")]
#[case("--help")]
#[case("help")]
fn the_help_lists_each_command_in_one_group(#[case] word: &str) {
    let place = Place::new();
    let help = place.call(&[word]).out();
    let headings: Vec<&str> = help.lines().filter_map(|line| line.strip_suffix(':')).collect();
    assert_eq!(headings[..6], ["Run", "Answer", "Look", "Debug", "Keep", "Options"]);
    let mut listed = commands(&help);
    listed.sort_unstable();
    let completed = place.call(&["completions", "bash"]).out();
    let subcommands = completed.lines().filter_map(|line| line.trim().strip_prefix("own_tool,"));
    let mut known: Vec<&str> = subcommands.filter_map(|line| line.strip_suffix(')')).collect();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn no_help_mentions_the_rust_api() {
    let place = Place::new();
    let all = place.call(&["--help"]).out();
    for command in commands(&all) {
        let help = place.call(&[command, "--help"]).out();
        for word in ["()", "(..)", "::", "thread.at", "graph.thread", "&self"] {
            assert!(!help.contains(word), "{word} in {help}");
        }
    }
}

#[test]
fn a_finished_thread_is_not_retried() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    let before = place.json(0, &["history", "r1"]);
    let refused = place.call(&["retry", "r1"]);
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused.err(), @r"
    error: thread `r1` has finished: it has no unfinished superstep to restart
     help: `own_tool replay r1 --mode live --from 5` runs its last superstep again; `own_tool history r1` lists the checkpoints
    ");
    assert_eq!(place.json(0, &["history", "r1"]), before);
}

#[test]
fn status_prints_how_to_resume_a_thread_without_questions() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.call(&["approve", "r1", "--record-only"]);
    let stored = place.call(&["status", "r1"]).out();
    assert!(stored.ends_with("\nresume it with\n  own_tool proceed r1\n"), "{stored}");
    std::fs::write(place.path("broken"), "").unwrap();
    place.call(&["run", "release", "1.2.0", "--thread", "r2"]);
    let failed = place.call(&["status", "r2"]).out();
    assert!(failed.ends_with("\nonce the cause is fixed, resume it with\n  own_tool proceed r2\n"), "{failed}");
    place.call(&["run", "nap", "--input", r#"{"millis": 3600000}"#, "--thread", "n1"]);
    let waits = place.call(&["status", "n1"]).out();
    assert!(waits.ends_with("\nonce the time has come, resume it with\n  own_tool proceed n1\n"), "{waits}");
}

/// Deletes a checkpoint from the middle of a thread.
fn delete_checkpoint(place: &Place, thread: &str, checkpoint: u64) {
    let store = SledCheckpointer::open(place.path(".superstep/store")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let id = ThreadId::from(thread);
        let lease = store.claim(&id, Claim::IfFree).await.unwrap();
        let head = store.head(&id).await.unwrap().unwrap();
        let deletes = vec![Key::Checkpoint(CheckpointId(checkpoint))];
        let commit = Commit { deletes, ..Commit::new(id, lease.epoch(), head.checkpoint, head) };
        store.commit(commit).await.unwrap();
    });
}

#[test]
fn a_missing_checkpoint_is_reported() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    delete_checkpoint(&place, "r1", 3);
    insta::assert_snapshot!(steady(&place.call(&["replay", "r1"]).out()), @r#"
     2  earlier events are missing: checkpoint 3, the parent of this one, was removed by `gc`, or is lost
     2  checkpoint 5
     3  Ship starts
     3  Ship wrote [{"log":["shipped 1.2.0"]}]
     3  checkpoint 6
    "#);
    let events = place.json(0, &["events", "r1"]);
    assert_eq!((&events[0]["kind"], &events[0]["missing"]), (&"gap".into(), &3.into()));
    assert_eq!(place.json(0, &["replay", "r1", "--step"])[0]["kind"], "gap");
    insta::assert_snapshot!(place.call(&["replay", "r1", "--mode", "verify"]).out(), @r"
    nothing compared in 1 superstep: 0 bodies and 0 routers run, 2 results reused
    not compared: superstep 2: the previous checkpoint and all before it were removed, or are lost
    not compared: superstep 3, `Ship`: it is not marked `.replayable()`
    ");
    let verified = place.json(15, &["replay", "r1", "--mode", "verify"]);
    assert!(verified["not_verified"][0]["why"].as_str().unwrap().contains("are lost"), "{verified}");
    let from = place.json(0, &["replay", "r1", "--from", "5"]);
    assert_eq!(from[0]["kind"], "checkpoint");
}

#[test]
fn log_tells_the_story_of_any_graph_with_the_numbers_of_show() {
    let place = Place::new();
    std::fs::write(place.path("broken"), "").unwrap();
    place.call(&["run", "release", "1.2.0", "--thread", "r1"]);
    std::fs::remove_file(place.path("broken")).unwrap();
    place.json(10, &["proceed", "r1"]);
    place.json(0, &["approve", "r1", "--by", "ada"]);
    let times = |text: String| {
        let is_time = |word: &str| word.contains("-") && word.contains('T') && word.contains('Z');
        let word = |word: &str| if is_time(word) { "TIME".to_owned() } else { word.to_owned() };
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(times(place.call(&["log", "r1"]).out()), @r#"
    Build (superstep 1, until TIME
      attempt 1 failed at TIME node `Build` failed in superstep 1: broken is in the way
      wrote log: ["built 1.2.0"]

    Ask (superstep 2, until TIME
      asks may_ship: {"version":"1.2.0"}
      was answered "ship" by ada at TIME
      wrote decision: ship

    Ship (superstep 3, until TIME
      wrote log: ["shipped 1.2.0"]
    "#);
    let shown = place.call(&["show", "r1", "--at", "3", "--task", "Ask"]).out();
    assert!(shown.contains("after superstep 1, ") && shown.contains(" Ask (superstep 2): done"), "{shown}");
    assert!(place.call(&["history", "r1", "--tasks"]).out().contains(" Ask (superstep 2): done"));
}
