//! Sessions that outlive their process: continued, forked, killed at every message, truncated, lost.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::{AgentEvent, Driver, DriverErrorClass, Session, SessionStore};

use super::{Scene, after, at, work_done};
use crate::model_server::{Answer, Hang, How, When};

/// Each answer matches a position in the conversation, so that a repeated request gets the same answer.
fn three_steps() -> [Answer; 4] {
    let answers = [
        (2, Answer::call("read", json!({ "path": "a.txt" }))),
        (
            4,
            Answer::call("write", json!({ "path": "b.txt", "content": "one" }))
                .and_call("edit", json!({ "path": "b.txt", "old": "one", "new": "two" })),
        ),
        (7, Answer::call("list", json!({ "path": "." }))),
        (9, Answer::call("submit_work", work_done()).and_call("read", json!({ "path": "b.txt" }))),
    ];
    answers.map(|(messages, answer)| answer.when(When { messages: Some(messages), ..When::default() }).always())
}

/// Truncates a file to its first lines, as a kill at that moment would.
fn keep_lines(file: &std::path::Path, count: usize) {
    let stored = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, stored.lines().take(count).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

#[tokio::test]
async fn another_process_continues_a_session() {
    let scene = Scene::of([Answer::text("first"), Answer::text("second")]).await;
    let first = scene.finish(scene.request("thread/task 1/attempt 1", "Do it.")).await.unwrap();
    let mut request = scene.request("thread/task 1/attempt 2", "Do it better.");
    request.session = after(&first);
    let second = scene.finish(request).await.unwrap();
    assert_eq!(second.session.as_ref().unwrap().id, first.session.as_ref().unwrap().id);
    let requests = scene.server.requests();
    assert_eq!(requests[1].roles(), "system user assistant user");
    assert!(requests[1].messages().starts_with(&requests[0].messages()));
    assert_eq!(requests[1].last(), "Do it better.");
}

#[tokio::test]
async fn forks_do_not_see_each_other() {
    let scene = Scene::of([Answer::text("an answer").always()]).await;
    let first = scene.finish(scene.request("1", "trunk")).await.unwrap();
    for (turn, prompt) in [("2a", "left"), ("2b", "right")] {
        let mut request = scene.request(turn, prompt);
        request.session = after(&first);
        scene.finish(request).await.unwrap();
    }
    let mut request = scene.request("3a", "further left");
    request.session = at("1", "2a");
    scene.finish(request).await.unwrap();
    let prompts: Vec<String> = scene
        .server
        .requests()
        .iter()
        .map(|request| {
            let messages = request.messages();
            let users = messages.iter().filter(|message| message["role"] == "user");
            users.map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(", ")
        })
        .collect();
    assert_eq!(prompts, ["trunk", "trunk, left", "trunk, right", "trunk, left, further left"]);
}

#[tokio::test]
async fn an_ended_turn_is_not_run_again() {
    let scene = Scene::of(three_steps()).await;
    let api = scene.api();
    assert_eq!(api.finished_turn(None, "t").await.unwrap(), None);
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    assert_eq!(api.finished_turn(None, "t").await.unwrap(), Some(finished.clone()));
    assert_eq!(api.finished_turn(None, "other").await.unwrap(), None);
    assert_eq!(scene.finish(scene.request("t", "x")).await.unwrap(), finished);
    assert_eq!(scene.server.requests().len(), 4);
    let mut next = scene.request("t2", "x");
    next.session = after(&finished);
    let error = scene.finish(next).await.unwrap_err();
    assert_eq!(error.class, DriverErrorClass::Fatal, "the scenario has no more answers: {error}");
    assert_eq!(api.finished_turn(finished.session.as_ref(), "t2").await.unwrap(), None);
}

/// Drops a turn after each of its events in turn; another driver runs it again.
#[tokio::test]
async fn a_killed_turn_resumes_where_it_was() {
    let undisturbed = Scene::of(three_steps()).await;
    let (events, ended) = undisturbed.run(undisturbed.request("t", "x")).await;
    let whole = ended.unwrap();
    let last = undisturbed.server.requests()[3].messages();
    for cut in 0..events.len() {
        let scene = Scene::of(three_steps()).await;
        {
            let api = scene.api();
            let mut events = api.run(scene.request("t", "x"));
            for _ in 0..cut {
                events.next().await.unwrap().unwrap();
            }
        }
        let finished = scene.finish(scene.request("t", "x")).await.unwrap();
        let requests = scene.server.requests();
        assert_eq!(finished.submitted, whole.submitted, "after {cut} events");
        assert!(requests.len() <= 5, "after {cut} events: {} requests", requests.len());
        assert_eq!(std::fs::read_to_string(scene.work().join("b.txt")).unwrap(), "two", "after {cut} events");
        let messages = requests.last().unwrap().messages();
        assert_eq!(messages.len(), last.len(), "after {cut} events");
        let ids = |messages: &[serde_json::Value]| -> Vec<_> {
            messages.iter().map(|message| (message["role"].clone(), message["tool_call_id"].clone())).collect()
        };
        assert_eq!(ids(&messages), ids(&last), "after {cut} events");
    }
}

/// The second unreadable submission ends a turn, whichever process received the first. The turn is ahead of its events: a request
/// may be under way when it is killed, and is repeated.
#[rstest]
#[case::at_once(1)]
#[case::during_the_next_request(2)]
#[tokio::test]
async fn a_killed_turn_counts_its_earlier_answers(#[case] requests: usize) {
    let broken = || Answer::call("submit_work", json!("{")).and_call("list", json!({ "path": "." }));
    let unanswered = broken().how(How { hang: Some(Hang::Stalled), ..How::default() });
    let second = if requests == 2 { unanswered } else { broken() };
    let scene = Scene::of([broken(), second, broken()]).await;
    {
        let api = scene.api();
        let mut events = api.run(scene.request("t", "x"));
        while !matches!(events.next().await.unwrap().unwrap(), AgentEvent::ToolResult { .. }) {}
        while scene.server.requests().len() < requests {
            _ = tokio::time::timeout(Duration::from_millis(1), events.next()).await;
        }
    }
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    let asked: Vec<usize> = scene.server.requests().iter().map(|request| request.messages().len()).collect();
    let (first, later) = asked.split_first().unwrap();
    assert_eq!((finished.submitted, later.iter().copied().collect()), (None, BTreeSet::from([first + 3])), "{asked:?}");
    let stored = scene.stored();
    assert_eq!(stored.matches("\"arguments\":").count(), stored.matches("\"tool_call_id\"").count());
}

/// Tries every stored state that a kill can leave: the file cut after each line, and within each line.
#[tokio::test]
async fn a_turn_resumes_from_any_stored_state() {
    let undisturbed = Scene::of(three_steps()).await;
    undisturbed.finish(undisturbed.request("t", "x")).await.unwrap();
    let file = undisturbed.store().join("t/t.jsonl");
    let whole = std::fs::read(&file).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let cuts = ends.iter().flat_map(|end| [*end, end.saturating_sub(1), end.saturating_sub(20)]).chain([0, 5]);
    for cut in cuts {
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let answers = whole[..ends.get(complete.wrapping_sub(1)).copied().unwrap_or(0)].to_vec();
        let given = String::from_utf8_lossy(&answers).matches("\"role\":\"assistant\"").count();
        let scene = Scene::of(three_steps()).await;
        std::fs::create_dir_all(scene.store().join("t")).unwrap();
        std::fs::write(scene.store().join("t/t.jsonl"), &whole[..cut]).unwrap();
        std::fs::write(scene.work().join("b.txt"), "one").unwrap();
        let finished = scene.finish(scene.request("t", "x")).await;
        let finished = finished.unwrap_or_else(|error| panic!("cut at {cut}, {complete} lines: {error}"));
        assert_eq!(finished.submitted, Some(work_done()), "cut at {cut}");
        assert_eq!(scene.server.requests().len(), 4 - given, "cut at {cut}: no request is made twice");
        let stored = std::fs::read_to_string(scene.store().join("t/t.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> = stored.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), ends.len(), "cut at {cut}:\n{stored}");
    }
}

#[tokio::test]
async fn a_call_that_may_run_twice_is_reported() {
    let scene =
        Scene::of([Answer::call("write", json!({ "path": "b.txt", "content": "one" })), Answer::text("ok")]).await;
    scene.finish(scene.request("t", "x")).await.unwrap();
    let file = scene.store().join("t/t.jsonl");
    keep_lines(&file, 4);
    let again =
        Scene { server: crate::model_server::ModelServer::start([Answer::text("ok")]).await, folder: scene.folder };
    let (events, ended) = again.run(again.request("t", "x")).await;
    ended.unwrap();
    assert!(again.server.requests()[0].last().starts_with("note: the process was stopped during this call"));
    let warns =
        |event: &AgentEvent| matches!(event, AgentEvent::Notice(text) if text.contains("`write` may have been"));
    assert!(events.iter().any(warns), "{events:?}");
}

#[tokio::test]
async fn an_unknown_session_is_lost() {
    let scene = Scene::of([Answer::text("x").always()]).await;
    let finished = scene.finish(scene.request("1", "x")).await.unwrap();
    for session in [at("none", "1"), at("1", "none"), at("1", "")] {
        let mut request = scene.request("2", "y");
        request.session = session;
        assert_eq!(scene.finish(request).await.unwrap_err().class, DriverErrorClass::SessionLost);
    }
    SessionStore::new(scene.store()).forget("1").unwrap();
    let mut request = scene.request("2", "y");
    request.session = after(&finished);
    assert_eq!(scene.finish(request).await.unwrap_err().class, DriverErrorClass::SessionLost);
    assert_eq!(scene.server.requests().len(), 1);
}

#[tokio::test]
async fn a_damaged_session_is_lost_and_not_repaired() {
    let scene = Scene::of([Answer::text("x").always()]).await;
    scene.finish(scene.request("1", "x")).await.unwrap();
    let file = scene.store().join("1/1.jsonl");
    let stored = std::fs::read_to_string(&file).unwrap().replacen("\"user\"", "\"us", 1);
    std::fs::write(&file, stored).unwrap();
    let mut request = scene.request("2", "y");
    request.session = at("1", "1");
    let error = scene.finish(request).await.unwrap_err();
    assert_eq!(error.class, DriverErrorClass::SessionLost);
    assert!(error.message.contains("line 3"), "{error}");
}

#[tokio::test]
async fn calls_left_without_results_get_them_before_the_next_prompt() {
    let scene = Scene::of([
        Answer::call("read", json!({ "path": "a.txt" })).and_call("list", json!({ "path": "." })),
        Answer::text("ok").always(),
    ])
    .await;
    scene.finish(scene.request("1", "x")).await.unwrap();
    keep_lines(&scene.store().join("1/1.jsonl"), 5);
    let mut request = scene.request("2", "and now?");
    request.session = at("1", "1");
    scene.finish(request).await.unwrap();
    let requests = scene.server.requests();
    assert_eq!(requests[2].roles(), "system user assistant tool tool user");
    assert_eq!(requests[2].messages()[4]["content"], "error: not carried out; the turn ended before");
}

#[tokio::test]
async fn files_are_private_and_any_key_is_a_name() {
    let scene = Scene::of([Answer::text("x").always()]).await;
    for key in ["../../escape", "a/b\0c", "ÄÖ", "", &"long ".repeat(200), "CON", "."] {
        let finished = scene.finish(scene.request(key, "x")).await.unwrap();
        let at = finished.session.unwrap();
        assert!(key.is_empty() || at.id == key);
    }
    let outside = std::fs::read_dir(scene.folder.path()).unwrap().count();
    assert_eq!(outside, 2, "nothing but the folder to work in and the store");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.store()), 0o700);
    let session = std::fs::read_dir(scene.store()).unwrap().next().unwrap().unwrap().path();
    let turn = std::fs::read_dir(&session).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&session), mode(&turn)), (0o700, 0o600));
}

