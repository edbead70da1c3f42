//! An open turn: taken up where it was, or begun.

use std::path::Path;

use serde_json::Value;
use serde_json::value::to_raw_value;

use super::file::{TurnLog, unwritable};
use super::line::{Header, Line};
use super::read::{Told, read};
use super::said::Said;
use crate::drivers::{DriverError, ErrorClass, Finished, Session, SessionRef, Usage};

/// Which turn is opened.
pub(in crate::drivers) struct Opening<'a> {
    pub(in crate::drivers) session: &'a Session,
    pub(in crate::drivers) turn: &'a str,
    pub(in crate::drivers) role: &'a str,
    pub(in crate::drivers) model: Option<&'a str>,
}

/// An open turn.
pub(in crate::drivers) struct OpenTurn {
    /// How to go on after it.
    pub(in crate::drivers) at: SessionRef,
    /// Where it is written.
    pub(in crate::drivers) log: TurnLog,
    /// All that was said, in this turn and those before it.
    pub(in crate::drivers) said: Said,
    /// Where in `said` this turn begins, in bytes.
    pub(in crate::drivers) begins: usize,
    /// What this turn has used.
    pub(in crate::drivers) usage: Usage,
    /// What it came to, if it has ended.
    pub(in crate::drivers) ended: Option<Finished>,
    /// Whether it had begun before.
    pub(in crate::drivers) goes_on: bool,
}

impl OpenTurn {
    /// Takes up a turn that was begun before; returns false if there is none, or none that had got as far as its opening.
    pub(super) fn take_up(&mut self, path: &Path, asked: &Header) -> Result<bool, DriverError> {
        let (mut own, mut usage, mut ended, mut count) = (Said::default(), Usage::default(), None, 0);
        let known = read(path, |told| {
            match &told {
                Told::Message(_, used) => {
                    count += 1;
                    usage += used.unwrap_or_default();
                }
                Told::Spent(used) => usage += *used,
                Told::Ended(finished) => ended = Some(finished.clone()),
            }
            own.take(told);
        })?;
        let Some(header) = known.header.filter(|header| count >= header.opening) else { return Ok(false) };
        if (&header.turn, &header.parent) != (&asked.turn, &asked.parent) {
            let message = format!("the turn `{}` was begun after another one", asked.turn);
            return Err(DriverError::new(ErrorClass::Fatal, message).help("give each turn a key of its own"));
        }
        self.log.cut(known.whole)?;
        (self.usage, self.ended) = (usage, ended);
        self.said.append(own);
        Ok(true)
    }

    /// Writes the head of a new turn.
    pub(super) fn begin(&mut self, header: Header, opening: &[Value]) -> Result<(), DriverError> {
        self.log.cut(0)?;
        let mut lines = vec![Line::Turn(Header { opening: opening.len(), ..header })];
        for message in opening {
            let message = to_raw_value(message).map_err(|error| unwritable(&error.into()))?;
            self.said.take(Told::Message(message.clone(), None));
            lines.push(Line::Message { message, usage: None });
        }
        self.log.begin(&lines)
    }
}
