//! Reads a turn's file line by line, with one line in memory at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::value::RawValue;

use super::line::{Header, Line};
use super::unusable::unusable;
use crate::drivers::{DriverError, ErrorClass, Finished, Usage};

/// A line after the header.
pub(super) enum Entry {
    Message(Box<RawValue>, Option<Usage>),
    Spent(Usage),
    Ended(Finished),
}

/// Header and length of a file.
#[derive(Default)]
pub(super) struct FileState {
    /// `None` if there is no file, or no complete line in it.
    pub(super) header: Option<Header>,
    /// Number of bytes in complete lines.
    pub(super) whole: u64,
}

/// Reads a file; a missing one counts as empty. A truncated last line is ignored.
pub(super) fn read(path: &Path, mut visit: impl FnMut(Entry)) -> Result<FileState, DriverError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FileState::default()),
        file => file.map_err(|error| unusable(path, &error))?,
    };
    let (mut reader, mut state, mut bytes) = (BufReader::new(file), FileState::default(), Vec::new());
    for nth in 1_usize.. {
        bytes.clear();
        let count = reader.read_until(b'\n', &mut bytes).map_err(|error| unusable(path, &error))?;
        if bytes.last() != Some(&b'\n') {
            break;
        }
        match (serde_json::from_slice(&bytes), nth) {
            (Ok(Line::Turn(header)), 1) => state.header = Some(header),
            (Ok(Line::Message { message, usage }), 2..) => visit(Entry::Message(message, usage)),
            (Ok(Line::Spent(used)), 2..) => visit(Entry::Spent(used)),
            (Ok(Line::Ended(finished)), 2..) => visit(Entry::Ended(finished)),
            _ => return Err(damaged(path, nth)),
        }
        state.whole += u64::try_from(count).unwrap_or(u64::MAX);
    }
    Ok(state)
}

fn damaged(path: &Path, line: usize) -> DriverError {
    let message = format!("the session's file {} cannot be read, line {line}", path.display());
    DriverError::new(ErrorClass::SessionLost, message).help("begin a new session")
}
