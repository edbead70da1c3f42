//! Work that git would not commit: ignored files, files hidden by flags of the index, files of submodules, and excluded
//! ones. What was changed since a time is found by the times of the files; no program of a submodule runs.

use std::path::Path;
use std::{fs, io};

use git2::Repository;

use super::error::WorkspaceError;
use super::index::own_folder;
use super::left_out::{LeftOut, Reason};
use super::paths::{RepoPath, as_path, components, shown};
use super::place::{Fault, Place, Workspace};

/// Flag of an index entry that git does not compare with its file.
const ASSUME_UNCHANGED: u16 = 0x8000;
/// The same, in the extended flags.
const SKIP_WORKTREE: u16 = 1 << 14;
/// Mode of a submodule.
const SUBMODULE: u32 = 0o160_000;
/// Number of files that are examined in a folder.
const MOST: usize = 20_000;

impl Workspace {
    /// Returns files that were changed since a time (see [`Standing::started`](super::Standing)) and that no commit would
    /// contain, with the reason. Files that [`snapshot`](Self::snapshot) leaves out are not included.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if `git status` fails.
    pub async fn unseen(&self, since: u64) -> Result<Vec<LeftOut>, WorkspaceError> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames"];
        let output = self.git(&status).arg("--ignore-submodules=all").done().await?;
        self.read("look for files that git does not commit", move |repository, place| {
            let mut found = ignored(place, &output, since);
            found.extend(hidden(repository, place, since)?);
            found.extend(apart(place, since));
            found.sort();
            found.dedup();
            Ok(found)
        })
        .await
    }
}

/// Returns the present time of the file system, in nanoseconds since 1970: later changes of files are not before it.
pub(super) fn file_time(place: &Place) -> io::Result<u64> {
    // No branch of a run has this name: git takes files of this folder for references.
    let file = own_folder(place)?.join("clock+");
    // A new file, so that nothing is written through a link.
    let _ = fs::remove_file(&file);
    fs::write(&file, "")?;
    Ok(changed_at(&fs::symlink_metadata(&file)?))
}

/// Returns ignored files, and ignored folders in which something was changed.
fn ignored(place: &Place, status: &[u8], since: u64) -> Vec<LeftOut> {
    let lines = status.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"!! "));
    let is_of_run = |path: &[u8]| components(path).any(|part| part == b".superstep") || place.is_apart(trimmed(path));
    let paths = lines.filter(|path| !is_of_run(path));
    let is_changed = |path: &&[u8]| first_changed(&place.root.join(as_path(path)), since).is_some();
    paths.filter(is_changed).map(|path| LeftOut { path: shown(path), reason: Reason::Ignored }).collect()
}

fn trimmed(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns files that the index hides, and files of submodules.
fn hidden(repository: &Repository, place: &Place, since: u64) -> Result<Vec<LeftOut>, Fault> {
    // With sparse checkouts git itself looks at files that are there nevertheless.
    let is_sparse = repository.config()?.get_bool("core.sparseCheckout").unwrap_or(false);
    let mut found = vec![];
    for entry in repository.index()?.iter() {
        let file = place.root.join(as_path(&entry.path));
        if entry.mode == SUBMODULE {
            let changed = first_changed(&file, since).filter(|changed| *changed != file);
            found.extend(changed.map(|changed| in_submodule(place, &entry.path, &changed)));
        } else if let Some(flag) = flag(&entry, is_sparse)
            && is_changed(&file, since)
        {
            found.push(LeftOut { path: shown(&entry.path), reason: Reason::Hidden { flag: flag.into() } });
        }
    }
    Ok(found)
}

fn flag(entry: &git2::IndexEntry, is_sparse: bool) -> Option<&'static str> {
    if entry.flags & ASSUME_UNCHANGED != 0 {
        return Some("assume-unchanged");
    }
    (entry.flags_extended & SKIP_WORKTREE != 0 && !is_sparse).then_some("skip-worktree")
}

fn in_submodule(place: &Place, submodule: &RepoPath, changed: &Path) -> LeftOut {
    let path = changed.strip_prefix(&place.root).unwrap_or(changed).display().to_string();
    LeftOut { path, reason: Reason::Submodule { of: shown(submodule) } }
}

/// Returns excluded files; what is in excluded folders belongs to the run.
fn apart(place: &Place, since: u64) -> Vec<LeftOut> {
    let changed = place.apart.iter().filter(|path| {
        let file = place.root.join(as_path(path));
        file.symlink_metadata().is_ok_and(|about| about.is_file()) && is_changed(&file, since)
    });
    changed.map(|path| LeftOut { path: shown(path), reason: Reason::Apart }).collect()
}

fn is_changed(file: &Path, since: u64) -> bool {
    file.symlink_metadata().is_ok_and(|about| changed_at(&about) >= since)
}

/// Returns a file that was changed below a path, or the path itself; the folder of a repository is not examined.
fn first_changed(path: &Path, since: u64) -> Option<std::path::PathBuf> {
    let mut left = vec![path.to_owned()];
    let mut changed_folder = None;
    for _ in 0..MOST {
        let Some(next) = left.pop() else { break };
        let Ok(about) = next.symlink_metadata() else { continue };
        let is_new = changed_at(&about) >= since;
        if !about.is_dir() {
            if is_new {
                return Some(next);
            }
            continue;
        }
        if is_new {
            changed_folder.get_or_insert_with(|| next.clone());
        }
        let entries = fs::read_dir(&next).into_iter().flatten().filter_map(Result::ok);
        left.extend(entries.filter(|entry| entry.file_name() != ".git").map(|entry| entry.path()));
    }
    changed_folder
}

/// Returns the time of the last change of content or attributes, in nanoseconds since 1970.
#[cfg(unix)]
fn changed_at(about: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let seconds = u64::try_from(about.ctime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(about.ctime_nsec()).unwrap_or(0))
}

#[cfg(not(unix))]
fn changed_at(about: &fs::Metadata) -> u64 {
    let since = about.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
