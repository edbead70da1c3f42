//! One turn: requests and tool calls in turns, until the model submits, says something without calling a tool, or a limit is
//! reached. Every message is stored before the next step, and the next step follows from what is stored alone.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use superstep_base::Fnv;

use super::blocking::blocking;
use super::heard::{Heard, append_bounded};
use super::key::Hide;
use super::parts::Parts;
use super::reply::Reply;
use super::usage;
use super::wire::{self, Assistant, ToolCall};
use crate::drivers::{
    Access, AgentEvent, AgentRequest, DriverError, ErrorClass, Finished, Sender, Session, Status, Usage,
    error::tells_refusal,
    sessions::{OpenTurn, Opening, Said},
    tools::{ToolAnswer, Toolbox, beginning},
};

/// How much of a tool's answer an event shows, in bytes.
const SHOWN: usize = 4000;
/// With how many submissions that cannot be read a turn ends: one more would be as good. Whoever asked may ask once again.
const SUBMISSIONS: usize = 2;
const RECEIVED: &str = "received";
const NOT_DONE: &str = "error: not carried out; the turn ended before";
const REPEATED: &str = "note: the process was stopped during this call, which may have been carried out before\n";

/// Carries a turn out, within its time and until it is cancelled.
pub(super) async fn carry_out(parts: Arc<Parts>, request: AgentRequest, tell: Sender) -> Result<Finished, DriverError> {
    let (cancel, wall) = (request.cancel.clone(), request.limits.wall);
    let mut transcript = String::new();
    let ended = {
        let work = Turn::run(parts, request, tell, &mut transcript);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(DriverError::new(ErrorClass::Cancelled, "the turn was cancelled")),
            ended = tokio::time::timeout(wall, work) => ended.unwrap_or_else(|_| {
                Err(DriverError::new(ErrorClass::Budget, format!("the turn took longer than {wall:?}")))
            }),
        }
    };
    ended.map_err(|error| error.transcript(transcript))
}

struct Turn<'a> {
    parts: Arc<Parts>,
    request: AgentRequest,
    tell: Sender,
    tools: Toolbox,
    offers: Vec<Value>,
    open: OpenTurn,
    hide: Hide,
    transcript: &'a mut String,
}

/// The assistant's last message, with how many of its calls have results.
struct Last {
    message: Assistant,
    answered: usize,
}

impl<'a> Turn<'a> {
    async fn run(
        parts: Arc<Parts>,
        request: AgentRequest,
        tell: Sender,
        transcript: &'a mut String,
    ) -> Result<Finished, DriverError> {
        let model = request.model.clone().filter(|model| !model.is_empty()).ok_or_else(|| {
            DriverError::new(ErrorClass::Fatal, "no model is named").help("set `model` in the profile")
        })?;
        let (directory, access, limits) = (request.directory.clone(), request.access.clone(), parts.tools);
        let tools = blocking(move || open_tools(&directory, access)).await?.limits(limits);
        let tools = tools.reading(request.files.clone());
        let offers = wire::offers(&tools.specs(), request.submit.as_ref());
        let open = open(&parts, &request).await?;
        let tools = tools.holding(open.log.clone());
        let hide = parts.http.server.hide.clone();
        let mut turn = Turn { parts, request, tell, tools, offers, open, hide, transcript };
        turn.tell.tell(AgentEvent::Started(turn.open.at.clone())).await;
        if let Some(finished) = turn.open.ended.take() {
            return Ok(finished);
        }
        if let Some(warning) = turn.tools.warning() {
            turn.notice(warning).await;
        }
        turn.carry_on(&model).await
    }

    async fn carry_on(&mut self, model: &str) -> Result<Finished, DriverError> {
        let mut last = match self.open.goes_on {
            true => last_of(&self.open.said)?,
            false => None,
        };
        let mut taken_up = last.is_some();
        loop {
            if let Some(last) = last.take()
                && let Some(finished) = self.settle(last, taken_up).await?
            {
                return self.end(finished).await;
            }
            taken_up = false;
            if let Some(status) = self.limit() {
                let text = last_of(&self.open.said)?.and_then(|last| last.message.content);
                let finished = self.finished(status, text.unwrap_or_default(), None);
                return self.end(finished).await;
            }
            last = Some(Last { message: self.ask(model).await?, answered: 0 });
        }
    }

