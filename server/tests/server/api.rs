//! A client of a server that is tried: in this process, or one that is killed. Knows requests and answers; must not know what is claimed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use superstep::checkpoint::{Checkpointer, ItemKey, ItemScan, ItemWrite, MemoryCheckpointer};
use superstep::graph::{AnyGraph, CompileError, ContextReader, Graphs};
use superstep_server::Options;

use crate::{chat, graphs};

/// Returns the graphs of the example.
pub(crate) fn all_graphs() -> Result<Graphs, CompileError> {
    let chat = AnyGraph::with(chat::chat_echo()?.named("chat_echo"), chat::EchoContext::default());
    Ok(Graphs::new()
        .with(graphs::counter()?.named("counter"))
        .with(chat.with_context_reader(ContextReader::of::<chat::EchoContext>()))
        .with(graphs::approval()?.named("approval"))
        .with(graphs::parallel()?.named("parallel"))
        .with(graphs::slow()?.named("slow"))
        .with(graphs::fails()?.named("fails"))
        .with(graphs::nested()?.named("nested")))
}

/// A client of a server.
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) address: String,
}

impl Api {
    /// Starts a server in this process.
    pub(crate) async fn start() -> Self {
        Self::start_with(Options::default(), Arc::new(MemoryCheckpointer::new())).await
    }

    /// Starts a server in this process, with settings, on a store.
    pub(crate) async fn start_with(options: Options, store: Arc<dyn Checkpointer>) -> Self {
        Self::start_graphs(all_graphs().unwrap(), options, store).await
    }

    /// Starts a server over graphs in this process.
    pub(crate) async fn start_graphs(graphs: Graphs, options: Options, store: Arc<dyn Checkpointer>) -> Self {
        let router = options.router(graphs, store);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { client: Client::new(), address }
    }

    /// Returns another client of the server.
    pub(crate) fn again(&self) -> Self {
        Self { client: Client::new(), address: self.address.clone() }
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.address));
        let request = if let Some(body) = body { request.json(&body) } else { request };
        request.send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, None).await.json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        self.send(Method::POST, path, Some(body)).await.json().await.unwrap()
    }

    /// Waits until a path is answered as it should be.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let found = self.get(path).await;
            if is_so(&found) {
                return found;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn status(&self, method: Method, path: &str, body: Option<Value>) -> u16 {
        self.send(method, path, body).await.status().as_u16()
    }

    pub(crate) async fn thread(&self) -> String {
        self.post("/threads", json!({})).await["thread_id"].as_str().unwrap().to_owned()
    }

    /// Streams a run, and returns the names and the data of its events, and their ids.
    pub(crate) async fn stream(&self, path: &str, body: Value) -> Vec<(String, Value, Option<u64>)> {
        events(self.send(Method::POST, path, Some(body)).await).await
    }
}

/// The next date in the past. None comes twice: a server that has still to look at the timer of one removes it.
static DUE: AtomicU64 = AtomicU64::new(1);

/// Moves the timers of a kind, and the field of their records that has the time, to 1970: the time of each has come.
pub(crate) async fn make_due(store: &dyn Checkpointer, (kind, namespace, field): (&str, &str, &str)) {
    for (key, bytes) in store.scan_items(&ItemScan::of("superstep.server.timers")).await.unwrap() {
        let mut timer: Value = serde_json::from_slice(&bytes).unwrap();
        if timer["record"]["kind"] != kind {
            continue;
        }
        let of = timer["record"]["of"].as_str().unwrap().to_owned();
        let item = ItemKey::new(namespace, of.as_str());
        let found = store.get_items(vec![item.clone()]).await.unwrap().remove(0).unwrap();
        let mut record: Value = serde_json::from_slice(&found).unwrap();
        let at = DUE.fetch_add(1, Ordering::Relaxed);
        (record["record"][field], timer["record"]["at"]) = (json!(at), json!(at));
        let due = ItemKey::new("superstep.server.timers", format!("{at:015}/{kind}/{of}"));
        let writes = [(item, &record), (due, &timer)].map(|(key, value)| ItemWrite::put(key, value.to_string()));
        store.write_items([ItemWrite::delete(key)].into_iter().chain(writes).collect()).await.unwrap();
    }
}

pub(crate) async fn events(response: Response) -> Vec<(String, Value, Option<u64>)> {
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let text = response.text().await.unwrap();
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let data = serde_json::from_str(&field("data: ")?).unwrap();
        Some((field("event: ")?, data, field("id: ").map(|id| id.parse().unwrap())))
    };
    text.split("\r\n\r\n").filter_map(event).collect()
}

/// Returns a command of the example.
pub(crate) fn program() -> Command {
    let own = std::env::current_exe().unwrap();
    Command::new(own.parent().unwrap().parent().unwrap().join("examples/agent_server"))
}

/// A server as a process, which is killed when it is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Runs another command on the store.
    pub(crate) fn command(store: &std::path::Path, words: &[&str]) -> Output {
        program().args(words).arg("--store").arg(store).output().unwrap()
    }

    pub(crate) fn start(store: &std::path::Path) -> (Self, Api) {
        let words = ["serve", "--listen", "127.0.0.1:0", "--allow-private-webhooks", "--store"];
        Self::of(program().args(words).env("SUPERSTEP_WEBHOOK_SECRET", "secret").arg(store))
    }

    /// Starts a server by a command.
    pub(crate) fn of(command: &mut Command) -> (Self, Api) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        let address = line.rsplit_once(' ').unwrap().1.to_owned();
        (Self(child), Api { client: Client::new(), address })
    }

    /// Stops the server as a service manager does, and waits for its end.
    pub(crate) fn stop(&mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }

    /// Kills the server.
    pub(crate) fn end(&mut self) -> &mut Child {
        self.0.kill().unwrap();
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
