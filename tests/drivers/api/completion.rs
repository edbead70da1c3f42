//! One completion for a conversation of the caller: what is sent, the pieces of the answer, its errors.

use std::sync::Mutex;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::Price;
use superstep::drivers::api::{
    ApiConfig, ApiKey, Client, Completion, CompletionRequest, Message, MessageRole, Piece, Tool, ToolCall,
};
use superstep::drivers::{DriverError, DriverErrorClass, Usage};
use superstep::graph::reducers::{Change, messages};

use super::KEY;
use crate::model_server::{Answer, Call, Hang, How, ModelServer, Scenario, Tokens};

fn client(server: &ModelServer) -> Client {
    Client::new(ApiConfig::new(server.url()).key(ApiKey::new(KEY), "MY_KEY")).unwrap()
}

fn tide() -> Tool {
    Tool::new("tide", "Returns the time of high tide", json!({ "type": "object" }))
}

fn request(messages: &[Message]) -> CompletionRequest {
    CompletionRequest::new("m", messages).system("You help sailors.").tools([tide()])
}

/// Sends a request; returns the pieces that arrived, and the answer.
async fn complete(server: &ModelServer, request: CompletionRequest) -> (Vec<Piece>, Result<Completion, DriverError>) {
    let (client, pieces) = (client(server), Mutex::new(vec![]));
    let answer = client.complete(request, |piece| {
        pieces.lock().unwrap().push(piece);
        std::future::ready(())
    });
    let answer = answer.await;
    (pieces.into_inner().unwrap(), answer)
}

async fn answered(answer: Answer) -> (Vec<Piece>, Result<Completion, DriverError>) {
    let server = ModelServer::start([answer]).await;
    complete(&server, request(&[Message::user("When?")])).await
}

fn joined(pieces: &[Piece], is_text: bool) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => is_text.then(|| text.clone()),
        Piece::Thinking(text) => (!is_text).then(|| text.clone()),
    };
    pieces.iter().filter_map(text).collect()
}

#[tokio::test]
async fn a_conversation_is_sent_as_it_is_and_answered_once() {
    let server = ModelServer::start([Answer::text("At nine.")]).await;
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "tide".to_owned(),
        arguments: "{\"port\":\"Brest\"}".to_owned(),
        extra: json!({ "extra_content": { "thought": "x" } }).as_object().unwrap().clone(),
    };
    let asked = Message { tool_calls: vec![call.clone()], ..Message::assistant("") };
    let result = Message { id: "m3".to_owned(), ..Message::result(&call, "nine") };
    let request = request(&[Message::user("When?"), asked, result]).option("temperature", 0);
    let answer = complete(&server, request).await.1.unwrap();
    assert_eq!(answer.message, Message::assistant("At nine."));
    assert!(!answer.truncated);
    assert_eq!((answer.usage.input, answer.usage.output, answer.usage.requests), (10, 5, 1));

    let sent = &server.requests()[0];
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {KEY}")));
    let parameters = json!({ "type": "object" });
    let function = json!({ "name": "tide", "description": "Returns the time of high tide", "parameters": parameters });
    let calls = json!([{
        "id": "c1", "type": "function", "extra_content": { "thought": "x" },
        "function": { "name": "tide", "arguments": "{\"port\":\"Brest\"}" },
    }]);
    let expected = json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true }, "temperature": 0,
        "tools": [{ "type": "function", "function": function }],
        "messages": [
            { "role": "system", "content": "You help sailors." },
            { "role": "user", "content": "When?" },
            { "role": "assistant", "content": null, "tool_calls": calls },
            { "role": "tool", "tool_call_id": "c1", "content": "nine" },
        ],
    });
    assert_eq!(sent.body, expected);
}

