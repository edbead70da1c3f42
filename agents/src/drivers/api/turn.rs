//! One turn: alternates requests and tool calls until the model submits, answers without calling a tool, or reaches a
//! limit. Every message is stored before the next step, and the next step depends only on stored messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use superstep_base::Fnv;
use superstep_base::text::start;

use super::config::KeyFilter;
use super::http::Http;
use super::piece::{Transcript, append_bounded};
use super::reply::{Reply, usage_of};
use super::wire::{self, Assistant, WireCall};
use crate::drivers::error::tells_refusal;
use crate::drivers::session::{Messages, OpenTurn, TurnRequest};
use crate::drivers::tools::{ToolAnswer, ToolLimits, Toolbox};
use crate::drivers::{
    Access, AgentEvent, AgentRequest, DriverError, DriverErrorClass, Finished, Price, Sender, Session, SessionStore,
    TurnStatus, Usage,
};
use crate::process;

/// Maximum size of a tool result in an event, in bytes.
const SHOWN: usize = 4000;
/// Number of malformed submissions that end a turn; the caller may start another one.
const SUBMISSIONS: usize = 2;
const RECEIVED: &str = "received";
const NOT_DONE: &str = "error: not carried out; the turn ended before";
const REPEATED: &str = "note: the process was stopped during this call, which may have been carried out before\n";

/// Runs a turn within its time limit and until it is cancelled.
pub(super) async fn run_turn(
    parts: Arc<Parts>,
    request: AgentRequest,
    sender: Sender,
) -> Result<Finished, DriverError> {
    let (cancel, wall) = (request.cancel.clone(), request.limits.wall);
    let mut transcript = String::new();
    let ended = {
        let work = Turn::run(parts, request, sender, &mut transcript);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled")),
            ended = tokio::time::timeout(wall, work) => ended.unwrap_or_else(|_| {
                Err(DriverError::new(DriverErrorClass::Budget, format!("the turn took longer than {wall:?}")))
            }),
        }
    };
    ended.map_err(|error| error.transcript(transcript))
}

struct Turn<'a> {
    parts: Arc<Parts>,
    request: AgentRequest,
    sender: Sender,
    tools: Toolbox,
    offers: Vec<Value>,
    open: OpenTurn,
    key_filter: KeyFilter,
    transcript: &'a mut String,
}

/// Last message of the assistant, and the number of its calls that have results.
struct LastMessage {
    message: Assistant,
    answered: usize,
}

impl<'a> Turn<'a> {
    async fn run(
        parts: Arc<Parts>,
        request: AgentRequest,
        sender: Sender,
        transcript: &'a mut String,
    ) -> Result<Finished, DriverError> {
        let model = request.model.clone().filter(|model| !model.is_empty()).ok_or_else(|| {
            DriverError::new(DriverErrorClass::Fatal, "no model is named").help("set `model` in the profile")
        })?;
        let (directory, access, limits) = (request.directory.clone(), request.access.clone(), parts.tools);
        let tools = run_blocking(move || open_tools(&directory, access)).await?.limits(limits);
        let tools = tools.reading(request.files.clone());
        let offers = wire::tool_definitions(&tools.specs(), request.submit.as_ref());
        let open = open(&parts, &request).await?;
        let tools = tools.keeping_alive(open.log.clone());
        let key_filter = parts.http.server.key_filter.clone();
        let mut turn = Turn { parts, request, sender, tools, offers, open, key_filter, transcript };
        turn.sender.send(AgentEvent::Started(turn.open.at.clone())).await;
        if let Some(finished) = turn.open.ended.take() {
            return Ok(finished);
        }
        if let Some(warning) = turn.tools.warning() {
            turn.notice(warning).await;
        }
        turn.run_loop(&model).await
    }

