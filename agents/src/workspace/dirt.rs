//! Changes in the work tree: uncommitted files, and what a snapshot must include. `.superstep/` is always excluded.

use std::path::Path;
use std::{fs, io};

use super::error::WorkspaceError;
use super::index::Scratch;
use super::left_out::{LeftOut, Reason, reason_to_leave_out};
use super::paths::{RepoPath, as_path, components, shown};
use super::place::{Place, Workspace};
use super::program::CallOutput;

/// Folder of stores, which git never sees.
const STORE: &[u8] = b".superstep";

/// Changed files, by kind.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// New or changed files.
    pub(super) written: Vec<RepoPath>,
    /// Deleted files.
    pub(super) removed: Vec<RepoPath>,
    /// Files that differ from HEAD only in the index.
    pub(super) staged: Vec<RepoPath>,
    /// Files that must stay as in HEAD.
    pub(super) as_in_head: Vec<RepoPath>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Workspace {
    /// Returns the changed and new files, in the order of names. Ignored files, excluded and left-out files and
    /// `.superstep/` are not included; changes inside submodules are not examined.
    ///
    /// # Errors
    /// [`GitFailed`](WorkspaceError::GitFailed) if `git status` fails.
    pub async fn dirt(&self) -> Result<Vec<String>, WorkspaceError> {
        let changes = self.changes(None).await?;
        let files = changes.written.iter().chain(&changes.removed).chain(&changes.staged);
        let mut files: Vec<_> = files.map(|file| shown(file)).collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Checks that there is no [`dirt`](Self::dirt).
    ///
    /// # Errors
    /// [`Dirty`](WorkspaceError::Dirty) names the files.
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
    pub async fn ignore_store(&self) -> Result<(), WorkspaceError> {
        self.ignore(".superstep/").await
    }

    /// Makes git ignore files that match `pattern`, a line of a `.gitignore` file, in this repository and all of its
    /// work trees. Committed files are not affected. Idempotent.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if `info/exclude` cannot be written.
    pub async fn ignore(&self, pattern: &str) -> Result<(), WorkspaceError> {
        let line = pattern.to_owned();
        self.read("write info/exclude", move |_, place| {
            let file = place.common_dir.join("info").join("exclude");
            exclude(&file, &line).map_err(|source| WorkspaceError::Io { doing: "write", path: file, source })?;
            super::trust::renew(place);
            Ok(())
        })
        .await
    }

    /// Reads the changes relative to the user's index or another one.
    pub(super) async fn changes(&self, scratch: Option<&Scratch>) -> Result<Changes, WorkspaceError> {
        let status =
            ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];
        let status = self.git(&status);
        let status = if let Some(scratch) = scratch { status.on(scratch.path()) } else { status };
        let answer = status.run().await?;
        if answer.code != Some(0) {
            let (command, output) = ("status".to_owned(), answer.stderr.trim().to_owned());
            return Err(WorkspaceError::GitFailed { command, code: answer.code, output });
        }
        let CallOutput { stdout, stderr, .. } = answer;
        self.read("sort the changes", move |_, place| {
            let mut changes = parse_status(place, &stdout);
            changes.left_out.extend(stderr.lines().filter_map(unreadable));
            Ok(changes)
        })
        .await
    }
}

/// Parses git's warning about a folder: `warning: could not open directory 'PATH/': REASON`.
fn unreadable(line: &str) -> Option<LeftOut> {
    let (path, why) = line.strip_prefix("warning: could not open directory '")?.rsplit_once("': ")?;
    Some(LeftOut { path: path.to_owned(), reason: Reason::Unreadable { why: why.to_owned() } })
}

/// Parses lines of `XY path`: X compares the index with HEAD, Y the file with the index.
fn parse_status(place: &Place, output: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for line in output.split(|byte| *byte == 0).filter(|line| line.len() > 3) {
        changes.add(place, (line[0], line[1]), &line[3..]);
    }
    changes
}

impl Changes {
    fn add(&mut self, place: &Place, (x, y): (u8, u8), path: &[u8]) {
        let file = place.root.join(as_path(path));
        if components(path).any(|part| part == STORE) || place.is_apart(path) {
            return self.as_in_head.push(path.to_vec());
        }
        let is_gone = y == b'D' || file.symlink_metadata().is_err();
        if !is_gone && let Some(reason) = reason_to_leave_out(path, &file, place.options.largest) {
            self.left_out.push(LeftOut { path: shown(path), reason });
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
