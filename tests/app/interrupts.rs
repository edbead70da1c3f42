//! Signals: what runs is cancelled once, and the process ends the second time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::place::Place;

/// A run whose node waits, and which has said so.
fn busy(place: &Place) -> Child {
    std::fs::write(place.path("busy"), "").unwrap();
    let mut command = place.command(&["run", "release", "1.2.0", "--thread", "r1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "thread r1\n");
    child
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[rstest::rstest]
#[case("-INT")]
#[case("-TERM")]
#[case("-HUP")]
fn a_signal_cancels_and_the_thread_goes_on_later(#[case] signal: &str) {
    let place = Place::new();
    let mut child = busy(&place);
    send(signal, &child);
    assert_eq!(child.wait().unwrap().code(), Some(13));
    assert_eq!(place.json(0, &["status", "r1"])["status"], "pending");
    std::fs::remove_file(place.path("busy")).unwrap();
    assert_eq!(place.json(10, &["proceed", "r1"])["state"]["log"][0], "built 1.2.0");
}

#[test]
fn a_killed_run_goes_on_later() {
    let place = Place::new();
    let mut child = busy(&place);
    let locked = place.call(&["status", "r1"]);
    assert_eq!(locked.code(), 1);
    assert!(locked.err().contains(&format!("pid {}", child.id())), "{}", locked.err());
    send("-KILL", &child);
    child.wait().unwrap();
    std::fs::remove_file(place.path("busy")).unwrap();
    let known = place.json(0, &["threads"]);
    if known.as_array().unwrap().is_empty() {
        return; // it died before its input was stored
    }
    assert_eq!(place.json(10, &["proceed", "r1"])["status"], "interrupted");
}
