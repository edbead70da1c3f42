//! Reading a turn's file, line by line: never more than one line and what the caller keeps is in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::value::RawValue;

use super::line::{Header, Line};
use super::unusable::unusable;
use crate::drivers::{DriverError, ErrorClass, Finished, Usage};

/// What a file tells after its header.
pub(super) enum Told {
    Message(Box<RawValue>, Option<Usage>),
    Spent(Usage),
    Ended(Finished),
}

/// What a file is.
#[derive(Default)]
pub(super) struct Known {
    /// None if there is no file, or nothing whole in it.
    pub(super) header: Option<Header>,
    /// How many of its bytes are whole lines.
    pub(super) whole: u64,
}

/// Reads a file; one that is not there is empty. A last line that is cut is passed over.
pub(super) fn read(path: &Path, mut tell: impl FnMut(Told)) -> Result<Known, DriverError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
        file => file.map_err(|error| unusable(path, &error))?,
    };
    let (mut reader, mut known, mut bytes) = (BufReader::new(file), Known::default(), Vec::new());
    for nth in 1_usize.. {
        bytes.clear();
        let count = reader.read_until(b'\n', &mut bytes).map_err(|error| unusable(path, &error))?;
        if bytes.last() != Some(&b'\n') {
            break;
        }
        match (serde_json::from_slice(&bytes), nth) {
            (Ok(Line::Turn(header)), 1) => known.header = Some(header),
            (Ok(Line::Message { message, usage }), 2..) => tell(Told::Message(message, usage)),
            (Ok(Line::Spent(used)), 2..) => tell(Told::Spent(used)),
            (Ok(Line::Ended(finished)), 2..) => tell(Told::Ended(finished)),
            _ => return Err(damaged(path, nth)),
        }
        known.whole += u64::try_from(count).unwrap_or(u64::MAX);
    }
    Ok(known)
}

fn damaged(path: &Path, line: usize) -> DriverError {
    let message = format!("the session's file {} cannot be read, line {line}", path.display());
    DriverError::new(ErrorClass::SessionLost, message).help("begin a new session")
}
