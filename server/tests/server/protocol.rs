//! The event protocol: which events there are of each graph, that they are the same on each connection and server, and what commands do,
//! over HTTP and over WebSockets.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use reqwest::{Method, Response, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use superstep::checkpoint::MemoryCheckpointer;
use superstep::graph::CancellationToken;
use superstep_server::Options;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::api::Api;

const ALL: [&str; 9] =
    ["values", "updates", "messages", "tools", "lifecycle", "input", "tasks", "checkpoints", "custom"];

async fn command(api: &Api, thread: &str, method: &str, params: Value) -> Value {
    let body = json!({ "id": 7, "method": method, "params": params });
    let response = api.send(Method::POST, &format!("/threads/{thread}/commands"), Some(body)).await;
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

async fn start(api: &Api, thread: &str, graph: &str, input: Value) -> Value {
    let answer = command(api, thread, "run.start", json!({ "assistant_id": graph, "input": input })).await;
    assert_eq!((&answer["type"], &answer["id"]), (&json!("success"), &json!(7)), "{answer}");
    answer
}

/// Events of a thread as they come.
struct Events {
    response: Response,
    text: String,
}

impl Events {
    async fn open(api: &Api, thread: &str, params: Value) -> Self {
        let response = api.send(Method::POST, &format!("/threads/{thread}/stream/events"), Some(params)).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Self { response, text: String::new() }
    }

    /// Returns the next event; `None` at the end of the stream, or when the server stops.
    async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\r\n\r\n") {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                let (name, data, id) = (field("event: "), field("data: "), field("id: "));
                self.text = rest.to_owned();
                let Some(data) = data else { continue };
                let event: Value = serde_json::from_str(&data).unwrap();
                if event["status"] == "shutdown" {
                    return None;
                }
                assert_eq!((event["method"].as_str(), event["seq"].to_string()), (name.as_deref(), id.unwrap()));
                return Some(event);
            }
            self.text += std::str::from_utf8(&self.response.chunk().await.ok()??).unwrap();
        }
    }

    /// Returns the events until the run has ended as often as asked.
    async fn until_end(&mut self, runs: usize) -> Vec<Value> {
        let (mut events, mut ended) = (vec![], 0);
        while ended < runs {
            let event = self.next().await.unwrap();
            ended += usize::from(is_end(&event));
            events.push(event);
        }
        events
    }
}

fn data(event: &Value) -> &Value {
    &event["params"]["data"]
}

fn is_end(event: &Value) -> bool {
    let kind = data(event)["event"].as_str().unwrap_or_default();
    event["method"] == "lifecycle"
        && event["params"]["namespace"] == json!([])
        && ["completed", "failed", "interrupted"].contains(&kind)
}

/// Returns the events of a method as `part|of|namespace:what`, without the tasks of the namespace.
fn brief(events: &[Value], method: &str, field: &str) -> Vec<String> {
    let part = |part: &Value| part.as_str().unwrap().split(':').next().unwrap().to_owned();
    let path = |event: &Value| event["params"]["namespace"].as_array().unwrap().iter().map(part).collect::<Vec<_>>();
    let all = events.iter().filter(|event| event["method"] == method);
    all.map(|event| format!("{}:{}", path(event).join("|"), data(event)[field].as_str().unwrap_or("?"))).collect()
}

fn ids(events: &[Value]) -> Vec<(String, u64)> {
    events
        .iter()
        .map(|event| (event["event_id"].as_str().unwrap().to_owned(), event["seq"].as_u64().unwrap()))
        .collect()
}

