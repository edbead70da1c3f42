//! Lock file that lets one process write a store and names that process. Knows processes and clocks; must not know what
//! is in the store.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use superstep_base::time::{date, now};

use super::directory::writable;
use super::files::{self, io_at};
use crate::checkpoint::CheckpointError;

/// File that is locked and names the process.
pub(crate) const NAME: &str = "holder";

/// Description of processes that only read.
const READ: &str = "by a process that only reads it";

/// Exclusive right to a store's directory, until dropped.
#[derive(Debug)]
pub(in crate::checkpoint) struct Lock(File);

impl Lock {
    /// Locks the directory for this process.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if it is locked already, by this process or another.
    pub(in crate::checkpoint) fn take(store: &Path) -> Result<Self, CheckpointError> {
        let path = store.join(NAME);
        let opened = files::open(&path, File::options().read(true).write(true).create(true).truncate(false));
        let file = writable(store, opened)?;
        match file.try_lock() {
            Ok(()) => Self(file).sign(&path),
            Err(TryLockError::WouldBlock) => {
                let holder = if file.try_lock_shared().is_ok() { READ.into() } else { holder(&path) };
                Err(CheckpointError::Locked { path: store.into(), holder })
            }
            Err(TryLockError::Error(error)) => io_at(&path, "lock the file", Err(error)),
        }
    }

    /// Locks a directory that a process locked before and no longer does; `None` if it is locked, or never was.
    #[allow(dead_code, reason = "for stores that are read in a copy")]
    pub(in crate::checkpoint) fn take_abandoned(directory: &Path) -> Option<Self> {
        let file = files::open_to_read(&directory.join(NAME)).ok()?;
        file.try_lock().ok().map(|()| Self(file))
    }

    /// Locks the directory against writers, shared with other readers; `None` if no process has ever locked it.
    ///
    /// # Errors
    /// [`CheckpointError::Locked`] if a writer has locked it.
    pub(in crate::checkpoint) fn share(store: &Path) -> Result<Option<Self>, CheckpointError> {
        let path = store.join(NAME);
        let file = match files::open_to_read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => io_at(&path, "open the file", opened)?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Err(CheckpointError::Locked { path: store.into(), holder: holder(&path) }),
            Err(TryLockError::Error(error)) => io_at(&path, "lock the file", Err(error)),
        }
    }

    fn sign(mut self, path: &Path) -> Result<Self, CheckpointError> {
        io_at(path, "write the file", self.0.set_len(0).and_then(|()| self.0.write_all(signature().as_bytes())))?;
        Ok(self)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not be enough: a child process that is being spawned may still share the file.
        let _ = self.0.unlock();
    }
}

fn signature() -> String {
    let command = std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let command = command.unwrap_or_else(|| "unknown command".into());
    format!("pid {}, {command}, since {}", std::process::id(), utc(now() / 1000))
}

fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = files::open_to_read(path).and_then(|file| file.take(1000).read_to_string(&mut text));
    let text = if read.is_ok() { text } else { String::new() };
    let ours = format!("pid {},", std::process::id());
    match text.strip_prefix(&ours) {
        Some(rest) => format!("by this process,{}", rest.chars().take(200).collect::<String>()),
        None if text.is_empty() => "its holder is unknown".into(),
        None => text.chars().take(200).collect(),
    }
}

/// Formats seconds since 1970 for people.
fn utc(seconds: u64) -> String {
    let ((year, month, day), second) = (date(seconds / 86_400), seconds % 86_400);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "1970-01-01 00:00:00 UTC")]
    #[case(951_782_399, "2000-02-28 23:59:59 UTC")]
    #[case(951_782_400, "2000-02-29 00:00:00 UTC")]
    #[case(1_798_761_599, "2026-12-31 23:59:59 UTC")]
    fn times_are_written_as_people_do(#[case] seconds: u64, #[case] text: &str) {
        assert_eq!(utc(seconds), text);
    }

    #[test]
    fn the_second_to_lock_learns_who_was_first() {
        let store = tempfile::tempdir().unwrap();
        let first = Lock::take(store.path()).unwrap();
        let error = Lock::take(store.path()).unwrap_err().to_string();
        assert!(error.contains("open already (by this process, "), "{error}");
        drop(first);
        assert!(Lock::take(store.path()).is_ok());
    }
}
