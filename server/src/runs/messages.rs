//! Messages of a run as clients of chats read them: pieces as they come, and whole messages that nodes return. Knows the form of
//! LangChain's messages, and nothing of the engine but its events.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use superstep::graph::{Event, EventKind};

use crate::wire::{Updates, WireEvent};

/// The messages of one execution so far.
pub(crate) struct Messages {
    /// Set if pieces are sent as pairs of a piece and its metadata; otherwise as the message so far.
    is_tuples: bool,
    /// The message so far of each id.
    known: HashMap<String, Value>,
}

impl Messages {
    pub(crate) fn new(is_tuples: bool) -> Self {
        Self { is_tuples, known: HashMap::new() }
    }

    /// Returns the events of a piece of a message, or of the whole messages in an update.
    pub(crate) fn convert(&mut self, event: &Event, updates: &Updates) -> Vec<WireEvent> {
        match &event.kind {
            EventKind::Message { value, tags } => self.piece(piece_of(event, value), &metadata(event, tags)),
            EventKind::Update { writes, .. } => {
                let update = updates.json(&writes.json());
                let metadata = metadata(event, &[]);
                whole_messages(&update).flat_map(|message| self.whole(message, &metadata)).collect()
            }
            _ => vec![],
        }
    }

    fn piece(&mut self, piece: Value, metadata: &Value) -> Vec<WireEvent> {
        let id = id_of(&piece).to_owned();
        let is_new = !self.known.contains_key(&id);
        let so_far = self.known.entry(id.clone()).or_insert(Value::Null);
        add(so_far, &piece);
        if self.is_tuples {
            return vec![("messages".into(), json!([piece, metadata]))];
        }
        let partial = ("messages/partial".into(), json!([so_far]));
        match is_new {
            true => vec![introduction(&id, metadata), partial],
            false => vec![partial],
        }
    }

    /// Returns the events of a message that came in one piece; none if its pieces were sent.
    fn whole(&mut self, message: &Value, metadata: &Value) -> Vec<WireEvent> {
        let id = id_of(message).to_owned();
        if self.known.insert(id.clone(), message.clone()).is_some() {
            return vec![];
        }
        match self.is_tuples {
            true => vec![("messages".into(), json!([message, metadata]))],
            false => vec![introduction(&id, metadata), ("messages/complete".into(), json!([message]))],
        }
    }
}

fn introduction(id: &str, metadata: &Value) -> WireEvent {
    ("messages/metadata".into(), json!({ id: { "metadata": metadata } }))
}

fn id_of(message: &Value) -> &str {
    message["id"].as_str().unwrap_or_default()
}

/// Returns a piece with the fields that clients expect. A piece that is only text belongs to the message of its task.
fn piece_of(event: &Event, value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let task = event.task.as_ref().map_or("", |task| &task.id);
    json!({
        "content": text, "additional_kwargs": {}, "response_metadata": {}, "type": "AIMessageChunk", "name": null,
        "id": format!("run-{task}"),
    })
}

/// Adds a piece to a message: texts and lists grow, other fields are replaced by what is not null.
fn add(so_far: &mut Value, piece: &Value) {
    let (Value::Object(message), Value::Object(fields)) = (&mut *so_far, piece) else {
        *so_far = piece.clone();
        if let Some(kind) = so_far.get_mut("type").filter(|kind| *kind == "AIMessageChunk") {
            *kind = "ai".into();
        }
        return;
    };
    for (name, value) in fields {
        match (message.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if name == "content" => text.push_str(more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
            (Some(_), Value::Null) => {}
            _ if name == "type" || name == "id" => {}
            _ => _ = message.insert(name.clone(), value.clone()),
        }
    }
}

fn metadata(event: &Event, tags: &[String]) -> Value {
    let path = event.task.as_ref().map(|task| task.path.join("|")).unwrap_or_default();
    json!({
        "langgraph_node": event.node().unwrap_or_default(),
        "langgraph_step": event.step,
        "langgraph_checkpoint_ns": path,
        "thread_id": event.thread.as_ref().map(|thread| thread.as_str()),
        "tags": tags,
    })
}

/// Returns the messages in an update: objects with an id, a content, and the type of a message.
fn whole_messages(update: &Value) -> impl Iterator<Item = &Value> {
    let channels = update.as_object().into_iter().flat_map(Map::values);
    let items = channels.flat_map(|value| match value {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    });
    items.filter(|item| is_message(item))
}

fn is_message(value: &Value) -> bool {
    let kinds = ["ai", "human", "tool", "system", "function"];
    let is_kind = value["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
    is_kind && value.get("content").is_some() && value["id"].is_string()
}
