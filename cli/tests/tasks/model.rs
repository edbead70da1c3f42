//! Agents behind a server of models: what they are sent, and what becomes of a server that does not answer.

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Reply, Server, approve, last, submits, work, write};

/// Runs the plan of one task to its end, or to where it stops.
fn run(place: &Place, server: &Server, more: &str) -> i32 {
    place.write("PLAN.md", "# Clock\n\n### Task 1: Face\n\nA face.\n");
    place.write("p.toml", &server.profile(more));
    let asked = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(asked.code(), 10, "{}", asked.told());
    let ended = place.call(&["approve", "t"]);
    ended.0.status.code().unwrap_or_else(|| panic!("{}", ended.told()))
}

/// A developer that calls these tools one after the other, then hands over.
pub(crate) fn developer(asked: &Value, calls: impl IntoIterator<Item = Reply>) -> Reply {
    let results = asked["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").count();
    calls.into_iter().nth(results).unwrap_or_else(work)
}

fn of<'a>(asked: &'a [Value], tool: &str) -> Vec<&'a Value> {
    asked.iter().filter(|asked| submits(asked) == tool).collect()
}

#[test]
fn a_long_diff_is_a_file_whose_files_are_named() {
    let place = Place::new("");
    let server = Server::start(|asked, _| match submits(asked) {
        "submit_work" => developer(asked, [write("long.txt", &"a line of it\n".repeat(20_000)), write("b.txt", "b")]),
        _ => approve(asked),
    });
    assert_eq!(run(&place, &server, ""), 0);
    let asked = server.asked();
    let prompt = last(of(&asked, "submit_review")[0]);
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
    let server = Server::start(|asked, nth| match (nth, submits(asked)) {
        (0, _) => Reply::Refused(429, "retry-after: 1\r\n"),
        (2, _) => Reply::Refused(429, "retry-after: 3600\r\n"),
        (_, "submit_work") => developer(asked, [write("face.txt", "face")]),
        _ => approve(asked),
    });
    assert_eq!(run(&place, &server, ""), 14);
    assert_eq!(server.asked().len(), 3);
    let stand = place.json(&["status", "t"]);
    assert_eq!((&stand["status"], stand["until"].is_string()), (&json!("waiting"), true), "{stand}");
    let again = place.call(&["proceed", "t"]);
    assert_eq!((again.code(), server.asked().len()), (14, 3), "{}", again.told());
    assert!(again.told().contains("waits until"), "{}", again.told());
}

#[test]
fn a_model_that_is_never_there_fails_and_is_asked_again_by_retry() {
    let place = Place::new("");
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = std::sync::Arc::clone(&broken);
    let server = Server::start(move |asked, _| match submits(asked) {
        _ if is_broken.load(std::sync::atomic::Ordering::Relaxed) => Reply::Refused(400, ""),
        "submit_work" => developer(asked, [write("face.txt", "face")]),
        _ => approve(asked),
    });
    assert_eq!(run(&place, &server, ""), 1);
    assert_eq!(place.json(&["status", "t"])["status"], "failed");
    broken.store(false, std::sync::atomic::Ordering::Relaxed);
    let done = place.call(&["retry", "t"]);
    assert_eq!(done.code(), 0, "{}", done.told());
}

#[test]
fn commands_run_behind_the_prefix_and_without_one_a_warning_is_stated() {
    let place = Place::new("");
    let server = Server::start(|asked, _| match submits(asked) {
        "submit_work" => {
            let shell = Reply::Call("shell", json!({"command": "echo mark=$MARK key=$OPENAI_API_KEY"}));
            developer(asked, [shell, write("face.txt", "face")])
        }
        _ => approve(asked),
    });
    let prefix = "command_prefix = ['env', 'MARK=7']";
    assert_eq!(run(&place, &server, &format!("[tools]\nshell = true\n{prefix}\n")), 0);
    let asked = server.asked();
    let told = of(&asked, "submit_work")[1]["messages"].to_string();
    assert!(told.contains("mark=7 key="), "{told}");
    let stated = |place: &Place| {
        let events = place.json(&["events", "t"]);
        let asked = events.as_array().unwrap().iter().find(|event| event["kind"] == "asked").unwrap();
        asked["questions"][0]["payload"]["warnings"].to_string().contains("without a sandbox")
    };
    assert!(!stated(&place));
    let bare = Place::new("");
    assert_eq!(run(&bare, &server, "[tools]\nshell = true\n"), 0);
    assert!(stated(&bare));
}

#[test]
fn a_session_that_the_server_refuses_asks_a_person_and_another_model_goes_on() {
    let place = Place::new("");
    let server = Server::start(|asked, nth| match submits(asked) {
        "submit_work" if nth > 0 && asked["model"] == "m" => Reply::Refused(400, ""),
        "submit_work" => developer(asked, [write("face.txt", "face")]),
        _ => approve(asked),
    });
    assert_eq!(run(&place, &server, ""), 10);
    let stand = place.json(&["status", "t"]);
    let question = &stand["questions"][0];
    assert_eq!((&question["name"], &question["payload"]["role"]), (&json!("session_refused"), &json!("developer")));
    let ended = place.call(&["resume", "t", "--answer", r#"{"model": "big"}"#]);
    assert_eq!(ended.code(), 0, "{}", ended.told());
    let asked = server.asked();
    let models: Vec<&str> = of(&asked, "submit_work").iter().map(|asked| asked["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["m", "m", "big"]);
    assert_eq!(place.json(&["status", "t"])["status"], "finished");
}

#[test]
fn an_outage_is_waited_for_and_shown() {
    let place = Place::new("");
    let server = Server::start(|asked, nth| match submits(asked) {
        _ if nth < 5 => Reply::Refused(503, ""),
        "submit_work" => developer(asked, [write("face.txt", "face")]),
        _ => approve(asked),
    });
    place.write("PLAN.md", "# Clock\n\n### Task 1: Face\n\nA face.\n");
    place.write("p.toml", &server.profile("[retry]\nattempts = 2\nwait = '10ms'\n"));
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let ended = place.call(&["approve", "t"]);
    assert_eq!(ended.code(), 0, "{}", ended.told());
    let told = ended.told();
    assert!(told.contains("503") && told.contains("asks again in") && told.contains("gives up in 600s"), "{told}");
}