    async fn run_loop(&mut self, model: &str) -> Result<Finished, DriverError> {
        let mut last = match self.open.is_resumed {
            true => last_of(&self.open.messages)?,
            false => None,
        };
        let mut is_resumed = last.is_some();
        loop {
            if let Some(last) = last.take()
                && let Some(finished) = self.run_calls(last, is_resumed).await?
            {
                return self.end(finished).await;
            }
            is_resumed = false;
            if let Some(status) = self.limit() {
                let text = last_of(&self.open.messages)?.and_then(|last| last.message.content);
                let finished = self.turn_result(status, text.unwrap_or_default(), None);
                return self.end(finished).await;
            }
            last = Some(LastMessage { message: self.ask(model).await?, answered: 0 });
        }
    }

    /// Sends a request to the model and stores its reply.
    async fn ask(&mut self, model: &str) -> Result<Assistant, DriverError> {
        let messages = wire::mended_messages(&self.open.messages.joined);
        let body = wire::body(model, &messages, &self.offers, &Map::new());
        let (size, began) = (body.len(), Instant::now());
        let mut transcript = Transcript::new(&self.key_filter, self.sender.clone());
        let idle = self.request.limits.idle;
        let sent = send_request(&self.parts.http, body, idle, &mut transcript).await;
        transcript.finish().await;
        append_bounded(self.transcript, &transcript.text);
        let mut reply = sent.map_err(|error| self.with_session_blame(error))?;
        let used = self.reply_usage(&reply, size, began);
        self.open.usage += used;
        if reply.finish.as_deref() == Some("content_filter") && reply.calls.is_empty() {
            self.open.log.record_usage(used).await?;
            self.sender.send(AgentEvent::Usage(self.open.usage)).await;
            return Err(self.parts.http.server.content_filter_error());
        }
        let message = self.message(&mut reply);
        self.store(to_raw(&message)?, Some(used)).await?;
        self.sender.send(AgentEvent::Usage(self.open.usage)).await;
        if let Some(reason @ ("length" | "content_filter")) = reply.finish.as_deref() {
            self.notice(&format!("the model's answer was cut: {reason}")).await;
        }
        Ok(message)
    }

    /// Keeps the refusal flag only if the server blames the session, or has answered in this session before.
    fn with_session_blame(&self, error: DriverError) -> DriverError {
        let refusal = error.refusal && (!self.open.messages.tail.is_empty() || tells_refusal(&error.message));
        DriverError { refusal, ..error }
    }

    fn reply_usage(&self, reply: &Reply, body_size: usize, began: Instant) -> Usage {
        usage_of(reply, body_size, began.elapsed(), self.parts.price)
    }

    /// Returns the message to store: without keys, its calls with ids.
    fn message(&self, reply: &mut Reply) -> Assistant {
        reply.close(&self.call_prefix());
        reply.hide(&self.key_filter);
        let mut calls = std::mem::take(&mut reply.calls);
        calls.iter_mut().for_each(|call| wire::repair_arguments(&mut call.function.arguments));
        Assistant::new(std::mem::take(&mut reply.text), calls)
    }

    /// Returns a prefix for call ids that is unique in a session.
    fn call_prefix(&self) -> String {
        let mut hash = Fnv::new();
        hash.mix(self.open.at.turn.as_bytes());
        format!("call_{:08x}_{}", hash.finish() >> 32, self.open.usage.requests)
    }

    /// Runs the remaining calls of the last message, and returns the result if that ends the turn.
    async fn run_calls(&mut self, last: LastMessage, is_resumed: bool) -> Result<Option<Finished>, DriverError> {
        let LastMessage { message, answered } = last;
        if message.tool_calls.is_empty() {
            return Ok(Some(self.turn_result(TurnStatus::Done, message.content.unwrap_or_default(), None)));
        }
        let submitting = message.tool_calls.iter().position(|call| self.submission(call).is_some());
        for (nth, call) in message.tool_calls.iter().enumerate().skip(answered) {
            let may_be_done = is_resumed && nth == answered;
            self.answer(call, submitting == Some(nth), may_be_done).await?;
        }
        let submitted = submitting.and_then(|nth| self.submission(&message.tool_calls[nth]));
        let is_over =
            submitted.is_some() || self.unreadable_calls(&message) > 0 && self.unreadable_in_turn() >= SUBMISSIONS;
        Ok(is_over.then(|| self.turn_result(TurnStatus::Done, message.content.unwrap_or_default(), submitted)))
    }

