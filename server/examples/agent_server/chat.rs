//! A chat that repeats the last message, word by word, with messages as LangChain's clients send and read them.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::graph::reducers::{Change, Keyed};
use superstep::prelude::*;
use uuid::Uuid;

/// A message: an object with `type`, `content` and `id`, and what belongs to its type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "SentMessage")]
pub(crate) struct Message(Map<String, Value>);

/// A message as a client sends it.
#[derive(Deserialize)]
#[serde(untagged)]
enum SentMessage {
    Text(String),
    Fields(Map<String, Value>),
}

impl From<SentMessage> for Message {
    fn from(sent: SentMessage) -> Self {
        let mut fields = match sent {
            SentMessage::Text(text) => Map::from_iter([("content".to_owned(), text.into())]),
            SentMessage::Fields(fields) => fields,
        };
        let role = fields.remove("role");
        let kind = match role.as_ref().or(fields.get("type")).and_then(Value::as_str) {
            Some("assistant" | "ai") => "ai",
            Some("system") => "system",
            Some("tool") => "tool",
            _ => "human",
        };
        Self(with_defaults(fields, kind))
    }
}

/// Adds the fields that messages of a type have.
fn with_defaults(mut fields: Map<String, Value>, kind: &str) -> Map<String, Value> {
    fields.insert("type".into(), kind.into());
    let common = [
        ("content", json!("")),
        ("additional_kwargs", json!({})),
        ("response_metadata", json!({})),
        ("name", Value::Null),
    ];
    let own = match kind {
        "ai" => vec![("tool_calls", json!([])), ("invalid_tool_calls", json!([])), ("usage_metadata", Value::Null)],
        "tool" => vec![("status", json!("success")), ("artifact", Value::Null)],
        _ => vec![],
    };
    for (name, value) in common.into_iter().chain(own) {
        fields.entry(name).or_insert(value);
    }
    fields
}

impl Message {
    /// Returns a message of a model.
    fn ai(id: &str, text: &str) -> Self {
        let fields = Map::from_iter([("content".to_owned(), text.into()), ("id".to_owned(), id.into())]);
        Self(with_defaults(fields, "ai"))
    }

    /// Returns the text: a content is one, or a list of blocks of which some have one.
    fn text(&self) -> String {
        match self.0.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(blocks)) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
            _ => String::new(),
        }
    }
}

impl Keyed for Message {
    fn id(&self) -> &str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    fn set_id(&mut self, id: String) {
        self.0.insert("id".into(), id.into());
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[channel(messages)]
    messages: Vec<Message>,
}

/// The context of a run.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct EchoContext {
    prefix: Option<String>,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Speaker {
    Echo,
}

async fn echo(chat: Arc<Chat>, ctx: Ctx<EchoContext>) -> Result<ChatUpdate, NodeError> {
    let last = chat.messages.last().map(Message::text).unwrap_or_default();
    let text = format!("{}{last}", ctx.context().prefix.as_deref().unwrap_or("echo: "));
    let id = format!("run-{}", Uuid::now_v7());
    for (nth, word) in text.split(' ').enumerate() {
        let piece = if nth == 0 { word.to_owned() } else { format!(" {word}") };
        ctx.emit_message(chunk(&id, &piece, Value::Null)).await;
    }
    ctx.emit_message(chunk(&id, "", json!("last"))).await;
    Ok(Chat::update().messages([Change::from(Message::ai(&id, &text))]))
}

fn chunk(id: &str, text: &str, position: Value) -> Value {
    let Message(mut fields) = Message::ai(id, text);
    fields.insert("type".into(), "AIMessageChunk".into());
    fields.insert("tool_call_chunks".into(), json!([]));
    fields.insert("chunk_position".into(), position);
    fields.into()
}

/// Returns the graph `chat_echo`.
pub(crate) fn chat_echo() -> Result<CompiledGraph<Chat, Speaker, EchoContext>, CompileError> {
    StateGraph::new().add_node(Speaker::Echo, echo).add_sequence([Speaker::Echo]).compile()
}
