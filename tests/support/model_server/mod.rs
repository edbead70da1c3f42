//! A model server without a model: OpenAI's chat completions over HTTP, answered from a scenario, with the faults of
//! real servers. Shared by tests; `examples/model_server.rs` runs it for people. Knows no driver.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test binary uses a part")]
#![allow(clippy::expect_used, reason = "for tests")]

mod answer;
mod connection;
mod scenario;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use scenario::{Answer, Call, Hang, How, Scenario, Tokens, When};

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `/v1/chat/completions`.
    pub path: String,
    /// Header names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON.
    pub body: Value,
    /// The length of the body in bytes.
    pub size: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn messages(&self) -> Vec<Value> {
        self.body["messages"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the roles of the messages, separated by spaces.
    pub fn roles(&self) -> String {
        self.messages().iter().filter_map(|message| message["role"].as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the text of the last message.
    pub fn last(&self) -> String {
        self.messages().last().and_then(|last| last["content"].as_str()).unwrap_or_default().to_owned()
    }

    /// Returns the names of the offered tools.
    pub fn offers(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).map(str::to_owned).collect()
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// State shared by the connections.
#[derive(Debug)]
struct Shared {
    scenario: Scenario,
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    journal: Vec<Request>,
    /// Number of times each answer was sent.
    sent: Vec<usize>,
}

impl ModelServer {
    /// Starts a server on a free port of this machine.
    pub async fn start(scenario: impl Into<Scenario>) -> Self {
        Self::start_at(scenario, "127.0.0.1:0").await.expect("a free port")
    }

    /// Starts a server at an address.
    pub async fn start_at(scenario: impl Into<Scenario>, address: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared { scenario: scenario.into(), state: Mutex::default(), count: watch::Sender::new(0) });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().journal.clone()
    }

    /// Waits until this many requests have arrived.
    pub async fn wait_for(&self, count: usize) {
        let mut seen = self.shared.count.subscribe();
        seen.wait_for(|seen| *seen >= count).await.expect("the server runs");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and chooses its answer: the first that matches and has not reached its `times`.
    fn choose(&self, request: Request) -> Option<Answer> {
        let mut state = self.state();
        let nth = state.journal.len();
        state.sent.resize(self.scenario.answers.len(), 0);
        let sent = &state.sent;
        let free = |(place, answer): &(usize, &Answer)| answer.times == 0 || sent[*place] < answer.times;
        let mut fitting =
            self.scenario.answers.iter().enumerate().filter(|(_, answer)| answer.when.fits(nth, &request));
        let chosen = fitting.find(free).map(|(place, answer)| (place, answer.clone()));
        state.journal.push(request);
        self.count.send_replace(nth + 1);
        let (place, answer) = chosen?;
        state.sent[place] += 1;
        Some(answer)
    }
}

/// Serves connections until the server is dropped.
async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                let shared = Arc::clone(&shared);
                connections.spawn(async move { connection::serve(stream, &shared).await });
            },
            Some(_) = connections.join_next() => {}
        }
    }
}