    /// Counts the calls of the submit tool in a message whose arguments cannot be parsed.
    fn unreadable_calls(&self, message: &Assistant) -> usize {
        let Some(submit) = &self.request.submit else { return 0 };
        let calls = message.tool_calls.iter().filter(|call| submit.name == call.function.name);
        calls.filter(|call| self.submission(call).is_none()).count()
    }

    /// Counts them over all stored messages of this turn, including those of an earlier process.
    fn unreadable_in_turn(&self) -> usize {
        let joined = self.open.messages.joined[self.open.begins..].trim_start_matches(',');
        let messages: Vec<Value> = serde_json::from_str(&format!("[{joined}]")).unwrap_or_default();
        let messages = messages.into_iter().filter_map(|message| serde_json::from_value(message).ok());
        messages.map(|message| self.unreadable_calls(&message)).sum()
    }

    /// Returns the submitted object of a call of the submit tool.
    fn submission(&self, call: &WireCall) -> Option<Value> {
        self.request.submit.as_ref().filter(|submit| submit.name == call.function.name)?;
        serde_json::from_str(&wire::as_written(&call.function.arguments)).ok().filter(Value::is_object)
    }

    async fn answer(&mut self, call: &WireCall, submits: bool, may_be_done: bool) -> Result<(), DriverError> {
        let (id, name) = (call.id.clone(), call.function.name.clone());
        let raw = wire::as_written(&call.function.arguments);
        let arguments = serde_json::from_str(&raw).unwrap_or_else(|_| Value::String(raw.to_string()));
        self.sender.send(AgentEvent::ToolCall { id: id.clone(), name: name.clone(), arguments }).await;
        let mut answer = match self.request.submit.as_ref().is_some_and(|submit| submit.name == name) {
            true => submit_answer(submits, &raw),
            false => self.tools.call(&name, &raw).await,
        };
        if may_be_done && ["write", "edit", "shell"].contains(&&*name) {
            answer.text.insert_str(0, REPEATED);
            self.notice(&format!("`{name}` may have been carried out before: its result was not stored")).await;
        }
        self.key_filter.from(&mut answer.text);
        self.store(to_raw(&wire::tool_result(&id, &answer.text))?, None).await?;
        let text = start(&answer.text, SHOWN).to_owned();
        self.sender.send(AgentEvent::ToolResult { id, ok: answer.ok, text }).await;
        Ok(())
    }

    async fn store(&mut self, message: Box<RawValue>, used: Option<Usage>) -> Result<(), DriverError> {
        self.open.log.message(message.clone(), used).await?;
        self.open.messages.push(message);
        Ok(())
    }

    async fn end(&mut self, finished: Finished) -> Result<Finished, DriverError> {
        self.open.log.end(finished.clone()).await?;
        Ok(finished)
    }

    fn turn_result(&self, status: TurnStatus, text: String, submitted: Option<Value>) -> Finished {
        Finished { status, text, submitted, session: Some(self.open.at.clone()), usage: self.open.usage }
    }

    /// Returns the limit that forbids another request.
    fn limit(&self) -> Option<TurnStatus> {
        let (limits, used) = (self.request.limits, self.open.usage);
        if used.requests >= u64::from(limits.requests) {
            return Some(TurnStatus::TurnLimit);
        }
        if limits.tokens.is_some_and(|most| used.tokens() >= most) {
            return Some(TurnStatus::TokenLimit);
        }
        limits.cost.is_some_and(|most| used.cost >= most).then_some(TurnStatus::CostLimit)
    }

