//! Differences of two trees: text for reviewers, files and counts for programs. Files of the work tree have no
//! influence, so a `.gitattributes` hides nothing.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::{fmt, io};

use git2::{Delta, DiffDelta, DiffFindOptions, DiffFormat, DiffLineType, DiffOptions, Patch, Repository};
use serde::{Deserialize, Serialize};

use super::error::WorkspaceError;
use super::id::TreeId;
use super::objects::tree;
use super::paths::shown;
use super::place::{Fault, Workspace};

/// Difference of two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
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

impl Diff {
    /// Returns whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the number of lines added.
    pub fn added(&self) -> usize {
        self.files.iter().map(|file| file.added).sum()
    }

    /// Returns the number of lines removed.
    pub fn removed(&self) -> usize {
        self.files.iter().map(|file| file.removed).sum()
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} file(s), +{} -{}", self.files.len(), self.added(), self.removed())
    }
}

impl Workspace {
    /// Compares two trees; a text longer than `most` bytes is counted but not returned.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist.
    pub async fn diff(&self, from: &TreeId, to: &TreeId, most: usize) -> Result<Diff, WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            let diff = compared(repository, &from, &to)?;
            let mut text = Bounded { bytes: vec![], most, all: 0 };
            print(&diff, &mut text)?;
            let (bytes, fits) = (text.all, text.all <= most as u64);
            let text = fits.then(|| String::from_utf8_lossy(&text.bytes).into_owned());
            Ok(Diff { text, bytes, files: files(&diff)? })
        })
        .await
    }

    /// Returns the start of the text of [`diff`](Self::diff), at most `most` bytes of whole lines, and whether it is
    /// complete.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist.
    pub async fn diff_start(&self, from: &TreeId, to: &TreeId, most: usize) -> Result<(String, bool), WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            let mut text = Bounded { bytes: vec![], most, all: 0 };
            print(&compared(repository, &from, &to)?, &mut text)?;
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
    pub async fn changed_files(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let (from, to) = (from.clone(), to.clone());
        self.objects("compare two trees", move |repository, _| {
            super::reset::differing(repository, &tree(repository, &from)?, &tree(repository, &to)?)
        })
        .await
    }

    /// Writes the full differences of two trees to a file, in the form that `git apply` takes: as [`diff`](Self::diff),
    /// with the content of binary files and the whole ids of all.
    ///
    /// # Errors
    /// [`NoSuchObject`](WorkspaceError::NoSuchObject) if a tree does not exist, [`Io`](WorkspaceError::Io) if the file
    /// cannot be written.
    pub async fn write_diff(&self, from: &TreeId, to: &TreeId, file: &Path) -> Result<(), WorkspaceError> {
        let (from, to, file) = (from.clone(), to.clone(), file.to_owned());
        self.objects("compare two trees", move |repository, _| {
            let diff = compared_for(repository, &from, &to, Purpose::Apply)?;
            let failed = |source| WorkspaceError::Io { doing: "write", path: file.clone(), source };
            let mut text = BufWriter::new(anew(&file).map_err(failed)?);
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
}

/// Creates a file; an existing one is replaced, so that nothing is written through a link.
fn anew(file: &Path) -> io::Result<File> {
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

fn compared<'a>(repository: &'a Repository, from: &TreeId, to: &TreeId) -> Result<git2::Diff<'a>, Fault> {
    compared_for(repository, from, to, Purpose::Read)
}

fn compared_for<'a>(
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
    let name = |file: git2::DiffFile<'_>| file.path_bytes().map(shown);
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
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    all: u64,
}

impl Write for Bounded {
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

fn print(diff: &git2::Diff<'_>, to: &mut Bounded) -> Result<(), git2::Error> {
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
