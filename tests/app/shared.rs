//! A store that several processes share, in PostgreSQL: one process runs a thread, others follow, watch and cancel it.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::Place;
use crate::server;

/// Returns a directory whose program uses a new store in PostgreSQL; `None` if there is none here.
fn place() -> Option<Place> {
    server::new_store().map(Place::on)
}

/// Starts the program.
fn start(place: &Place, words: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = place.command(words).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[test]
fn another_process_follows_the_events_of_a_run() {
    let Some(place) = place() else { return };
    let mut run = place.busy("r1");
    let (mut follower, lines) = start(&place, &["events", "r1", "--follow", "--json"]);
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let start: Vec<_> = events.by_ref().take(2).map(|event| event["next"].clone()).collect();
    assert_eq!(start, [json!(["__start__"]), json!(["Build"])]);
    place.idle();
    let rest: Vec<_> = events.map(|event| json!([event["kind"], event["node"]])).collect();
    assert!(rest.contains(&json!(["end", "Build"])), "what was stored later: {rest:?}");
    assert_eq!(rest.last(), Some(&json!(["asked", "Ask"])), "{rest:?}");
    assert_eq!((follower.wait().unwrap().code(), run.wait().unwrap().code()), (Some(0), Some(10)));
}

#[test]
fn another_process_watches_a_run() {
    let Some(place) = place() else { return };
    // It shows what is stored from its start on, so one that starts late shows nothing of so short a run.
    let shows = (1..=5_u32).any(|attempt| {
        let thread = format!("r{attempt}");
        let mut run = place.busy(&thread);
        let (mut watch, lines) = start(&place, &["watch", &thread]);
        std::thread::sleep(Duration::from_millis(200) * attempt);
        place.idle();
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!((watch.wait().unwrap().code(), run.wait().unwrap().code()), (Some(0), Some(10)));
        assert!(lines.contains(&format!("{thread}: waits for an answer")), "{lines:?}");
        lines.iter().any(|line| line.starts_with("superstep 1: Build done"))
    });
    assert!(shows, "no run was watched");
}

#[test]
fn a_run_is_cancelled_from_another_process() {
    let Some(place) = place() else { return };
    let mut run = place.busy("r1");
    let cancelled = place.call(&["cancel", "r1"]);
    assert_eq!(cancelled.code(), 0, "{}", cancelled.err());
    assert!(cancelled.out().contains("cancelled; finished work is kept"), "{}", cancelled.out());
    assert_eq!(run.wait().unwrap().code(), Some(13));
    let nobody = place.call(&["cancel", "r1"]);
    assert_eq!((nobody.code(), nobody.err().starts_with("error: thread `r1` is not running")), (1, true));
    assert_eq!(place.call(&["cancel", "r2"]).code(), 1);
}

#[test]
fn a_cancel_waits_for_a_run_that_takes_long_to_stop() {
    let Some(place) = place() else { return };
    let mut run = place.blocked("r1");
    // The owner takes the request, and has renewed its lease with that, while its node blocks the thread.
    let report = place.json(0, &["cancel", "r1"]);
    assert!(report["owner"].is_null() && report["status"] != "running", "{report}");
    std::fs::remove_dir(place.path("busy")).unwrap();
    run.wait().unwrap();
}

#[test]
fn a_tag_and_a_removal_of_checkpoints_leave_a_cancelled_thread_to_people() {
    let Some(address) = server::new_store() else { return };
    let (schema, place) = (address.rsplit_once('=').unwrap().1.to_owned(), Place::on(address));
    let mut run = place.busy("r1");
    assert_eq!(place.call(&["cancel", "r1"]).code(), 0);
    run.wait().unwrap();
    let is_left = || server::shared().unwrap().sql(&format!("SELECT is_left AND is_cancelled FROM {schema}.threads"));
    assert_eq!(is_left(), "t");
    assert_eq!(place.call(&["tag", "r1", "here"]).code(), 0);
    assert_eq!(is_left(), "t", "after a tag");
    assert_eq!(place.call(&["gc", "--keep-last", "1"]).code(), 0);
    assert_eq!(is_left(), "t", "after a removal of checkpoints");
    assert_eq!(place.call(&["proceed", "r1", "--queue"]).code(), 0);
    assert_eq!(is_left(), "f", "after a request");
}

#[test]
fn a_run_of_a_runner_is_cancelled_from_another_process() {
    let Some(place) = place() else { return };
    std::fs::write(place.path("busy"), "").unwrap();
    assert_eq!(place.call(&["run", "release", "1.2.0", "--thread", "r1", "--queue"]).code(), 0);
    let (mut runner, mut lines) = start(&place, &["runner"]);
    let is_running = || place.json(0, &["status", "r1"])["status"] == "running";
    assert!((0..500).any(|_| is_running()));
    assert_eq!(place.call(&["cancel", "r1"]).code(), 0);
    assert_eq!(lines.next().unwrap().unwrap(), "r1: pending");
    assert_eq!(place.json(0, &["status", "r1"])["status"], "pending");
    runner.kill().unwrap();
    runner.wait().unwrap();
}

#[test]
fn the_tables_are_made_by_the_sql_that_a_dry_run_prints() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1.to_owned());
    let place = Place::on(address);
    let printed = place.call(&["store", "migrate", "--dry-run"]);
    assert_eq!((printed.code(), printed.err().as_str()), (0, ""));
    let sql = printed.out();
    assert!(sql.starts_with("BEGIN;\n") && sql.ends_with("COMMIT;\n") && sql.contains("CREATE TABLE"), "{sql}");
    assert_eq!(place.json(0, &["store", "migrate", "--dry-run"])["migrated"], false);
    let version = format!("SELECT to_regclass('{schema}.meta')");
    assert_eq!(server.sql(&version), "", "nothing was made");
    server.sql(&sql);
    let done = place.call(&["store", "migrate", "--dry-run"]).out();
    assert!(done.starts_with("-- nothing to do: postgres://"), "{done}");
    assert_eq!(place.json(0, &["store", "migrate"])["migrated"], false);
    assert_eq!(place.call(&["run", "release", "1.2.0", "--thread", "r1"]).code(), 10);
}

