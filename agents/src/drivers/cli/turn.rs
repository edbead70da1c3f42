//! State of a turn, read from an agent's program, and its result.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use serde_json::Value;
use superstep_base::text::{end, start};

use super::failure;
use crate::drivers::{
    AgentEvent, AgentRequest, DriverError, DriverErrorClass, Finished, Limits, Session, SessionRef, TurnStatus, Usage,
    fenced_json,
};
use crate::process::{ProgramExit, StopReason};

/// Maximum number of bytes of the transcript in an error.
const TRANSCRIPT: usize = 64 * 1024;
/// Maximum size of a tool result in an event, in bytes.
pub(super) const ANSWER: usize = 16 * 1024;

/// State so far.
pub(super) struct Turn {
    /// Its program, for messages.
    program: &'static str,
    submits: bool,
    resumed: Option<String>,
    limits: Limits,
    pub(super) session: Option<String>,
    /// Part of the session's reference besides its id.
    pub(super) mark: Option<String>,
    /// Last message.
    pub(super) text: String,
    transcript: String,
    pub(super) usage: Usage,
    pub(super) submitted: Option<Value>,
    /// Last reported error, for a turn that fails.
    pub(super) reported_error: String,
    pub(super) end: Option<CliTurnEnd>,
    /// Ids of reported tool calls and messages.
    pub(super) seen: BTreeSet<String>,
}

/// End of the turn, as reported by the program.
pub(super) enum CliTurnEnd {
    Done,
    Limit(TurnStatus),
    Failed(DriverError),
}

impl Turn {
    pub(super) fn of(program: &'static str, request: &AgentRequest) -> Self {
        let (resumed, mark) = match &request.session {
            Session::New => (None, None),
            Session::Resume(session) => (Some(session.id.clone()), Some(session.turn.clone())),
        };
        Self {
            program,
            submits: request.submit.is_some(),
            resumed,
            limits: request.limits,
            session: None,
            mark,
            text: String::new(),
            transcript: String::new(),
            usage: Usage::default(),
            submitted: None,
            reported_error: String::new(),
            end: None,
            seen: BTreeSet::new(),
        }
    }

    /// Returns whether a server has answered in this session before.
    pub(super) fn has_answers(&self) -> bool {
        self.resumed.is_some() || self.usage.requests > 0 || !self.seen.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether a limit ended the turn; the program may not know.
    pub(super) fn is_cut_short(&self) -> bool {
        matches!(self.end, Some(CliTurnEnd::Limit(_)))
    }

    pub(super) fn start_session(&mut self, session: &str) -> AgentEvent {
        self.session = Some(session.to_owned());
        AgentEvent::Started(SessionRef { id: session.to_owned(), turn: String::new() })
    }

    pub(super) fn text_event(&mut self, text: &str) -> AgentEvent {
        self.text = text.to_owned();
        self.transcript.push_str(text);
        self.transcript.push('\n');
        AgentEvent::Text(text.to_owned())
    }

    pub(super) fn notice(&mut self, text: &str) -> AgentEvent {
        AgentEvent::Notice(cut(text, ANSWER))
    }

    /// Records the usage, and ends the turn if it exceeds a limit.
    pub(super) fn record_usage(&mut self, usage: Usage) -> AgentEvent {
        self.usage = usage;
        if self.end.is_none() && self.limits.tokens.is_some_and(|most| usage.tokens() > most) {
            self.end = Some(CliTurnEnd::Limit(TurnStatus::TokenLimit));
        } else if self.end.is_none() && self.limits.cost.is_some_and(|most| usage.cost > most) {
            self.end = Some(CliTurnEnd::Limit(TurnStatus::CostLimit));
        }
        AgentEvent::Usage(usage)
    }

    pub(super) fn set_duration(&mut self, time: Duration) {
        self.usage.ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }

    /// Returns the result of the turn, if it has one.
    pub(super) fn result(&mut self) -> Option<Finished> {
        match self.end {
            Some(CliTurnEnd::Done) => Some(self.take_result(TurnStatus::Done)),
            Some(CliTurnEnd::Limit(status)) => Some(self.take_result(status)),
            Some(CliTurnEnd::Failed(_)) | None => None,
        }
    }

    /// Returns the error of a turn without a result, once its program has ended.
    pub(super) fn into_error(mut self, exit: io::Result<ProgramExit>) -> DriverError {
        match (self.end.take(), exit) {
            (Some(CliTurnEnd::Failed(error)), _) => self.fail(error),
            (Some(CliTurnEnd::Done | CliTurnEnd::Limit(_)) | None, Ok(exit)) => self.exit_error(&exit),
            (Some(CliTurnEnd::Done | CliTurnEnd::Limit(_)) | None, Err(error)) => {
                self.fail(DriverError::new(DriverErrorClass::Transient, format!("{}: {error}", self.program)))
            }
        }
    }

    /// Returns the error of a turn that this process stopped.
    pub(super) fn stop_error(&self, stopped: &StopReason) -> DriverError {
        let class = match stopped {
            StopReason::Cancelled => DriverErrorClass::Cancelled,
            StopReason::Wall | StopReason::Idle(_) => DriverErrorClass::Budget,
            StopReason::Io(_) => DriverErrorClass::Transient,
        };
        self.fail(DriverError::new(class, format!("{}: {stopped}", self.program)))
    }

    fn take_result(&mut self, status: TurnStatus) -> Finished {
        let id = self.session.take().or(self.resumed.take());
        let mark = self.mark.take().unwrap_or_default();
        let session = id.map(|id| SessionRef { id, turn: mark });
        let in_text = || if self.submits && status == TurnStatus::Done { fenced_json(&self.text) } else { None };
        let submitted = self.submitted.take().or_else(in_text);
        Finished { status, text: std::mem::take(&mut self.text), submitted, session, usage: self.usage }
    }

    /// Returns the error of a turn whose program ended without a result.
    fn exit_error(&self, exit: &ProgramExit) -> DriverError {
        let how = match exit.code {
            Some(code) => format!("ended with code {code} and without a result"),
            None => "was ended by a signal, without a result".to_owned(),
        };
        let gist = failure::error_line(&exit.stderr);
        let why = [self.reported_error.as_str(), gist].into_iter().find(|why| !why.is_empty()).unwrap_or_default();
        let mut error = failure::read(&exit.stderr);
        if error.class == DriverErrorClass::Transient {
            error = failure::read(why);
        }
        error.message = match why {
            "" => how,
            why => format!("{how}: {}", cut(why, 2_000)),
        };
        self.fail(error)
    }

    fn fail(&self, error: DriverError) -> DriverError {
        let is_lost = error.class == DriverErrorClass::SessionLost;
        let class = if is_lost && self.resumed.is_none() { DriverErrorClass::Transient } else { error.class };
        let message = match error.message.starts_with(self.program) {
            true => error.message,
            false => format!("{} {}", self.program, error.message),
        };
        DriverError { class, message, transcript: end(&self.transcript, TRANSCRIPT).to_owned(), ..error }
    }
}

/// Returns the start of a text, at most `bytes` bytes, with its length if it is longer.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    match start(text, bytes) {
        whole if whole.len() == text.len() => whole.to_owned(),
        start => format!("{start}… ({} bytes)", text.len()),
    }
}