    /// Asks the model, and stores its answer.
    async fn ask(&mut self, model: &str) -> Result<Assistant, DriverError> {
        let messages = wire::mended_messages(&self.open.said.joined);
        let body = wire::body(model, &messages, &self.offers);
        let (size, began) = (body.len(), Instant::now());
        let mut heard = Heard::new(&self.hide, self.tell.clone());
        let idle = self.request.limits.idle;
        let asked = self.parts.http.ask(body, idle, &mut heard).await;
        heard.finish().await;
        append_bounded(self.transcript, &heard.said);
        let mut reply = asked.map_err(|error| self.judged(error))?;
        let used = self.used(&reply, size, began);
        self.open.usage += used;
        if reply.finish.as_deref() == Some("content_filter") && reply.calls.is_empty() {
            self.open.log.spent(used).await?;
            self.tell.tell(AgentEvent::Usage(self.open.usage)).await;
            return Err(self.filtered());
        }
        let message = self.message(&mut reply);
        self.store(to_raw(&message)?, Some(used)).await?;
        self.tell.tell(AgentEvent::Usage(self.open.usage)).await;
        if let Some(reason @ ("length" | "content_filter")) = reply.finish.as_deref() {
            self.notice(&format!("the model's answer was cut: {reason}")).await;
        }
        Ok(message)
    }

    /// A refused request concerns the session if the server says so, or has answered in this session before.
    fn judged(&self, error: DriverError) -> DriverError {
        let refusal = error.refusal && (!self.open.said.tail.is_empty() || tells_refusal(&error.message));
        DriverError { refusal, ..error }
    }

    fn filtered(&self) -> DriverError {
        let message = format!("{} stopped the answer with its content filter", self.parts.http.server.place);
        DriverError { refusal: true, ..DriverError::new(ErrorClass::Content, message) }
    }

    fn used(&self, reply: &Reply, asked: usize, began: Instant) -> Usage {
        let used = reply.usage.as_ref().and_then(usage::told);
        let used = used.unwrap_or_else(|| usage::estimated(asked, reply.size()));
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Usage { ms, ..usage::priced(used, self.parts.price) }
    }

    /// The message as it is kept: without keys, its calls with names.
    fn message(&self, reply: &mut Reply) -> Assistant {
        reply.close(&self.call_prefix());
        let mut calls = std::mem::take(&mut reply.calls);
        for call in &mut calls {
            self.hide.from(&mut call.function.name);
            self.hide.from(&mut call.function.arguments);
            wire::mend(&mut call.function.arguments);
        }
        Assistant::new(self.hide.text(&reply.text).into_owned(), calls)
    }

    /// A beginning for the names of calls that is used once in a session.
    fn call_prefix(&self) -> String {
        let mut hash = Fnv::new();
        hash.mix(self.open.at.turn.as_bytes());
        format!("call_{:08x}_{}", hash.finish() >> 32, self.open.usage.requests)
    }

    /// Gives every call of the last message its result, and returns how the turn ends if that was its last.
    async fn settle(&mut self, last: Last, taken_up: bool) -> Result<Option<Finished>, DriverError> {
        let Last { message, answered } = last;
        if message.tool_calls.is_empty() {
            return Ok(Some(self.finished(Status::Done, message.content.unwrap_or_default(), None)));
        }
        let submitting = message.tool_calls.iter().position(|call| self.submitted(call).is_some());
        for (nth, call) in message.tool_calls.iter().enumerate().skip(answered) {
            let may_be_done = taken_up && nth == answered;
            self.answer(call, submitting == Some(nth), may_be_done).await?;
        }
        let submitted = submitting.and_then(|nth| self.submitted(&message.tool_calls[nth]));
        let is_over = submitted.is_some() || self.unreadable(&message) > 0 && self.unreadable_here() >= SUBMISSIONS;
        Ok(is_over.then(|| self.finished(Status::Done, message.content.unwrap_or_default(), submitted)))
    }

    /// How many calls of a message are of the submit tool, with arguments that cannot be read.
    fn unreadable(&self, message: &Assistant) -> usize {
        let Some(submit) = &self.request.submit else { return 0 };
        let calls = message.tool_calls.iter().filter(|call| submit.name == call.function.name);
        calls.filter(|call| self.submitted(call).is_none()).count()
    }

    /// How many there are in this turn, by what is stored: also by what another process heard.
    fn unreadable_here(&self) -> usize {
        let said = self.open.said.joined[self.open.begins..].trim_start_matches(',');
        let said: Vec<Value> = serde_json::from_str(&format!("[{said}]")).unwrap_or_default();
        let messages = said.into_iter().filter_map(|message| serde_json::from_value(message).ok());
        messages.map(|message| self.unreadable(&message)).sum()
    }

    /// What a call hands over, if it is one of the submit tool with an object.
    fn submitted(&self, call: &ToolCall) -> Option<Value> {
        self.request.submit.as_ref().filter(|submit| submit.name == call.function.name)?;
        serde_json::from_str(&wire::as_written(&call.function.arguments)).ok().filter(Value::is_object)
    }

