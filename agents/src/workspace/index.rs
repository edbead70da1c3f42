//! Indexes: the user's own, and scratch copies of it that are filled and thrown away.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::paths::{RepoPath, as_path, with_zeros};
use super::place::{Fault, Place, Workspace};

/// An index of our own, gone when dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Neither need be there.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.0.with_extension("lock"));
    }
}

impl Workspace {
    /// A copy of the user's index: what git knows about unchanged files is known at once.
    pub(super) async fn scratch(&self) -> Result<Scratch, WorkspaceError> {
        let scratch = self.read("copy the index", |_, place| Ok(copy_index(place)?)).await?;
        if self.0.shelter.is_some()
            && let Some(tree) = self.head_tree().await?
        {
            // Its index may hide changes.
            self.git(&["read-tree", "--reset"]).arg(tree.as_str()).on(scratch.path()).done().await?;
        }
        Ok(scratch)
    }

    /// A scratch index that holds a tree.
    pub(super) async fn scratch_of(&self, tree: &TreeId) -> Result<Scratch, WorkspaceError> {
        let scratch = self.scratch().await?;
        self.git(&["read-tree", "--reset"]).arg(tree.as_str()).on(scratch.path()).done().await?;
        Ok(scratch)
    }

    /// Takes files of the work tree into an index.
    pub(super) async fn stage(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let stage = self.git(&["update-index", "--add", "--replace", "-z", "--stdin"]).input(with_zeros(files));
        stage.on(scratch.path()).done().await.map(drop)
    }

    /// Takes files out of an index.
    pub(super) async fn unstage(&self, scratch: &Scratch, files: &[RepoPath]) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let unstage = self.git(&["update-index", "--force-remove", "-z", "--stdin"]).input(with_zeros(files));
        unstage.on(scratch.path()).done().await.map(drop)
    }

    /// Gives files of an index the content they have in HEAD, or takes them out.
    pub(super) async fn as_in_head(&self, scratch: &Scratch, files: Vec<RepoPath>) -> Result<(), WorkspaceError> {
        if files.is_empty() {
            return Ok(());
        }
        let lines = self.read("read HEAD", move |repository, _| index_lines(repository, &files)).await?;
        let update = self.git(&["update-index", "-z", "--index-info"]).input(lines);
        update.on(scratch.path()).done().await.map(drop)
    }

    pub(super) async fn write_tree(&self, scratch: &Scratch) -> Result<TreeId, WorkspaceError> {
        let id = self.git(&["write-tree"]).on(scratch.path()).done().await?;
        String::from_utf8_lossy(&id).trim().parse()
    }

    /// Makes the user's index hold what HEAD holds. What was staged is staged no more; files are left alone. Who is killed
    /// meanwhile leaves no lock behind: git never writes the user's own.
    pub(super) async fn settle_index(&self) -> Result<(), WorkspaceError> {
        let scratch = self.scratch().await?;
        let read = match self.head_tree().await? {
            None => self.git(&["read-tree", "--empty"]),
            Some(tree) => self.git(&["read-tree", "--reset"]).arg(tree.as_str()),
        };
        read.on(scratch.path()).done().await?;
        self.put_index(scratch).await
    }

    /// Puts a scratch index in the place of the user's, with the state of the files in it.
    pub(super) async fn put_index(&self, scratch: Scratch) -> Result<(), WorkspaceError> {
        // Tells by its code that files are changed, which is no failure.
        self.git(&["update-index", "-q", "--refresh"]).on(scratch.path()).run().await?;
        self.put_fresh_index(scratch).await
    }

    /// The same of an index that git has refreshed.
    pub(super) async fn put_fresh_index(&self, scratch: Scratch) -> Result<(), WorkspaceError> {
        self.unlocked().await?;
        self.look(move |place| replace_index(&place, &scratch)).await?
    }
}

/// Puts a scratch index in the place of the user's, under git's lock.
fn replace_index(place: &Place, scratch: &Scratch) -> Result<(), WorkspaceError> {
    let (index, lock) = (place.git_dir.join("index"), place.git_dir.join("index.lock"));
    match fs::File::create_new(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(WorkspaceError::IndexLocked { path: lock });
        }
        locked => locked.map_err(|source| WorkspaceError::Io { doing: "write", path: lock.clone(), source })?,
    };
    let replaced = fs::rename(scratch.path(), &index).and_then(|()| fs::remove_file(&lock));
    replaced.map_err(|source| WorkspaceError::Io { doing: "write", path: index, source })
}

fn copy_index(place: &Place) -> Result<Scratch, WorkspaceError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let failed = |path: &Path, source| WorkspaceError::Io { doing: "write", path: path.to_owned(), source };
    let folder = own_folder(place).map_err(|source| failed(&place.git_dir, source))?;
    let name = format!("index-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let scratch = Scratch(folder.join(name));
    match copy_with_time(&place.git_dir.join("index"), scratch.path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(scratch.path(), error)),
        Ok(()) | Err(_) => Ok(scratch),
    }
}

/// Copies an index with its time: a file changed in the same moment is told from an unchanged one by it. The copy is a new
/// file; nothing is written through a link.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = fs::File::open(from)?;
    let written = from.metadata()?.modified()?;
    // Left by a process of the same number that was killed.
    let _ = fs::remove_file(to);
    let mut to = fs::File::options().write(true).create_new(true).open(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(written)
}

/// The folder inside the git folder that is ours.
pub(super) fn own_folder(place: &Place) -> io::Result<PathBuf> {
    let folder = place.git_dir.join("superstep");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Removes the scratch indexes of runs that were killed, and their folders for git.
pub(super) fn sweep(place: &Place) {
    let entries = fs::read_dir(place.git_dir.join("superstep")).into_iter().flatten().filter_map(Result::ok);
    for entry in entries {
        // What cannot go now goes next time.
        let _ = match entry.file_name().to_string_lossy() {
            name if name.starts_with("index-") => fs::remove_file(entry.path()),
            name if name.starts_with(NAME) => fs::remove_dir_all(entry.path()),
            _ => Ok(()),
        };
    }
}

/// For `update-index --index-info`: mode, id and name of each file; mode 0 takes one out.
fn index_lines(repository: &git2::Repository, files: &[RepoPath]) -> Result<Vec<u8>, Fault> {
    let head = match repository.head() {
        Ok(head) => Some(head.peel_to_tree()?),
        Err(error) if super::place::is_unborn(&error) => None,
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

/// The beginning of the names of such folders, which lie in our folder inside git's.
pub(super) const NAME: &str = "guarded-";
