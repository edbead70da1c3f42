//! A user's own program with the superstep command line: `examples/own_tool.rs`, in real processes over fresh stores.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod advice;
mod databases;
#[path = "../support/restate.rs"]
mod engine;
mod examples;
mod interrupts;
mod journal;
mod json;
mod listing;
mod live;
mod log;
mod misfits;
#[path = "../support/model_server/mod.rs"]
mod model_server;
mod origins;
mod output;
mod place;
mod reads;
mod restate;
mod runner;
#[path = "../support/postgres.rs"]
mod server;
mod service;
mod shared;
mod signals;
mod spec;
mod stops;
mod unknown;
mod words;

use place::Place;
use serde_json::json;

#[test]
fn a_graph_takes_arguments_of_its_own() {
    let place = Place::new();
    assert_eq!(place.json(10, &["run", "release", "1.2.0", "--thread", "r1"])["state"]["version"], "1.2.0");
    let wrong = place.call(&["run", "release", "1.2"]);
    assert_eq!(wrong.code(), 2);
    insta::assert_snapshot!(wrong.err(), @r"
    error: invalid input for `release`
    cause: `1.2` is no version: write three numbers, as 1.2.0
    ");
    let missing = place.call(&["run", "release"]);
    assert_eq!((missing.code(), missing.err().contains("<VERSION>")), (2, true), "{}", missing.err());
    let json = place.json(10, &["run", "release", "--input", r#"{"version": "2.0.0"}"#]);
    assert_eq!(json["state"]["version"], "2.0.0");
}

#[test]
fn a_panic_is_reported_once() {
    let place = Place::new();
    std::fs::create_dir(place.path("broken")).unwrap();
    let output = place.command(&["run", "release", "1.2.0", "--json"]).env("RUST_BACKTRACE", "1").output().unwrap();
    let failure: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(failure["error"].as_str().unwrap().contains("broken is a directory"), "{failure}");
    let called = place.call(&["run", "release", "1.2.0", "--thread", "r2"]);
    assert!(called.err().starts_with("error: "), "{}", called.err());
}

#[test]
fn a_custom_question_takes_approve_reject_and_revise() {
    let place = Place::new();
    let status = place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(status["questions"][0]["words"], json!(["approve", "reject", "revise"]));
    assert_eq!(status["questions"][0]["takes"], r#""ship" or {"drop": {"why": text}} or {"rebuild": {"with": text}}"#);
    let again = place.json(10, &["revise", "r1", "--feedback", "less code"]);
    assert_eq!(again["state"]["log"], json!(["built 1.2.0", "built 1.2.0 with less code"]));
    let done = place.json(0, &["resume", "r1", "--answer", r#""ship""#]);
    assert_eq!(done["state"]["log"][2], "shipped 1.2.0");
}

#[test]
fn a_custom_outcome_sets_the_exit_code() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let dropped = place.json(12, &["reject", "r1", "--feedback", "too early"]);
    assert_eq!(dropped["state"]["decision"], json!({"drop": {"why": "too early"}}));
    assert_eq!(place.json(12, &["proceed", "r1"])["status"], "finished");
}

#[test]
fn a_failure_prints_how_to_retry() {
    let place = Place::new();
    std::fs::write(place.path("broken"), "").unwrap();
    let failed = place.call(&["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(failed.code(), 1);
    insta::assert_snapshot!(failed.err(), @r"
    error: node `Build` failed in superstep 1: broken is in the way
     help: once the cause is fixed, resume it with `own_tool proceed r1`
    ");
    assert_eq!(place.json(0, &["status", "r1"])["status"], "failed");
    let task = place.json(0, &["show", "r1", "--task", "Build"])["tasks"][0].clone();
    assert_eq!(
        (&task["status"], &task["failures"][0]["error"]),
        (&json!("failed"), &json!("node `Build` failed in superstep 1: broken is in the way"))
    );
    assert_eq!(task["input"]["version"], "1.2.0");
    std::fs::remove_file(place.path("broken")).unwrap();
    assert_eq!(place.json(10, &["retry", "r1"])["status"], "interrupted");
}

#[test]
fn a_wait_needs_no_process() {
    let place = Place::new();
    let waits = place.json(14, &["run", "nap", "--input", r#"{"millis": 3600000}"#, "--thread", "n1"]);
    assert_eq!((&waits["status"], waits["until"].is_string()), (&json!("waiting"), true));
    assert_eq!(place.json(14, &["proceed", "n1"])["status"], "waiting");
    assert_eq!(place.json(0, &["threads", "--status", "waiting"])[0]["thread"], "n1");
    place.json(14, &["run", "nap", "--input", r#"{"millis": 700}"#, "--thread", "n2"]);
    while place.call(&["proceed", "n2"]).code() == 14 {}
    assert_eq!(place.json(0, &["proceed", "n2"])["state"]["rested"], true);
}

#[test]
fn a_signal_needs_no_process_and_reaches_a_runner() {
    let place = Place::new();
    let input = r#"{"millis": 3600000, "on_call": true}"#;
    let waits = place.json(14, &["run", "nap", "--input", input, "--thread", "n1"]);
    assert_eq!((&waits["status"], &waits["signals"][0]["name"]), (&json!("awaiting-signal"), &json!("call")));
    assert_eq!(place.json(0, &["threads", "--status", "awaiting-signal"])[0]["signals"][0]["node"], "Sleep");
    let wrong = place.call(&["signal", "n1", "cal", r#"{"by": "ada"}"#]);
    insta::assert_snapshot!(wrong.err(), @r"
    error: no node of the graph receives a signal `cal`
     help: its nodes receive `call`
    ");
    let mistyped = place.call(&["signal", "n1", "call", "7"]);
    assert!(mistyped.err().contains(r#"`Call` is {"by": text}"#), "{}", mistyped.err());
    let sent = place.json(0, &["signal", "n1", "call", r#"{"by": "ada"}"#, "--by", "bob"]);
    assert_eq!((&sent["status"], &sent["mailbox"][0]["by"]), (&json!("pending"), &json!("bob")));
    assert_eq!(sent["mailbox"][0]["id"], sent["signal"]);
    let status = place.call(&["status", "n1"]).out();
    let id = sent["signal"].as_str().unwrap();
    let listed = format!(r#"in its mailbox: {id} `call` {{"by":"ada"}}, sent by bob at "#);
    assert!(status.contains(&listed), "{status}");
    let end = place.json(0, &["proceed", "n1"]);
    assert_eq!((&end["state"]["caller"], end.get("mailbox")), (&json!("ada"), None));
    place.json(14, &["run", "nap", "--input", input, "--thread", "n2"]);
    let text = place.call(&["status", "n2"]).out();
    assert!(
        text.starts_with("n2: waits for a signal, until ") && text.contains("Sleep waits for the signal `call`"),
        "{text}"
    );
    assert_eq!(place.json(0, &["graphs"])[2]["signals"], json!(["call"]));
}

#[test]
fn a_thread_of_another_program_is_refused() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let program = place::example("own_tool");
    let renamed = place.path("other_tool");
    std::fs::copy(program.get_program(), &renamed).unwrap();
    place.with_foreign_thread("theirs");
    let refused = place.call(&["status", "theirs"]);
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused.err(), @r"
    error: thread `theirs` belongs to the graph `elsewhere`, which this program does not have
     help: use the program that has it; this one has release, draft, nap
    ");
    let listed = place.json(0, &["threads"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(place.json(0, &["delete", "theirs"])["deleted"], "theirs");
}

#[test]
fn a_diff_shows_changed_channels_and_new_questions() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    insta::assert_snapshot!(place.call(&["diff", "r1", "2", "3"]).out(), @r#"
    from r1 #2, superstep 0 (loop)
    to   r1 #3, superstep 1 (loop)
    ~ next: Build -> Ask
    + question may_ship of Ask: {"version":"1.2.0"}
    + log: "built 1.2.0"
    "#);
    assert_eq!(place.json(0, &["diff", "r1", "2", "3"])["from"]["checkpoint"], 2);
}

#[test]
fn a_replay_prints_verifies_or_runs_again() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    insta::assert_snapshot!(place::steady(&place.call(&["replay", "r1"]).out()), @r#"
    -1  checkpoint 1
     0  checkpoint 2
     1  Build starts
     1  Build wrote [{"log":["built 1.2.0"]}]
     1  checkpoint 3
     2  Ask starts
     2  Ask asks may_ship {"version":"1.2.0"}
     2  Ask was answered "ship"
     2  Ask starts
     2  Ask wrote [{"decision":"ship"}]
     2  checkpoint 5
     3  Ship starts
     3  Ship wrote [{"log":["shipped 1.2.0"]}]
     3  checkpoint 6
    "#);
    let steps = place.json(0, &["replay", "r1", "--step"]);
    assert_eq!(steps.as_array().unwrap().len(), 4);
    let verified = place.json(0, &["replay", "r1", "--mode", "verify"]);
    assert_eq!(verified["divergence"], json!(null));
    assert_eq!(verified["not_verified"][0]["node"], "Build");
    assert_eq!(place.json(0, &["replay", "r1", "--mode", "what-if"])["differences"], json!([]));
    let live = place.json(10, &["replay", "r1", "--mode", "live", "--from", "2"]);
    assert_eq!((&live["status"], &live["state"]["log"]), (&json!("interrupted"), &json!(["built 1.2.0"])));
}

#[test]
fn gc_removes_old_checkpoints_and_keeps_tagged_ones() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    let before = place.json(0, &["history", "r1"]).as_array().unwrap().len();
    assert_eq!(place.json(0, &["tag", "r1", "built", "--at", "2"])[0]["tag"], "built");
    place.json(0, &["gc", "--keep-last", "1"]);
    let kept = place.json(0, &["history", "r1"]);
    assert!(kept.as_array().unwrap().len() < before && kept.to_string().contains("\"checkpoint\":2"), "{kept}");
}

#[test]
fn an_imported_thread_runs_once_it_is_trusted() {
    let (place, other) = (Place::new(), Place::new());
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let file = other.path("r1.superstep").display().to_string();
    assert_eq!(place.json(0, &["export", "r1", &file])["file"], file.as_str());
    assert_eq!(place.call(&["export", "r1", &file]).code(), 1); // it is there already
    assert_eq!(other.json(0, &["import", &file])["trusted"], false);
    assert_eq!(other.json(0, &["status", "r1"])["state"]["version"], "1.2.0");
    let refused = other.call(&["approve", "r1"]);
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused.err(), @r"
    error: thread `r1` was created elsewhere and is not trusted: it can be inspected and replayed from its records, but not run, answered or forked
     help: if you trust the author and the content of its file, `own_tool trust r1`
    ");
    assert_eq!(other.json(0, &["import", &file, "--thread", "r2", "--trust"])["trusted"], true);
    assert_eq!(other.json(0, &["approve", "r2"])["state"]["log"][1], "shipped 1.2.0");
    let piped = place.call(&["export", "r1"]).0.stdout;
    assert_eq!(piped.len(), std::fs::read(&file).unwrap().len());
}

#[test]
fn a_store_is_compacted_in_place() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let report = place.json(0, &["gc", "--compact"]);
    assert!(report["compacted"]["rows"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(place.json(0, &["approve", "r1"])["status"], "finished");
}

#[test]
fn a_store_is_repaired_into_another() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(place.json(0, &["repair", "rescued"])["store"], "rescued");
    assert_eq!(place.json(0, &["approve", "r1", "--store", "rescued"])["status"], "finished");
    assert_eq!(place.json(0, &["status", "r1"])["status"], "interrupted");
}
