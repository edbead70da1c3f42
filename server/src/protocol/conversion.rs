//! The events of a run as those of the protocol: its own lifecycle, those of its subgraphs, states, tasks, messages and questions. The same
//! events of a run always give the same events of the protocol. Must not know who reads them, nor where they come from.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::content::plain_state;
use super::event::{Place, ProtocolEvent, RunNumbers};
use super::messages::{MessagePart, OpenMessages};
use crate::records::event::RunEvent;
use crate::records::run::{RunRecord, RunStatus};
use crate::runs::request::RunBody;

/// The field of interrupts in states and updates.
const INTERRUPT: &str = "__interrupt__";

/// Converts the events of a run, from its first one on.
pub(crate) struct RunConverter {
    numbers: RunNumbers,
    graph: String,
    /// The ids of the questions that the run answers.
    answered: Vec<String>,
    /// Set if each state is followed by its checkpoint.
    has_checkpoints: bool,
    /// A state that waits for its checkpoint, since clients read the checkpoint first.
    held: Option<Part>,
    /// The subgraphs that have started and not ended.
    open: BTreeSet<Vec<String>>,
    messages: HashMap<Vec<String>, OpenMessages>,
    /// The newest checkpoint of each graph.
    checkpoints: HashMap<Vec<String>, Value>,
    asked: BTreeSet<String>,
    /// The time of the newest event.
    at: u64,
    parts: Vec<Part>,
}

/// An event without its number.
struct Part {
    method: &'static str,
    namespace: Vec<String>,
    node: Option<String>,
    data: Value,
}

impl Part {
    fn new(method: &'static str, namespace: &[String], data: Value) -> Self {
        Self { method, namespace: namespace.to_vec(), node: None, data }
    }
}

impl RunConverter {
    pub(crate) fn new(run: &RunRecord) -> Self {
        let body = RunBody::parse(&run.request).unwrap_or_default();
        Self {
            numbers: RunNumbers::of(run),
            graph: run.graph.clone(),
            answered: answered(&run.request["command"]["resume"]),
            has_checkpoints: body.modes().is_ok_and(|modes| modes.has("checkpoints") && modes.has("values")),
            held: None,
            open: BTreeSet::new(),
            messages: HashMap::new(),
            checkpoints: HashMap::new(),
            asked: BTreeSet::new(),
            at: run.created_at,
            parts: vec![],
        }
    }

    /// Returns the events before the first one of the run.
    pub(crate) fn start(&mut self, at: u64) -> Vec<ProtocolEvent> {
        self.at = self.at.max(at);
        self.lifecycle("running", &[]);
        if !self.answered.is_empty() {
            let ids = std::mem::take(&mut self.answered);
            self.send("input.answered", &[], json!({ "interrupt_ids": ids }));
        }
        self.take(Place::Start)
    }

    /// Returns the events that are made of one of the run.
    pub(crate) fn convert(&mut self, event: &RunEvent) -> Vec<ProtocolEvent> {
        self.at = self.at.max(event.at);
        let mut path = event.name.split('|').map(str::to_owned);
        let (name, namespace) = (path.next().unwrap_or_default(), path.collect::<Vec<_>>());
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else { return vec![] };
        self.start_subgraphs(&namespace);
        if !(name == "checkpoints" && self.held.as_ref().is_some_and(|held| held.namespace == namespace)) {
            self.release();
        }
        match name.as_str() {
            "values" => self.values(&namespace, data),
            "updates" => self.updates(&namespace, &data),
            "messages" => self.message(&namespace, &data),
            "tasks" => self.task(&namespace, data),
            "checkpoints" => self.checkpoint(&namespace, &data),
            "custom" => self.send("custom", &namespace, custom(data)),
            "gap" => self.gap(&data),
            _ => {}
        }
        self.take(Place::Of(event.number))
    }

