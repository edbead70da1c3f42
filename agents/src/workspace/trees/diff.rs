//! Content of trees and their differences: text for reviewers, files and counts for programs, values of keys that must
//! not be shown. Reads objects only: files of the work tree have no influence, so a `.gitattributes` hides nothing.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use async_recursion::async_recursion as boxed;
use git2::{Delta, DiffDelta, DiffFindOptions, DiffFormat, DiffLineType, DiffOptions, ObjectType, Patch, Repository};
use serde::{Deserialize, Serialize};

use super::reset::differing_files;
use crate::process::SecretKey;
use crate::workspace::error::WorkspaceError;
use crate::workspace::id::TreeId;
use crate::workspace::place::{Fault, Workspace, lossy_path, tree};

/// Difference of two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeDiff {
    /// Unified text as `git diff` writes it, with renames; binary files are only named. `None` if it exceeds the
    /// requested length.
    pub text: Option<String>,
    /// Length of the full text in bytes.
    pub bytes: u64,
    /// Files, in the order of names.
    pub files: Vec<FileDiff>,
}

/// Difference of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// Name; invalid UTF-8 is replaced.
    pub path: String,
    /// Former name, if it was renamed.
    pub from: Option<String>,
    /// Kind of the change.
    pub status: FileStatus,
    /// Set for binary files, whose content is not shown.
    pub binary: bool,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
}

/// Kind of a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It was deleted.
    Deleted,
    /// Its content or mode changed.
    Modified,
    /// It has another name, and possibly other content.
    Renamed,
    /// A file became a link, or a link a file.
    TypeChanged,
}

impl TreeDiff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of lines added.
    pub fn added_lines(&self) -> usize {
        self.files.iter().map(|file| file.added).sum()
    }

    /// Returns the number of lines removed.
    pub fn removed_lines(&self) -> usize {
        self.files.iter().map(|file| file.removed).sum()
    }
}

impl fmt::Display for TreeDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} file(s), +{} -{}", self.files.len(), self.added_lines(), self.removed_lines())
    }
}

/// Value of a known key in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeakedKey {
    /// File, relative to the top of the work tree.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Environment variable that holds the key.
    pub variable: String,
}

impl fmt::Display for LeakedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} holds the value of `{}`", self.path, self.line, self.variable)
    }
}

