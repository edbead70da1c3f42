//! A cassette: turns in JSON lines, each with what was asked, the events and the end.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::asked::Asked;
use crate::drivers::{AgentEvent, DriverError, ErrorClass, Finished, jsonl};

/// A line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Tells apart turns at the same time: their number in the cassette.
    pub(super) turn: u64,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Request { hash: String, key: String, asked: Asked },
    Event(AgentEvent),
    Finished(Finished),
    Failed(DriverError),
}

/// A turn that has ended.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) hash: String,
    pub(super) key: String,
    pub(super) asked: Asked,
    pub(super) events: Vec<AgentEvent>,
    pub(super) end: Result<Finished, DriverError>,
}

/// Reads the turns that have ended, in the order they began.
pub(super) fn read(file: &Path) -> io::Result<Vec<Recorded>> {
    let mut turns = Vec::new();
    for Line { turn, what } in jsonl::read(file)? {
        match what {
            What::Request { hash, key, asked } => turns.push((turn, hash, key, asked, vec![], None)),
            what => {
                let Some(open) = turns.iter_mut().rev().find(|open| open.0 == turn) else { continue };
                match what {
                    What::Event(event) => open.4.push(event),
                    What::Finished(finished) => open.5 = Some(Ok(finished)),
                    What::Failed(error) => open.5 = Some(Err(error)),
                    What::Request { .. } => {}
                }
            }
        }
    }
    let whole = |(_, hash, key, asked, events, end)| Some(Recorded { hash, key, asked, events, end: end? });
    Ok(turns.into_iter().filter_map(whole).collect())
}

/// The number of the next turn.
pub(super) fn next(file: &Path) -> io::Result<u64> {
    let lines: Vec<Line> = jsonl::read(file)?;
    Ok(lines.iter().map(|line| line.turn + 1).max().unwrap_or(0))
}

pub(super) fn unkept(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(ErrorClass::Fatal, format!("cannot use the cassette {}: {error}", file.display()))
}
