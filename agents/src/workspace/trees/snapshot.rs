//! Snapshots: a tree of all current files, tracked or not, and the changes that it must include. The user's index is
//! read but not changed. Possible secrets and large files are left out of every snapshot, diff and commit;
//! `.superstep/` is always excluded.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use async_recursion::async_recursion as boxed;
use git2::FileMode;
use serde::{Deserialize, Serialize};

use super::index::{NOT_ALLOWED, Scratch};
use crate::workspace::error::WorkspaceError;
use crate::workspace::guard::renew_trust;
use crate::workspace::id::TreeId;
use crate::workspace::place::{Fault, Place, RepoPath, Workspace, as_path, components, lossy_path};
use crate::workspace::program::CallOutput;

/// Folder of stores, which git never sees.
const STORE: &[u8] = b".superstep";
/// Number of bytes examined in a file.
const SNIFFED_BYTES: u64 = 64 * 1024;

/// All files at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeSnapshot {
    /// The files, as a commit would contain them.
    pub tree: TreeId,
    /// Changed or new files that are not in it, in the order of names: the tree has their version in HEAD, if any.
    pub left_out: Vec<OmittedFile>,
}

/// A file that is left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OmittedFile {
    /// File, relative to the top of the work tree.
    pub path: String,
    /// Reason.
    pub reason: OmissionReason,
}

/// Reason why a file is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// `.env` and names that start with it: they hold keys and passwords.
    Environment,
    /// Its name or its first bytes indicate a private key.
    PrivateKey,
    /// It is too large.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It is a git repository of its own.
    Repository,
    /// It is inside a submodule.
    Submodule {
        /// The submodule.
        of: String,
    },
    /// Git ignores it.
    Ignored,
    /// A flag of the index hides its changes from git.
    Hidden {
        /// The flag.
        flag: String,
    },
    /// It is a link to a place outside of the repository, or what it leads to was changed there.
    OutsideLink {
        /// The place.
        to: String,
    },
    /// Its permission to be executed was changed, which `core.fileMode` hides.
    Mode,
    /// It differs from a file of git's only in upper and lower case, which `core.ignoreCase` hides.
    Case {
        /// The name that git has.
        of: String,
    },
    /// It is an entry of the stash.
    Stash,
    /// It is a branch that was made, got commits and was left again.
    Branch {
        /// Number of its commits.
        commits: usize,
    },
    /// It is a commit on no branch that was left again.
    Detached,
    /// It was excluded from the work: the plan of the run, or a file that the profile brings.
    Apart,
    /// Git cannot read it.
    Unreadable {
        /// Message of git.
        why: String,
    },
    /// Git refuses its path or its content.
    Refused {
        /// Message of git.
        why: String,
    },
}

impl fmt::Display for OmittedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is left out: ", self.path)?;
        match &self.reason {
            OmissionReason::Environment => f.write_str("files of this name hold secrets"),
            OmissionReason::PrivateKey => f.write_str("it looks like a private key"),
            OmissionReason::TooLarge { bytes } => write!(f, "it is too large ({} MB)", bytes.div_ceil(1_000_000)),
            OmissionReason::Repository => f.write_str("it is a git repository of its own"),
            OmissionReason::Submodule { of } => {
                write!(f, "it is inside the submodule `{of}`, which has commits of its own")
            }
            OmissionReason::Ignored => f.write_str("git ignores it"),
            OmissionReason::Hidden { flag } => write!(f, "its flag `{flag}` in the index hides changes from git"),
            OmissionReason::OutsideLink { to } => write!(f, "it is a link to `{to}`, and git has the link alone"),
            OmissionReason::Mode => {
                f.write_str("whether it is executable was changed, which `core.fileMode=false` hides from git")
            }
            OmissionReason::Case { of } => {
                write!(f, "git knows it as `{of}`, and `core.ignoreCase` hides the other spelling")
            }
            OmissionReason::Stash => f.write_str("`git stash` put it there during the work"),
            OmissionReason::Branch { commits } => {
                write!(f, "it is a branch that the work made and left again, with {commits} commit(s)")
            }
            OmissionReason::Detached => f.write_str("it is a commit on no branch, made during the work and left again"),
            OmissionReason::Apart => {
                f.write_str("it is the plan of the run or a file that the profile brings, no part of the work")
            }
            OmissionReason::Unreadable { why } => write!(f, "git cannot read it: {why}"),
            OmissionReason::Refused { why } => write!(f, "git refuses it: {why}"),
        }
    }
}

impl OmittedFile {
    /// Returns a line for each file, for people; ignored files, of which there may be many, share one.
    pub fn lines(all: &[Self]) -> Vec<String> {
        const SHOWN: usize = 20;
        let (ignored, others): (Vec<&Self>, Vec<&Self>) =
            all.iter().partition(|one| one.reason == OmissionReason::Ignored);
        let mut lines: Vec<String> = others.iter().take(SHOWN).map(ToString::to_string).collect();
        if others.len() > SHOWN {
            lines.push(format!("{} more files are left out", others.len() - SHOWN));
        }
        let names: Vec<String> = ignored.iter().take(SHOWN).map(|one| format!("`{}`", one.path)).collect();
        let more = ignored.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if !names.is_empty() {
            lines.push(format!("changed, but ignored by git and so in no commit: {}{more}", names.join(", ")));
        }
        lines
    }
}