impl Workspace {
    /// Compares two trees; a text longer than `most` bytes is counted but not returned.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist.
    #[boxed]
    pub async fn diff(&self, from: &TreeId, to: &TreeId, most: usize) -> Result<TreeDiff, WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            let diff = compare(repository, &from, &to)?;
            let mut text = BoundedText { bytes: vec![], most, all: 0 };
            print(&diff, &mut text)?;
            let (bytes, fits) = (text.all, text.all <= most as u64);
            let text = fits.then(|| String::from_utf8_lossy(&text.bytes).into_owned());
            Ok(TreeDiff { text, bytes, files: files(&diff)? })
        })
        .await
    }

    /// Returns the start of the text of [`diff`](Self::diff), at most `most` bytes of whole lines, and whether it is
    /// complete.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist.
    #[boxed]
    pub async fn diff_start(&self, from: &TreeId, to: &TreeId, most: usize) -> Result<(String, bool), WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            let mut text = BoundedText { bytes: vec![], most, all: 0 };
            print(&compare(repository, &from, &to)?, &mut text)?;
            let fits = text.all <= most as u64;
            let lines = text.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            text.bytes.truncate(if fits { text.bytes.len() } else { lines });
            Ok((String::from_utf8_lossy(&text.bytes).into_owned(), fits))
        })
        .await
    }

    /// Returns the files that differ between two trees, in the order of names; both names of a renamed one.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist.
    #[boxed]
    pub async fn changed_files(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            let files = differing_files(repository, &tree(repository, &from)?, &tree(repository, &to)?)?;
            Ok(files.iter().map(|file| lossy_path(file)).collect())
        })
        .await
    }

    /// Writes the full differences of two trees to a file, in the form that `git apply` takes: as [`diff`](Self::diff),
    /// with the content of binary files and the whole ids of all.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist, [`Io`](WorkspaceError::Io) if the file
    /// cannot be written.
    #[boxed]
    pub async fn write_diff(&self, from: &TreeId, to: &TreeId, file: &Path) -> Result<(), WorkspaceError> {
        let (from, to, file) = (from.clone(), to.clone(), file.to_owned());
        self.objects("compare two trees", move |repository, _| {
            let diff = compare_for(repository, &from, &to, Purpose::Apply)?;
            let failed = |source| WorkspaceError::Io { doing: "write", path: file.clone(), source };
            let mut text = BufWriter::new(create_new(&file).map_err(failed)?);
            let mut written = Ok(());
            each_piece(&diff, |piece| {
                written = text.write_all(piece);
                written.is_ok()
            })
            .or_else(|error| if error.code() == git2::ErrorCode::User { Ok(()) } else { Err(error) })?;
            written.and_then(|()| text.flush()).map_err(failed)?;
            Ok(())
        })
        .await
    }

    /// Finds key values in the files that are new or changed between two trees: the first occurrence per file and key.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if a tree cannot be read.
    #[boxed]
    pub async fn leaked_keys(
        &self,
        from: &TreeId,
        to: &TreeId,
        keys: Vec<SecretKey>,
    ) -> Result<Vec<LeakedKey>, WorkspaceError> {
        if keys.is_empty() || from == to {
            return Ok(vec![]);
        }
        let (from, to) = (from.clone(), to.clone());
        self.objects("look for keys", move |repository, _| find_leaks(repository, [&from, &to], &keys)).await
    }

    /// Returns the names of the files and folders at the top of a tree, in git's order.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    #[boxed]
    pub async fn top_names(&self, of: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let of = of.clone();
        self.objects("read a tree", move |repository, _| {
            let tree = tree(repository, &of)?;
            Ok(tree.iter().map(|entry| lossy_path(entry.name_bytes())).collect())
        })
        .await
    }

    /// Returns the text of a file in a tree; `None` if it does not exist or has more than `most` bytes. `path` is
    /// relative to the top of the work tree; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if the tree does not exist.
    #[boxed]
    pub async fn text_of(&self, of: &TreeId, path: &str, most: usize) -> Result<Option<String>, WorkspaceError> {
        let (of, path) = (of.clone(), path.to_owned());
        self.objects("read a file", move |repository, _| text_in(repository, &of, Path::new(&path), most)).await
    }
}

/// Creates a file; an existing one is replaced, so that nothing is written through a link.
fn create_new(file: &Path) -> io::Result<File> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::options().write(true).create_new(true).open(file)
}

/// The purpose of a text.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Read,
    /// `git apply` takes it.
    Apply,
}

fn compare<'a>(repository: &'a Repository, from: &TreeId, to: &TreeId) -> Result<git2::Diff<'a>, Fault> {
    compare_for(repository, from, to, Purpose::Read)
}

fn compare_for<'a>(
    repository: &'a Repository,
    from: &TreeId,
    to: &TreeId,
    purpose: Purpose,
) -> Result<git2::Diff<'a>, Fault> {
    let (from, to) = (tree(repository, from)?, tree(repository, to)?);
    let mut options = DiffOptions::new();
    options.indent_heuristic(true);
    match purpose {
        // A file that becomes a link is removed and made again: git's own patches say so, too.
        Purpose::Apply => options.show_binary(true).id_abbrev(40),
        Purpose::Read => options.include_typechange(true).id_abbrev(12),
    };
    let mut diff = repository.diff_tree_to_tree(Some(&from), Some(&to), Some(&mut options))?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true).rename_limit(500)))?;
    Ok(diff)
}

