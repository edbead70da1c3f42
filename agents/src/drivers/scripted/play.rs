//! A turn, carried out.

use std::time::Duration;

use serde_json::{Value, json};
use superstep_base::Fnv;
use tokio::time::{Instant, sleep_until};

use super::choose::Chosen;
use super::files;
use super::scenario::Scenario;
use super::step::{Failure, Step, ToolUse};
use crate::drivers::{
    AgentEvent, AgentRequest, DriverError, ErrorClass, Finished, Sender, Session, SessionRef, Status, Usage,
};

pub(super) async fn turn(
    scenario: &Scenario,
    chosen: &Chosen<'_>,
    request: &AgentRequest,
    tell: &Sender,
) -> Result<Finished, DriverError> {
    let session = session(request)?;
    tell.tell(AgentEvent::Started(session.clone())).await;
    let place = format!("turn {} of {}", chosen.number + 1, scenario.shown());
    let stage = Stage { request, tell, place, begun: Instant::now() };
    let mut said = Said::default();
    for (number, step) in chosen.turn.steps.iter().enumerate() {
        stage.act(number + 1, step, &mut said).await.map_err(|error| error.transcript(&said.all))?;
        if let Some(status) = stage.over(&said.usage) {
            return Ok(said.finished(status, None, session));
        }
    }
    if chosen.turn.submit.is_some() && request.submit.is_none() {
        return Err(stage.wrong("it submits, and nothing is asked for"));
    }
    said.last = chosen.turn.text.clone().unwrap_or(said.last);
    Ok(said.finished(Status::Done, chosen.turn.submit.clone(), session))
}

/// The session after this turn. A new one is named after the turn that begins it, so that it has the same name again.
fn session(request: &AgentRequest) -> Result<SessionRef, DriverError> {
    let id = match &request.session {
        Session::New => format!("scripted-{:016x}", named(request)),
        Session::Resume(session) if session.id.starts_with("scripted-") => session.id.clone(),
        Session::Resume(session) => {
            let message = format!("there is no session `{}` in a scenario", session.id);
            return Err(DriverError::new(ErrorClass::SessionLost, message));
        }
    };
    Ok(SessionRef { id, turn: request.turn.clone() })
}

fn named(request: &AgentRequest) -> u64 {
    let mut hash = Fnv::new();
    let attempt = request.place.attempt.to_string();
    for part in [&request.role, &request.place.run, &request.place.task, &attempt, &request.turn] {
        hash.mix(part.as_bytes());
        hash.mix(&[0]);
    }
    hash.finish()
}

/// What was said and used until now.
#[derive(Default)]
struct Said {
    last: String,
    all: String,
    usage: Usage,
}

impl Said {
    fn finished(self, status: Status, submitted: Option<Value>, session: SessionRef) -> Finished {
        Finished { status, text: self.last, submitted, session: Some(session), usage: self.usage }
    }
}

struct Stage<'a> {
    request: &'a AgentRequest,
    tell: &'a Sender,
    /// For messages.
    place: String,
    begun: Instant,
}

impl Stage<'_> {
    async fn act(&self, number: usize, step: &Step, said: &mut Said) -> Result<(), DriverError> {
        if self.request.cancel.is_cancelled() {
            return Err(cancelled());
        }
        if step.writes() && !self.request.access.write {
            return Err(self
                .wrong(&format!("step {number} (`{step}`) changes files, which the {} must not", self.request.role)));
        }
        match step {
            Step::Say(text) => {
                said.last.clone_from(text);
                said.all.push_str(text);
                said.all.push('\n');
                self.tell.tell(AgentEvent::Text(text.clone())).await;
            }
            Step::Think(text) => self.tell.tell(AgentEvent::Thinking(text.clone())).await,
            Step::Usage(more) => {
                said.usage += (*more).into();
                self.tell.tell(AgentEvent::Usage(said.usage)).await;
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
        self.tell.tell(call).await;
        self.tell.tell(AgentEvent::ToolResult { id, ok: *ok, text: result.clone() }).await;
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

    /// Waits under the limits of the turn, for ever if no time is given.
    async fn wait(&self, span: Option<Duration>) -> Result<(), DriverError> {
        let (now, limits) = (Instant::now(), self.request.limits);
        let limit = (self.begun + limits.wall).min(now + limits.idle);
        let end = span.map(|span| now + span);
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => Err(cancelled()),
            () = sleep_until(end.unwrap_or(limit)), if end.is_some_and(|end| end <= limit) => Ok(()),
            () = sleep_until(limit) => Err(DriverError::new(ErrorClass::Budget, format!("{}: its time is up", self.place))),
        }
    }

    fn over(&self, used: &Usage) -> Option<Status> {
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
