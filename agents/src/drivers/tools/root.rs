//! Root folder of an agent, the paths beneath it, and its folders of records, which no agent writes. Files are opened name
//! by name from an open folder, so that no symbolic link is followed and nothing can be swapped between a check and its
//! use. Knows no tool.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, open, openat, statat};
use rustix::io::Errno;
use serde::Deserialize;
use superstep_base::gather;

use super::answer::{Refusal, short_name};

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
        let mut folder = enter(self.0.as_fd(), ".").map_err(|error| open_refusal(".", error))?;
        for name in names {
            // What is missing or no folder is reported by the work itself.
            let Ok(inner) = enter(folder.as_fd(), name) else { return Ok(()) };
            folder = inner;
            if records.has_open(&folder) {
                return Err(Refusal::new(format!("`{}`: {}", short_name(&names.join("/")), refusal())));
            }
        }
        Ok(())
    }

    fn walk(
        &self,
        names: &[String],
        step: impl Fn(BorrowedFd<'_>, &str) -> Result<OwnedFd, Errno>,
    ) -> Result<OwnedFd, Refusal> {
        let mut folder = enter(self.0.as_fd(), ".").map_err(|error| open_refusal(".", error))?;
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
        Ok(FileType::from_raw_mode(stat.map_err(|error| open_refusal(&at.to_string(), error))?.st_mode))
    }

    /// Reads a regular file of at most `most` bytes.
    pub(super) fn read(&self, at: &RelativePath, most: usize) -> Result<Vec<u8>, Refusal> {
        let (name, folders) = at.file()?;
        read_in(self.folder(folders)?.as_fd(), name, &at.to_string(), most)
    }
}

/// Opens a folder in an open folder.
pub(super) fn enter(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    openat(folder, name, FOLDER, Mode::empty())
}

/// Reads a regular file in an open folder; `shown` is its path for messages.
pub(super) fn read_in(folder: BorrowedFd<'_>, name: &str, shown: &str, most: usize) -> Result<Vec<u8>, Refusal> {
    // Checked before it is opened: opening a device may have side effects.
    regular(&stat_in(folder, name, shown)?, shown)?;
    let file = openat(folder, name, FILE, Mode::empty()).map_err(|error| why_not(folder, name, shown, error))?;
    let stat = fstat(&file).map_err(|error| open_refusal(shown, error))?;
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
fn stat_in(folder: BorrowedFd<'_>, name: &str, shown: &str) -> Result<Stat, Refusal> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| open_refusal(shown, error))
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
        Ok(FileType::Directory) | Err(_) => open_refusal(shown, error),
        Ok(_) => Refusal::new(format!("`{shown}` is not a folder")),
    }
}

pub(super) fn open_refusal(shown: &str, error: Errno) -> Refusal {
    match error {
        Errno::NOENT => Refusal::new(format!("`{shown}` does not exist")),
        error => Refusal::new(format!("`{shown}`: {error}")),
    }
}

/// Reserved names, in all their spellings.
const RESERVED: [&str; 4] = [".git", "git~1", ".superstep", "supers~1"];

/// Path beneath the root, as a list of names; empty for the root itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::drivers) struct RelativePath(Vec<String>);

/// Parses the path of a file or folder beneath the root, but not the root itself.
impl TryFrom<String> for RelativePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let at = Self::parse(&text).map_err(|Refusal(why)| why)?;
        at.file().map_err(|Refusal(why)| why)?;
        Ok(at)
    }
}

impl RelativePath {
    /// Parses a path: relative, no `..`, no `.git`, no NUL; `.` and repeated slashes are ignored.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Err(Refusal::new(format!("`{}`: {why}", short_name(text))));
        if text.contains('\0') {
            return refuse("a path holds no NUL");
        }
        if text.starts_with('/') {
            return refuse("absolute paths are refused; give the path from the folder you work in");
        }
        let names: Vec<&str> = text.split('/').filter(|name| !["", "."].contains(name)).collect();
        if names.contains(&"..") {
            return refuse("`..` is refused; give the path from the folder you work in");
        }
        if names.iter().any(|name| is_reserved(name)) {
            return refuse("`.git` and `.superstep` are refused");
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    pub(in crate::drivers) fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the file's name and the folders it is in.
    pub(super) fn file(&self) -> Result<(&str, &[String]), Refusal> {
        let (name, folders) = self
            .0
            .split_last()
            .ok_or_else(|| Refusal::new("the path of a file is missing; this is the folder itself"))?;
        Ok((name, folders))
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { f.write_str(&short_name(&self.0.join("/"))) }
    }
}

/// Returns whether some file system treats the name as `.git` or `.superstep`: in another case, with trailing dots and
/// spaces, with a stream name, in short form, or with invisible characters. Git refuses the same names.
pub(super) fn is_reserved(name: &str) -> bool {
    let seen: String = name.chars().filter(|letter| !is_unseen(*letter)).collect();
    let plain = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    RESERVED.iter().any(|kept| kept.eq_ignore_ascii_case(plain))
}

/// Returns whether HFS+ ignores the character when it compares names. Git: `next_hfs_char`.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The list, in the folder of an agent: a path in each line, relative to it.
const LIST: &str = ".superstep/records";

/// The folders of records below an agent's folder.
pub(in crate::drivers) struct Records(BTreeSet<(u64, u64)>, Vec<PathBuf>);

/// Protects a folder below the folder `root` of agents: their tools do not write below it. It is created if it is missing.
///
/// # Errors
/// If the folder or the list cannot be written.
pub fn mark_records(root: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(root.join(folder))?;
    let (list, line) = (root.join(LIST), folder.display().to_string());
    let known = match superstep_base::files::text(&list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        known => known?,
    };
    if known.lines().any(|known| known == line) {
        return Ok(());
    }
    list.parent().map_or(Ok(()), fs::create_dir_all)?;
    writeln!(File::options().create(true).append(true).open(list)?, "{line}")
}

/// Returns the folders that are protected below the folder `root` of agents.
pub fn marked_records(root: &Path) -> Vec<PathBuf> {
    let list = superstep_base::files::text(&root.join(LIST)).unwrap_or_default();
    list.lines().map(|line| root.join(line)).collect()
}

pub(in crate::drivers) fn refusal() -> io::Error {
    io::Error::other("there are records, which only superstep writes")
}

impl Records {
    pub(in crate::drivers) fn load(root: &Path) -> Self {
        let folders = marked_records(root);
        Self(gather(folders.iter().filter_map(|folder| fs::metadata(folder).ok()).map(|about| id(&about))), folders)
    }

    /// Returns whether a folder is one of records.
    pub(in crate::drivers) fn contains(&self, folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|about| self.0.contains(&id(&about)))
    }

    /// The same of an open folder.
    fn has_open(&self, folder: impl AsFd) -> bool {
        let copy = folder.as_fd().try_clone_to_owned().map(File::from);
        copy.and_then(|copy| copy.metadata()).is_ok_and(|about| self.0.contains(&id(&about)))
    }

    /// Returns whether there are records in a folder or below it.
    pub(in crate::drivers) fn are_below(&self, folder: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        self.1.iter().filter_map(|records| records.canonicalize().ok()).any(|records| records.starts_with(&folder))
    }
}

fn id(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}