fn files(diff: &git2::Diff<'_>) -> Result<Vec<FileDiff>, Fault> {
    let mut files = Vec::new();
    for (nth, delta) in diff.deltas().enumerate() {
        let counts = match Patch::from_diff(diff, nth)? {
            Some(patch) => patch.line_stats()?,
            None => (0, 0, 0),
        };
        // Known only after the content was read.
        let delta = diff.get_delta(nth).unwrap_or(delta);
        files.push(file(&delta, counts));
    }
    Ok(files)
}

fn file(delta: &DiffDelta<'_>, (_, added, removed): (usize, usize, usize)) -> FileDiff {
    let name = |file: git2::DiffFile<'_>| file.path_bytes().map(lossy_path);
    let (old, new) = (name(delta.old_file()), name(delta.new_file()));
    let status = match delta.status() {
        Delta::Added => FileStatus::Added,
        Delta::Deleted => FileStatus::Deleted,
        Delta::Renamed => FileStatus::Renamed,
        Delta::Typechange => FileStatus::TypeChanged,
        _ => FileStatus::Modified,
    };
    let from = old.clone().filter(|_| status == FileStatus::Renamed);
    let path = new.or(old).unwrap_or_default();
    FileDiff { path, from, status, binary: delta.flags().is_binary(), added, removed }
}

/// Start of a text, and its full length.
struct BoundedText {
    bytes: Vec<u8>,
    most: usize,
    all: u64,
}

impl Write for BoundedText {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.all += piece.len() as u64;
        if self.all <= self.most as u64 {
            self.bytes.extend_from_slice(piece);
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn print(diff: &git2::Diff<'_>, to: &mut BoundedText) -> Result<(), git2::Error> {
    each_piece(diff, |piece| to.write_all(piece).is_ok())
}

fn each_piece(diff: &git2::Diff<'_>, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), git2::Error> {
    diff.print(DiffFormat::Patch, |delta, _, line| {
        // A binary file that has only another name or mode: git refuses a patch of its content.
        if line.origin_value() == DiffLineType::Binary && delta.old_file().id() == delta.new_file().id() {
            return true;
        }
        let is_content =
            matches!(line.origin_value(), DiffLineType::Context | DiffLineType::Addition | DiffLineType::Deletion);
        let mark = [line.origin() as u8];
        (!is_content || take(&mark)) && take(line.content())
    })
}

fn find_leaks(repository: &Repository, [from, to]: [&TreeId; 2], keys: &[SecretKey]) -> Result<Vec<LeakedKey>, Fault> {
    let (from, to) = (repository.find_tree(from.oid()?)?, repository.find_tree(to.oid()?)?);
    let diff = repository.diff_tree_to_tree(Some(&from), Some(&to), None)?;
    let mut found = Vec::new();
    for delta in diff.deltas().filter(|delta| delta.status() != Delta::Deleted) {
        let file = delta.new_file();
        // A submodule has no content here.
        let Ok(blob) = repository.find_blob(file.id()) else { continue };
        let text = String::from_utf8_lossy(blob.content());
        let path = file.path_bytes().map(lossy_path).unwrap_or_default();
        for key in keys {
            if let Some(at) = key.place_in(&text) {
                let line = text[..at].matches('\n').count() + 1;
                found.push(LeakedKey { path: path.clone(), line, variable: key.variable().to_owned() });
            }
        }
    }
    Ok(found)
}

fn text_in(repository: &Repository, of: &TreeId, path: &Path, most: usize) -> Result<Option<String>, Fault> {
    let Ok(entry) = tree(repository, of)?.get_path(path) else { return Ok(None) };
    if entry.kind() != Some(ObjectType::Blob) {
        return Ok(None);
    }
    let (size, _) = repository.odb()?.read_header(entry.id())?;
    if size > most {
        return Ok(None);
    }
    let blob = repository.find_blob(entry.id())?;
    Ok(Some(String::from_utf8_lossy(blob.content()).into_owned()))
}