#[test]
fn the_tables_are_migrated_and_newer_ones_refused() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1.to_owned());
    let place = Place::on(address);
    let made = place.call(&["store", "migrate"]);
    assert_eq!(made.code(), 0, "{}", made.err());
    assert!(made.out().ends_with("has the newest tables now\n"), "{}", made.out());
    let set = |version: u32| server.sql(&format!("UPDATE {schema}.meta SET version = {version}"));
    set(1);
    server.sql(&format!("ALTER TABLE {schema}.threads DROP COLUMN graph_version"));
    assert_eq!(place.json(0, &["store", "migrate"])["migrated"], true);
    assert_eq!(place.json(0, &["threads"]), json!([]));
    set(99);
    for words in [&["store", "migrate", "--dry-run"][..], &["store", "migrate"]] {
        let refused = place.call(words);
        let sentence = "has format 99; this release reads up to";
        assert!(refused.code() == 1 && refused.err().contains(sentence), "{words:?}: {}", refused.err());
    }
}

#[test]
fn a_store_in_a_directory_needs_no_migration() {
    let place = Place::new();
    assert_eq!(place.call(&["store", "migrate", "--dry-run"]).code(), 1, "there is no store");
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    for words in [&["store", "migrate", "--dry-run"][..], &["store", "migrate"]] {
        assert!(place.call(words).out().starts_with("nothing to do"));
        assert_eq!(place.json(0, words)["sql"], "");
    }
}

#[test]
fn a_visible_password_is_warned_of_unless_a_program_reads() {
    let Some(address) = server::new_store() else { return };
    let (place, address) = (Place::new(), address.replace("postgres@", "postgres:secret@"));
    let warned = place.call(&["threads", "--store", &address]);
    assert!(warned.code() == 0 && warned.err().starts_with("warning: while this command runs"), "{}", warned.err());
    let copied = place.call(&["copy-store", &address, "fjall:copy"]);
    assert!(copied.code() == 0 && copied.err().starts_with("warning: while this command runs"), "{}", copied.err());
    let silent = place.call(&["threads", "--json", "--store", &address]);
    assert_eq!((silent.code(), silent.out().as_str(), silent.err().as_str()), (0, "[]\n", ""));
    assert!(!warned.err().contains("secret"));
}

#[test]
fn a_run_takes_an_answer_from_another_process() {
    let Some(place) = place() else { return };
    let mut run = place.busy_with("draft", "d1");
    let questions = || place.json(0, &["status", "d1"])["questions"].clone();
    assert!((0..500).any(|_| questions()[0]["name"] == "may_ship"), "{}", questions());
    for shown in [place.json(0, &["status", "d1"]), place.json(0, &["threads"])[0].clone()] {
        let owner = &shown["owner"];
        assert_eq!((&owner["name"], &owner["pid"]), (&json!("own_tool"), &json!(run.id())), "{shown}");
        assert!(owner["until"].is_string() && owner["host"].is_string(), "{shown}");
    }
    let approved = place.call(&["approve", "d1", "--by", "ada"]);
    assert_eq!(approved.code(), 0, "{}", approved.err());
    assert!(approved.out().contains("the answer is stored: `own_tool`, process "), "{}", approved.out());
    let again = place.call(&["approve", "d1", "--by", "ada"]);
    assert_eq!(again.code(), 1, "{}", again.err());
    place.idle();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let ended = place.json(0, &["status", "d1"]);
    assert_eq!((&ended["state"]["decision"], ended.get("owner")), (&json!("ship"), None));
}
