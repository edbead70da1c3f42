//! The tools: one that starts each graph, and those about threads. Knows names and arguments; must not know what a call does.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::graph::{AnyGraph, Graphs};
use superstep_base::gather;
use superstep_base::panics::catch_panic;

use crate::server::Server;

/// The first part of the names of tools that start graphs.
const RUN: &str = "run_";

/// A call of a tool, with its arguments.
#[derive(Debug)]
pub(super) enum Call<'a> {
    Run(&'a AnyGraph, Value),
    Wait(WaitArgs),
    Status(StatusArgs),
    Answer(AnswerArgs),
    Cancel(ThreadArgs),
    History(HistoryArgs),
    ListRuns(ListArgs),
}

#[derive(Debug, Deserialize)]
pub(super) struct ThreadArgs {
    pub thread: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct WaitArgs {
    pub thread: String,
    pub seconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StatusArgs {
    pub thread: String,
    pub channel: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AnswerArgs {
    pub thread: String,
    pub answer: Value,
    pub question: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HistoryArgs {
    pub thread: String,
    pub limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListArgs {
    pub graph: Option<String>,
    pub status: Option<String>,
    pub limit: Option<usize>,
}

impl<'a> Call<'a> {
    /// Reads a call; `None` if there is no such tool.
    pub(super) fn parse(graphs: &'a Graphs, name: &str, arguments: JsonObject) -> Option<Result<Self, String>> {
        let arguments = Value::Object(arguments);
        if let Some(graph) = graphs.iter().find(|graph| tool_name(graph) == name) {
            return Some(Ok(Self::Run(graph, arguments)));
        }
        let call = match name {
            "wait" => serde_json::from_value(arguments).map(Self::Wait),
            "status" => serde_json::from_value(arguments).map(Self::Status),
            "answer" => serde_json::from_value(arguments).map(Self::Answer),
            "cancel" => serde_json::from_value(arguments).map(Self::Cancel),
            "history" => serde_json::from_value(arguments).map(Self::History),
            "list_runs" => serde_json::from_value(arguments).map(Self::ListRuns),
            _ => return None,
        };
        Some(call.map_err(|error| format!("the arguments of `{name}` cannot be read: {error}")))
    }
}

/// Returns the name of the tool that starts a graph: clients take letters, digits, `-` and `_` only.
fn tool_name(graph: &AnyGraph) -> String {
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    format!("{RUN}{}", graph.name().chars().map(allowed).collect::<String>())
}

/// Returns all tools.
pub(super) fn tools(server: &Server) -> Vec<Tool> {
    // A schema that panics is left out: the tools of the other graphs are there.
    let schema = |graph: &AnyGraph| catch_panic(|| server.input_schema(graph)).unwrap_or_default();
    server.graphs.iter().map(|graph| run_tool(graph, schema(graph))).chain(thread_tools()).collect()
}

fn run_tool(graph: &AnyGraph, input: Value) -> Tool {
    let about = graph.about().map(|about| format!("{}. ", about.trim_end_matches('.'))).unwrap_or_default();
    let about = format!(
        "{about}Starts a run of the graph `{}` and returns its thread at once; the run goes on by itself. \
         Call `wait` with the thread for the result.",
        graph.name()
    );
    Tool::new(tool_name(graph), about, input_schema(input)).with_annotations(hints(false))
}

/// Returns the JSON Schema of a tool's arguments.
fn input_schema(input: Value) -> Arc<JsonObject> {
    match input {
        Value::Object(schema) => Arc::new(schema),
        _ => object(json!({}), &[]),
    }
}

fn thread_tools() -> [Tool; 6] {
    let thread =
        json!({ "type": "string", "description": "The thread, as the tool that started the run has returned it" });
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": 100 });
    [
        reader(
            "wait",
            "Waits until a run is completed, has failed or asks a question, and returns its state and its open questions. \
             Call it again if the status is `working`.",
            object(
                json!({ "thread": thread, "seconds": { "type": "number", "minimum": 0, "maximum": 50, "default": 50 } }),
                &["thread"],
            ),
        ),
        reader(
            "status",
            "Returns the status, the state and the open questions of a run, without waiting.",
            object(
                json!({ "thread": thread, "channel": { "type": "string", "description": "The only part of the state to return" } }),
                &["thread"],
            ),
        ),
        writer(
            "answer",
            "Answers a question of a run, which then goes on. Answer only what the user has decided.",
            object(
                json!({
                    "thread": thread,
                    "answer": { "description": "The answer, in the shape that the question takes" },
                    "question": { "type": "string", "description": "The id of the question; not needed if only one is open" },
                }),
                &["thread", "answer"],
            ),
        ),
        writer("cancel", "Cancels a run.", object(json!({ "thread": thread }), &["thread"])),
        reader(
            "history",
            "Returns the steps of a run, the newest first.",
            object(json!({ "thread": thread, "limit": limit }), &["thread"]),
        ),
        reader(
            "list_runs",
            "Lists runs with their threads and status, the newest first.",
            object(
                json!({
                    "graph": { "type": "string" },
                    "status": { "enum": ["working", "input_required", "completed", "failed", "cancelled"] },
                    "limit": limit,
                }),
                &[],
            ),
        ),
    ]
}

fn reader(name: &'static str, about: &'static str, schema: Arc<JsonObject>) -> Tool {
    Tool::new(name, about, schema).with_annotations(hints(true))
}

fn writer(name: &'static str, about: &'static str, schema: Arc<JsonObject>) -> Tool {
    Tool::new(name, about, schema).with_annotations(hints(false))
}

fn hints(read_only: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(read_only)
}

fn object(properties: Value, required: &[&str]) -> Arc<JsonObject> {
    let fields = [("type", "object".into()), ("properties", properties), ("required", required.into())];
    Arc::new(gather(fields.map(|(name, value)| (name.to_owned(), value))))
}