#[tokio::test]
async fn a_turn_belongs_to_one_process_at_a_time() {
    let how = How { hang: Some(crate::model_server::Hang::Silent), ..How::default() };
    let scene = Scene::of([Answer::text("x").how(how)]).await;
    let request = scene.request("t", "x");
    let cancel = request.cancel.clone();
    let (first, ()) = tokio::join!(scene.finish(request), async {
        scene.server.wait_for(1).await;
        let error = scene.finish(scene.request("t", "x")).await.unwrap_err();
        assert!(error.message.contains("by another process"), "{error}");
        cancel.cancel();
    });
    assert_eq!(first.unwrap_err().class, DriverErrorClass::Cancelled);
}

#[tokio::test]
async fn a_key_used_for_another_turn_is_refused() {
    let scene = Scene::of([Answer::text("x").always()]).await;
    let first = scene.finish(scene.request("1", "x")).await.unwrap();
    let mut request = scene.request("2", "y");
    request.session = after(&first);
    scene.finish(request).await.unwrap();
    let mut request = scene.request("2", "y");
    request.session = at("1", "2");
    let error = scene.finish(request).await.unwrap_err();
    assert!([DriverErrorClass::Fatal, DriverErrorClass::SessionLost].contains(&error.class), "{error}");
    let mut request = scene.request("1", "new");
    request.session = Session::New;
    assert_eq!(scene.finish(request).await.unwrap(), first, "the same key is the same turn");
}

