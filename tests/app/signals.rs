//! Signals on the command line: listed, discarded, sent once for each key, and sent to a thread that another process runs.

use serde_json::{Value, json};

use crate::interrupts::send;
use crate::place::Place;

const INPUT: &str = r#"{"millis": 3600000, "on_call": true}"#;
const ADA: &str = r#"{"by": "ada"}"#;
const BOB: &str = r#"{"by": "bob"}"#;

fn waiting() -> Place {
    let place = Place::new();
    place.json(14, &["run", "nap", "--input", INPUT, "--thread", "n1"]);
    place
}

#[test]
fn a_signal_is_discarded_by_its_id() {
    let place = waiting();
    let first = place.json(0, &["signal", "n1", "call", ADA])["signal"].clone();
    let second = place.json(0, &["signal", "n1", "call", BOB])["signal"].clone();
    let first = first.as_str().unwrap();
    assert!(place.call(&["status", "n1"]).out().contains(&format!("in its mailbox: {first} `call`")));
    let rest = place.json(0, &["signal", "n1", "--discard", first]);
    assert_eq!((rest["mailbox"].as_array().unwrap().len(), &rest["mailbox"][0]["id"]), (1, &second));
    let again = place.call(&["signal", "n1", "--discard", first]);
    assert_eq!(again.code(), 1);
    insta::assert_snapshot!(again.err().replace(first, "ID"), @r"
    error: signal ID is not in the mailbox of thread `n1`
     help: a task has received it, or it was discarded; `own_tool status n1` lists the signals in the mailbox
    ");
    let wrong = place.call(&["signal", "n1", "--discard", "first"]);
    assert_eq!(wrong.code(), 2);
    insta::assert_snapshot!(wrong.err(), @r"
    error: `first` is not the id of a signal
     help: `own_tool status n1` lists the signals in the mailbox
    ");
    assert_eq!(place.json(0, &["proceed", "n1"])["state"]["caller"], "bob");
}

#[test]
fn discard_takes_no_name_and_send_requires_one() {
    let place = waiting();
    assert_eq!(place.call(&["signal", "n1", "call", "--discard", "1-2"]).code(), 2);
    assert_eq!(place.call(&["signal", "n1"]).code(), 2);
}

#[test]
fn a_second_signal_with_the_same_key_returns_the_first() {
    let place = waiting();
    let sent = |value: &str, key: &str| place.json(0, &["signal", "n1", "call", value, "--key", key])["signal"].clone();
    let first = sent(ADA, "7");
    assert_eq!(sent(BOB, "7"), first);
    assert_ne!(sent(BOB, "8"), first);
    assert_eq!(place.json(0, &["status", "n1"])["mailbox"].as_array().unwrap().len(), 2);
    assert_eq!(place.json(0, &["proceed", "n1"])["state"]["caller"], "ada");
    assert_eq!(sent(BOB, "7"), first, "also after it was received");
}

#[test]
fn a_signal_is_delivered_through_the_process_that_holds_the_store() {
    let place = waiting();
    let mut child = place.busy("r1");
    let sent = place.json(0, &["signal", "n1", "call", ADA, "--key", "7"]);
    assert_eq!(sent["status"], "pending");
    assert_eq!(place.json(0, &["signal", "n1", "call", BOB, "--key", "7"])["signal"], sent["signal"]);
    let other = place.json(0, &["signal", "n1", "call", BOB])["signal"].clone();
    let rest = place.json(0, &["signal", "n1", "--discard", other.as_str().unwrap()]);
    assert_eq!(rest["mailbox"].as_array().unwrap().len(), 1);
    send("-KILL", &child);
    child.wait().unwrap();
    let end = place.json(0, &["proceed", "n1"]);
    assert_eq!((&end["state"]["caller"], end.get("mailbox")), (&json!("ada"), None::<&Value>), "delivered once");
    assert_eq!(place.json(0, &["proceed", "n1"])["state"]["caller"], "ada");
}