    async fn answer(&mut self, call: &ToolCall, submits: bool, may_be_done: bool) -> Result<(), DriverError> {
        let (id, name) = (call.id.clone(), call.function.name.clone());
        let raw = wire::as_written(&call.function.arguments);
        let arguments = serde_json::from_str(&raw).unwrap_or_else(|_| Value::String(raw.to_string()));
        self.tell.tell(AgentEvent::ToolCall { id: id.clone(), name: name.clone(), arguments }).await;
        let mut answer = match self.request.submit.as_ref().is_some_and(|submit| submit.name == name) {
            true => submit_answer(submits, &raw),
            false => self.tools.call(&name, &raw).await,
        };
        if may_be_done && ["write", "edit", "shell"].contains(&&*name) {
            answer.text.insert_str(0, REPEATED);
            self.notice(&format!("`{name}` may have been carried out before: its result was not stored")).await;
        }
        self.hide.from(&mut answer.text);
        self.store(to_raw(&wire::tool_result(&id, &answer.text))?, None).await?;
        let text = beginning(&answer.text, SHOWN).to_owned();
        self.tell.tell(AgentEvent::ToolResult { id, ok: answer.ok, text }).await;
        Ok(())
    }

    async fn store(&mut self, message: Box<RawValue>, used: Option<Usage>) -> Result<(), DriverError> {
        self.open.log.message(message.clone(), used).await?;
        self.open.said.push(message);
        Ok(())
    }

    async fn end(&mut self, finished: Finished) -> Result<Finished, DriverError> {
        self.open.log.end(finished.clone()).await?;
        Ok(finished)
    }

    fn finished(&self, status: Status, text: String, submitted: Option<Value>) -> Finished {
        Finished { status, text, submitted, session: Some(self.open.at.clone()), usage: self.open.usage }
    }

    /// The limit that is reached before the next request.
    fn limit(&self) -> Option<Status> {
        let (limits, used) = (self.request.limits, self.open.usage);
        if used.requests >= u64::from(limits.requests) {
            return Some(Status::TurnLimit);
        }
        if limits.tokens.is_some_and(|most| used.tokens() >= most) {
            return Some(Status::TokenLimit);
        }
        limits.cost.is_some_and(|most| used.cost >= most).then_some(Status::CostLimit)
    }

    async fn notice(&self, text: &str) {
        self.tell.tell(AgentEvent::Notice(text.to_owned())).await;
    }
}

fn open_tools(directory: &std::path::Path, access: Access) -> Result<Toolbox, DriverError> {
    Toolbox::open(directory, access).map_err(|error| {
        DriverError::new(ErrorClass::Fatal, format!("the folder {} cannot be opened: {error}", directory.display()))
    })
}

/// Opens the turn's file; a new turn begins with what is told it, after results for calls that were left without.
async fn open(parts: &Parts, request: &AgentRequest) -> Result<OpenTurn, DriverError> {
    let (store, hide) = (parts.store.clone(), parts.http.server.hide.clone());
    let AgentRequest { role, model, system, prompt, session, turn, .. } = request.clone();
    blocking(move || {
        let asked = Opening { session: &session, turn: &turn, role: &role, model: model.as_deref() };
        store.open(&asked, |said| {
            let mut opening = unanswered(said);
            if session == Session::New && !system.is_empty() {
                opening.push(wire::system(&hide.text(&system)));
            }
            opening.push(wire::user(&hide.text(&prompt)));
            opening
        })
    })
    .await
}

fn unanswered(said: &Said) -> Vec<Value> {
    let Ok(Some(Last { message, answered })) = last_of(said) else { return Vec::new() };
    message.tool_calls.iter().skip(answered).map(|call| wire::tool_result(&call.id, NOT_DONE)).collect()
}

/// The assistant's last message, if nobody but tools has spoken since.
fn last_of(said: &Said) -> Result<Option<Last>, DriverError> {
    let Some((first, results)) = said.tail.split_first() else { return Ok(None) };
    let is_user = results.iter().any(|message| {
        let role = serde_json::from_str::<Value>(message.get()).ok();
        role.is_none_or(|message| message["role"] != "tool")
    });
    if is_user {
        return Ok(None);
    }
    let message = serde_json::from_str(first.get()).map_err(|error| {
        DriverError::new(ErrorClass::SessionLost, format!("a message of the session cannot be read: {error}"))
    })?;
    Ok(Some(Last { message, answered: results.len() }))
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
    to_raw_value(message).map_err(|error| DriverError::new(ErrorClass::Fatal, format!("a message: {error}")))
}