#[rstest]
#[case::one_byte_at_a_time(How { bytes: 1, ..How::default() })]
#[case::letters(How { piece: 1, ..How::default() })]
#[case::calls_in_turns(How { mixed: true, piece: 3, ..How::default() })]
#[case::no_index(How { no_index: true, piece: 3, ..How::default() })]
#[case::crlf_and_comments(How { crlf: true, comments: true, ..How::default() })]
#[case::no_done(How { no_done: true, ..How::default() })]
#[case::json(How { json: true, ..How::default() })]
#[tokio::test]
async fn an_answer_in_pieces_is_the_whole_message(#[case] how: How) {
    let mut answer = Answer::call("tide", json!({ "port": "Brest ⚓" })).and_call("tide", json!({ "port": "Köln" }));
    (answer.text, answer.thinking) = ("Ich sehe nach: größe 🌊.".to_owned(), "Hm, größe …".to_owned());
    answer.usage = Some(Tokens { read: 100, cached: 60, written: 7 });
    let (pieces, answer) = answered(answer.how(how)).await;
    let Completion { message, usage, .. } = answer.unwrap();
    assert_eq!((message.role, message.content.as_str()), (MessageRole::Assistant, "Ich sehe nach: größe 🌊."));
    assert_eq!((joined(&pieces, true), joined(&pieces, false)), (message.content, "Hm, größe …".to_owned()));
    let ports: Vec<Value> =
        message.tool_calls.iter().map(|call| call.parse::<Value>().unwrap()["port"].take()).collect();
    assert_eq!(ports, ["Brest ⚓", "Köln"]);
    assert_eq!(usage, Usage { input: 40, cache_read: 60, output: 7, requests: 1, ms: usage.ms, ..Usage::default() });
}

#[tokio::test]
async fn pieces_arrive_before_the_answer_is_whole() {
    let how = How { hang: Some(Hang::Stalled), ..How::default() };
    let server = ModelServer::start([Answer::text("At nine.").how(how)]).await;
    let (arrived, mut arrives) = tokio::sync::mpsc::unbounded_channel();
    let client = client(&server);
    let answer = client.complete(request(&[Message::user("When?")]), |piece| {
        arrived.send(piece).unwrap();
        std::future::ready(())
    });
    tokio::select! {
        answer = answer => panic!("the server never ends: {answer:?}"),
        piece = arrives.recv() => assert!(matches!(piece, Some(Piece::Text(_))), "{piece:?}"),
    }
}

#[rstest]
#[case(401, DriverErrorClass::Auth, false)]
#[case(403, DriverErrorClass::Auth, false)]
#[case(429, DriverErrorClass::RateLimited, true)]
#[case(500, DriverErrorClass::Transient, true)]
#[case(503, DriverErrorClass::Transient, true)]
#[case(400, DriverErrorClass::Content, false)]
#[case(404, DriverErrorClass::Fatal, false)]
#[tokio::test]
async fn a_refusal_has_a_class(#[case] status: u16, #[case] class: DriverErrorClass, #[case] is_temporary: bool) {
    let refusal = Answer::refusal(status, &format!("no: {KEY}")).header("retry-after", "7");
    let (pieces, answer) = answered(refusal).await;
    let error = answer.unwrap_err();
    assert_eq!((error.class, error.is_temporary()), (class, is_temporary), "{error}");
    assert_eq!((error.retry_after, pieces), (Some(Duration::from_secs(7)), vec![]));
    assert!(error.message.contains("no: [key]"), "{error}");
}

#[rstest]
#[case::cut_stream(How { cut: Some(300), ..How::default() })]
#[case::cut_at_once(How { cut: Some(0), ..How::default() })]
#[case::cut_json(How { cut: Some(50), json: true, ..How::default() })]
#[case::ended_early(How { no_done: true, no_finish: true, ..How::default() })]
#[tokio::test]
async fn a_broken_stream_is_a_temporary_error(#[case] how: How) {
    let error = answered(Answer::text("half of what there was to say").how(how)).await.1.unwrap_err();
    assert!(error.is_temporary() && error.message.contains("closed the connection early"), "{error:?}");
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let how = How { hang: Some(Hang::Silent), ..How::default() };
    let server = ModelServer::start([Answer::text("x").how(how)]).await;
    let request = request(&[Message::user("When?")]).idle(Duration::from_millis(200));
    let error = complete(&server, request).await.1.unwrap_err();
    assert!(error.is_temporary() && error.message.contains("silent for 200ms"), "{error:?}");
}

