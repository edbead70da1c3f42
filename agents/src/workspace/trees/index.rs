//! Git indexes: the user's own, and temporary copies of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use async_recursion::async_recursion as boxed;

use crate::workspace::error::WorkspaceError;
use crate::workspace::git_locks::{locked_error, with_locks};
use crate::workspace::id::TreeId;
use crate::workspace::place::{
    Fault, Place, RepoPath, Workspace, as_bytes, as_path, is_unborn, own_folder, with_zeros,
};

/// The reason of a path that no commit can contain.
pub(super) const NOT_ALLOWED: &str = "its path is not allowed in a repository";

/// Number of files that git may refuse before a snapshot fails.
const MOST_REFUSED: usize = 100;

/// Temporary index, removed on drop.
#[derive(Debug)]
pub(in crate::workspace) struct Scratch(PathBuf);

impl Scratch {
    pub(in crate::workspace) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Either may be missing.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("lock"));
    }
}

impl Workspace {
    /// Copies the user's index, so that unchanged files need not be read.
    pub(super) async fn scratch(&self) -> Result<Scratch, WorkspaceError> {
        let scratch = self.read("copy the index", |_, place| Ok(copy_index(place)?)).await?;
        if self.0.separate_git_dir.is_some()
            && let Some(tree) = self.head_tree().await?
        {
            // The index may hide changes.
            self.git(&["read-tree", "--reset"]).arg(tree.as_str()).with_index(scratch.path()).output().await?;
        }
        Ok(scratch)
    }

    /// Returns a temporary index that contains a tree.
    pub(in crate::workspace) async fn scratch_of(&self, tree: &TreeId) -> Result<Scratch, WorkspaceError> {
        let scratch = self.scratch().await?;
        self.git(&["read-tree", "--reset"]).arg(tree.as_str()).with_index(scratch.path()).output().await?;
        Ok(scratch)
    }

    /// Returns a temporary index that contains the tree of HEAD, whatever the user's has.
    pub(super) async fn scratch_of_head(&self) -> Result<Scratch, WorkspaceError> {
        if let Some(tree) = self.head_tree().await? {
            return self.scratch_of(&tree).await;
        }
        let scratch = self.scratch().await?;
        self.git(&["read-tree", "--empty"]).with_index(scratch.path()).output().await?;
        Ok(scratch)
    }

    /// Adds files of the work tree to an index. A path that git does not allow is left out; returns git's warnings.
    pub(super) async fn stage(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<String, WorkspaceError> {
        if files.is_empty() {
            return Ok(String::new());
        }
        let stage = self.git(&["update-index", "--add", "--replace", "-z", "--stdin"]).input(with_zeros(files));
        let answer = stage.with_index(scratch.path()).run().await?;
        match answer.code {
            Some(0) => Ok(answer.stderr),
            code => {
                let (command, output) = ("update-index".to_owned(), answer.stderr.trim().to_owned());
                Err(WorkspaceError::GitFailed { command, code, output })
            }
        }
    }

    /// Adds files of the work tree to an index, and returns those that git refuses, each with its message: their paths are
    /// not allowed, or they cannot be read.
    pub(super) async fn stage_allowed(
        &self,
        scratch: &Scratch,
        files: Vec<RepoPath>,
    ) -> Result<Vec<(RepoPath, String)>, WorkspaceError> {
        let (mut left, mut refused) = (vec![files], vec![]);
        while let Some(mut files) = left.pop() {
            let output = match self.stage(scratch, &files).await {
                Ok(warnings) => {
                    let not_allowed = warnings.lines().filter_map(|line| line.strip_prefix("Ignoring path "));
                    refused.extend(not_allowed.map(|path| (path.as_bytes().to_vec(), NOT_ALLOWED.to_owned())));
                    continue;
                }
                Err(WorkspaceError::GitFailed { output, code: Some(_), .. }) if refused.len() < MOST_REFUSED => output,
                Err(error) => return Err(error),
            };
            let half = files.len() / 2;
            let second = files.split_off(half);
            match (files.is_empty(), second.len()) {
                (true, 1) => refused.extend(second.into_iter().map(|file| (file, first_line(&output)))),
                _ => left.extend([second, files]),
            }
        }
        Ok(refused)
    }

    /// Returns whether the index contains the file or folder `path`, which is relative to the top of the work tree.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the index cannot be read.
    #[boxed]
    pub async fn is_tracked(&self, path: &Path) -> Result<bool, WorkspaceError> {
        let path = as_bytes(path);
        self.read("read the index", move |repository, _| {
            let is_in = |entry: git2::IndexEntry| {
                let rest = entry.path.strip_prefix(path.as_slice());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
            };
            Ok(repository.index()?.iter().any(is_in))
        })
        .await
    }

    /// Removes files from an index.
    pub(super) async fn unstage(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let unstage = self.git(&["update-index", "--force-remove", "-z", "--stdin"]).input(with_zeros(files));
        unstage.with_index(scratch.path()).output().await.map(drop)
    }

    /// Resets files of an index to HEAD, or removes them.
    pub(super) async fn as_in_head(&self, scratch: &Scratch, files: Vec<RepoPath>) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let lines = self.read("read HEAD", move |repository, _| index_lines(repository, &files)).await?;
        let update = self.git(&["update-index", "-z", "--index-info"]).input(lines);
        update.with_index(scratch.path()).output().await.map(drop)
    }

