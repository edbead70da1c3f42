//! One completion: a request to a model, its answer in pieces and as a message. Knows no session, no tool and no loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep_base::Fnv;

use super::config::ApiConfig;
use super::http::Http;
use super::message::{Message, MessageRole, Tool, ToolCall};
use super::piece::{Piece, PieceFilter};
use super::reply::{Reply, usage_of};
use super::wire::{self, Function, WireCall};
use crate::drivers::{DriverError, DriverErrorClass, Limits, Price, Usage};

/// Client of a model server, for completions without sessions: the conversation is the caller's, such as the state of a
/// graph. A clone shares its connections.
///
/// ```no_run
/// # use superstep_agents as superstep;
/// # async fn run() -> Result<(), superstep::drivers::DriverError> {
/// use superstep::drivers::api::{ApiConfig, Client, CompletionRequest, Message, Piece};
///
/// let client = Client::new(ApiConfig::from_env())?; // OPENAI_BASE_URL, OPENAI_API_KEY
/// let request = CompletionRequest::new("gpt-5", &[Message::user("When is high tide in Brest?")]);
/// let answer = client.complete(request, |piece| async {
///     if let Piece::Text(text) = piece { print!("{text}") }
/// });
/// println!("{} tokens", answer.await?.usage.tokens());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    http: Arc<Http>,
    price: Option<Price>,
}

/// Request for one completion.
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct CompletionRequest {
    model: String,
    messages: Vec<Message>,
    tools: Vec<Tool>,
    options: Map<String, Value>,
    idle: Duration,
}

/// Answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The answer: text, calls of tools, or both.
    pub message: Message,
    /// Set if the answer ended at the model's limit of output tokens: text and arguments may be incomplete.
    #[serde(default)]
    pub truncated: bool,
    /// Usage.
    pub usage: Usage,
}

impl CompletionRequest {
    /// Returns a request that continues a conversation.
    pub fn new(model: impl Into<String>, messages: &[Message]) -> Self {
        let (tools, options, idle) = (vec![], Map::new(), Limits::default().idle);
        Self { model: model.into(), messages: messages.to_vec(), tools, options, idle }
    }

    /// Puts instructions before the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.messages.insert(0, Message::system(text));
        self
    }

    /// Adds tools that the model may call.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets a further field of the request: `temperature`, `tool_choice`, `max_completion_tokens`.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Sets the maximum time without data from the server. Default: ten minutes.
    pub fn idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    fn body(&self) -> Vec<u8> {
        let messages = self.messages.iter().map(|message| message_to_wire(message).to_string());
        let tools: Vec<Value> =
            self.tools.iter().map(|tool| wire::tool_definition(&tool.name, &tool.description, &tool.schema)).collect();
        wire::body(&self.model, &messages.collect::<Vec<_>>().join(","), &tools, &self.options)
    }
}

impl Client {
    /// Returns the client of a server.
    ///
    /// # Errors
    /// [`DriverErrorClass::Fatal`] if the base URL is invalid, or the system's root certificates cannot be read;
    /// [`DriverErrorClass::Auth`] if the key is malformed.
    pub fn new(config: ApiConfig) -> Result<Self, DriverError> {
        Ok(Self { http: Arc::new(Http::new(&config)?), price: config.price })
    }

    /// Sends a request and returns the whole answer; `on_piece` gets its pieces as they arrive, and the answer waits for
    /// it. Dropping the future ends the request. It is sent once: retries are the caller's.
    ///
    /// In a node, call it in an effect (`ctx.effect`), so that an answer that was stored is not paid for
    /// again; `|piece| ctx.emit_message(piece)` streams its pieces.
    ///
    /// # Errors
    /// By [class](DriverError::class):
    /// - [`Transient`](DriverErrorClass::Transient): the server cannot be reached, was silent for too long, failed (5xx), or
    ///   closed the connection early. Pieces that were shown then belong to no message.
    /// - [`RateLimited`](DriverErrorClass::RateLimited) (429), with [`retry_after`](DriverError::retry_after) if the server
    ///   says so.
    /// - [`Auth`](DriverErrorClass::Auth) (401, 403): the key is missing or refused.
    /// - [`Content`](DriverErrorClass::Content): the request was refused (400, 413, 422), a content filter ended the answer, or
    ///   it is not in the protocol.
    /// - [`Fatal`](DriverErrorClass::Fatal): no model is named, or the server does not know it (404).
    pub async fn complete<F, Fut>(&self, request: CompletionRequest, mut on_piece: F) -> Result<Completion, DriverError>
    where
        F: FnMut(Piece) -> Fut,
        Fut: Future<Output = ()>,
    {
        if request.model.trim().is_empty() {
            return Err(DriverError::new(DriverErrorClass::Fatal, "no model is named").help("name one in the request"));
        }
        let (body, began) = (request.body(), Instant::now());
        // The size of the request serves as an estimate of its tokens if the server reports none.
        let (size, prefix) = (body.len(), call_prefix(&body));
        let keys = &self.http.server.key_filter;
        // A server may echo the key, so every piece is filtered before the caller sees it.
        let mut pieces = PieceFilter::new(keys);
        let mut response = self.http.send(body, request.idle).await?;
        while let Some(piece) = response.next().await? {
            for piece in pieces.push(&piece) {
                on_piece(piece).await;
            }
        }
        // The filter holds back text that could be the start of a key; now it is known not to be one.
        for piece in pieces.finish() {
            on_piece(piece).await;
        }
        let mut reply = response.into_reply();
        if reply.finish.as_deref() == Some("content_filter") && reply.calls.is_empty() {
            return Err(self.http.server.content_filter_error());
        }
        let usage = usage_of(&reply, size, began.elapsed(), self.price);
        // Some servers omit the ids of calls; the generated ones are unique in the conversation.
        reply.close(&prefix);
        reply.hide(keys);
        Ok(Completion { truncated: reply.finish.as_deref() == Some("length"), message: reply_message(reply), usage })
    }
}

/// Returns a prefix for the ids of calls that have none: other conversations, and other requests of this one, have
/// another.
fn call_prefix(body: &[u8]) -> String {
    let mut hash = Fnv::new();
    hash.mix(body);
    format!("call_{:016x}", hash.finish())
}

/// Returns a message as it is sent.
fn message_to_wire(message: &Message) -> Value {
    match message.role {
        MessageRole::System => wire::system(&message.content),
        MessageRole::User => wire::user(&message.content),
        MessageRole::Tool => wire::tool_result(&message.tool_call_id, &message.content),
        MessageRole::Assistant => {
            let calls = message.tool_calls.iter().map(call_to_wire).collect();
            serde_json::to_value(wire::Assistant::new(message.content.clone(), calls)).unwrap_or_default()
        }
    }
}

/// Returns a call as it is sent: servers reject conversations with malformed arguments.
fn call_to_wire(call: &ToolCall) -> WireCall {
    let mut function = Function { name: call.name.clone(), arguments: call.arguments.clone() };
    wire::repair_arguments(&mut function.arguments);
    WireCall { id: call.id.clone(), kind: "function".to_owned(), function, more: call.extra.clone() }
}

/// Returns the message of a completed reply.
fn reply_message(reply: Reply) -> Message {
    let call = |WireCall { id, function: Function { name, arguments }, more, .. }| ToolCall {
        id,
        name,
        arguments,
        extra: more,
    };
    Message { tool_calls: reply.calls.into_iter().map(call).collect(), ..Message::assistant(reply.text) }
}