#[tokio::test]
async fn an_answer_at_the_limit_of_tokens_says_so() {
    let how = How { finish: Some("length".to_owned()), ..How::default() };
    assert!(answered(Answer::text("At ni").how(how)).await.1.unwrap().truncated);
    let how = How { finish: Some("content_filter".to_owned()), ..How::default() };
    let error = answered(Answer::text("At ni").how(how)).await.1.unwrap_err();
    assert_eq!((error.class, error.refusal), (DriverErrorClass::Content, true), "{error}");
}

#[tokio::test]
async fn malformed_arguments_are_kept_and_sent_back_as_an_object() {
    let broken = Call { id: None, name: "tide".to_owned(), arguments: json!("{\"port\": ") };
    let server = ModelServer::start([Answer { calls: vec![broken], ..Answer::default() }, Answer::text("sorry")]).await;
    let user = Message::user("When?");
    let message = complete(&server, request(std::slice::from_ref(&user))).await.1.unwrap().message;
    let call = message.tool_calls[0].clone();
    assert_eq!(call.arguments, "{\"port\": ");
    assert!(call.parse::<Value>().is_err() && !call.id.is_empty());
    let result = Message::result(&call, "error: not JSON");
    complete(&server, request(&[user, message, result])).await.1.unwrap();
    let sent = server.requests()[1].messages();
    let arguments = sent[2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    assert_eq!(sent[2]["tool_calls"][0]["id"], sent[3]["tool_call_id"]);
}

#[tokio::test]
async fn calls_without_ids_get_ids_of_their_own_in_each_request() {
    let call = || Call { id: None, name: "tide".to_owned(), arguments: json!({}) };
    let two = || Answer { calls: vec![call(), call()], ..Answer::default() };
    let server = ModelServer::start(Scenario { answers: vec![two(), two()] }).await;
    let first = complete(&server, request(&[Message::user("When?")])).await.1.unwrap().message;
    let second = complete(&server, request(&[Message::user("When?"), first.clone()])).await.1.unwrap().message;
    let mut ids: Vec<_> = first.tool_calls.into_iter().chain(second.tool_calls).map(|call| call.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[tokio::test]
async fn keys_are_removed_from_pieces_and_the_message() {
    let mut answer = Answer::call("tide", json!({ "port": KEY }));
    answer.text = format!("the key is {KEY}, isn't it");
    let (pieces, answer) = answered(answer.how(How { piece: 1, ..How::default() })).await;
    let message = answer.unwrap().message;
    assert_eq!(message.content, "the key is [key], isn't it");
    assert_eq!(joined(&pieces, true), message.content);
    assert!(!format!("{message:?}").contains(KEY), "{message:?}");
}

#[tokio::test]
async fn a_price_makes_a_cost_and_a_missing_model_an_error() {
    let server = ModelServer::start([Answer::text("At nine.")]).await;
    let price = Price { input: 1_000_000, output: 2_000_000, ..Price::default() };
    let client = Client::new(ApiConfig::new(server.url()).price(price)).unwrap();
    let nobody = |_| std::future::ready(());
    let error = client.complete(CompletionRequest::new(" ", &[]), nobody).await.unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (DriverErrorClass::Fatal, "no model is named"));
    let answer = client.complete(CompletionRequest::new("m", &[Message::user("When?")]), nobody).await.unwrap();
    assert_eq!(answer.usage.cost, 20);
}

#[rstest]
#[case::user(json!({ "role": "user", "content": "hello" }), Message::user("hello"))]
#[case::no_content(json!({ "role": "assistant" }), Message::assistant(""))]
fn messages_are_read_from_short_json(#[case] json: Value, #[case] message: Message) {
    assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
}

#[test]
fn messages_are_replaced_and_removed_by_their_ids() {
    let mut list = vec![];
    let named = |id: &str, text: &str| Message { id: id.to_owned(), ..Message::user(text) };
    let first = vec![named("m1", "a long story").into(), named("m2", "and").into(), Message::user("so on").into()];
    messages(&mut list, first).unwrap();
    assert!(!list[2].id.is_empty(), "it got an id");
    messages(&mut list, vec![named("m1", "in short").into(), Change::remove("m2")]).unwrap();
    let texts: Vec<_> = list.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(texts, ["in short", "so on"]);
}