    async fn notice(&self, text: &str) {
        self.sender.send(AgentEvent::Notice(text.to_owned())).await;
    }
}

/// Sends a request, and its response into the transcript.
async fn send_request(
    http: &Http,
    body: Vec<u8>,
    idle: Duration,
    transcript: &mut Transcript,
) -> Result<Reply, DriverError> {
    let mut response = http.send(body, idle).await?;
    while let Some(piece) = response.next().await? {
        transcript.push(piece).await;
    }
    Ok(response.into_reply())
}

fn open_tools(directory: &std::path::Path, access: Access) -> Result<Toolbox, DriverError> {
    Toolbox::open(directory, access).map_err(|error| {
        DriverError::new(
            DriverErrorClass::Fatal,
            format!("the folder {} cannot be opened: {error}", directory.display()),
        )
    })
}

/// Opens the turn's file; a new turn starts with its prompts, after results for unanswered calls.
async fn open(parts: &Parts, request: &AgentRequest) -> Result<OpenTurn, DriverError> {
    let (store, key_filter) = (parts.store.clone(), parts.http.server.key_filter.clone());
    let AgentRequest { role, model, system, prompt, session, turn, .. } = request.clone();
    run_blocking(move || {
        let request = TurnRequest { session: &session, turn: &turn, role: &role, model: model.as_deref() };
        store.open(&request, |messages| {
            let mut opening = missing_results(messages);
            if session == Session::New && !system.is_empty() {
                opening.push(wire::system(&key_filter.text(&system)));
            }
            opening.push(wire::user(&key_filter.text(&prompt)));
            opening
        })
    })
    .await
}

fn missing_results(messages: &Messages) -> Vec<Value> {
    let Ok(Some(LastMessage { message, answered })) = last_of(messages) else { return Vec::new() };
    message.tool_calls.iter().skip(answered).map(|call| wire::tool_result(&call.id, NOT_DONE)).collect()
}

/// Returns the last message of the assistant if only tool results follow it.
fn last_of(messages: &Messages) -> Result<Option<LastMessage>, DriverError> {
    let Some((first, results)) = messages.tail.split_first() else { return Ok(None) };
    let is_user = results.iter().any(|message| {
        let role = serde_json::from_str::<Value>(message.get()).ok();
        role.is_none_or(|message| message["role"] != "tool")
    });
    if is_user {
        return Ok(None);
    }
    let message = serde_json::from_str(first.get()).map_err(|error| {
        DriverError::new(DriverErrorClass::SessionLost, format!("a message of the session cannot be read: {error}"))
    })?;
    Ok(Some(LastMessage { message, answered: results.len() }))
}

fn submit_answer(submits: bool, arguments: &str) -> ToolAnswer {
    if submits {
        return ToolAnswer { ok: true, text: RECEIVED.to_owned() };
    }
    let text = match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => "error: there was another submission before this one, which counts".to_owned(),
        Ok(_) => "error: the arguments are no JSON object; call the tool again".to_owned(),
        Err(error) => format!("error: the arguments are not JSON ({error}); call the tool again"),
    };
    ToolAnswer { ok: false, text }
}

fn to_raw(message: &impl serde::Serialize) -> Result<Box<RawValue>, DriverError> {
    to_raw_value(message).map_err(|error| DriverError::new(DriverErrorClass::Fatal, format!("a message: {error}")))
}

/// Parts of the driver that all its turns share.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) http: Http,
    pub(super) store: SessionStore,
    pub(super) price: Option<Price>,
    pub(super) tools: ToolLimits,
}

/// Runs work on a session's files on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DriverError> + Send + 'static,
) -> Result<T, DriverError> {
    let done = process::run_blocking(work).await;
    done.unwrap_or_else(|error| Err(DriverError::new(DriverErrorClass::Fatal, format!("a session's file: {error}"))))
}