#[rstest]
#[case::counter("counter", json!({ "n": 1 }), &[":running", ":completed"], 5)]
#[case::chat("chat_echo", json!({ "messages": "a b" }), &[":running", ":completed"], 1)]
#[case::approval("approval", json!({ "request": "x" }), &[":running", ":interrupted"], 1)]
#[case::parallel("parallel", json!({ "items": [3, 1, 2] }), &[":running", ":completed"], 5)]
#[case::slow("slow", json!({ "steps": 2, "ms": 1 }), &[":running", ":completed"], 2)]
#[case::fails("fails", json!({ "reason": "why" }), &[":running", ":failed"], 1)]
#[case::nested("nested", json!({ "path": "" }), &[":running", "child:started", "child:completed", ":completed"], 5)]
#[tokio::test]
async fn a_run_is_a_lifecycle_with_states_and_updates(
    #[case] graph: &str,
    #[case] input: Value,
    #[case] lifecycle: &[&str],
    #[case] updates: usize,
) {
    let api = Api::start().await;
    start(&api, "t", graph, input).await;
    let events = Events::open(&api, "t", json!({ "channels": ALL })).await.until_end(1).await;
    assert_eq!(brief(&events, "lifecycle", "event"), lifecycle);
    assert_eq!(brief(&events, "updates", "node").len(), updates);
    assert_eq!(events[0]["params"]["data"]["graph_name"], graph);
    let last = events.iter().rfind(|event| event["method"] == "values" && event["params"]["namespace"] == json!([]));
    let state = api.get("/threads/t/state").await;
    if graph != "chat_echo" {
        assert_eq!(data(last.unwrap()), &state["values"]);
    }
    let numbers = ids(&events);
    assert!(numbers.is_sorted_by(|(_, a), (_, b)| a < b), "{numbers:?}");
    assert_eq!(numbers.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().len(), numbers.len());
    let again = Events::open(&api, "t", json!({ "channels": ALL })).await.until_end(1).await;
    assert_eq!(again, events);
    let error = data(events.last().unwrap())["error"].as_str();
    assert_eq!(error, (graph == "fails").then_some("boom: why"));
}

#[tokio::test]
async fn a_message_is_blocks_that_grow_and_a_state_has_the_same_message() {
    let api = Api::start().await;
    start(&api, "t", "chat_echo", json!({ "messages": [{ "role": "user", "content": "a b" }] })).await;
    let events = Events::open(&api, "t", json!({ "channels": ["messages", "values", "lifecycle"] })).await;
    let events = { events }.until_end(1).await;
    assert_eq!(
        brief(&events, "messages", "event"),
        [
            ":message-start",
            ":content-block-start",
            ":content-block-delta",
            ":content-block-delta",
            ":content-block-delta",
            ":content-block-finish",
            ":message-finish",
        ]
    );
    let started = events.iter().find(|event| event["method"] == "messages").unwrap();
    assert_eq!((&data(started)["role"], &started["params"]["node"]), (&json!("ai"), &json!("echo")));
    let values = events.iter().rfind(|event| event["method"] == "values").unwrap();
    let content = json!([{ "type": "text", "text": "echo: a b" }]);
    let expected = json!({ "type": "ai", "id": data(started)["id"], "content": content });
    assert_eq!(data(values)["messages"][1], expected);
    assert_eq!(data(values)["messages"][0]["content"], "a b");
}

#[tokio::test]
async fn a_question_is_requested_and_an_answer_continues_the_thread() {
    let api = Api::start().await;
    start(&api, "t", "approval", json!({ "request": "x" })).await;
    let mut stream = Events::open(&api, "t", json!({ "channels": ["input", "lifecycle"] })).await;
    let events = stream.until_end(1).await;
    let asked = data(&events[1]);
    assert_eq!(events[1]["method"], "input.requested");
    assert_eq!(asked["payload"], json!({ "question": "approve?", "proposal": "do x" }));
    assert_eq!((&asked["value"], &asked["superstep"]["node"]), (&asked["payload"], &json!("review")));
    let id = asked["interrupt_id"].as_str().unwrap();

    let unknown = json!({ "interrupt_id": "00000000-1-1-0", "namespace": [], "response": "yes" });
    assert_eq!(command(&api, "t", "input.respond", unknown).await["error"], "no_such_interrupt");
    let answer = json!({ "responses": [{ "interrupt_id": id, "namespace": [], "response": "yes" }], "by": "ada" });
    let answered = command(&api, "t", "input.respond", answer).await;
    assert_eq!(answered["result"], json!({}), "{answered}");
    let events = stream.until_end(1).await;
    assert_eq!(data(&events[1]), &json!({ "interrupt_ids": [id] }));
    assert_eq!(brief(&events, "lifecycle", "event"), [":running", ":completed"]);
    assert!(events[0]["seq"].as_u64() > answered["meta"]["applied_through_seq"].as_u64());
    assert_eq!(api.get("/threads/t/state").await["values"]["status"], "approved");
    let again = json!({ "interrupt_id": id, "namespace": [], "response": "no" });
    assert_eq!(command(&api, "t", "input.respond", again).await["error"], "no_such_run");
}

