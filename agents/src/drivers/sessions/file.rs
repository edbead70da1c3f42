//! Writes a turn's file: whole lines, each on disk before the next step. One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use serde_json::value::RawValue;

use super::line::Line;
use super::unusable::unusable;
use crate::drivers::{DriverError, ErrorClass, Finished, Usage};

/// Maximum wait for a turn that was just dropped and still writes its last line.
const PATIENCE: Duration = Duration::from_secs(3);

/// File of an open turn, locked.
#[derive(Clone, Debug)]
pub(in crate::drivers) struct TurnLog {
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
        let file = opened.map_err(|error| unusable(path, &error))?;
        let step = Duration::from_millis(10);
        let mut left = PATIENCE;
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(unusable(path, &error)),
                TryLockError::WouldBlock if left.is_zero() => return Err(busy(path)),
                TryLockError::WouldBlock => sleep(step),
            }
            left = left.saturating_sub(step);
        }
        Ok(Self { file: Arc::new(file), folder: path.parent().unwrap_or(path).to_owned() })
    }

    /// Truncates the file.
    pub(super) fn cut(&self, whole: u64) -> Result<(), DriverError> {
        self.file.set_len(whole).map_err(|error| unwritable(&error))
    }

    /// Writes the first lines of a file atomically. May block.
    pub(super) fn begin(&self, lines: &[Line]) -> Result<(), DriverError> {
        let written =
            encode(lines).and_then(|bytes| append(&self.file, &bytes)).and_then(|()| sync_folder(&self.folder));
        written.map_err(|error| unwritable(&error))
    }

    /// Writes a message, and returns when it is on disk.
    pub(in crate::drivers) async fn message(
        &self,
        message: Box<RawValue>,
        usage: Option<Usage>,
    ) -> Result<(), DriverError> {
        self.line(Line::Message { message, usage }).await
    }

    /// Writes the usage of a request whose reply is not stored, and returns when it is on disk.
    pub(in crate::drivers) async fn spent(&self, usage: Usage) -> Result<(), DriverError> {
        self.line(Line::Spent(usage)).await
    }

    /// Writes the result of the turn, and returns when it is on disk.
    pub(in crate::drivers) async fn end(&self, finished: Finished) -> Result<(), DriverError> {
        self.line(Line::Ended(finished)).await
    }

    /// Writes a line. If the future is dropped, the line is still written, and the lock held until then.
    async fn line(&self, line: Line) -> Result<(), DriverError> {
        let file = Arc::clone(&self.file);
        let work = move || encode(&[line]).and_then(|bytes| append(&file, &bytes));
        let written = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
        written.map_err(|error| unwritable(&error))
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

pub(super) fn unwritable(error: &io::Error) -> DriverError {
    DriverError::new(ErrorClass::Fatal, format!("the session cannot be written: {error}"))
}

fn busy(path: &Path) -> DriverError {
    let message = format!("the turn in {} is being carried out by another process", path.display());
    DriverError::new(ErrorClass::Fatal, message)
}
