//! The wire format: requests as they are sent, and answers in every shape that servers use.

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::Price;
use superstep::drivers::api::{ApiConfig, ApiDriver};
use superstep::drivers::{AgentEvent, Driver, DriverExt, SessionStore, TurnStatus, Usage};

use super::{KEY, Scene, work_done};
use crate::model_server::{Answer, Call, How, Tokens, When};

#[tokio::test]
async fn a_turn_reads_writes_and_submits() {
    let scene = Scene::of([
        Answer::call("read", json!({ "path": "a.txt" })),
        Answer::call("write", json!({ "path": "b.txt", "content": "moons" }))
            .when(When { result: Some("tides".to_owned()), ..When::default() }),
        Answer::call("submit_work", work_done()),
    ])
    .await;
    let finished = scene.finish(scene.request("t1", "Do it.")).await.unwrap();
    assert_eq!(finished.status, TurnStatus::Done);
    assert_eq!(finished.submitted, Some(work_done()));
    assert_eq!(finished.usage.requests, 3);
    assert_eq!(std::fs::read_to_string(scene.work().join("b.txt")).unwrap(), "moons");

    let requests = scene.server.requests();
    let roles: Vec<String> = requests.iter().map(|requests| requests.roles()).collect();
    assert_eq!(roles, ["system user", "system user assistant tool", "system user assistant tool assistant tool",]);
    for (earlier, later) in requests.iter().zip(&requests[1..]) {
        assert!(later.messages().starts_with(&earlier.messages()), "nothing is dropped or changed");
    }
    assert_eq!(requests[0].path, "/v1/chat/completions");
    assert_eq!(requests[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(requests[0].offers(), ["read", "list", "grep", "write", "edit", "submit_work"]);
    assert_eq!(requests[0].body["model"], "m");
    assert_eq!(requests[0].body["stream"], true);
    assert_eq!(requests[1].messages()[2]["tool_calls"][0]["id"], "read-0");
    assert_eq!(requests[1].messages()[3], json!({ "role": "tool", "tool_call_id": "read-0", "content": "tides" }));
    assert!(scene.stored().contains("received"), "the submission got its result");
}

#[rstest]
#[case::one_byte_at_a_time(How { bytes: 1, ..How::default() })]
#[case::three_bytes(How { bytes: 3, ..How::default() })]
#[case::letters(How { piece: 1, ..How::default() })]
#[case::letters_and_bytes(How { piece: 2, bytes: 7, ..How::default() })]
#[case::crlf(How { crlf: true, bytes: 1, ..How::default() })]
#[case::comments(How { comments: true, ..How::default() })]
#[case::no_done(How { no_done: true, ..How::default() })]
#[case::done_only(How { no_finish: true, ..How::default() })]
#[case::in_turns(How { mixed: true, piece: 3, ..How::default() })]
#[case::no_index(How { no_index: true, ..How::default() })]
#[case::no_index_in_pieces(How { no_index: true, piece: 3, ..How::default() })]
#[case::json(How { json: true, ..How::default() })]
#[case::json_unsaid(How { json: true, no_content_type: true, bytes: 5, ..How::default() })]
#[case::events_unsaid(How { no_content_type: true, bytes: 5, ..How::default() })]
#[case::thinking_elsewhere(How { thinking_field: Some("reasoning".to_owned()), ..How::default() })]
#[case::odd_reason(How { finish: Some("stop".to_owned()), ..How::default() })]
#[tokio::test]
async fn an_answer_is_the_same_in_every_shape(#[case] how: How) {
    let mut answer = Answer::call("write", json!({ "path": "ü.txt", "content": "größe \"1\"\n🌊" }))
        .and_call("read", json!({ "path": "a.txt" }))
        .and_call("submit_work", json!({ "summary": "größe" }));
    answer.text = "Ich schreibe: größe 🌊.".to_owned();
    answer.thinking = "Hm, größe …".to_owned();
    answer.usage = Some(Tokens { read: 100, cached: 60, written: 7 });
    let scene = Scene::of([answer.how(how)]).await;
    let (events, ended) = scene.run(scene.request("t", "x")).await;
    let finished = ended.unwrap();
    assert_eq!(finished.text, "Ich schreibe: größe 🌊.");
    assert_eq!(finished.submitted, Some(json!({ "summary": "größe" })));
    let ms = finished.usage.ms;
    assert_eq!(finished.usage, Usage { input: 40, cache_read: 60, output: 7, requests: 1, ms, ..Usage::default() });
    assert_eq!(std::fs::read_to_string(scene.work().join("ü.txt")).unwrap(), "größe \"1\"\n🌊");
    let text = |pick: fn(&AgentEvent) -> Option<&str>| events.iter().filter_map(pick).collect::<String>();
    assert_eq!(text(|event| if let AgentEvent::Text(text) = event { Some(text) } else { None }), finished.text);
    let thinking = |event: &AgentEvent| if let AgentEvent::Thinking(text) = event { Some(text.clone()) } else { None };
    assert_eq!(events.iter().filter_map(thinking).collect::<String>(), "Hm, größe …");
    let results = events.iter().filter(|event| matches!(event, AgentEvent::ToolResult { ok: true, .. }));
    assert_eq!(results.count(), 3);
}

#[rstest]
#[case::without_ids(vec![("read", json!({ "path": "a.txt" })), ("list", json!({ "path": "." }))], How::default())]
#[case::without_ids_or_index(
    vec![("read", json!({ "path": "a.txt" })), ("read", json!({ "path": "b.txt" }))],
    How { no_index: true, ..How::default() }
)]
#[tokio::test]
async fn calls_without_ids_get_some(#[case] calls: Vec<(&str, Value)>, #[case] how: How) {
    let calls: Vec<Call> =
        calls.into_iter().map(|(name, arguments)| Call { id: None, name: name.to_owned(), arguments }).collect();
    let count = calls.len();
    let scene = Scene::of([Answer { calls, how, ..Answer::default() }, Answer::text("done")]).await;
    assert_eq!(scene.finish(scene.request("t", "x")).await.unwrap().text, "done");
    let messages = scene.server.requests()[1].messages();
    let sent = messages[2]["tool_calls"].as_array().unwrap();
    let (ids, results): (Vec<_>, Vec<_>) =
        sent.iter().zip(&messages[3..]).map(|(call, result)| (&call["id"], &result["tool_call_id"])).unzip();
    assert_eq!(ids.len(), count);
    assert_eq!(ids, results);
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.as_str().unwrap().is_empty()), "{ids:?}");
}

