//! File changes inside a folder: no absolute path, no `..`, no `.git`, no symbolic link on the way. Each is idempotent,
//! because a turn that was killed is repeated.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::step::{EditFile, MoveFile, WriteFile};
use crate::drivers::tools::{Records, RelativePath, refusal};

/// Returns the path in a folder, after checking that no part of it is a link.
fn beneath(at: &RelativePath, folder: &Path) -> io::Result<PathBuf> {
    let (mut path, records) = (folder.to_owned(), Records::below(folder));
    for name in at.names() {
        path.push(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => return Err(io::Error::other("there is a symbolic link on the way")),
            Ok(found) if found.is_dir() && records.has(&path) => return Err(refusal()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

/// Fails if records are in a folder that is to be moved or deleted.
fn ensure_no_records(path: &Path, folder: &Path) -> io::Result<()> {
    if Records::below(folder).are_below(path) { Err(refusal()) } else { Ok(()) }
}

impl WriteFile {
    pub(super) fn done(&self, folder: &Path) -> io::Result<()> {
        let path = beneath(&self.path, folder)?;
        with_folder(&path)?;
        fs::write(path, &self.content)
    }
}

impl EditFile {
    pub(super) fn done(&self, folder: &Path) -> io::Result<()> {
        let path = beneath(&self.path, folder)?;
        let text = fs::read_to_string(&path)?;
        let edited = edited(&text, &self.old, &self.new).or_else(|| self.with_line_ends_of(&text));
        match edited {
            Some(edited) => fs::write(path, edited),
            None => Err(io::Error::other(format!("`{}` does not stand there", shortened(&self.old)))),
        }
    }

    /// Returns the text after the edit if only its line ends differ from those of the scenario.
    fn with_line_ends_of(&self, text: &str) -> Option<String> {
        let lines = |written: &str| written.replace("\r\n", "\n");
        let ends = |written: &str| match text.contains("\r\n") {
            true => lines(written).replace('\n', "\r\n"),
            false => lines(written),
        };
        edited(text, &ends(&self.old), &ends(&self.new))
    }
}

/// Returns the text after the edit, also if it was done before.
fn edited(text: &str, old: &str, new: &str) -> Option<String> {
    let was_done = !new.is_empty() && text.contains(new);
    if was_done && (new.contains(old) || !text.contains(old)) {
        return Some(text.to_owned());
    }
    text.contains(old).then(|| text.replacen(old, new, 1))
}

fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

impl MoveFile {
    pub(super) fn done(&self, folder: &Path) -> io::Result<()> {
        let (from, to) = (beneath(&self.from, folder)?, beneath(&self.to, folder)?);
        if !from.exists() && to.exists() {
            return Ok(());
        }
        ensure_no_records(&from, folder)?;
        with_folder(&to)?;
        fs::rename(from, to)
    }
}

/// Removes a file, or a folder with its contents; does nothing if it does not exist.
pub(super) fn delete(path: &RelativePath, folder: &Path) -> io::Result<()> {
    let path = beneath(path, folder)?;
    ensure_no_records(&path, folder)?;
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn with_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}
