//! Agents with a model server: their requests, and servers that do not answer.

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Reply, Server, approve, last, submits, work, write};

/// Runs the plan of one task to its end, or to the first stop.
fn run(place: &Place, server: &Server, more: &str) -> i32 {
    place.write("PLAN.md", "# Clock\n\n### Task 1: Face\n\nA face.\n");
    place.write("p.toml", &server.profile(more));
    let start = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(start.code(), 10, "{}", start.text());
    let ended = place.call(&["approve", "t"]);
    ended.0.status.code().unwrap_or_else(|| panic!("{}", ended.text()))
}

/// A developer that calls these tools one after the other, then submits.
pub(crate) fn developer(request: &Value, calls: impl IntoIterator<Item = Reply>) -> Reply {
    let results = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
    calls.into_iter().nth(results).unwrap_or_else(work)
}

fn only<'a>(requests: &'a [Value], tool: &str) -> Vec<&'a Value> {
    requests.iter().filter(|requests| submits(requests) == tool).collect()
}

#[test]
fn a_long_diff_is_a_file_and_its_files_are_named() {
    let place = Place::new("");
    let server = Server::start(|request, _| match submits(request) {
        "submit_work" => developer(request, [write("long.txt", &"a line of it\n".repeat(20_000)), write("b.txt", "b")]),
        _ => approve(request),
    });
    assert_eq!(run(&place, &server, ""), 0);
    let requests = server.requests();
    let prompt = last(only(&requests, "submit_review")[0]);
    let file = prompt.split_whitespace().find(|word| word.ends_with(".diff")).unwrap();
    assert!(std::path::Path::new(file).is_absolute(), "{file}");
    let diff = std::fs::read_to_string(file).unwrap();
    assert_eq!(diff.matches("\n+a line of it").count(), 20_000);
    assert!(!prompt.contains("+a line of it"));
    assert!(prompt.contains("+20000 -0 long.txt (new)") && prompt.contains("+1 -0 b.txt (new)"), "{prompt}");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_busy_server_is_waited_for_unless_it_takes_long() {
    let place = Place::new("");
    let server = Server::start(|request, nth| match (nth, submits(request)) {
        (0, _) => Reply::Refused(429, "retry-after: 1\r\n"),
        (2, _) => Reply::Refused(429, "retry-after: 3600\r\n"),
        (_, "submit_work") => developer(request, [write("face.txt", "face")]),
        _ => approve(request),
    });
    assert_eq!(run(&place, &server, ""), 14);
    assert_eq!(server.requests().len(), 3);
    let stand = place.json(&["status", "t"]);
    assert_eq!((&stand["status"], stand["until"].is_string()), (&json!("waiting"), true), "{stand}");
    let again = place.call(&["proceed", "t"]);
    assert_eq!((again.code(), server.requests().len()), (14, 3), "{}", again.text());
    assert!(again.text().contains("waits until"), "{}", again.text());
}

#[test]
fn a_model_that_is_never_available_fails_and_retry_calls_it_again() {
    let place = Place::new("");
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = std::sync::Arc::clone(&broken);
    let server = Server::start(move |request, _| match submits(request) {
        _ if is_broken.load(std::sync::atomic::Ordering::Relaxed) => Reply::Refused(400, ""),
        "submit_work" => developer(request, [write("face.txt", "face")]),
        _ => approve(request),
    });
    assert_eq!(run(&place, &server, ""), 1);
    assert_eq!(place.json(&["status", "t"])["status"], "failed");
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let done = place.call(&["retry", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
}

#[test]
fn commands_run_behind_the_prefix_and_without_one_there_is_a_warning() {
    let place = Place::new("");
    let server = Server::start(|request, _| match submits(request) {
        "submit_work" => {
            let shell = Reply::Call("shell", json!({"command": "echo mark=$MARK key=$OPENAI_API_KEY"}));
            developer(request, [shell, write("face.txt", "face")])
        }
        _ => approve(request),
    });
    let prefix = "command_prefix = ['env', 'MARK=7']";
    assert_eq!(run(&place, &server, &format!("[tools]\nshell = true\n{prefix}\n")), 0);
    let requests = server.requests();
    let messages = only(&requests, "submit_work")[1]["messages"].to_string();
    assert!(messages.contains("mark=7 key="), "{messages}");
    let stated = |place: &Place| {
        let events = place.json(&["events", "t"]);
        let event = events.as_array().unwrap().iter().find(|event| event["kind"] == "asked").unwrap();
        event["questions"][0]["payload"]["warnings"].to_string().contains("without a sandbox")
    };
    assert!(!stated(&place));
    let bare = Place::new("");
    assert_eq!(run(&bare, &server, "[tools]\nshell = true\n"), 0);
    assert!(stated(&bare));
}

#[test]
fn a_rejected_session_interrupts_and_another_model_continues() {
    let place = Place::new("");
    let server = Server::start(|request, nth| match submits(request) {
        "submit_work" if nth > 0 && request["model"] == "m" => Reply::Refused(400, ""),
        "submit_work" => developer(request, [write("face.txt", "face")]),
        _ => approve(request),
    });
    assert_eq!(run(&place, &server, ""), 10);
    let stand = place.json(&["status", "t"]);
    let question = &stand["questions"][0];
    assert_eq!((&question["name"], &question["payload"]["role"]), (&json!("session_refused"), &json!("developer")));
    let ended = place.call(&["resume", "t", "--answer", r#"{"model": "big"}"#]);
    assert_eq!(ended.code(), 0, "{}", ended.text());
    let requests = server.requests();
    let models: Vec<&str> =
        only(&requests, "submit_work").iter().map(|request| request["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["m", "m", "big"]);
    assert_eq!(place.json(&["status", "t"])["status"], "finished");
}

#[test]
fn an_outage_is_waited_for_and_shown() {
    let place = Place::new("");
    let server = Server::start(|request, nth| match submits(request) {
        _ if nth < 5 => Reply::Refused(503, ""),
        "submit_work" => developer(request, [write("face.txt", "face")]),
        _ => approve(request),
    });
    place.write("PLAN.md", "# Clock\n\n### Task 1: Face\n\nA face.\n");
    place.write("p.toml", &server.profile("[retry]\nattempts = 2\nwait = '10ms'\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let ended = place.call(&["approve", "t"]);
    assert_eq!(ended.code(), 0, "{}", ended.text());
    let text = ended.text();
    assert!(text.contains("503") && text.contains("asks again in") && text.contains("gives up in 600s"), "{text}");
}
