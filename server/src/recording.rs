//! A run as one file that a browser shows without a server: the page, and the answers that a server would give it. Must not know a form of
//! an answer beyond what leads to the next request.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use superstep::checkpoint::Checkpointer;
use superstep::graph::Graphs;
use superstep_base::time::now;
use tower_service::Service;

use crate::options::Options;
use crate::records::time::time_text;
use crate::routes::{drawing, routes};
use crate::server::Server;

/// The page, with places for its title and its run.
const PAGE: &str = include_str!("../page/file.html");

/// The characters that the page's `encodeURIComponent` leaves as they are.
const NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The checkpoints of a page, as the page asks for them.
const CHECKPOINTS: usize = 50;

/// A failure to record a run: what a server would have answered.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub struct RecordingError {
    detail: String,
}

/// Returns a run as one HTML file: read only, without secrets, and without anything that it would load from elsewhere. Nothing is
/// executed or written.
///
/// # Errors
/// If there is no such thread, its graph is unknown, or the store cannot be read.
pub async fn recorded_page(
    graphs: Graphs,
    store: Arc<dyn Checkpointer>,
    thread: &str,
) -> Result<String, RecordingError> {
    let server = Arc::new(Server::new(graphs, store, Options::default()));
    let name = utf8_percent_encode(thread, NAME).to_string();
    let mut recorder =
        Recorder { router: routes(Arc::clone(&server)), path: format!("/threads/{name}"), ..Recorder::default() };
    let status = recorder.record(&recorder.path.clone(), "/status").await?;
    recorder.record_drawing(&server, status["graph"].as_str().unwrap_or_default());
    recorder.record_inbox().await?;
    recorder.record_checkpoints().await?;
    Ok(filled(thread, &recorder.into_json(thread)))
}

/// The answers that are recorded so far.
#[derive(Default)]
struct Recorder {
    router: Router,
    /// The path of the thread.
    path: String,
    answers: Map<String, Value>,
    states: Map<String, Value>,
    parents: Map<String, Value>,
}

impl Recorder {
    /// Records the answer to a request for what is below a path.
    async fn record(&mut self, path: &str, below: &str) -> Result<Value, RecordingError> {
        let path = format!("{path}{below}");
        let answer = self.get(&path).await?;
        self.answers.insert(format!("GET {path}"), answer.clone());
        Ok(answer)
    }

    async fn get(&mut self, path: &str) -> Result<Value, RecordingError> {
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        let request = request.map_err(|error| RecordingError { detail: error.to_string() })?;
        let Ok(response) = self.router.call(request).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        match status {
            StatusCode::OK => Ok(answer),
            _ => Err(RecordingError { detail: answer["detail"].as_str().unwrap_or(status.as_str()).to_owned() }),
        }
    }

    /// Records how the page finds the drawing of a graph: by an assistant of it.
    fn record_drawing(&mut self, server: &Server, graph: &str) {
        let search = json!({ "graph_id": graph, "limit": 1 });
        self.answers
            .insert(format!("POST /assistants/search {search}"), json!([{ "assistant_id": "0", "graph_id": graph }]));
        if let Ok(found) = server.graphs.get(graph) {
            let drawn = drawing::json(&found.topology(), usize::MAX);
            self.answers.insert("GET /assistants/0/graph?xray=true".into(), drawn);
        }
    }

    /// Records what waits for a person, which the page shows without a form.
    async fn record_inbox(&mut self) -> Result<(), RecordingError> {
        let (path, mut after) = (self.path.clone(), String::new());
        loop {
            let page = self.record(&path, &format!("/inbox{after}")).await?;
            let Some(next) = page["next"].as_str() else { return Ok(()) };
            after = format!("?after={}", utf8_percent_encode(next, NAME));
        }
    }

    /// Records all checkpoints, those of subgraphs too, with their tasks; of the thread's own also their states.
    async fn record_checkpoints(&mut self) -> Result<(), RecordingError> {
        let mut open = vec![String::new()];
        while let Some(within) = open.pop() {
            for entry in self.record_pages(&within).await? {
                if within.is_empty() {
                    self.record_state(&entry).await?;
                }
                open.extend(self.record_tasks(&entry, &within).await?);
            }
        }
        Ok(())
    }

    /// Records the pages of a list of checkpoints, and returns them.
    async fn record_pages(&mut self, within: &str) -> Result<Vec<Value>, RecordingError> {
        let (path, mut before, mut all) = (self.path.clone(), String::new(), vec![]);
        loop {
            let page = self.record(&path, &format!("/checkpoints?limit={CHECKPOINTS}{before}{within}")).await?;
            all.extend(page["checkpoints"].as_array().into_iter().flatten().cloned());
            match page["next"].as_u64() {
                Some(next) => before = format!("&before={next}"),
                None => return Ok(all),
            }
        }
    }

    /// Records the state of a checkpoint: what differs from the one before, or all of it.
    async fn record_state(&mut self, entry: &Value) -> Result<(), RecordingError> {
        let (path, id) = (self.path.clone(), entry["checkpoint"].to_string());
        if let Some(parent) = entry["parent"].as_u64()
            && self.record(&path, &format!("/diff?from={parent}&to={id}")).await.is_ok()
        {
            self.parents.insert(id, parent.to_string().into());
            return Ok(());
        }
        let state = self.get(&format!("{path}/state/{id}")).await?;
        self.states.insert(id, state["values"].clone());
        Ok(())
    }

    /// Records the tasks of a checkpoint, and returns where those that run subgraphs lead.
    async fn record_tasks(&mut self, entry: &Value, within: &str) -> Result<Vec<String>, RecordingError> {
        let (path, checkpoint, mut inside) = (self.path.clone(), entry["checkpoint"].to_string(), vec![]);
        for task in entry["tasks"].as_array().into_iter().flatten() {
            let id = task["id"].as_str().unwrap_or_default();
            let query = within.strip_prefix('&').map(|within| format!("?{within}")).unwrap_or_default();
            self.record(&path, &format!("/checkpoints/{checkpoint}/tasks/{}{query}", utf8_percent_encode(id, NAME)))
                .await?;
            if task["has_inside"] == true {
                let key = format!("{checkpoint}:{id}");
                inside.push(format!("{within}&within={}", utf8_percent_encode(&key, NAME)));
            }
        }
        Ok(inside)
    }

    fn into_json(self, thread: &str) -> Value {
        json!({
            "thread": thread, "exported_at": time_text(now()), "answers": self.answers, "states": self.states, "parents": self.parents,
        })
    }
}

/// Returns the page with a run in it. Nothing of the run can end the element that holds it.
fn filled(thread: &str, recording: &Value) -> String {
    let data = recording.to_string().replace('<', "\\u003c");
    let title = thread.replace('&', "&amp;").replace('<', "&lt;");
    // The title first: the run may have the text of its place.
    PAGE.replacen("@@TITLE@@", &title.replace("@@RECORDING@@", ""), 1).replacen("@@RECORDING@@", &data, 1)
}
