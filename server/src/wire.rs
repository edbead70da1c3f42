//! JSON for clients: states, tasks and interrupts. Knows no request.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use superstep::checkpoint::CheckpointId;
use superstep::graph::interrupt::AnswerInfo;
use superstep::graph::view::{NestedSnapshot, TaskSnapshot};
use superstep::graph::{AnyGraph, AnyState, Question, StateSnapshot};
use superstep_base::time::millis;

use crate::message_form::plain_message;
use crate::records::time::time_text;
use crate::security::secrets::Secrets;
use crate::wire_types::{CheckpointJson, InterruptJson, StateJson, TaskJson, TermsJson, VoteJson};

/// An event on the wire: its name and its data.
pub(crate) type WireEvent = (Cow<'static, str>, Value);

/// The node under which the engine's writes of a task are read when they replace a reduced channel.
const OVERWRITE: &str = "$overwrite";

/// Returns a question as an interrupt.
pub(crate) fn interrupt(question: &Question) -> Value {
    json!(InterruptJson { id: question.id().to_string(), value: question.json(), superstep: terms(question) })
}

/// Returns who may answer a question, until when, and what happens then.
fn terms(question: &Question) -> TermsJson {
    let vote = |vote: AnswerInfo| VoteJson { by: vote.by, at: time_text(vote.at), note: vote.note, value: vote.value };
    TermsJson {
        name: question.name().to_owned(),
        node: question.node().to_owned(),
        expires: question.expires().map(|time| time_text(millis(time))),
        default: question.default_answer(),
        approvals: question.approvals(),
        approvers: question.approvers().to_vec(),
        votes: question.votes().into_iter().map(vote).collect(),
    }
}

/// Returns questions as interrupts.
pub(crate) fn interrupts<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Vec<Value> {
    questions.into_iter().map(interrupt).collect()
}

/// Returns a question as a run that stops with it shows it: with the schema of its answer.
fn asked(question: &Question) -> Value {
    let mut asked = interrupt(question);
    asked["response_schema"] = question.answer_schema().unwrap_or_default();
    asked
}

/// Returns the questions with which a run stops.
pub(crate) fn all_asked<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Vec<Value> {
    questions.into_iter().map(asked).collect()
}

/// Returns the values of a state without the channels that are null: a client of LangGraph does not see a channel that nothing was
/// written to.
pub(crate) fn written(mut values: Value) -> Value {
    if let Some(fields) = values.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    values
}

/// Returns the values of a run that has ended: the state, and the questions with which it stopped.
pub(crate) fn with_interrupts(values: Value, questions: &[Question]) -> Value {
    let mut values = written(values);
    if !questions.is_empty()
        && let Some(fields) = values.as_object_mut()
    {
        fields.insert("__interrupt__".into(), all_asked(questions).into());
    }
    values
}

/// The form of updates of a graph: messages are shown as clients send them.
pub(crate) struct Updates {
    /// The channels of messages.
    pub messages: Vec<String>,
}

impl Updates {
    /// Returns a list of writes as one update: null if there are none.
    pub(crate) fn json(&self, writes: &Value) -> Value {
        let written = writes.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
        let mut fields = Map::new();
        for (channel, value) in written {
            let value = self.plain(channel, value.get(OVERWRITE).unwrap_or(value));
            match (fields.get_mut(channel), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => _ = fields.insert(channel.clone(), value),
            }
        }
        if fields.is_empty() { Value::Null } else { fields.into() }
    }

    fn plain(&self, channel: &str, value: &Value) -> Value {
        match value {
            Value::Array(changes) if self.messages.iter().any(|name| name == channel) => {
                changes.iter().map(plain_message).collect()
            }
            value => value.clone(),
        }
    }
}

/// Returns where a checkpoint is.
pub(crate) fn checkpoint(thread: &str, id: CheckpointId) -> CheckpointJson {
    CheckpointJson { thread_id: thread.to_owned(), checkpoint_ns: String::new(), checkpoint_id: id.to_string() }
}

/// Returns the state at a checkpoint without secrets.
pub(crate) fn state(graph: &AnyGraph, thread: &str, snapshot: &StateSnapshot<AnyState>, secrets: &Secrets) -> Value {
    let (open, updates) = (snapshot.questions().filter(|question| !question.is_answered()), Updates::of(graph));
    let (here, parent) = (checkpoint(thread, snapshot.id), snapshot.parent.map(|id| checkpoint(thread, id)));
    let mut shown = json!(StateJson {
        values: written(snapshot.json(graph.schema())),
        next: snapshot.next.clone(),
        tasks: snapshot.tasks.iter().map(|shown| task(shown, &updates, (thread, ""))).collect(),
        metadata: Some(metadata(graph.name(), thread, snapshot)),
        created_at: Some(time_text(snapshot.created_at)),
        checkpoint: Some(here),
        parent_checkpoint: parent,
        interrupts: interrupts(open),
        checkpoint_id: Some(snapshot.id.to_string()),
        parent_checkpoint_id: snapshot.parent.map(|id| id.to_string()),
    });
    secrets.hide(&mut shown);
    shown
}

/// Returns the state of a thread that has not run.
pub(crate) fn empty_state() -> Value {
    json!(StateJson { values: json!({}), ..StateJson::default() })
}

/// Returns the state of a subgraph in a namespace: its own tasks, and null for what only a thread has.
fn nested_state(snapshot: &NestedSnapshot, updates: &Updates, (thread, namespace): (&str, &str)) -> Value {
    let place = |id: CheckpointId| CheckpointJson { checkpoint_ns: namespace.to_owned(), ..checkpoint(thread, id) };
    json!(StateJson {
        values: written(snapshot.values.json()),
        next: snapshot.next.clone(),
        tasks: snapshot.tasks.iter().map(|shown| task(shown, updates, (thread, namespace))).collect(),
        metadata: Some(json!({ "source": snapshot.source.as_str(), "step": snapshot.step, "parents": {} })),
        created_at: Some(time_text(snapshot.created_at)),
        checkpoint: Some(place(snapshot.id)),
        parent_checkpoint: snapshot.parent.map(place),
        interrupts: snapshot.tasks.iter().flat_map(|task| interrupts(open_questions(task))).collect(),
        checkpoint_id: Some(snapshot.id.to_string()),
        parent_checkpoint_id: snapshot.parent.map(|id| id.to_string()),
    })
}

/// Key of the metadata of checkpoints that names those whose value is JSON; all others are text.
pub(crate) const JSON_KEYS: &str = "superstep.json";

/// Returns the metadata of a run as those of its checkpoints, which are texts.
pub(crate) fn metadata_texts(metadata: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let json: Vec<&String> = metadata.iter().filter(|(_, value)| !value.is_string()).map(|(key, _)| key).collect();
    let names = (!json.is_empty()).then(|| (JSON_KEYS.to_owned(), json!(json).to_string()));
    metadata.iter().map(|(key, value)| (key.clone(), text(value))).chain(names).collect()
}

/// Returns the metadata of a checkpoint as the run had them.
fn metadata_values(texts: &[(String, String)]) -> Map<String, Value> {
    let names = texts.iter().find(|(key, _)| key == JSON_KEYS).and_then(|(_, names)| serde_json::from_str(names).ok());
    let names: Vec<String> = names.unwrap_or_default();
    let value = |key: &String, text: &str| match names.contains(key) {
        true => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        false => text.into(),
    };
    texts.iter().filter(|(key, _)| key != JSON_KEYS).map(|(key, text)| (key.clone(), value(key, text))).collect()
}

fn metadata(graph: &str, thread: &str, snapshot: &StateSnapshot<AnyState>) -> Value {
    let mut fields = metadata_values(&snapshot.metadata);
    let source = json!(snapshot.source.as_str());
    for (key, value) in [("graph_id", graph.into()), ("thread_id", thread.into()), ("source", source)] {
        fields.insert(key.into(), value);
    }
    fields.insert("step".into(), snapshot.step.into());
    fields.insert("parents".into(), json!({}));
    fields.into()
}

fn open_questions(task: &TaskSnapshot) -> impl Iterator<Item = &Question> {
    task.questions.iter().filter(|question| !question.is_answered())
}

/// Returns a task of a graph in a namespace, which is empty for that of the thread. A task that runs a subgraph names its namespace.
fn task(task: &TaskSnapshot, updates: &Updates, (thread, namespace): (&str, &str)) -> TaskJson {
    let name = format!("{}:{}", task.name, task.id);
    let inside = if namespace.is_empty() { name } else { format!("{namespace}|{name}") };
    TaskJson {
        id: task.id.clone(),
        name: task.name.clone(),
        path: vec!["__pregel_pull".to_owned(), task.name.clone()],
        error: task.error.clone(),
        interrupts: interrupts(open_questions(task)),
        checkpoint: task.subgraph.then(|| json!({ "thread_id": thread, "checkpoint_ns": inside })),
        state: task.state.as_ref().map(|nested| nested_state(nested, updates, (thread, &inside))),
        result: task.result.as_ref().map(|writes| updates.json(&writes.json())),
    }
}