    /// Returns the events after the last one of the run, which has ended, or is gone. `asked` are the questions that are open since.
    pub(crate) fn end(&mut self, run: Option<&RunRecord>, asked: &[Value]) -> Vec<ProtocolEvent> {
        self.release();
        self.at = self.at.max(run.map_or(0, |run| run.updated_at));
        self.ask(&[], asked);
        let outcome = match run.map(|run| (run.status, run.is_open)) {
            Some((RunStatus::Error, _)) => "failed",
            Some((RunStatus::Success, false)) => "completed",
            _ => "interrupted",
        };
        let mut open: Vec<_> =
            self.messages.iter_mut().map(|(namespace, open)| (namespace.clone(), open.end())).collect();
        open.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (namespace, parts) in open {
            self.send_messages(&namespace, parts);
        }
        for namespace in std::mem::take(&mut self.open).into_iter().rev() {
            self.lifecycle(outcome, &namespace);
        }
        self.lifecycle(outcome, &[]);
        if let Some((failure, ended)) = run.and_then(|run| run.error.as_ref()).zip(self.parts.last_mut())
            && outcome == "failed"
        {
            ended.data["error"] = failure.message.as_str().into();
        }
        self.take(Place::End)
    }

    fn send(&mut self, method: &'static str, namespace: &[String], data: Value) {
        self.parts.push(Part::new(method, namespace, data));
    }

    fn lifecycle(&mut self, event: &str, namespace: &[String]) {
        let node = namespace.last().and_then(|last| last.split(':').next());
        self.send("lifecycle", namespace, json!({ "event": event, "graph_name": node.unwrap_or(&self.graph) }));
    }

    /// Takes the events that were sent, with their numbers. The ids of the run's own lifecycle have a form by which clients know the run.
    fn take(&mut self, place: Place) -> Vec<ProtocolEvent> {
        let numbers = self.numbers;
        let number = |(nth, part): (usize, Part)| {
            let id = match (part.method, part.namespace.is_empty(), part.data["event"].as_str()) {
                ("lifecycle", true, Some(event)) => format!("synth:{}:lifecycle:{event}", numbers.run),
                ("input.requested", ..) => {
                    format!("{}-input-{}", numbers.run, part.data["interrupt_id"].as_str().unwrap_or_default())
                }
                _ => numbers.id(place, nth),
            };
            ProtocolEvent {
                id,
                seq: numbers.seq(place, nth),
                method: part.method,
                namespace: part.namespace,
                node: part.node,
                at: self.at,
                data: part.data,
            }
        };
        std::mem::take(&mut self.parts).into_iter().enumerate().map(number).collect()
    }

    /// Sends that subgraphs have started, with the first event of each.
    fn start_subgraphs(&mut self, namespace: &[String]) {
        for depth in 1..=namespace.len() {
            if self.open.insert(namespace[..depth].to_vec()) {
                self.lifecycle("started", &namespace[..depth]);
            }
        }
    }

    fn release(&mut self) {
        self.parts.extend(self.held.take());
    }

    fn values(&mut self, namespace: &[String], mut data: Value) {
        let asked = data.as_object_mut().and_then(|fields| fields.remove(INTERRUPT));
        self.held = Some(Part::new("values", namespace, plain_state(&data)));
        if !self.has_checkpoints || asked.is_some() {
            self.release();
        }
        if let Some(asked) = asked {
            self.interrupt(namespace, &asked);
        }
    }

    fn updates(&mut self, namespace: &[String], data: &Value) {
        for (node, update) in data.as_object().into_iter().flatten() {
            match node == INTERRUPT {
                true => self.interrupt(namespace, update),
                false => {
                    let values = if update.is_null() { json!({}) } else { plain_state(update) };
                    self.send("updates", namespace, json!({ "node": node, "values": values }));
                }
            }
        }
    }

    fn interrupt(&mut self, namespace: &[String], asked: &Value) {
        self.ask(namespace, asked.as_array().map_or(&[], Vec::as_slice));
    }

    /// Sends questions, each once. Clients read the value under one of two names.
    fn ask(&mut self, namespace: &[String], asked: &[Value]) {
        for question in asked {
            let (id, value) = (&question["id"], &question["value"]);
            if self.asked.insert(id.to_string()) {
                let terms = &question["superstep"];
                let data = json!({ "interrupt_id": id, "payload": value, "value": value, "superstep": terms });
                self.send("input.requested", namespace, data);
            }
        }
    }

