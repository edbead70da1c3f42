//! Tools `write` and `edit`: a file is replaced atomically, so that no reader sees a partial one, and a hard link out
//! of the folder is replaced, not written through.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use superstep_base::Fnv;

use super::answer::{Refusal, ToolLimits};
use super::root::{RelativePath, Root, open_refusal, regular};

/// Writes a file, and creates its folders.
pub(super) fn write(root: &Root, at: &RelativePath, content: &str, limits: &ToolLimits) -> Result<String, Refusal> {
    check_size(at, content.len(), limits)?;
    let (name, folders) = at.file()?;
    let folder = root.folder_or_new(folders)?;
    let is_new = replace(&folder, name, &at.to_string(), content.as_bytes())?;
    Ok(format!("{} `{at}`, {} bytes", if is_new { "made" } else { "wrote" }, content.len()))
}

/// Replaces the only occurrence of `old`.
pub(super) fn edit(
    root: &Root,
    at: &RelativePath,
    old: &str,
    new: &str,
    limits: &ToolLimits,
) -> Result<String, Refusal> {
    let (name, folders) = at.file()?;
    let folder = root.folder(folders)?;
    let bytes = root.read(at, limits.file)?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::new(format!("`{at}` is not UTF-8 text")))?;
    let edited = replace_once(&text, old, new).map_err(|why| Refusal::new(format!("`{at}`: {why}")))?;
    check_size(at, edited.len(), limits)?;
    replace(&folder, name, &at.to_string(), edited.as_bytes())?;
    Ok(format!("edited `{at}`"))
}

fn check_size(at: &RelativePath, size: usize, limits: &ToolLimits) -> Result<(), Refusal> {
    match size > limits.file {
        true => Err(Refusal::new(format!("`{at}`: {size} bytes are more than the {} that are written", limits.file))),
        false => Ok(()),
    }
}

/// Replaces the only occurrence of `old` in a text. Models write `\n`: in a file with CRLF it means the file's line
/// ends.
fn replace_once(text: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old` is empty; use write for a new file".to_owned());
    }
    let crlf = |part: &str| part.replace("\r\n", "\n").replace('\n', "\r\n");
    let is_crlf = !text.contains(old) && text.contains("\r\n") && !old.contains('\r');
    let (old, new) = if is_crlf { (crlf(old), crlf(new)) } else { (old.to_owned(), new.to_owned()) };
    match places(text, &old) {
        0 => Err("`old` is not in the file; it must match letter by letter, spaces too".to_owned()),
        1 => Ok(text.replacen(&old, &new, 1)),
        many => Err(format!("`old` is there {many} times; take more of the lines around it")),
    }
}

/// Counts the occurrences of `part`, overlapping ones included.
fn places(text: &str, part: &str) -> usize {
    let (mut from, mut found) = (0, 0);
    while let Some(at) = text[from..].find(part) {
        found += 1;
        from += at + part.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Replaces the file `name` durably; returns whether it is new.
fn replace(folder: &OwnedFd, name: &str, shown: &str, bytes: &[u8]) -> Result<bool, Refusal> {
    let refuse = |error| open_refusal(shown, error);
    let mode = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => regular(&stat, shown).map(|()| Some(Mode::from_raw_mode(stat.st_mode & 0o777)))?,
        Err(Errno::NOENT) => None,
        Err(error) => return Err(refuse(error)),
    };
    let beside = temporary_name(name);
    // Leftover of a process that was killed here.
    let _ = unlinkat(folder, &beside, AtFlags::empty());
    let done = fill(folder.as_fd(), &beside, bytes, mode)
        .and_then(|()| renameat(folder, &beside, folder, name).map_err(std::io::Error::from))
        .and_then(|()| fsync(folder).map_err(std::io::Error::from));
    done.map_err(|error| {
        let _ = unlinkat(folder, &beside, AtFlags::empty());
        Refusal::new(format!("`{shown}` cannot be written: {error}"))
    })?;
    Ok(mode.is_none())
}

/// Returns the temporary name of the new file: always the same, so that a repeated call removes a leftover.
fn temporary_name(name: &str) -> String {
    let mut hash = Fnv::new();
    hash.mix(name.as_bytes());
    format!(".superstep-new-{:016x}", hash.finish())
}

fn fill(folder: BorrowedFd<'_>, name: &str, bytes: &[u8], mode: Option<Mode>) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::from_raw_mode(0o666))?);
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        fchmod(&file, mode)?;
    }
    file.sync_all()
}
