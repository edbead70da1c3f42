//! Plays one turn of a scenario.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_base::Fnv;
use tokio::time::{Instant, sleep_until};

use super::choose::ChosenTurn;
use super::files;
use super::scenario::Scenario;
use super::step::{Failure, Step, ToolUse};
use crate::drivers::{
    AgentEvent, AgentRequest, DriverError, ErrorClass, Finished, Sender, Session, SessionRef, Status, Usage,
};

pub(super) async fn turn(
    scenario: &Scenario,
    chosen: &ChosenTurn<'_>,
    request: &AgentRequest,
    sender: &Sender,
) -> Result<Finished, DriverError> {
    let session = session(request)?;
    sender.tell(AgentEvent::Started(session.clone())).await;
    let place = format!("turn {} of {}", chosen.number + 1, scenario.shown());
    let context = TurnContext { request, sender, place, started: Instant::now() };
    let mut transcript = Transcript::default();
    for (number, step) in chosen.turn.steps.iter().enumerate() {
        context.run_step(number + 1, step, &mut transcript).await.map_err(|error| error.transcript(&transcript.all))?;
        if let Some(status) = context.exceeded_limit(&transcript.usage) {
            return Ok(transcript.finished(status, None, session));
        }
    }
    if chosen.turn.submit.is_some() && request.submit.is_none() {
        return Err(context.wrong("it submits, and nothing is asked for"));
    }
    transcript.last = chosen.turn.text.clone().unwrap_or(transcript.last);
    Ok(transcript.finished(Status::Done, chosen.turn.submit.clone(), session))
}

/// Returns the session after this turn. The id of a new one is derived from the request, so that a repeated turn gets
/// the same id.
fn session(request: &AgentRequest) -> Result<SessionRef, DriverError> {
    let id = match &request.session {
        Session::New => format!("scripted-{:016x}", request_hash(request)),
        Session::Resume(session) if session.id.starts_with("scripted-") => session.id.clone(),
        Session::Resume(session) => {
            let message = format!("there is no session `{}` in a scenario", session.id);
            return Err(DriverError::new(ErrorClass::SessionLost, message));
        }
    };
    Ok(SessionRef { id, turn: request.turn.clone() })
}

fn request_hash(request: &AgentRequest) -> u64 {
    let mut hash = Fnv::new();
    let attempt = request.place.attempt.to_string();
    for part in [&request.role, &request.place.run, &request.place.task, &attempt, &request.turn] {
        hash.mix(part.as_bytes());
        hash.mix(&[0]);
    }
    hash.finish()
}

/// Output and usage so far.
#[derive(Default)]
struct Transcript {
    last: String,
    all: String,
    usage: Usage,
}

impl Transcript {
    fn finished(self, status: Status, submitted: Option<Value>, session: SessionRef) -> Finished {
        Finished { status, text: self.last, submitted, session: Some(session), usage: self.usage }
    }
}

struct TurnContext<'a> {
    request: &'a AgentRequest,
    sender: &'a Sender,
    /// Description of the turn for messages.
    place: String,
    started: Instant,
}

impl TurnContext<'_> {
    async fn run_step(&self, number: usize, step: &Step, transcript: &mut Transcript) -> Result<(), DriverError> {
        if self.request.cancel.is_cancelled() {
            return Err(cancelled());
        }
        if step.writes() && !self.request.access.write {
            return Err(self
                .wrong(&format!("step {number} (`{step}`) changes files, which the {} must not", self.request.role)));
        }
        match step {
            Step::Say(text) => {
                transcript.last.clone_from(text);
                transcript.all.push_str(text);
                transcript.all.push('\n');
                self.sender.tell(AgentEvent::Text(text.clone())).await;
            }
            Step::Think(text) => self.sender.tell(AgentEvent::Thinking(text.clone())).await,
            Step::Usage(more) => {
                transcript.usage += (*more).into();
                self.sender.tell(AgentEvent::Usage(transcript.usage)).await;
            }
            Step::Wait(span) => self.wait(Some(span.0)).await?,
            Step::Hang => self.wait(None).await?,
            Step::Fail(failure) => return Err(self.failed(failure)),
            Step::Tool(used) => self.used(number, used).await,
            Step::Write(_) | Step::Edit(_) | Step::Delete(_) | Step::Move(_) => self.change(number, step).await?,
        }
        Ok(())
    }

    async fn used(&self, number: usize, ToolUse { name, arguments, result, ok }: &ToolUse) {
        let id = format!("step-{number}");
        let call = AgentEvent::ToolCall { id: id.clone(), name: name.clone(), arguments: arguments.clone() };
        self.sender.tell(call).await;
        self.sender.tell(AgentEvent::ToolResult { id, ok: *ok, text: result.clone() }).await;
    }

    async fn change(&self, number: usize, step: &Step) -> Result<(), DriverError> {
        let folder = &self.request.directory;
        let (arguments, done) = match step {
            Step::Write(write) => (json!({"path": write.path.to_string()}), write.done(folder)),
            Step::Edit(edit) => (json!({"path": edit.path.to_string()}), edit.done(folder)),
            Step::Delete(path) => (json!({"path": path.to_string()}), files::delete(path, folder)),
            Step::Move(moved) => {
                (json!({"from": moved.from.to_string(), "to": moved.to.to_string()}), moved.done(folder))
            }
            _ => return Ok(()),
        };
        done.map_err(|error| self.wrong(&format!("step {number} (`{step}` {arguments}): {error}")))?;
        self.used(number, &ToolUse { name: step.to_string(), arguments, result: "done".to_owned(), ok: true }).await;
        Ok(())
    }

    /// Waits within the limits of the turn; without a time, until a limit.
    async fn wait(&self, span: Option<Duration>) -> Result<(), DriverError> {
        let (now, limits) = (Instant::now(), self.request.limits);
        let limit = (self.started + limits.wall).min(now + limits.idle);
        let end = span.map(|span| now + span);
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => Err(cancelled()),
            () = sleep_until(end.unwrap_or(limit)), if end.is_some_and(|end| end <= limit) => Ok(()),
            () = sleep_until(limit) => Err(DriverError::new(ErrorClass::Budget, format!("{}: its time is up", self.place))),
        }
    }

    fn exceeded_limit(&self, used: &Usage) -> Option<Status> {
        let limits = self.request.limits;
        if limits.tokens.is_some_and(|most| used.tokens() > most) {
            return Some(Status::TokenLimit);
        }
        limits.cost.is_some_and(|most| used.cost > most).then_some(Status::CostLimit)
    }

    fn failed(&self, failure: &Failure) -> DriverError {
        let message = match failure.message.as_str() {
            "" => format!("{} fails", self.place),
            message => message.to_owned(),
        };
        let error = DriverError::new(failure.class, message);
        failure.retry_after.into_iter().fold(error, |error, wait| error.retry_after(wait.0))
    }

    fn wrong(&self, what: &str) -> DriverError {
        DriverError::new(ErrorClass::Fatal, format!("{}: {what}", self.place)).help("see docs/scenarios.md")
    }
}

fn cancelled() -> DriverError {
    DriverError::new(ErrorClass::Cancelled, "the turn was cancelled")
}