#[rstest]
#[case::events(How::default())]
#[case::json(How { json: true, ..How::default() })]
#[tokio::test]
async fn calls_that_share_an_id_stay_apart(#[case] how: How) {
    let call = |path| Call { id: Some("same".to_owned()), name: "read".to_owned(), arguments: json!({ "path": path }) };
    let calls = vec![call("a.txt"), call("b.txt")];
    let scene = Scene::of([Answer { calls, how, ..Answer::default() }, Answer::text("done")]).await;
    assert_eq!(scene.finish(scene.request("t", "x")).await.unwrap().text, "done");
    let messages = scene.server.requests()[1].messages();
    assert_eq!(messages[2]["tool_calls"].as_array().unwrap().len(), 2);
    assert_eq!(messages[3..].iter().filter(|result| result["tool_call_id"] == "same").count(), 2);
}

#[tokio::test]
async fn every_call_gets_a_result() {
    let cut = Value::String("{\"path\": \"a".to_owned());
    let scene = Scene::of([
        Answer::call("fly", json!({ "to": "moon" }))
            .and_call("read", cut)
            .and_call("read", json!({ "path": "../secret" }))
            .and_call("read", json!(["a.txt"]))
            .and_call("read", json!({ "path": "a.txt" }))
            .and_call("submit_work", Value::String("{\"summary\":".to_owned())),
        Answer::call("submit_work", work_done()).and_call("submit_work", json!({ "summary": "again" })),
    ])
    .await;
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    assert_eq!(finished.submitted, Some(work_done()));
    let messages = scene.server.requests()[1].messages();
    let results: Vec<(&str, &str)> = messages[3..]
        .iter()
        .map(|result| (result["tool_call_id"].as_str().unwrap(), result["content"].as_str().unwrap()))
        .collect();
    insta::assert_snapshot!(results.iter().map(|(id, text)| format!("{id}: {text}")).collect::<Vec<_>>().join("\n"), @r"
    fly-0: error: there is no tool `fly` here; there are: read, list, grep, write, edit
    read-1: error: the arguments are not JSON (EOF while parsing a string at line 1 column 11); call the tool again
    read-2: error: `../secret`: `..` is refused; give the path from the folder you work in
    read-3: error: the arguments are no JSON object
    read-4: tides
    submit_work-5: error: the arguments are not JSON (EOF while parsing a value at line 1 column 11); call the tool again
    ");
    let sent = messages[2]["tool_calls"][1]["function"]["arguments"].as_str().unwrap();
    assert_eq!(sent, r#"{"unreadable_arguments":"{\"path\": \"a"}"#, "never sent back as it came");
    assert!(scene.stored().contains("there was another submission"));
}

/// The caller may request a submission once more; a model that cannot write JSON does not use up all its requests.
#[rstest]
#[case::one_by_one(Answer::call("submit_work", Value::String("{\"summary\":".to_owned())), 2)]
#[case::no_object(Answer::call("submit_work", json!(["done"])), 2)]
#[case::at_once(Answer::call("submit_work", json!(["done"])).and_call("submit_work", json!(1)), 1)]
#[case::beside_others(Answer::call("submit_work", json!(1)).and_call("list", json!({ "path": "." })), 2)]
#[tokio::test]
async fn a_turn_ends_with_the_second_unreadable_submission(#[case] mut answer: Answer, #[case] requests: usize) {
    answer.text = "Done.".to_owned();
    let scene = Scene::of([answer.always()]).await;
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    assert_eq!((finished.status, finished.submitted.as_ref(), &*finished.text), (TurnStatus::Done, None, "Done."));
    assert_eq!(scene.server.requests().len(), requests);
    let calls = |text: &str| scene.stored().matches(text).count();
    assert_eq!(calls("\"arguments\":"), calls("\"tool_call_id\""), "every call has its result");

    let mut again = scene.request("t/again", "Once more.");
    again.session = super::after(&finished);
    assert_eq!(scene.finish(again).await.unwrap().submitted, None);
    assert_eq!(scene.server.requests().len(), 2 * requests, "a turn counts its own");
}

#[tokio::test]
async fn a_message_without_a_call_ends_the_turn() {
    let scene = Scene::of([Answer::text("That is all.")]).await;
    let finished = scene.finish(scene.request("t", "x")).await.unwrap();
    assert_eq!((finished.text.as_str(), finished.submitted), ("That is all.", None));
}

#[tokio::test]
async fn fields_that_a_server_adds_to_a_call_are_sent_back() {
    let chunk = json!({ "choices": [{ "delta": { "tool_calls": [{
        "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"a.txt\"}" },
        "extra_content": { "signature": "abc" },
    }] }, "finish_reason": "tool_calls" }] });
    let body = Some(format!("data: {chunk}\n\n"));
    let how = How { no_content_type: true, ..How::default() };
    let scene = Scene::of([Answer { body, how, ..Answer::default() }, Answer::text("done")]).await;
    scene.finish(scene.request("t", "x")).await.unwrap();
    let call = &scene.server.requests()[1].messages()[2]["tool_calls"][0];
    assert_eq!(call["extra_content"]["signature"], "abc");
    assert_eq!((call["type"].as_str(), call["id"].as_str()), (Some("function"), Some("c1")));
}

#[tokio::test]
async fn characters_split_between_chunks_are_joined() {
    let event = |delta: &str| format!("data: {{\"choices\": [{{\"delta\": {delta}}}]}}\n\n");
    let call = |arguments: &str| {
        let function = format!("{{\"name\": \"read\", \"arguments\": \"{arguments}\"}}");
        event(&format!("{{\"tool_calls\": [{{\"index\": 0, \"id\": \"c\", \"function\": {function}}}]}}"))
    };
    let (one, other) = (event(r#"{"content": "a \ud83c"}"#), event(r#"{"content": "\udf0a b"}"#));
    let (first, second) = (call(r#"{\"path\": \"\ud83c"#), call(r#"\udf0a\"}"#));
    let body = Some(format!("{one}{other}{first}{second}data: [DONE]\n\n"));
    let how = How { no_content_type: true, ..How::default() };
    let scene = Scene::of([Answer { body, how, ..Answer::default() }, Answer::text("done")]).await;
    scene.finish(scene.request("t", "x")).await.unwrap();
    let message = &scene.server.requests()[1].messages()[2];
    assert_eq!(message["content"], "a 🌊 b");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"path\": \"🌊\"}");
}

#[tokio::test]
async fn missing_usage_is_estimated_and_flagged() {
    let scene = Scene::of([Answer::text(&"x".repeat(400)).usage(None)]).await;
    let usage = scene.finish(scene.request("t", "x")).await.unwrap().usage;
    assert!(usage.estimated);
    assert_eq!(usage.output, 100);
    assert_eq!(usage.input, scene.server.requests()[0].size.div_ceil(4) as u64);
}

#[tokio::test]
async fn costs_follow_from_prices() {
    let scene = Scene::of([Answer::text("x").usage(Some(Tokens { read: 1000, cached: 400, written: 10 }))]).await;
    let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000 };
    let api =
        ApiDriver::new(ApiConfig::new(scene.server.url()).price(price), SessionStore::new(scene.store())).unwrap();
    assert!(api.capabilities().cost);
    let usage = api.finish(scene.request("t", "x"), |_| ()).await.unwrap().usage;
    assert_eq!(usage.cost, 600 * 3 + 10 * 15 + 400 * 3 / 10);
    assert!(usage.estimated);
}

#[rstest]
#[case::requests(|limits: &mut superstep::drivers::Limits| limits.requests = 2, TurnStatus::TurnLimit)]
#[case::tokens(|limits: &mut superstep::drivers::Limits| limits.tokens = Some(30), TurnStatus::TokenLimit)]
#[tokio::test]
async fn limits_end_a_turn_with_every_call_answered(
    #[case] limit: fn(&mut superstep::drivers::Limits),
    #[case] status: TurnStatus,
) {
    let mut answer = Answer::call("list", json!({ "path": "." })).always();
    answer.text = "I look.".to_owned();
    let scene = Scene::of([answer]).await;
    let mut request = scene.request("t", "x");
    limit(&mut request.limits);
    let finished = scene.finish(request).await.unwrap();
    assert_eq!((finished.status, finished.text.as_str()), (status, "I look."));
    assert_eq!(scene.server.requests().len(), 2);
    let stored = scene.stored();
    assert_eq!(stored.matches("tool_calls\":[").count(), stored.matches("\"tool_call_id\"").count());
}

#[test]
fn a_driver_has_the_name_of_its_provider() {
    let folder = tempfile::tempdir().unwrap();
    let api = |config: ApiConfig| ApiDriver::new(config, SessionStore::new(folder.path())).unwrap();
    assert_eq!(api(ApiConfig::new("http://localhost/v1")).name(), "api");
    assert_eq!(api(ApiConfig::new("http://localhost/v1/").provider("corner")).name(), "api:corner");
}
