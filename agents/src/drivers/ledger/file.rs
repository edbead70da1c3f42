//! File of a ledger: a JSON line for each change, appended. A line torn by a power cut is removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::account::RunLimits;
use crate::drivers::{DriverError, ErrorClass, Usage};

/// A change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// Usage of an attempt of a turn so far.
    Turn {
        turn: String,
        #[serde(rename = "try")]
        nth: usize,
        #[serde(default)]
        role: String,
        #[serde(default)]
        task: String,
        usage: Usage,
        /// Working time of the agents of the run at that moment.
        worked_ms: u64,
    },
    /// Limits that a person set, and the time of the answer in milliseconds since 1970.
    Limits { key: String, to: RunLimits, at: u64 },
}

/// Upper bound for the attempts of one turn; more indicate damage.
const TRIES: usize = 100_000;

#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    file: File,
}

impl LedgerFile {
    /// Opens the file and reads its lines. May block.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Line>), DriverError> {
        let failed = |error: &io::Error| unusable(path, &error.to_string());
        let (file, text) = opened(path).map_err(|error| failed(&error))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|error| failed(&error))?;
        }
        let line = |(at, line): (usize, &str)| match serde_json::from_str(line) {
            Ok(Line::Turn { nth, .. }) if nth >= TRIES => Err(damaged(path, at, "too many tries")),
            Ok(line) => Ok(line),
            Err(error) => Err(damaged(path, at, &error.to_string())),
        };
        let lines = text[..whole].lines().enumerate().map(line).collect::<Result<_, _>>()?;
        Ok((Self { path: path.to_owned(), file }, lines))
    }

    /// Appends a line. It survives a kill of this process, and after the next sync of the disk a power cut.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), DriverError> {
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        written.map_err(|error| unusable(&self.path, &error.to_string()))
    }
}

fn opened(path: &Path) -> io::Result<(File, String)> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Do not follow a link that an agent put in its place, and do not wait for a pipe.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let mut file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok((file, text))
}

fn unusable(path: &Path, why: &str) -> DriverError {
    let message = format!("the ledger {} cannot be used: {why}", path.display());
    DriverError::new(ErrorClass::Fatal, message).help("make it readable and writable for you, then retry")
}

fn damaged(path: &Path, at: usize, why: &str) -> DriverError {
    let message = format!("the ledger {}, line {}, cannot be read: {why}", path.display(), at + 1);
    DriverError::new(ErrorClass::Fatal, message)
        .help("delete the line, or the file: what the run's state knows of is still counted as spent")
}
