//! JSON for clients: states, tasks and interrupts. Knows no request.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use superstep::graph::interrupt::AnswerInfo;
use superstep::graph::view::{NestedSnapshot, Snapshot, TaskSnapshot};
use superstep::graph::{AnyGraph, AnyState, CheckpointInfo, Question, StateSnapshot};
use superstep_base::gather;
use superstep_base::time::millis;

use crate::graph_place::GraphPlace;
use crate::message_form::plain_message;
use crate::panics::answer_schema;
use crate::records::time::time_text;
use crate::security::secrets::Secrets;
use crate::wire_types::{InterruptJson, StateJson, TaskJson, TermsJson, VoteJson};

/// An event on the wire: its name and its data.
pub(crate) type WireEvent = (Cow<'static, str>, Value);

/// The node under which the engine's writes of a task are read when they replace a reduced channel.
const OVERWRITE: &str = "$overwrite";

/// Returns a question as an interrupt.
pub(crate) fn interrupt(question: &Question) -> Value {
    json!(InterruptJson { id: question.id().to_string(), value: question.json(), superstep: terms(question) })
}

/// Returns who may answer a question, until when, and what happens then.
pub(crate) fn terms(question: &Question) -> TermsJson {
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
    asked["response_schema"] = answer_schema(question).unwrap_or_default();
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

/// Returns the state at a checkpoint without secrets.
pub(crate) fn state(graph: &AnyGraph, thread: &str, snapshot: &StateSnapshot<AnyState>, secrets: &Secrets) -> Value {
    let form = StateForm { graph: graph.name(), updates: Updates::of(graph) };
    let mut shown = form.state(snapshot, snapshot.json(graph.schema()), &GraphPlace::root(thread));
    secrets.hide(&mut shown);
    shown
}

/// Returns the state of a subgraph at a checkpoint without secrets.
pub(crate) fn subgraph_state(
    graph: &AnyGraph,
    place: &GraphPlace<'_>,
    snapshot: &NestedSnapshot,
    secrets: &Secrets,
) -> Value {
    let form = StateForm { graph: graph.name(), updates: Updates::of(graph) };
    let mut shown = form.state(snapshot, snapshot.values.json(), place);
    secrets.hide(&mut shown);
    shown
}

/// Returns the state of a thread that has not run.
pub(crate) fn empty_state() -> Value {
    json!(StateJson { values: json!({}), ..StateJson::default() })
}

/// The form of the states of a thread.
struct StateForm<'a> {
    graph: &'a str,
    updates: Updates,
}

impl StateForm<'_> {
    /// Returns the state of the graph at a place.
    fn state<V>(&self, snapshot: &Snapshot<V>, values: Value, place: &GraphPlace<'_>) -> Value {
        let has_ended = has_ended(&snapshot.tasks);
        let shown = snapshot.tasks.iter().flat_map(|task| shown_questions(task, has_ended));
        json!(StateJson {
            values: if is_before_input(place, snapshot.step) { json!({}) } else { written(values) },
            next: snapshot.next.clone(),
            tasks: snapshot.tasks.iter().map(|task| self.task(task, has_ended, place)).collect(),
            metadata: Some(self.metadata(&snapshot.info(), place)),
            created_at: Some(time_text(snapshot.created_at)),
            checkpoint: Some(place.checkpoint(snapshot.id)),
            parent_checkpoint: snapshot.parent.map(|id| place.checkpoint(id)),
            interrupts: interrupts(shown),
            checkpoint_id: Some(snapshot.id.to_string()),
            parent_checkpoint_id: snapshot.parent.map(|id| id.to_string()),
        })
    }

    fn metadata(&self, made: &CheckpointInfo, place: &GraphPlace<'_>) -> Value {
        let mut fields = metadata_values(&made.metadata);
        let source = json!(made.source.as_str());
        for (key, value) in [("graph_id", self.graph.into()), ("thread_id", place.thread.into()), ("source", source)] {
            fields.insert(key.into(), value);
        }
        fields.insert("step".into(), made.step.into());
        fields.insert("parents".into(), json!(place.parents()));
        fields.into()
    }

    /// Returns a task of the graph at a place. A task that runs a subgraph names its namespace.
    fn task(&self, task: &TaskSnapshot, has_ended: bool, place: &GraphPlace<'_>) -> TaskJson {
        let inside = place.of_task(&task.name, &task.id);
        let nested = task.state.as_ref().map(|nested| self.state(nested, nested.values.json(), &inside));
        TaskJson {
            id: task.id.clone(),
            name: task.name.clone(),
            path: path(task),
            error: task.error.clone(),
            interrupts: interrupts(shown_questions(task, has_ended)),
            checkpoint: (task.subgraph && nested.is_none()).then(|| subgraph_place(&inside)),
            state: nested,
            result: task.result.as_ref().map(|writes| self.updates.json(&writes.json())),
        }
    }
}

/// Returns the path of a task, as LangGraph names it: by its node, or by the number of its send.
fn path(task: &TaskSnapshot) -> Vec<Value> {
    match task.send_number() {
        Some(number) => vec!["__pregel_push".into(), number.into(), false.into()],
        None => vec!["__pregel_pull".into(), task.name.clone().into()],
    }
}

/// Returns whether a checkpoint is the first one of a subgraph, which LangGraph shows without values: the state of the graph around it
/// is applied by its first superstep.
pub(crate) fn is_before_input(place: &GraphPlace<'_>, step: i64) -> bool {
    !place.namespace.is_empty() && step < 0
}

/// Returns the place of a subgraph, whose checkpoints a client can ask for.
pub(crate) fn subgraph_place(place: &GraphPlace<'_>) -> Value {
    json!({ "thread_id": place.thread, "checkpoint_ns": place.namespace })
}

/// Returns true if all tasks of a superstep have results.
fn has_ended(tasks: &[TaskSnapshot]) -> bool {
    tasks.iter().all(|task| task.result.is_some())
}

/// Returns the questions of a task that its state shows: those that are open, and all once its superstep has ended.
fn shown_questions(task: &TaskSnapshot, has_ended: bool) -> impl Iterator<Item = &Question> {
    task.questions.iter().filter(move |question| has_ended || !question.is_answered())
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
    gather(texts.iter().filter(|(key, _)| key != JSON_KEYS).map(|(key, text)| (key.clone(), value(key, text))))
}