/// Returns the arguments of all calls that a request sends back.
fn arguments(request: &crate::model_server::Request) -> Vec<String> {
    let messages = request.messages();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    calls.map(|call| call["function"]["arguments"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn broken_arguments_are_never_sent_back_verbatim() {
    let broken = Answer::call("read", json!("{\"path\": \"a"))
        .and_call("list", json!("[1]"))
        .and_call("grep", json!(""))
        .and_call("submit_work", json!("{\"summary\": "));
    let scene = Scene::of([broken, Answer::call("submit_work", work_done())]).await;
    let (events, finished) = scene.run(scene.request("t", "x")).await;
    assert_eq!(finished.unwrap().submitted, Some(work_done()));
    let sent = arguments(&scene.server.requests()[1]);
    assert_eq!(sent.len(), 4);
    for arguments in &sent {
        assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    }
    assert!(sent[0].contains("path"), "the model sees what it wrote: {}", sent[0]);
    let text = serde_json::to_string(&events).unwrap();
    assert!(text.contains("not JSON") && !text.contains("unreadable_arguments"), "{text}");
}

#[tokio::test]
async fn broken_arguments_in_a_stored_session_are_repaired() {
    let whole = Answer::call("read", json!({ "path": "a.txt" }));
    let scene = Scene::of([whole, Answer::text("done"), Answer::text("done")]).await;
    let first = scene.finish(scene.request("t", "x")).await.unwrap();
    let file = scene.store().join("t/t.jsonl");
    let stored = std::fs::read_to_string(&file).unwrap();
    let broken = stored.replace(r#""{\"path\":\"a.txt\"}""#, r#""{\"path\":\"a""#);
    assert_ne!(stored, broken, "{stored}");
    std::fs::write(&file, broken).unwrap();
    let request = superstep::drivers::AgentRequest { session: after(&first), ..scene.request("u", "more") };
    scene.finish(request).await.unwrap();
    let sent = arguments(scene.server.requests().last().unwrap());
    assert!(serde_json::from_str::<Value>(&sent[0]).unwrap().is_object(), "{sent:?}");
}
