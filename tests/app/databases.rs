//! Commands about the past of threads and about whole stores, in PostgreSQL as in a directory: history, forks, replays, tags, removal,
//! transport between stores of all kinds, and a role that may only read.

use rstest::rstest;
use serde_json::{Value, json};

use crate::place::Place;
use crate::server;

/// Makes a thread with a tag and a past, and another that waits for a time.
fn fill(place: &Place) {
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(10, &["revise", "r1", "--feedback", "less code"]);
    assert_eq!(place.call(&["tag", "r1", "asked"]).code(), 0);
    place.json(0, &["approve", "r1", "--by", "ada"]);
    place.json(14, &["run", "nap", "--input", r#"{"millis": 3600000, "on_call": true}"#, "--thread", "n1"]);
}

/// Returns what commands that look print of a store.
fn seen(place: &Place, store: &str) -> Vec<Value> {
    let look = |words: &[&str]| place.json(0, &[words, &["--store", store]].concat());
    let mut threads = look(&["threads"]);
    for thread in threads.as_array_mut().unwrap() {
        thread
            .as_object_mut()
            .unwrap()
            .retain(|key, _| ["thread", "graph", "status", "checkpoint", "step"].contains(&&**key));
    }
    let mut all = vec![threads];
    for words in [&["history", "r1"][..], &["tag", "r1"], &["events", "r1"], &["diff", "r1", "2", "5"]] {
        all.push(look(words));
    }
    all.push(look(&["replay", "r1", "--mode", "verify"]));
    all.push(look(&["status", "n1"])["state"].clone());
    all
}

#[test]
fn threads_are_copied_between_stores_of_all_kinds() {
    let (Some(first), Some(second)) = (server::new_store(), server::new_store()) else { return };
    let place = Place::new();
    fill(&place);
    let kinds = ["fjall:one", &first, "sled:two", &second, "fjall:three", "sled:four"];
    let mut from = ".superstep/store";
    let before = seen(&place, from);
    for to in kinds {
        let copied = place.call(&["copy-store", from, to]);
        assert_eq!(copied.code(), 0, "from {from} to {to}: {}", copied.err());
        assert_eq!(seen(&place, to), before, "from {from} to {to}");
        from = to;
    }
    let again = place.call(&["copy-store", from, &first]);
    assert!(
        again.err().contains("2 threads were there already") || again.out().contains("2 threads were there already")
    );
    place.json(0, &["signal", "n1", "call", r#"{"by": "bo"}"#, "--store", &second]);
    assert_eq!(place.json(0, &["proceed", "n1", "--store", &second])["state"]["caller"], "bo");
}

#[rstest]
#[case::directory(false)]
#[case::database(true)]
fn the_past_of_a_thread_is_changed_and_looked_at(#[case] is_database: bool) {
    let place = match is_database {
        false => Place::new(),
        true => match server::new_store() {
            Some(address) => Place::on(address),
            None => return,
        },
    };
    fill(&place);
    let asked = place.json(0, &["tag", "r1"])[0]["checkpoint"].to_string();
    place.json(0, &["fork", "r1", "--at", &asked, "--to", "r2"]);
    let forked = place.json(10, &["proceed", "r2"]);
    assert_eq!(forked["questions"][0]["name"], "may_ship", "{forked}");
    let rejected = place.json(12, &["reject", "r2", "--feedback", "no"]);
    assert_eq!(rejected["status"], "finished", "{rejected}");
    let what_if = place.call(&["replay", "r1", "--mode", "what-if", "--json"]);
    assert_eq!(what_if.code(), 0, "{}", what_if.err());
    place.json(0, &["update", "r1", "--values", r#"{"version": "9.9.9"}"#]);
    assert_eq!(place.json(0, &["status", "r1"])["state"]["version"], "9.9.9");
    assert_eq!(place.call(&["export", "r1", "r1.superstep"]).code(), 0);
    assert_eq!(place.call(&["import", "r1.superstep", "--thread", "r3", "--trust"]).code(), 0);
    assert_eq!(place.json(0, &["status", "r3"])["state"], place.json(0, &["status", "r1"])["state"]);
    let before = place.json(0, &["history", "r1"]).as_array().unwrap().len();
    assert_eq!(place.call(&["gc", "--keep-last", "1"]).code(), 0);
    let after = place.json(0, &["history", "r1"]);
    assert!(after.as_array().unwrap().len() < before, "{after}");
    assert_eq!(place.json(0, &["tag", "r1"])[0]["tag"], json!("asked"));
    assert_eq!(place.call(&["delete", "r3"]).code(), 0);
    assert_eq!(place.call(&["status", "r3"]).code(), 1);
}

#[test]
fn a_role_that_may_only_select_looks_at_everything_and_changes_nothing() {
    let Some(address) = server::new_store() else { return };
    let (server, schema) = (server::shared().unwrap(), address.rsplit_once('=').unwrap().1.to_owned());
    let place = Place::on(address.clone());
    fill(&place);
    server.sql(&format!(
        "CREATE ROLE looker LOGIN; GRANT USAGE ON SCHEMA {schema} TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO looker"
    ));
    let looker = address.replace("postgres@", "looker@");
    let own = seen(&place, &address);
    let reader = Place::on(looker.clone());
    let look = |code: i32, words: &[&str]| reader.json(code, &[words, &["--read-only"]].concat());
    for words in
        [&["threads"][..], &["history", "r1"], &["tag", "r1"], &["events", "r1"], &["replay", "r1", "--mode", "verify"]]
    {
        look(0, words);
    }
    assert_eq!(look(0, &["history", "r1"]), own[1]);
    assert_eq!(look(0, &["status", "n1"])["status"], "awaiting-signal");
    assert_eq!(reader.call(&["export", "r1", "r1.superstep", "--read-only"]).code(), 0);
    for words in
        [&["run", "release", "1.2.0"][..], &["delete", "r1"], &["tag", "r1", "new"], &["gc", "--keep-last", "1"]]
    {
        let refused = reader.call(&[words, &["--read-only"]].concat());
        assert_eq!(refused.code(), 1, "{words:?}: {}", refused.out());
    }
    assert_eq!(seen(&place, &address), own);
}
