//! Open turn: resumed or new.

use std::path::Path;

use serde_json::Value;
use serde_json::value::to_raw_value;

use super::file::{TurnLog, unwritable};
use super::line::{Header, Line};
use super::messages::Messages;
use super::read::{Entry, read};
use crate::drivers::{DriverError, ErrorClass, Finished, Session, SessionRef, Usage};

/// Identification of the turn to open.
pub(in crate::drivers) struct TurnRequest<'a> {
    pub(in crate::drivers) session: &'a Session,
    pub(in crate::drivers) turn: &'a str,
    pub(in crate::drivers) role: &'a str,
    pub(in crate::drivers) model: Option<&'a str>,
}

pub(in crate::drivers) struct OpenTurn {
    /// Reference for resuming the session after it.
    pub(in crate::drivers) at: SessionRef,
    /// File of the turn.
    pub(in crate::drivers) log: TurnLog,
    /// All messages, of this turn and those before it.
    pub(in crate::drivers) messages: Messages,
    /// Offset in [`Messages::joined`] at which this turn starts, in bytes.
    pub(in crate::drivers) begins: usize,
    /// Usage of this turn.
    pub(in crate::drivers) usage: Usage,
    /// Its result, if it has ended.
    pub(in crate::drivers) ended: Option<Finished>,
    /// Set if it was started before.
    pub(in crate::drivers) is_resumed: bool,
}

impl OpenTurn {
    /// Resumes an existing turn; returns false if there is none, or its first lines are incomplete.
    pub(super) fn resume(&mut self, path: &Path, expected: &Header) -> Result<bool, DriverError> {
        let (mut own, mut usage, mut ended, mut count) = (Messages::default(), Usage::default(), None, 0);
        let state = read(path, |entry| {
            match &entry {
                Entry::Message(_, used) => {
                    count += 1;
                    usage += used.unwrap_or_default();
                }
                Entry::Spent(used) => usage += *used,
                Entry::Ended(finished) => ended = Some(finished.clone()),
            }
            own.take(entry);
        })?;
        let Some(header) = state.header.filter(|header| count >= header.opening) else { return Ok(false) };
        if (&header.turn, &header.parent) != (&expected.turn, &expected.parent) {
            let message = format!("the turn `{}` was begun after another one", expected.turn);
            return Err(DriverError::new(ErrorClass::Fatal, message).help("give each turn a key of its own"));
        }
        self.log.cut(state.whole)?;
        (self.usage, self.ended) = (usage, ended);
        self.messages.append(own);
        Ok(true)
    }

    /// Writes the first lines of a new turn.
    pub(super) fn begin(&mut self, header: Header, opening: &[Value]) -> Result<(), DriverError> {
        self.log.cut(0)?;
        let mut lines = vec![Line::Turn(Header { opening: opening.len(), ..header })];
        for message in opening {
            let message = to_raw_value(message).map_err(|error| unwritable(&error.into()))?;
            self.messages.take(Entry::Message(message.clone(), None));
            lines.push(Line::Message { message, usage: None });
        }
        self.log.begin(&lines)
    }
}
