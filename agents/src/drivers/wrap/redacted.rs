//! Hides secrets in a driver's output.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::drivers::driver::forward_methods;
use crate::drivers::{
    AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, Finished, SessionRef, events,
};
use crate::process::Redactor;

/// Runs turns and hides secrets in their texts, tool calls and errors; submitted results are not changed.
///
/// Events are checked individually: a secret that is split over two events is not found.
#[derive(Clone, Debug)]
pub struct Redacted<D> {
    driver: D,
    redactor: Redactor,
}

impl<D: Driver> Redacted<D> {
    /// Hides secrets in a driver's output.
    pub fn new(driver: D, redactor: Redactor) -> Self {
        Self { driver, redactor }
    }
}

fn redact_event(redactor: &Redactor, event: AgentEvent) -> AgentEvent {
    let clean = |text: String| redactor.redact(&text);
    match event {
        AgentEvent::Text(text) => AgentEvent::Text(clean(text)),
        AgentEvent::Thinking(text) => AgentEvent::Thinking(clean(text)),
        AgentEvent::Notice(text) => AgentEvent::Notice(clean(text)),
        AgentEvent::ToolResult { id, ok, text } => AgentEvent::ToolResult { id, ok, text: clean(text) },
        AgentEvent::ToolCall { id, name, arguments } => {
            AgentEvent::ToolCall { id, name, arguments: in_value(redactor, arguments) }
        }
        AgentEvent::Finished(finished) => AgentEvent::Finished(in_end(redactor, finished)),
        event @ (AgentEvent::Started(_) | AgentEvent::Usage(_)) => event,
    }
}

fn in_end(redactor: &Redactor, finished: Finished) -> Finished {
    Finished { text: redactor.redact(&finished.text), ..finished }
}

fn in_value(redactor: &Redactor, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(&text)),
        Value::Array(items) => items.into_iter().map(|item| in_value(redactor, item)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, in_value(redactor, field))).collect(),
        value => value,
    }
}

fn in_error(redactor: &Redactor, error: DriverError) -> DriverError {
    let (message, transcript) = (redactor.redact(&error.message), redactor.redact(&error.transcript));
    DriverError { message, transcript, ..error }
}

impl<D: Driver> Driver for Redacted<D> {
    forward_methods!(all but finished_turn);

    fn run(&self, request: AgentRequest) -> AgentEvents {
        let (mut inner, redactor) = (self.driver.run(request), self.redactor.clone());
        events(|sender| async move {
            while let Some(event) = inner.next().await {
                match redact_event(&redactor, event.map_err(|error| in_error(&redactor, error))?) {
                    AgentEvent::Finished(finished) => return Ok(finished),
                    event => sender.send(event).await,
                }
            }
            Err(DriverError::no_result(""))
        })
    }

    fn finished_turn<'a>(
        &'a self,
        session: Option<&'a SessionRef>,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<Finished>, DriverError>> {
        Box::pin(async move {
            let ended = self.driver.finished_turn(session, turn).await;
            ended.map(|ended| ended.map(|finished| in_end(&self.redactor, finished)))
        })
    }
}
