//! Root folder of an agent. Files beneath it are opened name by name from an open folder, so that no symbolic link is
//! followed and nothing can be swapped between a check and its use. Knows no tool.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;

use super::path::RelativePath;
use super::records::{Records, refusal};
use super::refusal::Refusal;
use super::text::short;

/// Flags for folders on the way: no links.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for files: never block on a fifo, never acquire a terminal.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct Root(OwnedFd);

impl Root {
    /// Opens it; the caller's path may contain links.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    pub(super) fn folder(&self, names: &[String]) -> Result<OwnedFd, Refusal> {
        self.walk(names, enter)
    }

    /// Opens a folder beneath it, and creates it if missing.
    pub(super) fn folder_or_new(&self, names: &[String]) -> Result<OwnedFd, Refusal> {
        self.walk(names, |folder, name| match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => enter(folder, name),
            Err(error) => Err(error),
        })
    }

    /// Refuses to write below a folder of records.
    pub(super) fn ensure_no_records(&self, names: &[String], records: &Records) -> Result<(), Refusal> {
        let mut folder = enter(self.0.as_fd(), ".").map_err(|error| failed(".", error))?;
        for name in names {
            // What is missing or no folder is reported by the work itself.
            let Ok(inner) = enter(folder.as_fd(), name) else { return Ok(()) };
            folder = inner;
            if records.has_open(&folder) {
                return Err(Refusal::new(format!("`{}`: {}", short(&names.join("/")), refusal())));
            }
        }
        Ok(())
    }

    fn walk(
        &self,
        names: &[String],
        step: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Errno>,
    ) -> Result<OwnedFd, Refusal> {
        let mut folder = enter(self.0.as_fd(), ".").map_err(|error| failed(".", error))?;
        for (nth, name) in names.iter().enumerate() {
            let refuse = |error| why_not(folder.as_fd(), name, &names[..=nth].join("/"), error);
            folder = step(folder.as_fd(), name).map_err(refuse)?;
        }
        Ok(folder)
    }

    /// Returns the type of a path, without following links.
    pub(super) fn kind(&self, at: &RelativePath) -> Result<FileType, Refusal> {
        let Some((name, folders)) = at.names().split_last() else { return Ok(FileType::Directory) };
        let folder = self.folder(folders)?;
        let stat = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        Ok(FileType::from_raw_mode(stat.map_err(|error| failed(&at.to_string(), error))?.st_mode))
    }

    /// Reads a regular file of at most `most` bytes.
    pub(super) fn read(&self, at: &RelativePath, most: usize) -> Result<Vec<u8>, Refusal> {
        let (name, folders) = at.file()?;
        read_in(self.folder(folders)?.as_fd(), name, &at.to_string(), most)
    }
}

fn enter(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    openat(folder, name, FOLDER, Mode::empty())
}

pub(super) fn enter_in(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    enter(folder, name)
}

/// Reads a regular file in an open folder; `shown` is its path for messages.
pub(super) fn read_in(folder: BorrowedFd<'_>, name: &str, shown: &str, most: usize) -> Result<Vec<u8>, Refusal> {
    // Checked before it is opened: opening a device may have side effects.
    regular(&stat_in(folder, name, shown)?, shown)?;
    let file = openat(folder, name, FILE, Mode::empty()).map_err(|error| why_not(folder, name, shown, error))?;
    let stat = fstat(&file).map_err(|error| failed(shown, error))?;
    regular(&stat, shown)?;
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > most {
        return Err(Refusal::new(format!("`{shown}` has {size} bytes, more than the {most} that are read; use grep")));
    }
    let (mut bytes, limit) = (Vec::with_capacity(size), u64::try_from(most).unwrap_or(u64::MAX));
    let read = File::from(file).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Refusal::new(format!("`{shown}` cannot be read: {error}")))?;
    Ok(bytes)
}

/// Returns the metadata of a name in an open folder, without following links.
pub(super) fn stat_in(folder: BorrowedFd<'_>, name: &str, shown: &str) -> Result<Stat, Refusal> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| failed(shown, error))
}

/// Refuses anything but regular files.
pub(super) fn regular(stat: &Stat, shown: &str) -> Result<(), Refusal> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder; use list",
        FileType::Symlink => "a symbolic link, which is not followed",
        FileType::Fifo => "a fifo, which is refused",
        FileType::Socket => "a socket, which is refused",
        _ => "a device file, which is refused",
    };
    Err(Refusal::new(format!("`{shown}` is {what}")))
}

/// Returns the reason why a name could not be opened; the system's message for a link is not helpful.
fn why_not(folder: BorrowedFd<'_>, name: &str, shown: &str, error: Errno) -> Refusal {
    let kind = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Symlink) => Refusal::new(format!("`{shown}` is a symbolic link, which is not followed")),
        Ok(FileType::Directory) | Err(_) => failed(shown, error),
        Ok(_) => Refusal::new(format!("`{shown}` is no folder")),
    }
}

pub(super) fn failed(shown: &str, error: Errno) -> Refusal {
    match error {
        Errno::NOENT => Refusal::new(format!("`{shown}` does not exist")),
        error => Refusal::new(format!("`{shown}`: {error}")),
    }
}
