//! Signals: the first one cancels the run, the second one ends the process.

use std::process::{Child, Command};

use crate::place::Place;

pub(crate) fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[rstest::rstest]
#[case("-INT")]
#[case("-TERM")]
#[case("-HUP")]
fn a_signal_cancels_the_run_and_the_thread_resumes_later(#[case] signal: &str) {
    let place = Place::new();
    let mut child = place.busy("r1");
    send(signal, &child);
    assert_eq!(child.wait().unwrap().code(), Some(13));
    assert_eq!(place.json(0, &["status", "r1"])["status"], "pending");
    place.idle();
    assert_eq!(place.json(10, &["proceed", "r1"])["state"]["log"][0], "built 1.2.0");
}

#[test]
fn a_killed_run_resumes_later() {
    let place = Place::new();
    let mut child = place.busy("r1");
    send("-KILL", &child);
    child.wait().unwrap();
    place.idle();
    assert_eq!(place.json(10, &["proceed", "r1"])["status"], "interrupted");
}