#[rstest]
#[case("nope", json!({}), "unknown_command")]
#[case("state.get", json!({}), "not_supported")]
#[case("run.start", json!({ "input": {} }), "invalid_argument")]
#[case("run.start", json!({ "assistant_id": "nope", "input": {} }), "invalid_argument")]
#[case("run.start", json!({ "assistant_id": "counter", "input": { "n": "x" } }), "invalid_argument")]
#[case("input.respond", json!({ "response": 1 }), "invalid_argument")]
#[case("input.respond", json!({ "responses": [] }), "invalid_argument")]
#[case("input.respond", json!({ "interrupt_id": "a", "response": 1 }), "no_such_run")]
#[case("agent.getTree", json!({}), "no_such_run")]
#[tokio::test]
async fn a_command_that_cannot_be_done_has_a_code(#[case] method: &str, #[case] params: Value, #[case] code: &str) {
    let api = Api::start().await;
    let answer = command(&api, "t", method, params).await;
    assert_eq!((&answer["type"], &answer["error"], &answer["id"]), (&json!("error"), &json!(code), &json!(7)));
    assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()));
}

#[tokio::test]
async fn what_is_no_command_or_no_channel_is_a_bad_request() {
    let api = Api::start().await;
    let response = api.send(Method::POST, "/threads/t/commands", Some(json!({ "method": "run.start" }))).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(response.json::<Value>().await.unwrap()["type"], "error");
    let response = api.send(Method::POST, "/threads/t/stream/events", Some(json!({ "channels": ["nope"] }))).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(response.json::<Value>().await.unwrap()["detail"].as_str().unwrap().contains("`nope`"));
}

