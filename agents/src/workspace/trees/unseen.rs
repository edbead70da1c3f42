//! Work that git would not commit: ignored files, files hidden by flags of the index or by settings, files of
//! submodules, excluded ones, stashed changes, and commits that were left. What was changed since a time is found by
//! the times of the files; no program of a submodule runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use git2::{Oid, Repository};
use superstep_base::gather;

use super::snapshot::{OmissionReason, OmittedFile};
use crate::workspace::branches::{BranchPositions, HeadLog, descends, head_of};
use crate::workspace::error::WorkspaceError;
use crate::workspace::guard::runs;
use crate::workspace::place::{
    Fault, Place, RepoPath, Workspace, as_path, changed_at, components, lexical, lossy_path,
};

/// Flag of an index entry that git does not compare with its file.
const ASSUME_UNCHANGED: u16 = 0x8000;
/// The same, in the extended flags.
const SKIP_WORKTREE: u16 = 1 << 14;
/// Modes of a file, an executable one, and a link.
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
/// Mode of a submodule.
const SUBMODULE: u32 = 0o160_000;
/// Number of files that are examined in a folder.
const MOST: usize = 20_000;

impl Workspace {
    /// Returns files that were changed since a time (see [`BranchPositions::started`]) and that no commit would contain, with
    /// the reason. Files that [`snapshot`](Self::snapshot) leaves out are not included.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if `git status` fails.
    #[boxed]
    pub async fn unseen_files(&self, since: u64) -> Result<Vec<OmittedFile>, WorkspaceError> {
        let status = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames"];
        let output = self.git(&status).arg("--ignore-submodules=all").output().await?;
        self.read("look for files that git does not commit", move |repository, place| {
            let mut found = ignored_files(place, &output, since);
            found.extend(outside_links(place, &output, since));
            found.extend(hidden_files(repository, place, since)?);
            found.extend(other_names(repository, place, since)?);
            found.extend(stash_entries(place, since));
            found.extend(excluded_files(place, since));
            found.sort();
            found.dedup();
            Ok(found)
        })
        .await
    }

    /// Returns branches that were made in this work tree during the [`turns`](BranchPositions::turns) of `standing`, got commits
    /// and were left again, and such commits on no branch. The [watched](Self::with_all_branches) branches that existed are put back
    /// by [`fold`](Self::fold).
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the branches cannot be read.
    #[boxed]
    pub async fn unseen_commits(&self, standing: &BranchPositions) -> Result<Vec<OmittedFile>, WorkspaceError> {
        let standing = standing.clone();
        self.read("look for commits", move |repository, place| {
            let head = head_of(repository)?;
            let log = HeadLog::read_parts(place, &standing.turns, head.branch());
            let mut found = vec![];
            for branch in repository.branches(Some(git2::BranchType::Local))? {
                let (branch, _) = branch?;
                let (Ok(Some(name)), Some(tip)) = (branch.name(), branch.get().target()) else { continue };
                let is_known = standing.all.contains_key(name) || head.branch() == Some(name);
                let Some(Some(origin)) = log.origin(name, None, Some(tip)).filter(|_| !is_known) else { continue };
                let (commits, _) = repository.graph_ahead_behind(tip, origin)?;
                found.extend(
                    (commits > 0)
                        .then(|| OmittedFile { path: name.to_owned(), reason: OmissionReason::Branch { commits } }),
                );
            }
            for &commit in log.left_detached().iter().rev() {
                if !is_reachable(repository, commit)? {
                    found.push(OmittedFile { path: commit.to_string(), reason: OmissionReason::Detached });
                }
            }
            Ok(found)
        })
        .await
    }
}

