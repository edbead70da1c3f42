//! Folders of records, below which no agent writes: they are listed in a file that agents cannot write either. Folders are
//! compared as the file system has them, whatever the spelling of their paths.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
    pub(in crate::drivers) fn below(root: &Path) -> Self {
        let folders = marked_records(root);
        Self(folders.iter().filter_map(|folder| fs::metadata(folder).ok()).map(|about| id(&about)).collect(), folders)
    }

    /// Returns whether a folder is one of records.
    pub(in crate::drivers) fn has(&self, folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|about| self.0.contains(&id(&about)))
    }

    /// The same of an open folder.
    pub(super) fn has_open(&self, folder: impl AsFd) -> bool {
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
