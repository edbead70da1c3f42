//! Execution of commands: they start runs, answer questions, and read the tree of graphs of a run. Knows the server; must not
//! know connections.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep_base::gather;

use super::command::{CommandError, CommandResult, ProtocolCommand};
use super::conversion::RunConverter;
use super::event::RunNumbers;
use crate::error::ApiResult;
use crate::records::run::{RunRecord, RunStatus};
use crate::records::thread::ThreadRecord;
use crate::runs::creation::Reader;
use crate::server::Server;

/// The stream modes of a run whose events are read as those of the protocol.
const MODES: [&str; 6] = ["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"];
/// The parameters of a command that are fields of the request for a run, under the same names.
const FIELDS: [&str; 13] = [
    "input",
    "config",
    "metadata",
    "context",
    "checkpoint",
    "checkpoint_id",
    "interrupt_before",
    "interrupt_after",
    "multitask_strategy",
    "durability",
    "webhook",
    "after_seconds",
    "on_completion",
];
/// The commands that other servers have, and this one does not.
const UNSUPPORTED: [&str; 7] = [
    "input.inject",
    "state.get",
    "state.listCheckpoints",
    "state.fork",
    "subscription.subscribe",
    "subscription.unsubscribe",
    "subscription.reconnect",
];

type Answer = Result<CommandResult, CommandError>;

/// Executes a command on a thread.
pub(crate) async fn execute(server: &Arc<Server>, thread: &str, command: &ProtocolCommand) -> Answer {
    let params = &command.params;
    match command.method.as_str() {
        "run.start" => start(server, thread, params).await,
        "input.respond" => respond(server, thread, params).await,
        "agent.getTree" => tree(server, thread, params).await,
        method if UNSUPPORTED.contains(&method) => {
            Err(CommandError::new("not_supported", format!("`{method}` is not supported here")))
        }
        method => {
            let known = "run.start, input.respond, agent.getTree";
            Err(CommandError::new("unknown_command", format!("there is no command `{method}`: there are {known}")))
        }
    }
}

/// Starts a run; the thread is created if it is not there.
async fn start(server: &Arc<Server>, thread: &str, params: &Value) -> Answer {
    let Some(assistant) = params["assistant_id"].as_str() else {
        return Err(CommandError::invalid("`assistant_id` is missing: an id of an assistant, or the name of a graph"));
    };
    let mut request = request(params);
    request.insert("assistant_id".into(), assistant.into());
    request.insert("if_not_exists".into(), "create".into());
    let run = create(server, thread, request).await?;
    let applied_through = applied_through(server, &run).await?;
    Ok(CommandResult { result: json!({ "run_id": run.run }), applied_through })
}

/// Answers questions, all in one run.
async fn respond(server: &Arc<Server>, thread: &str, params: &Value) -> Answer {
    let answers = answers(params)?;
    let idle = || CommandError::new("no_such_run", format!("no run of the thread `{thread}` waits for an answer"));
    let record = match server.thread_record(thread).await {
        Err(error) if error.is_not_found() => return Err(idle()),
        found => found?.record,
    };
    if record.queue.is_empty() {
        let open = server.open_questions(thread).await?;
        if open.is_empty() {
            return Err(idle());
        }
        let unknown = answers.keys().find(|id| open.iter().all(|question| question["id"] != **id));
        if let Some(id) = unknown {
            return Err(CommandError::new("no_such_interrupt", format!("the question `{id}` is not open")));
        }
    }
    let mut request = request(params);
    let mut command = json!({ "resume": answers });
    for name in ["by", "note", "update", "goto"] {
        if !params[name].is_null() {
            command[name] = params[name].clone();
        }
    }
    request.remove("input");
    request.insert("command".into(), command);
    request.insert("assistant_id".into(), assistant(server, &record, params).await?.into());
    let run = create(server, thread, request).await?;
    Ok(CommandResult { result: json!({}), applied_through: applied_through(server, &run).await? })
}

/// Returns the answers of a command by the ids of their questions.
fn answers(params: &Value) -> Result<Map<String, Value>, CommandError> {
    let one = [params.clone()];
    let entries = match &params["responses"] {
        Value::Null => &one[..],
        Value::Array(entries) => entries.as_slice(),
        _ => return Err(CommandError::invalid("`responses` must be a list")),
    };
    let mut answers = Map::new();
    for entry in entries {
        let (Some(id), Some(response)) = (entry["interrupt_id"].as_str(), entry.get("response")) else {
            return Err(CommandError::invalid("an answer has an `interrupt_id`, a text, and a `response`"));
        };
        if answers.insert(id.to_owned(), response.clone()).is_some() {
            return Err(CommandError::invalid(format!("the question `{id}` is answered twice")));
        }
    }
    match answers.is_empty() {
        true => Err(CommandError::invalid("`responses` is empty")),
        false => Ok(answers),
    }
}

