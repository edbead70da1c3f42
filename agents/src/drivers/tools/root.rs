//! The folder an agent works in, and how a file beneath it is reached: name by name from an open folder, so that no symbolic
//! link is followed and nothing can be swapped between a check and its use. Knows no tool.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;

use super::path::Inside;
use super::refused::Refused;

/// How folders are opened on the way: the next name, no link.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How files are opened: never waiting for a fifo, never taking a terminal.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(super) struct Root(OwnedFd);

impl Root {
    /// Opens it; the path is the caller's, links in it are followed.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Opens a folder beneath it.
    pub(super) fn folder(&self, names: &[String]) -> Result<OwnedFd, Refused> {
        self.walk(names, enter)
    }

    /// Opens a folder beneath it, made where it is missing.
    pub(super) fn folder_or_new(&self, names: &[String]) -> Result<OwnedFd, Refused> {
        self.walk(names, |folder, name| match mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => enter(folder, name),
            Err(error) => Err(error),
        })
    }

    fn walk(
        &self,
        names: &[String],
        step: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Errno>,
    ) -> Result<OwnedFd, Refused> {
        let mut folder = enter(self.0.as_fd(), ".").map_err(|error| failed(".", error))?;
        for (nth, name) in names.iter().enumerate() {
            let refuse = |error| why_not(folder.as_fd(), name, &names[..=nth].join("/"), error);
            folder = step(folder.as_fd(), name).map_err(refuse)?;
        }
        Ok(folder)
    }

    /// What is at a path, links not followed.
    pub(super) fn kind(&self, at: &Inside) -> Result<FileType, Refused> {
        let Some((name, folders)) = at.names().split_last() else { return Ok(FileType::Directory) };
        let folder = self.folder(folders)?;
        let stat = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        Ok(FileType::from_raw_mode(stat.map_err(|error| failed(&at.to_string(), error))?.st_mode))
    }

    /// Reads a regular file of at most `most` bytes.
    pub(super) fn read(&self, at: &Inside, most: usize) -> Result<Vec<u8>, Refused> {
        let (name, folders) = at.file()?;
        read_in(self.folder(folders)?.as_fd(), name, &at.to_string(), most)
    }
}

fn enter(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    openat(folder, name, FOLDER, Mode::empty())
}

/// Opens a folder in a folder.
pub(super) fn enter_in(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    enter(folder, name)
}

/// Reads a regular file in an open folder; `shown` is its path for messages.
pub(super) fn read_in(folder: BorrowedFd<'_>, name: &str, shown: &str, most: usize) -> Result<Vec<u8>, Refused> {
    // Looked at before it is opened: opening a device may do something.
    regular(&stat_in(folder, name, shown)?, shown)?;
    let file = openat(folder, name, FILE, Mode::empty()).map_err(|error| why_not(folder, name, shown, error))?;
    let stat = fstat(&file).map_err(|error| failed(shown, error))?;
    regular(&stat, shown)?;
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > most {
        return Err(Refused::new(format!("`{shown}` has {size} bytes, more than the {most} that are read; use grep")));
    }
    let (mut bytes, limit) = (Vec::with_capacity(size), u64::try_from(most).unwrap_or(u64::MAX));
    let read = File::from(file).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Refused::new(format!("`{shown}` cannot be read: {error}")))?;
    Ok(bytes)
}

/// What a name in an open folder is, links not followed.
pub(super) fn stat_in(folder: BorrowedFd<'_>, name: &str, shown: &str) -> Result<Stat, Refused> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| failed(shown, error))
}

/// Refuses what is no regular file.
pub(super) fn regular(stat: &Stat, shown: &str) -> Result<(), Refused> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder; use list",
        FileType::Symlink => "a symbolic link, which is not followed",
        FileType::Fifo => "a fifo, which is refused",
        FileType::Socket => "a socket, which is refused",
        _ => "a device file, which is refused",
    };
    Err(Refused::new(format!("`{shown}` is {what}")))
}

/// Why a name could not be opened: the system's word for a link that is not followed tells nobody anything.
fn why_not(folder: BorrowedFd<'_>, name: &str, shown: &str, error: Errno) -> Refused {
    let kind = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Symlink) => Refused::new(format!("`{shown}` is a symbolic link, which is not followed")),
        Ok(FileType::Directory) | Err(_) => failed(shown, error),
        Ok(_) => Refused::new(format!("`{shown}` is no folder")),
    }
}

pub(super) fn failed(shown: &str, error: Errno) -> Refused {
    match error {
        Errno::NOENT => Refused::new(format!("`{shown}` does not exist")),
        error => Refused::new(format!("`{shown}`: {error}")),
    }
}