/// Returns whether HEAD or a branch has the commit.
fn is_reachable(repository: &Repository, commit: Oid) -> Result<bool, Fault> {
    if repository.find_commit(commit).is_err() {
        return Ok(true); // it is gone
    }
    let branches = repository.branches(None)?.filter_map(Result::ok).filter_map(|(branch, _)| branch.get().target());
    let head = repository.head().ok().and_then(|head| head.target());
    for tip in branches.chain(head) {
        if descends(repository, tip, commit)? || tip == commit {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the entries of the stash from since a time. A line of its reflog is `OLD NEW NAME <MAIL> SECONDS ZONE`, a tab,
/// and the message.
fn stash_entries(place: &Place, since: u64) -> Vec<OmittedFile> {
    let log = fs::read(place.common_dir.join("logs/refs/stash")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let is_new = |line: &str| {
        let about = line.split_once('\t').map_or(line, |(about, _)| about);
        let seconds = about.rsplit_once("> ").and_then(|(_, time)| time.split(' ').next()?.parse::<u64>().ok());
        seconds.is_some_and(|seconds| seconds >= since / 1_000_000_000)
    };
    let newest_first = log.lines().rev().enumerate().filter(|(_, line)| is_new(line));
    newest_first
        .map(|(nth, _)| OmittedFile { path: format!("stash@{{{nth}}}"), reason: OmissionReason::Stash })
        .collect()
}

/// Returns links that lead out of the repository, if they are new.
fn outside_links(place: &Place, status: &[u8], since: u64) -> Vec<OmittedFile> {
    let lines =
        status.split(|byte| *byte == 0).filter(|line| !line.starts_with(b"!! ")).filter_map(|line| line.get(3..));
    let of_line = |path: &[u8]| {
        let file = place.root.join(as_path(path));
        if !is_changed(&file, since) || place.is_apart(trim_slash(path)) {
            return None;
        }
        Some(OmittedFile {
            path: lossy_path(path),
            reason: OmissionReason::OutsideLink { to: outside_target(place, &file)? },
        })
    };
    lines.filter_map(of_line).collect()
}

/// Returns where a link leads, if that is outside of the repository.
fn outside_target(place: &Place, file: &Path) -> Option<String> {
    let to = fs::read_link(file).ok()?;
    let full = lexical(&file.parent().unwrap_or(file).join(&to));
    let full = full.canonicalize().unwrap_or(full);
    (!full.starts_with(&place.root)).then(|| to.display().to_string())
}

/// Returns files whose names differ from those of the index in upper and lower case only, where git ignores the case.
fn other_names(repository: &Repository, place: &Place, since: u64) -> Result<Vec<OmittedFile>, Fault> {
    if !repository.config()?.get_bool("core.ignoreCase").unwrap_or(false) {
        return Ok(vec![]);
    }
    let index = repository.index()?;
    let known: BTreeSet<Vec<u8>> = index.iter().map(|entry| entry.path).collect();
    let mut folders: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
    let mut found = vec![];
    for path in &known {
        let file = as_path(path);
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { continue };
        let names = folders.entry(folder.to_owned()).or_insert_with(|| names_in(&place.root.join(folder)));
        let name = name.to_string_lossy();
        if names.contains(OsStr::new(&*name)) {
            continue;
        }
        let is_other = |other: &&OsString| {
            other.to_string_lossy().to_lowercase() == name.to_lowercase()
                && is_changed(&place.root.join(folder).join(other), since)
        };
        let other = names.iter().find(is_other).map(|other| folder.join(other).display().to_string());
        let other = other.filter(|other| !known.contains(other.as_bytes()));
        found.extend(
            other.map(|path_now| OmittedFile { path: path_now, reason: OmissionReason::Case { of: lossy_path(path) } }),
        );
    }
    Ok(found)
}

fn names_in(folder: &Path) -> BTreeSet<OsString> {
    gather(fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name()))
}

/// Returns ignored files, and ignored folders in which something was changed.
fn ignored_files(place: &Place, status: &[u8], since: u64) -> Vec<OmittedFile> {
    let lines = status.split(|byte| *byte == 0).filter_map(|line| line.strip_prefix(b"!! "));
    let is_of_run =
        |path: &[u8]| components(path).any(|part| part == b".superstep") || place.is_apart(trim_slash(path));
    let paths = lines.filter(|path| !is_of_run(path));
    let is_changed = |path: &&[u8]| first_changed(&place.root.join(as_path(path)), since).is_some();
    paths
        .filter(is_changed)
        .map(|path| OmittedFile { path: lossy_path(path), reason: OmissionReason::Ignored })
        .collect()
}

fn trim_slash(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// Returns files that the index hides, and files of submodules.
fn hidden_files(repository: &Repository, place: &Place, since: u64) -> Result<Vec<OmittedFile>, Fault> {
    // With sparse checkouts git itself looks at files that are there nevertheless.
    let config = repository.config()?;
    let is_sparse = config.get_bool("core.sparseCheckout").unwrap_or(false);
    let ignores_modes = cfg!(unix) && !config.get_bool("core.fileMode").unwrap_or(true);
    let mut found = vec![];
    for entry in repository.index()?.iter() {
        let file = place.root.join(as_path(&entry.path));
        if entry.mode == SUBMODULE {
            let changed = first_changed(&file, since).filter(|changed| *changed != file);
            found.extend(changed.map(|changed| in_submodule(place, &entry.path, &changed)));
        } else if let Some(flag) = flag(&entry, is_sparse)
            && is_changed(&file, since)
        {
            found.push(OmittedFile {
                path: lossy_path(&entry.path),
                reason: OmissionReason::Hidden { flag: flag.into() },
            });
        } else if ignores_modes && is_other_mode(&file, entry.mode) && is_changed(&file, since) {
            found.push(OmittedFile { path: lossy_path(&entry.path), reason: OmissionReason::Mode });
        } else if entry.mode == LINK
            && is_changed(&file.canonicalize().unwrap_or_default(), since)
            && let Some(to) = outside_target(place, &file).filter(|_| file.is_file())
        {
            found.push(OmittedFile { path: lossy_path(&entry.path), reason: OmissionReason::OutsideLink { to } });
        }
    }
    Ok(found)
}

/// Returns whether a file is executable and the index has it otherwise, or the reverse.
fn is_other_mode(file: &Path, mode: u32) -> bool {
    let is_file = file.symlink_metadata().is_ok_and(|about| about.is_file());
    is_file && matches!((mode, runs(file)), (FILE, "x") | (PROGRAM, "-"))
}

fn flag(entry: &git2::IndexEntry, is_sparse: bool) -> Option<&'static str> {
    if entry.flags & ASSUME_UNCHANGED != 0 {
        return Some("assume-unchanged");
    }
    (entry.flags_extended & SKIP_WORKTREE != 0 && !is_sparse).then_some("skip-worktree")
}

fn in_submodule(place: &Place, submodule: &RepoPath, changed: &Path) -> OmittedFile {
    let path = changed.strip_prefix(&place.root).unwrap_or(changed).display().to_string();
    OmittedFile { path, reason: OmissionReason::Submodule { of: lossy_path(submodule) } }
}

/// Returns excluded files; what is in excluded folders belongs to the run.
fn excluded_files(place: &Place, since: u64) -> Vec<OmittedFile> {
    let changed = place.apart.iter().filter(|path| {
        let file = place.root.join(as_path(path));
        file.symlink_metadata().is_ok_and(|about| about.is_file()) && is_changed(&file, since)
    });
    changed.map(|path| OmittedFile { path: lossy_path(path), reason: OmissionReason::Apart }).collect()
}

fn is_changed(file: &Path, since: u64) -> bool {
    file.symlink_metadata().is_ok_and(|about| changed_at(&about) >= since)
}

/// Returns a file that was changed below a path, or the path itself; the folder of a repository is not examined.
fn first_changed(path: &Path, since: u64) -> Option<PathBuf> {
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
