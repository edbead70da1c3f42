//! A live run does not lock its store: other processes read it, answer, follow and cancel through its socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::interrupts::send;
use crate::place::Place;

const SOCKET: &str = ".superstep/store/control.sock";

fn ended(mut child: Child) -> Option<i32> {
    child.wait().unwrap().code()
}

fn connected(place: &Place) -> (UnixStream, BufReader<UnixStream>) {
    let stream = UnixStream::connect(place.path(SOCKET)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(line(&mut lines)["superstep"], 1);
    (stream, lines)
}

fn line(lines: &mut impl BufRead) -> Value {
    let mut text = String::new();
    lines.read_line(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Waits until thread `r1` is running.
fn until_running(place: &Place, rest: &[&str]) {
    let words = [&["status", "r1", "--json"], rest].concat();
    let is_running = |out: &str| serde_json::from_str::<Value>(out).is_ok_and(|status| status["status"] == "running");
    assert!((0..500).any(|_| is_running(&place.call(&words).out())), "{}", place.call(&words).out());
}

#[test]
fn other_processes_read_the_store_of_a_live_run() {
    let place = Place::new();
    let status = place.json(10, &["run", "release", "1.0.0", "--thread", "r0"]);
    let child = place.busy("r1");

    let running = place.json(0, &["status", "r1"]);
    assert_eq!((&running["status"], &running["next"]), (&json!("running"), &json!(["Build"])));
    let threads = place.json(0, &["threads"]);
    assert_eq!(threads.as_array().unwrap().len(), 2);
    let waiting = place.json(0, &["threads", "--waiting"]);
    assert_eq!(waiting[0]["questions"][0]["commands"][0], "own_tool approve r0");
    assert_eq!(place.json(0, &["history", "r1"])[0]["source"], "loop");
    assert_eq!(place.json(0, &["show", "r0"])["checkpoint"], status["checkpoint"]);
    assert!(place.json(0, &["events", "r0"]).to_string().contains("may_ship"));
    let unknown = place.call(&["status", "r2"]);
    assert_eq!((unknown.code(), unknown.err().contains("did you mean")), (1, true), "{}", unknown.err());
    assert_eq!(place.call(&["history", "r0", "--channel", "lgo"]).code(), 2);

    place.idle();
    assert_eq!(ended(child), Some(10));
    assert!(!place.path(SOCKET).exists());
}

#[test]
fn a_live_run_names_the_nodes_that_block_their_thread() {
    let place = Place::new();
    let child = place.blocked("r1");
    let blocking = || place.json(0, &["status", "r1"])["blocking"].clone();
    assert!((0..500).any(|_| blocking()[0]["node"] == "Build"), "{}", blocking());
    assert!(blocking()[0]["millis"].as_u64().is_some_and(|millis| millis >= 150), "{}", blocking());
    std::fs::remove_dir(place.path("busy")).unwrap();
    assert_eq!(ended(child), Some(10));
    assert_eq!(place.json(0, &["status", "r1"])["blocking"], Value::Null, "the run has ended");
}

#[test]
fn an_answer_is_stored_beside_a_live_run() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.0.0", "--thread", "r0"]);
    let child = place.busy("r1");

    let needs = place.call(&["approve", "r0"]);
    assert_eq!((needs.code(), needs.err().contains("--record-only")), (1, true), "{}", needs.err());
    let stored = place.json(0, &["approve", "r0", "--record-only", "--by", "ada"]);
    assert_eq!((&stored["status"], &stored["questions"]), (&json!("pending"), &json!([])));
    let late = place.call(&["approve", "r0", "--record-only"]);
    assert_eq!((late.code(), late.err().starts_with("error: thread `r0` has no pending question")), (1, true));
    let early = place.call(&["resume", "r1", "--answer", "1", "--record-only"]);
    assert_eq!(early.code(), 1);
    assert!(early.err().starts_with("error: thread `r1` has no pending question"), "{}", early.err());

    place.idle();
    assert_eq!(ended(child), Some(10));
    let done = place.json(0, &["proceed", "r0"]);
    assert_eq!(done["state"]["decision"], "ship");
}

#[test]
fn a_live_run_takes_an_answer_from_another_process() {
    let place = Place::new();
    let child = place.busy_with("draft", "d1");
    let questions = || place.json(0, &["status", "d1"])["questions"].clone();
    assert!((0..500).any(|_| questions()[0]["name"] == "may_ship"), "{}", questions());
    place.json(0, &["approve", "d1", "--record-only", "--by", "ada"]);
    place.idle();
    assert_eq!(ended(child), Some(0));
    assert_eq!(place.json(0, &["status", "d1"])["state"]["decision"], "ship");
}

#[test]
fn another_process_cancels_a_live_run() {
    let place = Place::new();
    let child = place.busy("r1");
    let cancelled = place.call(&["cancel", "r1"]);
    assert_eq!(cancelled.code(), 0, "{}", cancelled.err());
    let end = cancelled.out().lines().rev().take(3).map(str::to_owned).collect::<Vec<_>>().join("|");
    assert_eq!(end, "  own_tool proceed r1|cancelled; finished work is kept. Resume it with|", "{}", cancelled.out());
    assert_eq!(ended(child), Some(13));

    let nothing = place.call(&["cancel", "r1"]);
    assert_eq!(nothing.code(), 1);
    insta::assert_snapshot!(nothing.err(), @r"
    error: thread `r1` is not running: there is nothing to cancel
     help: `own_tool status r1` shows its status
    ");
    place.idle();
    assert_eq!(place.json(10, &["proceed", "r1"])["state"]["log"], json!(["built 1.2.0"]));
}

#[rstest]
#[case::a_first_run(false)]
#[case::a_resumed_run(true)]
fn events_are_followed_until_the_run_ends(#[case] resumed: bool) {
    let place = Place::new();
    let mut child = place.busy("r1");
    if resumed {
        assert_eq!(place.call(&["cancel", "r1"]).code(), 0);
        child.wait().unwrap();
        child = place.command(&["proceed", "r1"]).stdout(Stdio::null()).spawn().unwrap();
        until_running(&place, &[]);
    }
    let mut follower = place.command(&["events", "r1", "--follow", "--json"]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap());
    let mut followed = vec![];
    while followed.last().is_none_or(|last: &Value| last["kind"] != "custom") {
        followed.push(line(&mut lines)); // while the node waits
    }
    place.idle();
    assert_eq!(ended(child), Some(10));
    followed.extend(lines.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
    assert_eq!(ended(follower), Some(0));

    let kinds = |events: &[Value]| {
        let mut kinds: Vec<Value> = events.iter().map(|event| event["kind"].clone()).collect();
        kinds.dedup(); // the cancelled attempt emitted the same
        kinds
    };
    let recorded = place.json(0, &["events", "r1"]);
    assert_eq!(kinds(&followed), kinds(recorded.as_array().unwrap()));
    let afterwards = place.call(&["events", "r1", "--follow", "--json"]);
    assert_eq!((afterwards.code(), afterwards.out().lines().count()), (0, recorded.as_array().unwrap().len()));
}

#[test]
fn only_the_owner_may_open_the_socket() {
    let place = Place::new();
    let child = place.busy("r1");
    let mode = |path: &str| std::fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(SOCKET), mode(".superstep/store")), (0o600, 0o700));
    place.idle();
    assert_eq!(ended(child), Some(10));
}

#[test]
fn a_stale_socket_does_not_block_the_next_run() {
    let place = Place::new();
    let mut child = place.busy("r1");
    send("-KILL", &child);
    child.wait().unwrap();
    assert!(place.path(SOCKET).exists());
    assert_eq!(place.json(0, &["status", "r1"])["status"], "pending");

    let child = place.busy("r2");
    assert_eq!(place.json(0, &["status", "r2"])["status"], "running");
    place.idle();
    assert_eq!(ended(child), Some(10));
    assert!(!place.path(SOCKET).exists());
}

#[test]
fn a_command_that_needs_the_store_names_the_process_that_holds_it() {
    let place = Place::new();
    let child = place.busy("r1");
    let pid = child.id();
    for words in [
        &["update", "r1", "--values", "{}"][..],
        &["fork", "r1", "--at", "1"],
        &["gc", "--keep-last", "1"],
        &["delete", "r1"],
        &["run", "nap"],
    ] {
        let refused = place.call(words);
        assert_eq!(refused.code(), 1, "{words:?}: {}", refused.err());
        let named = refused.err().contains(&format!("(pid {pid}, own_tool, since 20"));
        assert!(named && refused.err().contains("this command needs the store for itself"), "{}", refused.err());
    }
    place.idle();
    assert_eq!(ended(child), Some(10));
}

#[test]
fn a_hostile_client_does_not_disturb_the_run() {
    let place = Place::new();
    let child = place.busy("r1");
    let too_long = format!("{}\n", "[".repeat(2 << 20));
    let deep = format!("{{\"version\":1,\"ask\":{}\n", "[".repeat(100_000));
    for sent in ["garbage\n", "\n", "null\n", "{}\n", &too_long, &deep, "\u{0}\u{ff}\n"] {
        let (mut stream, mut lines) = connected(&place);
        _ = stream.write_all(sent.as_bytes()); // it may hang up before it has read all
        assert!(line(&mut lines)["failed"]["error"].is_string(), "{}", &sent[..20.min(sent.len())]);
    }
    let (mut stream, mut lines) = connected(&place);
    for request in
        [json!({"ask": "status"}), json!({"version": 2, "ask": "threads"}), json!({"version": 1, "ask": "rm"})]
    {
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        assert_eq!(line(&mut lines)["failed"]["code"], 2);
    }
    stream.write_all(b"{\"version\":1,\"ask\":\"status\",\"thread\":\"r1\"}\n").unwrap();
    assert_eq!(line(&mut lines)["ok"]["status"], "running");

    let half_open: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(place.path(SOCKET)).unwrap()).collect();
    _ = (&half_open[0]).write_all(b"{\"version\":1,");
    _ = (&half_open[1]).write_all(b"{\"version\":1,\"ask\":\"follow\",\"thread\":\"r1\"}\n");
    drop(half_open);
    assert_eq!(place.json(0, &["status", "r1"])["status"], "running");
    place.idle();
    assert_eq!(ended(child), Some(10));
}

#[test]
fn a_long_path_has_its_socket_too() {
    let place = Place::new();
    let store = place.path(&"long/".repeat(40));
    let mut command = place.command(&["run", "release", "1.2.0", "--thread", "r1"]);
    std::fs::write(place.path("busy"), "").unwrap();
    let child = command.env("SUPERSTEP_STORE", &store).stdout(Stdio::null()).spawn().unwrap();
    until_running(&place, &["--store", store.to_str().unwrap()]);
    assert!(store.join("control.sock").exists());
    place.idle();
    assert_eq!(ended(child), Some(10));
}

#[test]
fn concurrent_readers_wait_for_each_other() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let call = |_| place.command(&["status", "r1"]).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<Child> = (0..8).map(call).collect();
    for child in children {
        assert_eq!(ended(child), Some(0));
    }
}