#[tokio::test]
async fn a_stream_may_begin_before_its_thread_and_stays_open_over_runs() {
    let api = Api::start().await;
    let mut stream = Events::open(&api, "later", json!({ "channels": ["lifecycle", "values"] })).await;
    let first = start(&api, "later", "counter", json!({ "n": 0 })).await;
    let second = start(&api, "later", "counter", json!({ "n": 0 })).await;
    let all = stream.until_end(2).await;
    assert_eq!(brief(&all, "lifecycle", "event"), [":running", ":completed", ":running", ":completed"]);
    let run = second["result"]["run_id"].as_str().unwrap();
    assert!(all.last().unwrap()["event_id"].as_str().unwrap().starts_with(&format!("synth:{run}:")));

    // A reader that comes back gets what came after the last event that it has, within a run and after one.
    for nth in [2, all.len() / 2 - 1, all.len() / 2] {
        let since = json!({ "channels": ["lifecycle", "values"], "since": all[nth]["seq"] });
        let missing = 2 - usize::from(nth + 1 >= all.len() / 2);
        assert_eq!(Events::open(&api, "later", since).await.until_end(missing).await, all[nth + 1..]);
    }
    let before = first["meta"]["applied_through_seq"].as_u64();
    assert!(before < all[0]["seq"].as_u64());
    assert_eq!(api.send(Method::DELETE, "/threads/later", None).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn subgraphs_are_asked_for_by_their_node() {
    let api = Api::start().await;
    start(&api, "t", "nested", json!({ "path": "" })).await;
    let params = json!({ "channels": ["values", "lifecycle"], "namespaces": [["child"]] });
    let mut stream = Events::open(&api, "t", params).await;
    let mut paths = vec![];
    loop {
        let event = stream.next().await.unwrap();
        assert_eq!(event["params"]["namespace"].as_array().unwrap().len(), 1);
        match event["method"].as_str() {
            Some("values") => paths.push(data(&event)["path"].clone()),
            _ if data(&event)["event"] == "completed" => break,
            _ => {}
        }
    }
    assert_eq!(paths, ["/first", "/first/inner_a", "/first/inner_a/inner_b"]);
    let tree = &command(&api, "t", "agent.getTree", json!({})).await["result"]["tree"];
    assert_eq!((&tree["graph_name"], &tree["children"][0]["graph_name"]), (&json!("nested"), &json!("child")));
    assert_eq!(tree["children"][0]["status"], "completed");
}

#[tokio::test]
async fn another_server_has_the_same_events_and_finishes_the_run() {
    let (store, stop) = (Arc::new(MemoryCheckpointer::new()), CancellationToken::new());
    let first = Api::start_with(Options::default().stop_with(stop.clone()), store.clone()).await;
    start(&first, "t", "counter", json!({ "n": 0 })).await;
    start(&first, "t", "slow", json!({ "steps": 20, "ms": 10 })).await;
    let mut stream = Events::open(&first, "t", json!({ "channels": ALL })).await;
    let mut before = stream.until_end(1).await;
    while let Some(event) = stream.next().await {
        let is_going_on = event["method"] == "custom" && data(&event)["payload"]["tick"] == 3;
        before.push(event);
        if is_going_on {
            stop.cancel();
        }
    }
    let second = Api::start_with(Options::default(), store).await;
    let after = Events::open(&second, "t", json!({ "channels": ALL })).await.until_end(2).await;
    assert_eq!(after[..before.len()], before);
    assert_eq!(brief(&after, "lifecycle", "event"), [":running", ":completed", ":running", ":completed"]);
    let ticks: Vec<_> = after.iter().filter_map(|event| data(event)["payload"]["tick"].as_u64()).collect();
    assert_eq!(ticks.iter().collect::<BTreeSet<_>>().len(), 20, "{ticks:?}");
}

#[tokio::test]
async fn a_reader_that_takes_nothing_does_not_slow_a_run() {
    let api = Api::start().await;
    let idle = Events::open(&api, "t", json!({ "channels": ALL })).await;
    let text = "word ".repeat(20_000);
    let body = json!({ "assistant_id": "chat_echo", "input": { "messages": text }, "if_not_exists": "create" });
    let values = api.post("/threads/t/runs/wait", body).await;
    assert_eq!(values["messages"].as_array().unwrap().len(), 2);
    drop(idle);
}

#[tokio::test]
async fn a_run_whose_events_are_nowhere_has_its_lifecycle_and_its_question() {
    let store = Arc::new(MemoryCheckpointer::new());
    let first = Api::start_with(Options::default(), store.clone()).await;
    let thread = first.thread().await;
    let body = json!({ "assistant_id": "approval", "input": { "request": "x" } });
    let values = first.post(&format!("/threads/{thread}/runs/wait"), body).await;
    let second = Api::start_with(Options::default(), store).await;
    let events = Events::open(&second, &thread, json!({ "channels": ALL })).await;
    let events = { events }.until_end(1).await;
    assert_eq!(brief(&events, "lifecycle", "event"), [":running", ":interrupted"]);
    assert_eq!((events.len(), &data(&events[1])["interrupt_id"]), (3, &values["__interrupt__"][0]["id"]));
}

#[tokio::test]
async fn a_run_that_starts_later_comes_in_the_order_of_execution() {
    let api = Api::start().await;
    let mut stream = Events::open(&api, "t", json!({ "channels": ["lifecycle"] })).await;
    let later = json!({ "assistant_id": "approval", "input": { "request": "x" }, "after_seconds": 0.2 });
    assert_eq!(command(&api, "t", "run.start", later).await["type"], "success");
    start(&api, "t", "counter", json!({ "n": 0 })).await;
    let live = stream.until_end(2).await;
    let graphs = [":counter", ":counter", ":approval", ":approval"];
    assert_eq!(brief(&live, "lifecycle", "graph_name"), graphs);
    assert!(ids(&live).is_sorted_by(|(_, a), (_, b)| a < b));
    let again = Events::open(&api, "t", json!({ "channels": ["lifecycle"] })).await.until_end(2).await;
    assert_eq!(again, live);
}

/// A connection over a WebSocket.
struct Socket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    events: VecDeque<Value>,
    commands: u64,
}

impl Socket {
    async fn open(api: &Api, thread: &str) -> Self {
        let address = api.address.replace("http", "ws");
        let (socket, _) = connect_async(format!("{address}/threads/{thread}/stream/events")).await.unwrap();
        Self { socket, events: VecDeque::new(), commands: 0 }
    }

    /// Returns the next message; `None` once the server has closed the connection.
    async fn receive(&mut self) -> Option<Value> {
        loop {
            match self.socket.next().await?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Close(frame) => return Some(json!({ "closed": u16::from(frame.unwrap().code) })),
                _ => {}
            }
        }
    }

    async fn command(&mut self, method: &str, params: Value) -> Value {
        self.commands += 1;
        let command = json!({ "id": self.commands, "method": method, "params": params });
        self.socket.send(Message::text(command.to_string())).await.unwrap();
        loop {
            let message = self.receive().await.unwrap();
            if message["type"] != "event" {
                assert_eq!(message["id"], self.commands);
                return message;
            }
            self.events.push_back(message);
        }
    }

    async fn next_event(&mut self) -> Value {
        match self.events.pop_front() {
            Some(event) => event,
            None => self.receive().await.unwrap(),
        }
    }

    /// Returns the events until a run has ended.
    async fn until_end(&mut self) -> Vec<Value> {
        let mut events = vec![self.next_event().await];
        while !events.last().is_some_and(is_end) {
            events.push(self.next_event().await);
        }
        events
    }
}