    fn message(&mut self, namespace: &[String], data: &Value) {
        let open = self.messages.entry(namespace.to_vec()).or_default();
        let parts = open.convert(&data[0], &data[1]);
        self.send_messages(namespace, parts);
    }

    fn send_messages(&mut self, namespace: &[String], parts: Vec<MessagePart>) {
        let part = |MessagePart { method, node, data }| Part { node, ..Part::new(method, namespace, data) };
        self.parts.extend(parts.into_iter().map(part));
    }

    fn task(&mut self, namespace: &[String], mut data: Value) {
        let id = data["id"].as_str().unwrap_or_default().to_owned();
        let outcome = data.get("result").is_some().then(|| outcome_of(&data));
        if let Some(outcome) = outcome {
            let ended = self.messages.get_mut(namespace).map(|open| open.end_task(&id)).unwrap_or_default();
            self.send_messages(namespace, ended);
            self.end_subgraphs(namespace, &id, outcome);
        }
        for part in ["input", "result"] {
            if let Some(state) = data.get_mut(part) {
                *state = plain_state(state);
            }
        }
        self.send("tasks", namespace, data);
    }

    /// Sends that the subgraphs of a task have ended, the innermost first.
    fn end_subgraphs(&mut self, namespace: &[String], task: &str, outcome: &str) {
        let is_of_task = |open: &&Vec<String>| {
            open.len() > namespace.len() && open.starts_with(namespace) && task_of(&open[namespace.len()]) == task
        };
        let ended: Vec<_> = self.open.iter().rev().filter(is_of_task).cloned().collect();
        for open in ended {
            self.lifecycle(outcome, &open);
            self.open.remove(&open);
        }
    }

    fn checkpoint(&mut self, namespace: &[String], data: &Value) {
        let id = &data["config"]["configurable"]["checkpoint_id"];
        let metadata = &data["metadata"];
        let mut envelope = json!({ "id": id, "step": metadata["step"], "source": metadata["source"] });
        if let Some(parent) = self.checkpoints.insert(namespace.to_vec(), id.clone()) {
            envelope["parent_id"] = parent;
        }
        if id.is_string() {
            self.send("checkpoints", namespace, envelope);
        }
        self.release();
    }

    /// Sends which numbers are missing. No client asks for it, but none is left without it.
    fn gap(&mut self, data: &Value) {
        let number = |name: &str| Place::Of(data[name].as_u64().unwrap_or_default());
        let (from, to) = (self.numbers.seq(number("from"), 0), self.numbers.seq(number("to"), usize::MAX));
        self.send("gap", &[], json!({ "from": from, "to": to }));
    }
}

/// Returns the ids of the questions that a command answers by their ids.
fn answered(resume: &Value) -> Vec<String> {
    let is_id = |id: &&String| id.parse::<superstep::graph::InterruptId>().is_ok();
    let ids = resume.as_object().map(|fields| fields.keys().collect::<Vec<_>>()).unwrap_or_default();
    match ids.iter().all(is_id) {
        true => ids.into_iter().cloned().collect(),
        false => vec![],
    }
}

/// Returns a value that a node wrote: one with a name and a payload is on a channel of its own.
fn custom(value: Value) -> Value {
    let is_named = value["name"].is_string() && value.get("payload").is_some();
    if is_named { value } else { json!({ "payload": value }) }
}

fn outcome_of(result: &Value) -> &'static str {
    let has_asked = result["interrupts"].as_array().is_some_and(|asked| !asked.is_empty());
    match (result["error"].is_null(), has_asked) {
        (false, _) => "failed",
        (true, true) => "interrupted",
        (true, false) => "completed",
    }
}

/// Returns the task of a part of a namespace, `node:task` or `node:task#1`.
fn task_of(part: &str) -> &str {
    let task = part.split_once(':').map_or("", |(_, task)| task);
    task.split('#').next().unwrap_or(task)
}
