//! Untracked files for a linked work tree: copies of files, and links to files and folders, of the user's checkout.
//! Knows files only; nothing is written outside the work tree.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use superstep_base::moved::present_path;

use super::error::WorkspaceError;
use super::place::Workspace;

/// Files of the user's checkout for a linked work tree. Paths are relative to the top of both.
///
/// Exclude its [`paths`](Self::paths) with `WorkspaceOptions::exclude` wherever the work tree is opened,
/// so that they are in no snapshot, diff or commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Furnishings {
    /// Files to copy, such as `.env.test`.
    pub copy: Vec<PathBuf>,
    /// Files and folders to link, such as `node_modules`.
    pub link: Vec<PathBuf>,
}

impl Furnishings {
    /// Returns all paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.copy.iter().chain(&self.link).map(PathBuf::as_path)
    }

    fn all(self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let copy = self.copy.into_iter().map(|path| ("copy", path));
        copy.chain(self.link.into_iter().map(|path| ("link", path)))
    }
}

impl Workspace {
    /// Copies and links files of this work tree into a linked one. Existing copies are overwritten. Idempotent.
    ///
    /// # Errors
    /// [`Unfurnished`](WorkspaceError::Unfurnished) if a path is not relative, leaves the work tree or goes through a
    /// link, if its source is missing, or if a link's path is taken. [`Io`](WorkspaceError::Io) if a file cannot be
    /// written.
    #[boxed]
    pub async fn furnish(&self, linked: &Self, with: &Furnishings) -> Result<(), WorkspaceError> {
        let (with, into) = (with.clone(), linked.0.root.clone());
        self.run_blocking(move |place| {
            with.all().try_for_each(|(key, path)| {
                let furnishing = Furnishing { key, path: &path };
                let source = furnishing.source(&place.root)?;
                match key {
                    "copy" => furnishing.copy(&source, &into),
                    _ => furnishing.link(&source, &into),
                }
            })
        })
        .await?
    }
}

/// A path of one key.
struct Furnishing<'a> {
    key: &'static str,
    path: &'a Path,
}

impl Furnishing<'_> {
    fn unfurnished_error(&self, why: impl Into<String>) -> WorkspaceError {
        WorkspaceError::Unfurnished { key: self.key, path: self.path.to_owned(), why: why.into() }
    }

    fn io_error(&self, doing: &'static str, path: &Path, source: io::Error) -> WorkspaceError {
        WorkspaceError::Io { doing, path: path.to_owned(), source }
    }

    /// Returns the file in the user's checkout.
    fn source(&self, root: &Path) -> Result<PathBuf, WorkspaceError> {
        let is_plain = self.path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_plain || self.path.components().all(|part| part == Component::CurDir) {
            return Err(self.unfurnished_error("is not a path below the top of the work tree"));
        }
        if self.path.components().any(|part| [".git", ".superstep"].iter().any(|own| part.as_os_str() == *own)) {
            return Err(self.unfurnished_error("belongs to git or superstep"));
        }
        let source = root.join(self.path);
        match source.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(self.unfurnished_error(format!("is not in `{}`", root.display())))
            }
            Err(error) => Err(self.io_error("read", &source, error)),
            Ok(real) if !real.starts_with(root) => {
                Err(self.unfurnished_error("leads out of the work tree through a link"))
            }
            Ok(_) => Ok(source),
        }
    }

    fn copy(&self, source: &Path, into: &Path) -> Result<(), WorkspaceError> {
        if !source.is_file() {
            return Err(self.unfurnished_error("is not a file; `link` takes folders"));
        }
        let target = self.target(into)?;
        if target.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            return Err(self.unfurnished_error("is a folder in the worktree"));
        }
        // A new file, so that nothing is written through a link.
        let removed = fs::remove_file(&target).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        let copied = removed.and_then(|()| fs::copy(source, &target));
        copied.map(drop).map_err(|error| self.io_error("write", &target, error))
    }

    fn link(&self, source: &Path, into: &Path) -> Result<(), WorkspaceError> {
        let target = self.target(into)?;
        match fs::read_link(&target) {
            Ok(to) if to == source => Ok(()),
            // The checkout was moved, or copied.
            Ok(to) if present_path(&to) == source => {
                let linked = fs::remove_file(&target).and_then(|()| symlink(source, &target));
                linked.map_err(|error| self.io_error("write", &target, error))
            }
            _ if target.symlink_metadata().is_ok() => {
                Err(self.unfurnished_error("is in the worktree already: git has it, or a command of `setup` made it"))
            }
            _ => symlink(source, &target).map_err(|error| self.io_error("write", &target, error)),
        }
    }

    /// Returns the path in the linked work tree; folders above it are created, links are not followed.
    fn target(&self, into: &Path) -> Result<PathBuf, WorkspaceError> {
        let mut folder = into.to_owned();
        for part in self.path.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(|error| self.io_error("write", &folder, error))?,
            }
            if !folder.symlink_metadata().is_ok_and(|about| about.is_dir()) {
                return Err(
                    self.unfurnished_error(format!("goes through `{}`, which is not a folder", folder.display()))
                );
            }
        }
        Ok(into.join(self.path))
    }
}

fn symlink(source: &Path, target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(source, target)
    }
    #[cfg(windows)]
    {
        let link = if source.is_dir() { std::os::windows::fs::symlink_dir } else { std::os::windows::fs::symlink_file };
        link(source, target)
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = (source, target);
        Err(io::ErrorKind::Unsupported.into())
    }
}