    pub(super) async fn write_tree(&self, scratch: &Scratch) -> Result<TreeId, WorkspaceError> {
        let id = self.git(&["write-tree"]).with_index(scratch.path()).output().await?;
        String::from_utf8_lossy(&id).trim().parse()
    }

    /// Resets the user's index to HEAD: nothing is staged any more; files are not changed. A kill leaves at most a
    /// lock that was noted.
    pub(in crate::workspace) async fn reset_index(&self) -> Result<(), WorkspaceError> {
        let scratch = self.scratch_of_head().await?;
        self.put_index(scratch).await
    }

    /// Replaces the user's index by a temporary one, with refreshed file states.
    pub(super) async fn put_index(&self, scratch: Scratch) -> Result<(), WorkspaceError> {
        // The exit code reports changed files, which is not a failure.
        self.git(&["update-index", "-q", "--refresh"]).with_index(scratch.path()).run().await?;
        self.put_fresh_index(scratch).await
    }

    /// Replaces the user's index by one that git has refreshed.
    pub(in crate::workspace) async fn put_fresh_index(&self, scratch: Scratch) -> Result<(), WorkspaceError> {
        self.run_blocking(move |place| {
            with_locks(&place, &["index"], || Ok(replace_index(&place, &scratch)?))
                .map_err(|fault| fault.into_error("write the index"))
        })
        .await?
    }
}

/// Returns the first line of git's message without its prefix.
fn first_line(output: &str) -> String {
    let line = output.lines().next().unwrap_or("no reason");
    line.trim_start_matches("error: ").trim_start_matches("fatal: ").to_owned()
}

/// Replaces the user's index as git does: the new one is written into the lock, which then becomes the index.
fn replace_index(place: &Place, scratch: &Scratch) -> Result<(), WorkspaceError> {
    let (index, lock) = (place.git_dir.join("index"), place.git_dir.join("index.lock"));
    match copy_with_time(scratch.path(), &lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(locked_error(lock)),
        copied => {
            let replaced = copied.and_then(|()| fs::rename(&lock, &index));
            replaced.map_err(|source| {
                // Without it the repository stays locked.
                let _ = fs::remove_file(&lock);
                WorkspaceError::Io { doing: "write", path: index, source }
            })
        }
    }
}

fn copy_index(place: &Place) -> Result<Scratch, WorkspaceError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let failed = |path: &Path, source| WorkspaceError::Io { doing: "write", path: path.to_owned(), source };
    let folder = own_folder(place).map_err(|source| failed(&place.git_dir, source))?;
    let name = format!("index-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let scratch = Scratch(folder.join(name));
    // Leftover of a killed process with the same id.
    let _ = fs::remove_file(scratch.path());
    match copy_with_time(&place.git_dir.join("index"), scratch.path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(scratch.path(), error)),
        Ok(()) | Err(_) => Ok(scratch),
    }
}

/// Copies an index with its modification time, which git needs to detect files changed at the same moment. The copy is
/// a new file, so that nothing is written through a link.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = fs::File::open(from)?;
    let written = from.metadata()?.modified()?;
    let mut to = fs::File::options().write(true).create_new(true).open(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(written)
}

/// Returns lines for `update-index --index-info`: mode, id and name of each file; mode 0 removes one.
fn index_lines(repository: &git2::Repository, files: &[RepoPath]) -> Result<Vec<u8>, Fault> {
    let head = match repository.head() {
        Ok(head) => Some(head.peel_to_tree()?),
        Err(error) if is_unborn(&error) => None,
        Err(error) => return Err(error.into()),
    };
    let mut lines = Vec::new();
    for file in files {
        let entry = head.as_ref().and_then(|tree| tree.get_path(&as_path(file)).ok());
        let entry = entry.filter(|entry| entry.kind() != Some(git2::ObjectType::Tree));
        let (mode, id) = entry.map_or((0, git2::Oid::ZERO_SHA1), |entry| (entry.filemode_raw(), entry.id()));
        lines.extend_from_slice(format!("{mode:o} {id}\t").as_bytes());
        lines.extend_from_slice(file);
        lines.push(0);
    }
    Ok(lines)
}
