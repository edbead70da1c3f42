//! File of a turn, as JSON lines: each is on disk before anything depends on it; if a crash truncates the last one, it is
//! ignored. One process writes it at a time; it is read with one line in memory. Knows no order of turns.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{DriverError, DriverErrorClass, Finished, Usage};
use crate::process::run_blocking;

/// First line of a turn's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) session: String,
    pub(super) turn: String,
    /// Key of the previous turn.
    pub(super) parent: Option<String>,
    pub(super) role: String,
    pub(super) model: Option<String>,
    /// Number of messages at the start of the turn; written atomically with this line.
    pub(super) opening: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Turn(Header),
    Message {
        message: Box<RawValue>,
        /// Usage of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// Usage of a request whose reply is not stored.
    Spent(Usage),
    Ended(Finished),
}

/// Maximum wait for a turn that was just dropped and still writes its last line.
const PATIENCE: Duration = Duration::from_secs(3);

/// File of an open turn, locked.
#[derive(Clone, Debug)]
pub(super) struct TurnLog {
    file: Arc<File>,
    folder: PathBuf,
}

impl TurnLog {
    /// Opens a file, created with access for its owner only. May block.
    pub(super) fn open(path: &Path) -> Result<Self, DriverError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        // Do not write through a link that an agent put in its place.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let opened = options.open(path);
        let file = opened.map_err(|error| store_error(path, &error))?;
        let step = Duration::from_millis(10);
        let mut left = PATIENCE;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(store_error(path, &error)),
                TryLockError::WouldBlock if left.is_zero() => return Err(busy_error(path)),
                TryLockError::WouldBlock => sleep(step),
            }
            left = left.saturating_sub(step);
        }
        Ok(Self { file: Arc::new(file), folder: path.parent().unwrap_or(path).to_owned() })
    }

    /// Truncates the file.
    pub(super) fn cut(&self, whole: u64) -> Result<(), DriverError> {
        self.file.set_len(whole).map_err(|error| write_error(&error))
    }

    /// Writes the first lines of a file atomically. May block.
    pub(super) fn begin(&self, lines: &[Line]) -> Result<(), DriverError> {
        let written =
            encode(lines).and_then(|bytes| append(&self.file, &bytes)).and_then(|()| sync_folder(&self.folder));
        written.map_err(|error| write_error(&error))
    }

    /// Writes a message, and returns when it is on disk.
    pub(super) async fn message(&self, message: Box<RawValue>, usage: Option<Usage>) -> Result<(), DriverError> {
        self.line(Line::Message { message, usage }).await
    }

    /// Writes the usage of a request whose reply is not stored, and returns when it is on disk.
    pub(super) async fn record_usage(&self, usage: Usage) -> Result<(), DriverError> {
        self.line(Line::Spent(usage)).await
    }

    /// Writes the result of the turn, and returns when it is on disk.
    pub(super) async fn end(&self, finished: Finished) -> Result<(), DriverError> {
        self.line(Line::Ended(finished)).await
    }

    /// Writes a line. If the future is dropped, the line is still written, and the lock held until then.
    async fn line(&self, line: Line) -> Result<(), DriverError> {
        let file = Arc::clone(&self.file);
        let work = move || encode(&[line]).and_then(|bytes| append(&file, &bytes));
        run_blocking(work).await.flatten().map_err(|error| write_error(&error))
    }
}

fn encode(lines: &[Line]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn append(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_data()
}

/// Makes new names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn write_error(error: &io::Error) -> DriverError {
    DriverError::new(DriverErrorClass::Fatal, format!("the session cannot be written: {error}"))
}

fn busy_error(path: &Path) -> DriverError {
    let message = format!("the turn in {} is being run by another process", path.display());
    DriverError::new(DriverErrorClass::Fatal, message)
}

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
        file => file.map_err(|error| store_error(path, &error))?,
    };
    let (mut reader, mut state, mut bytes) = (BufReader::new(file), FileState::default(), Vec::new());
    for nth in 1_usize.. {
        bytes.clear();
        let count = reader.read_until(b'\n', &mut bytes).map_err(|error| store_error(path, &error))?;
        if bytes.last() != Some(&b'\n') {
            break;
        }
        match (serde_json::from_slice(&bytes), nth) {
            (Ok(Line::Turn(header)), 1) => state.header = Some(header),
            (Ok(Line::Message { message, usage }), 2..) => visit(Entry::Message(message, usage)),
            (Ok(Line::Spent(used)), 2..) => visit(Entry::Spent(used)),
            (Ok(Line::Ended(finished)), 2..) => visit(Entry::Ended(finished)),
            _ => return Err(damaged_file(path, nth)),
        }
        state.whole += u64::try_from(count).unwrap_or(u64::MAX);
    }
    Ok(state)
}

fn damaged_file(path: &Path, line: usize) -> DriverError {
    let message = format!("the session's file {} cannot be read, line {line}", path.display());
    DriverError::new(DriverErrorClass::SessionLost, message).help("start a new session")
}

pub(super) fn store_error(directory: &Path, error: &io::Error) -> DriverError {
    let message = format!("sessions cannot be stored in {}: {error}", directory.display());
    DriverError::new(DriverErrorClass::Fatal, message)
}