/// Returns the assistant of an answer: that of the last run, unless the client names one.
async fn assistant(server: &Server, thread: &ThreadRecord, params: &Value) -> ApiResult<String> {
    if let Some(assistant) = params["assistant_id"].as_str() {
        return Ok(assistant.to_owned());
    }
    Ok(match newest_run(server, &thread.thread).await? {
        Some(run) => run.assistant.to_string(),
        None => thread.graph.clone().unwrap_or_default(),
    })
}

/// Returns the request for a run: what the client gave, with all modes that the protocol is made of.
fn request(params: &Value) -> Map<String, Value> {
    let given = FIELDS.iter().filter(|name| !params[**name].is_null());
    let mut request: Map<_, _> = gather(given.map(|name| ((*name).to_owned(), params[*name].clone())));
    if let Some(strategy) = params["multitaskStrategy"].as_str() {
        request.entry("multitask_strategy").or_insert(strategy.into());
    }
    if let Some(checkpoint) = params["config"]["configurable"]["checkpoint_id"].as_str() {
        request.entry("checkpoint_id").or_insert(checkpoint.into());
    }
    request.insert("stream_mode".into(), json!(MODES));
    request.insert("stream_subgraphs".into(), true.into());
    request.insert("stream_resumable".into(), true.into());
    request
}

async fn create(server: &Arc<Server>, thread: &str, request: Map<String, Value>) -> ApiResult<RunRecord> {
    Ok(server.create_run(Some(thread), request.into(), Reader::OfEvents).await?.0)
}

/// Returns the number of the last event before those of a new run: that of the run that is executed now, if there is one.
async fn applied_through(server: &Server, run: &RunRecord) -> ApiResult<u64> {
    let queue = match server.thread_record(&run.thread).await {
        Err(error) if error.is_not_found() => vec![],
        found => found?.record.queue,
    };
    let Some(first) = queue.first().filter(|first| **first != run.run) else {
        return Ok(RunNumbers::of(run).before());
    };
    match server.records.run(&run.thread, *first).await {
        Ok(first) => Ok(RunNumbers::of(&first.record).through(server.newest_event(&first.record).await?)),
        Err(error) if error.is_not_found() => Ok(RunNumbers::of(run).before()),
        Err(error) => Err(error),
    }
}

async fn newest_run(server: &Server, thread: &str) -> ApiResult<Option<RunRecord>> {
    match server.records.last_run(thread).await? {
        Some(run) => Ok(Some(server.records.run(thread, run).await?.record)),
        None => Ok(None),
    }
}

/// Returns the graphs of a run with their statuses: of the newest run, unless the client names one.
async fn tree(server: &Arc<Server>, thread: &str, params: &Value) -> Answer {
    let none = || CommandError::new("no_such_run", format!("the thread `{thread}` has no such run"));
    let run = match params["run_id"].as_str() {
        None => newest_run(server, thread).await?,
        Some(id) => {
            let id = id.parse().map_err(|_| none())?;
            server.records.run(thread, id).await.ok().map(|found| found.record)
        }
    };
    let run = run.ok_or_else(none)?;
    let applied_through = RunNumbers::of(&run).through(server.newest_event(&run).await?);
    Ok(CommandResult { result: json!({ "tree": tree_of(server, &run).await? }), applied_through })
}

async fn tree_of(server: &Arc<Server>, run: &RunRecord) -> ApiResult<Value> {
    let mut converter = RunConverter::new(run);
    let mut events = converter.start(run.created_at);
    for event in server.present_events(run).await? {
        events.extend(converter.convert(&event));
    }
    if !matches!(run.status, RunStatus::Pending | RunStatus::Running) {
        events.extend(converter.end(Some(run), &[]));
    }
    let mut root = Value::Null;
    for event in events.iter().filter(|event| event.method == "lifecycle") {
        let node = json!({
            "namespace": event.namespace, "status": event.data["event"], "graph_name": event.data["graph_name"],
        });
        place(&mut root, &event.namespace, 0, node);
    }
    Ok(root)
}

/// Puts a graph at its place in a tree; one that is there gets the newer status.
fn place(tree: &mut Value, namespace: &[String], depth: usize, node: Value) {
    if depth == namespace.len() {
        let children = tree.get_mut("children").map(Value::take).unwrap_or_else(|| json!([]));
        *tree = node;
        tree["children"] = children;
        return;
    }
    let Some(children) = tree["children"].as_array_mut() else { return };
    let path = json!(namespace[..=depth]);
    let nth = children.iter().position(|child| child["namespace"] == path).unwrap_or(children.len());
    if nth == children.len() {
        children.push(json!({ "children": [] }));
    }
    place(&mut children[nth], namespace, depth + 1, node);
}