/// Changed files, by kind.
#[derive(Debug, Default)]
struct ChangedFiles {
    /// New or changed files.
    written: Vec<RepoPath>,
    /// Deleted files.
    removed: Vec<RepoPath>,
    /// Files that differ from HEAD only in the index.
    staged: Vec<RepoPath>,
    /// Files that must stay as in HEAD.
    as_in_head: Vec<RepoPath>,
    left_out: Vec<OmittedFile>,
}

impl Workspace {
    /// Takes a snapshot of the work tree: tracked and new files as a commit would contain them, with modes, links and
    /// filters; without ignored, excluded and left-out files and `.superstep/`. Neither files nor the user's index
    /// change. Submodules are taken from the index.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if git fails. A file that git refuses is left out.
    #[boxed]
    pub async fn snapshot(&self) -> Result<WorktreeSnapshot, WorkspaceError> {
        self.after_collection().await;
        let mut taken = self.snapshot_from(self.scratch().await?).await;
        let is_whole = match &taken {
            Ok(taken) => self.is_whole(&taken.tree).await?,
            Err(error) => !matches!(error, WorkspaceError::GitFailed { .. }),
        };
        if !is_whole {
            // A collection of garbage may have removed objects that the index alone has, or that were just written.
            self.after_collection().await;
            taken = self.snapshot_from(self.scratch_of_head().await?).await;
        }
        let taken = taken?;
        self.keep_made(taken.tree.as_str()).await?;
        Ok(taken)
    }

    /// Returns whether all objects of a tree that are not in HEAD exist: `git write-tree` does not look at all of them.
    async fn is_whole(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let (head, tree) = (self.head_tree().await?, tree.clone());
        self.objects("read the files", move |repository, _| {
            let head = head.map(|head| repository.find_tree(head.oid()?).map_err(Fault::from)).transpose()?;
            let Ok(tree) = repository.find_tree(tree.oid()?) else { return Ok(false) };
            let Ok(changes) = repository.diff_tree_to_tree(head.as_ref(), Some(&tree), None) else { return Ok(false) };
            let objects = repository.odb()?;
            let is_there = |file: git2::DiffFile<'_>| {
                !file.exists() || file.mode() == FileMode::Commit || objects.exists(file.id())
            };
            Ok(changes.deltas().all(|change| is_there(change.new_file())))
        })
        .await
    }

    async fn snapshot_from(&self, scratch: Scratch) -> Result<WorktreeSnapshot, WorkspaceError> {
        let mut changes = self.changes(Some(&scratch)).await?;
        self.unstage(&scratch, &changes.removed).await?;
        let refused = self.stage_allowed(&scratch, std::mem::take(&mut changes.written)).await?;
        for (path, why) in refused {
            if why != NOT_ALLOWED {
                changes.as_in_head.push(path.clone());
            }
            changes.left_out.push(OmittedFile { path: lossy_path(&path), reason: OmissionReason::Refused { why } });
        }
        changes.as_in_head.retain(|path| !path.ends_with(b"/"));
        self.as_in_head(&scratch, changes.as_in_head).await?;
        changes.left_out.sort();
        changes.left_out.dedup();
        let tree = self.write_tree(&scratch).await?;
        Ok(WorktreeSnapshot { tree, left_out: changes.left_out })
    }

    /// Returns the changed and new files, in the order of names. Ignored files, excluded and left-out files and
    /// `.superstep/` are not included; changes inside submodules are not examined.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if `git status` fails.
    #[boxed]
    pub async fn dirt(&self) -> Result<Vec<String>, WorkspaceError> {
        let changes = self.changes(None).await?;
        let files = changes.written.iter().chain(&changes.removed).chain(&changes.staged);
        let mut files: Vec<_> = files.map(|file| lossy_path(file)).collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Checks that there is no [`dirt`](Self::dirt).
    ///
    /// # Errors
    /// [`Dirty`](WorkspaceError::Dirty) names the files.
    #[boxed]
    pub async fn ensure_clean(&self) -> Result<(), WorkspaceError> {
        match self.dirt().await? {
            files if files.is_empty() => Ok(()),
            files => Err(WorkspaceError::Dirty { files }),
        }
    }

    /// Makes git ignore `.superstep/`, in this repository and all of its work trees, without changing a committed file.
    /// Idempotent.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if `info/exclude` cannot be written.
    #[boxed]
    pub async fn ignore_store(&self) -> Result<(), WorkspaceError> {
        self.ignore(".superstep/").await
    }

    /// Makes git ignore files that match `pattern`, a line of a `.gitignore` file, in this repository and all of its
    /// work trees. Committed files are not affected. Idempotent.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if `info/exclude` cannot be written.
    #[boxed]
    pub async fn ignore(&self, pattern: &str) -> Result<(), WorkspaceError> {
        let line = pattern.to_owned();
        self.read("write info/exclude", move |_, place| {
            let file = place.common_dir.join("info").join("exclude");
            exclude(&file, &line).map_err(|source| WorkspaceError::Io { doing: "write", path: file, source })?;
            renew_trust(place);
            Ok(())
        })
        .await
    }

    /// Reads the changes relative to the user's index or another one.
    async fn changes(&self, scratch: Option<&Scratch>) -> Result<ChangedFiles, WorkspaceError> {
        let status =
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];
        let status = self.git(&status);
        let status = if let Some(scratch) = scratch { status.with_index(scratch.path()) } else { status };
        let answer = status.run().await?;
        if answer.code != Some(0) {
            let (command, output) = ("status".to_owned(), answer.stderr.trim().to_owned());
            return Err(WorkspaceError::GitFailed { command, code: answer.code, output });
        }
        let CallOutput { stdout, stderr, .. } = answer;
        self.read("sort the changes", move |_, place| {
            let mut changes = parse_status(place, &stdout);
            changes.left_out.extend(stderr.lines().filter_map(unreadable_folder));
            Ok(changes)
        })
        .await
    }
}

