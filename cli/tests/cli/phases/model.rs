//! Subtasks with a model server: each agent in its own worktree, with a log of the requests.

use serde_json::{Value, json};

use crate::model::developer;
use crate::phases::PLAN;
use crate::place::Place;
use crate::server::{Reply, Server, approve, submits, write};

/// Returns the first message of a person.
fn prompt(request: &Value) -> &str {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = messages.iter().find(|message| message["role"] == "user");
    first.and_then(|first| first["content"].as_str()).unwrap_or_default()
}

/// Returns the id in `Subtask ID: TITLE`.
fn subtask(request: &Value) -> &str {
    let (_, rest) = prompt(request).split_once("Subtask ").unwrap();
    rest.split_once(':').unwrap().0
}

/// Returns the results of tools.
fn results(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

fn file(id: &str) -> &'static str {
    match id {
        "1" => "hands.txt",
        "2" => "face.txt",
        "3" => "dial.txt",
        _ => "case.txt",
    }
}

/// Tries to write and read outside of its worktree, lists the files, then does its task.
fn curious(request: &Value) -> Reply {
    let list = Reply::Call("list", json!({"path": "."}));
    let read = Reply::Call("read", json!({"path": "../../../../README"}));
    developer(request, [write("../stolen.txt", "x"), read, list, write(file(subtask(request)), "x")])
}

#[test]
fn agents_of_subtasks_see_the_plan_and_their_own_worktree_only() {
    let place = Place::phased("");
    let server = Server::start(|request, _| match submits(request) {
        "submit_work" => curious(request),
        _ => approve(request),
    });
    place.write("p.toml", &server.profile(""));
    std::fs::write(place.path().join("repo/README"), "clock\n").unwrap();
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "readme"]);
    assert_eq!(place.approved(), 0);
    let requests = server.requests();
    let works: Vec<&Value> = requests.iter().filter(|request| submits(request) == "submit_work").collect();
    let seen = [("1", 1, "README"), ("2", 1, "README"), ("3", 2, "README face.txt hands.txt")];
    for (id, phase, files) in seen.into_iter().chain([("4", 3, "README dial.txt face.txt hands.txt")]) {
        let own: Vec<_> = works.iter().filter(|request| subtask(request) == id).collect();
        let text = prompt(own[0]);
        assert!(results(own[0]).is_empty(), "a fresh session");
        assert!(text.contains(&format!("Phase {phase} of 3")) && text.contains(PLAN.trim()), "{text}");
        let last = results(own[own.len() - 1]);
        assert!(!last[1].contains("clock"), "it is no file of the worktree: {last:?}");
        assert_eq!(last[2].split_whitespace().collect::<Vec<_>>().join(" "), files);
    }
    for (phase, ids) in [("1", vec!["1", "2"]), ("2", vec!["3"]), ("3", vec!["4"])] {
        let is_its = |request: &&Value| prompt(request).contains(&format!("Phase {phase} of 3"));
        let reviews = requests.iter().filter(|request| submits(request) == "submit_review").filter(is_its);
        let review = reviews.map(prompt).next().unwrap();
        assert!(ids.iter().all(|id| review.contains(&format!("Subtask {id}: "))), "{review}");
    }
    let files = place.git(&["ls-tree", "-r", "--name-only", "superstep/t"]);
    assert_eq!(files, "README\ncase.txt\ndial.txt\nface.txt\nhands.txt\n");
    assert!(!place.path().join("repo/.superstep/stolen.txt").exists());
    place.is_tidy();
}

/// Rejects the session of subtask 2 unless another model continues it.
fn is_refused(request: &Value) -> bool {
    subtask(request) == "2" && request["model"] == "m" && !results(request).is_empty()
}

#[test]
fn a_rejected_session_interrupts_while_siblings_finish() {
    let place = Place::phased("");
    let server = Server::start(|request, _| match submits(request) {
        "submit_work" if is_refused(request) => Reply::Refused(400, ""),
        "submit_work" => developer(request, [write(file(subtask(request)), "x")]),
        _ => approve(request),
    });
    place.write("p.toml", &server.profile(""));
    assert_eq!(place.approved(), 10);
    let status = place.json(&["status", "t"]);
    let question = &status["questions"][0];
    assert_eq!((&question["name"], &question["payload"]["task"]), (&json!("session_refused"), &json!("2")));
    let done = place.call(&["resume", "t", "--answer", r#"{"model": "big"}"#]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let requests = server.requests();
    let works = requests.iter().filter(|request| submits(request) == "submit_work");
    let big: Vec<&str> = works.filter(|request| request["model"] == "big").map(subtask).collect();
    assert!(!big.is_empty() && big.iter().all(|id| *id == "2"), "{big:?}");
    place.is_tidy();
}