#[tokio::test]
async fn a_socket_carries_commands_and_events() {
    let api = Api::start().await;
    let mut socket = Socket::open(&api, "t").await;
    let subscribed = socket.command("subscription.subscribe", json!({ "channels": ["lifecycle"] })).await;
    let id = subscribed["result"]["subscription_id"].as_str().unwrap().to_owned();
    let started = socket.command("run.start", json!({ "assistant_id": "counter", "input": { "n": 0 } })).await;
    let run = started["result"]["run_id"].clone();
    let mut seen = vec![];
    for _ in 0..2 {
        seen.push(socket.next_event().await);
    }
    assert_eq!(brief(&seen, "lifecycle", "event"), [":running", ":completed"]);
    let reader = Events::open(&api, "t", json!({ "channels": ["lifecycle"] })).await;
    assert_eq!({ reader }.until_end(1).await, seen, "both transports have the same events");

    let restored = json!({ "run_id": run, "subscriptions": [id] });
    assert_eq!(socket.command("subscription.reconnect", restored).await["result"]["restored"], true);
    let earlier = json!({ "run_id": run, "subscriptions": ["earlier"] });
    assert_eq!(socket.command("subscription.reconnect", earlier).await["result"]["restored"], false);
    let ended = json!({ "subscription_id": id });
    assert_eq!(socket.command("subscription.unsubscribe", ended.clone()).await["type"], "success");
    assert_eq!(socket.command("subscription.unsubscribe", ended).await["error"], "no_such_subscription");
    let unknown = json!({ "channels": ["nope"] });
    assert_eq!(socket.command("subscription.subscribe", unknown).await["error"], "invalid_argument");
    assert_eq!(socket.command("nope", json!({})).await["error"], "unknown_command");
    socket.socket.send(Message::text("{")).await.unwrap();
    assert_eq!(socket.receive().await.unwrap()["id"], Value::Null);
    assert_eq!(socket.events.len(), 0, "nothing comes after the end of the subscription");
}

/// A client stops its subscriptions at the end of a run: what one of them brought after that was lost.
#[tokio::test]
async fn subscriptions_of_a_connection_have_each_event_once_and_in_the_order_of_the_thread() {
    let api = Api::start().await;
    let mut socket = Socket::open(&api, "t").await;
    for channels in [json!(["values", "lifecycle"]), json!(["lifecycle", "updates"]), json!(["values"])] {
        socket.command("subscription.subscribe", json!({ "channels": channels })).await;
    }
    socket.command("run.start", json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    let first = socket.until_end().await;
    let channels = json!({ "channels": ["values", "updates", "lifecycle"] });
    assert_eq!(Events::open(&api, "t", channels.clone()).await.until_end(1).await, first);

    // One that comes later has what it asks for from the start, the others go on where they were.
    socket.command("subscription.subscribe", json!({ "channels": ["tasks"] })).await;
    socket.command("run.start", json!({ "assistant_id": "counter", "input": { "n": 2 } })).await;
    let second = socket.until_end().await;
    let both = Events::open(&api, "t", json!({ "channels": ["values", "updates", "lifecycle", "tasks"] })).await;
    let mut both = { both }.until_end(2).await;
    both.retain(|event| !first.contains(event));
    assert_eq!(second, both);
}

#[tokio::test]
async fn subscriptions_that_are_made_together_begin_together() {
    let api = Api::start().await;
    let mut socket = Socket::open(&api, "t").await;
    socket.command("run.start", json!({ "assistant_id": "counter", "input": { "n": 1 } })).await;
    let all = json!({ "channels": ["values", "lifecycle"] });
    let expected = Events::open(&api, "t", all.clone()).await.until_end(1).await;
    for (id, params) in [json!({ "channels": ["lifecycle"] }), all].into_iter().enumerate() {
        let command = json!({ "id": id, "method": "subscription.subscribe", "params": params });
        socket.socket.feed(Message::text(command.to_string())).await.unwrap();
    }
    socket.socket.flush().await.unwrap();
    let answers = [socket.receive().await.unwrap(), socket.receive().await.unwrap()];
    assert!(answers.iter().all(|answer| answer["type"] == "success"), "{answers:?}");
    assert_eq!(socket.until_end().await, expected);
}

#[tokio::test]
async fn a_server_that_stops_closes_its_sockets() {
    let stop = CancellationToken::new();
    let options = Options::default().stop_with(stop.clone());
    let api = Api::start_with(options, Arc::new(MemoryCheckpointer::new())).await;
    let mut socket = Socket::open(&api, "t").await;
    socket.command("subscription.subscribe", json!({ "channels": ["lifecycle"] })).await;
    stop.cancel();
    assert_eq!(socket.receive().await.unwrap(), json!({ "closed": 1012 }));
}
