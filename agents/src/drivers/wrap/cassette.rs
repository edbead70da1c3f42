//! Cassette: recorded turns in JSON lines, each with request, events and end.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::request_key::RequestKey;
use crate::drivers::{AgentEvent, DriverError, ErrorClass, Finished, jsonl};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Number of the turn in the cassette; distinguishes parallel turns.
    pub(super) turn: u64,
    #[serde(flatten)]
    pub(super) what: EntryKind,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryKind {
    Request { hash: String, key: String, asked: RequestKey },
    Event(AgentEvent),
    Finished(Finished),
    Failed(DriverError),
}

/// A recorded turn that has ended.
#[derive(Debug)]
pub(super) struct RecordedTurn {
    pub(super) hash: String,
    pub(super) key: String,
    pub(super) asked: RequestKey,
    pub(super) events: Vec<AgentEvent>,
    pub(super) end: Result<Finished, DriverError>,
}

/// Reads the finished turns, in the order in which they started.
pub(super) fn read(file: &Path) -> io::Result<Vec<RecordedTurn>> {
    let mut turns = Vec::new();
    for Line { turn, what } in jsonl::read(file)? {
        match what {
            EntryKind::Request { hash, key, asked } => turns.push((turn, hash, key, asked, vec![], None)),
            what => {
                let Some(open) = turns.iter_mut().rev().find(|open| open.0 == turn) else { continue };
                match what {
                    EntryKind::Event(event) => open.4.push(event),
                    EntryKind::Finished(finished) => open.5 = Some(Ok(finished)),
                    EntryKind::Failed(error) => open.5 = Some(Err(error)),
                    EntryKind::Request { .. } => {}
                }
            }
        }
    }
    let whole = |(_, hash, key, asked, events, end)| Some(RecordedTurn { hash, key, asked, events, end: end? });
    Ok(turns.into_iter().filter_map(whole).collect())
}

/// Returns the number of the next turn.
pub(super) fn next(file: &Path) -> io::Result<u64> {
    let lines: Vec<Line> = jsonl::read(file)?;
    Ok(lines.iter().map(|line| line.turn + 1).max().unwrap_or(0))
}

pub(super) fn cassette_error(file: &Path, error: &io::Error) -> DriverError {
    DriverError::new(ErrorClass::Fatal, format!("cannot use the cassette {}: {error}", file.display()))
}