/// Parses git's warning about a folder: `warning: could not open directory 'PATH/': REASON`.
fn unreadable_folder(line: &str) -> Option<OmittedFile> {
    let (path, why) = line.strip_prefix("warning: could not open directory '")?.rsplit_once("': ")?;
    Some(OmittedFile { path: path.to_owned(), reason: OmissionReason::Unreadable { why: why.to_owned() } })
}

/// Parses lines of `XY path`: X compares the index with HEAD, Y the file with the index.
fn parse_status(place: &Place, output: &[u8]) -> ChangedFiles {
    let mut changes = ChangedFiles::default();
    for line in output.split(|byte| *byte == 0).filter(|line| line.len() > 3) {
        changes.add(place, (line[0], line[1]), &line[3..]);
    }
    changes
}

impl ChangedFiles {
    fn add(&mut self, place: &Place, (x, y): (u8, u8), path: &[u8]) {
        let file = place.root.join(as_path(path));
        if components(path).any(|part| part == STORE) || place.is_apart(path) {
            return self.as_in_head.push(path.to_vec());
        }
        let is_gone = y == b'D' || file.symlink_metadata().is_err();
        if !is_gone && let Some(reason) = reason_to_leave_out(path, &file, place.options.largest) {
            self.left_out.push(OmittedFile { path: lossy_path(path), reason });
            return self.as_in_head.push(path.to_vec());
        }
        match (x, y) {
            (_, b' ') => self.staged.push(path.to_vec()),
            _ if is_gone => self.removed.push(path.to_vec()),
            _ => self.written.push(path.to_vec()),
        }
    }
}

fn exclude(file: &Path, pattern: &str) -> io::Result<()> {
    let mut text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => vec![],
        read => read?,
    };
    if text.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == pattern.as_bytes()) {
        return Ok(());
    }
    if text.last().is_some_and(|last| *last != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(format!("{pattern}\n").as_bytes());
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    fs::write(file, text)
}

/// Returns the reason to leave out a changed or new file; `path` is its name in the repository, `file` its location.
fn reason_to_leave_out(path: &[u8], file: &Path, largest: u64) -> Option<OmissionReason> {
    if path.ends_with(b"/") {
        return Some(OmissionReason::Repository);
    }
    let parts: Vec<_> = components(path).collect();
    let (name, folders) = parts.split_last()?;
    if name.starts_with(b".env") || folders.contains(&&b".env"[..]) {
        return Some(OmissionReason::Environment);
    }
    if is_name_of_key(name) {
        return Some(OmissionReason::PrivateKey);
    }
    let about = file.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    if about.len() > largest {
        return Some(OmissionReason::TooLarge { bytes: about.len() });
    }
    holds_key(name, file).then_some(OmissionReason::PrivateKey)
}

fn is_name_of_key(name: &[u8]) -> bool {
    const NAMES: [&str; 6] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"];
    const ENDS: [&str; 7] = [".key", ".ppk", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| name == known.as_bytes()) || ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}

fn holds_key(name: &[u8], file: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(SNIFFED_BYTES).read_to_end(&mut bytes));
    // Unreadable files are reported by git.
    read.is_ok() && looks_like_key(name.to_ascii_lowercase().ends_with(b".pem"), &bytes)
}

/// Returns whether text starts with a key; in a `.pem`, it may follow certificates.
fn looks_like_key(is_bundle: bool, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_key = |line: &str| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
    let count = if is_bundle { usize::MAX } else { 1 };
    text.starts_with("PuTTY-User-Key-File-") || text.lines().take(count).any(|line| is_key(line.trim_start()))
}
