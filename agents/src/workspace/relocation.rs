//! A repository that was moved or copied. The work tree of a run is recognized where the store lies, or where the
//! person is, by the references and the commit of the run, or by the beginning of the repository before there are any.
//! Then the links between git's folders and linked work trees are mended, which are full paths: only of those that were
//! created for agents, and nothing outside of the repository that belongs to another one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use git2::{ObjectType, Oid, Repository};
use serde::{Deserialize, Serialize};
use superstep_base::moved::{FolderMove, present_path};

use super::branches::log_file;
use super::error::WorkspaceError;
use super::id::private_folder;
use super::place::as_bytes;
use super::worktree::{
    COMPLETE, common_of, entries_in, is_repository, leads_to, main_part, resolve_links, top_of, tree_of,
};

/// A run whose work tree is looked for.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// The stored path of the work tree.
    pub folder: PathBuf,
    /// A commit of the work; none: it has not begun.
    pub commit: Option<String>,
    /// The repository that it was started with; none: an earlier version recorded it.
    pub origin: Option<RepositoryOrigin>,
    /// The thread.
    pub thread: String,
    /// The folder of the store.
    pub store: PathBuf,
    /// The current directory.
    pub current: PathBuf,
}

/// The repository that a run was started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryOrigin {
    /// Digest of the first line in the log of HEAD: a copy of all files has it too, and a clone one of its own.
    pub first: String,
    /// True if the run was started inside of another repository: then the place of the store tells nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_elsewhere: bool,
}

impl RepositoryOrigin {
    /// Returns the origin of a run that is started in a folder; none before the first commit. Blocks.
    pub fn of(root: &Path, current: &Path) -> Option<Self> {
        let is_elsewhere = top_of(current).is_some_and(|top| Some(top) != top_of(root));
        Some(Self { first: first_of(root)?, is_elsewhere })
    }
}

/// The place of a run's work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryLocation {
    /// It is where it was.
    Unmoved,
    /// It is somewhere else.
    Moved(FolderMove),
    /// It is not where it was, and not found.
    Gone,
    /// It is where it was, and the person is in a copy of its repository.
    Copied {
        /// The copy.
        copy: PathBuf,
    },
    /// It is not where it was, and may be one of these.
    Unclear(Vec<PathBuf>),
}

/// The repositories in which a run may be.
struct Candidates {
    of_store: Option<PathBuf>,
    of_current: Option<PathBuf>,
    /// Those with the end of the stored path below a folder around the store, or around the person.
    beside: Vec<PathBuf>,
}

impl RecordedRun {
    /// Looks for the work tree. The repository in which the store lies comes first, then one that lies beside the store as
    /// before, then that of the current directory. Blocks.
    pub fn find(&self) -> RepositoryLocation {
        let main = main_part(&self.folder);
        let is_there = is_repository(&main);
        let [of_store, of_current] = [&self.store, &self.current].map(|folder| top_of(folder));
        let nearest = of_store.as_ref().or(of_current.as_ref());
        if is_there && nearest == Some(&main) {
            return RepositoryLocation::Unmoved;
        }
        let beside = if is_there { self.copied_candidates(&main) } else { self.renamed_candidates(&main) };
        let mut found = Candidates { of_store, of_current, beside };
        found.retain(|candidate| *candidate != main && !(is_there && is_same(candidate, &main)));
        if is_there { self.check_in_place(main, &found) } else { self.find_moved(main, &found) }
    }

    /// Returns the repositories in which the store lies, and the person is.
    fn tops(&self) -> Vec<PathBuf> {
        [&self.store, &self.current].into_iter().filter_map(|folder| top_of(folder)).collect()
    }

    /// Decides between a repository that is where it was, and others.
    fn check_in_place(&self, main: PathBuf, found: &Candidates) -> RepositoryLocation {
        if self.commit.is_some() && !self.is_whole_in(&main) {
            // Another repository may be there now.
            match found.all().into_iter().filter(|candidate| self.is_whole_in(candidate)).collect::<Vec<_>>().as_slice()
            {
                [] => {}
                [one] => return move_to(main, one),
                several => return RepositoryLocation::Unclear(several.to_vec()),
            }
        }
        let is_copy = |candidate: &&PathBuf| match &self.commit {
            Some(_) => self.is_whole_in(candidate),
            None => self.is_copy(candidate, &main),
        };
        if let Some(copy) = found.of_store.iter().chain(&found.beside).find(is_copy) {
            return move_to(main, copy);
        }
        match found.of_current.iter().find(is_copy) {
            Some(copy) => RepositoryLocation::Copied { copy: copy.clone() },
            None => RepositoryLocation::Unmoved,
        }
    }

    fn find_moved(&self, main: PathBuf, found: &Candidates) -> RepositoryLocation {
        let fitting = match self.commit {
            None => self.repositories_with_origin(&main, found.all()),
            Some(_) => self.repositories_with_run(&main, found.all()),
        };
        let both =
            found.of_store.as_ref().filter(|of_store| found.of_current.as_ref().is_none_or(|at| at == *of_store));
        match fitting.as_slice() {
            [] => RepositoryLocation::Gone,
            [one] => move_to(main, one),
            several => match both.filter(|both| several.contains(both)) {
                Some(both) => move_to(main, both),
                None => RepositoryLocation::Unclear(several.to_vec()),
            },
        }
    }

    /// Returns the repositories with the run; those without references of it only if there is no other: earlier versions made
    /// none.
    fn repositories_with_run(&self, main: &Path, mut all: Vec<PathBuf>) -> Vec<PathBuf> {
        all.retain(|candidate| self.is_in(candidate));
        let whole: Vec<PathBuf> = all.iter().filter(|candidate| self.has_references(candidate)).cloned().collect();
        let whole = if whole.is_empty() { self.nearby_repositories(main, |top| self.is_whole_in(top)) } else { whole };
        if whole.is_empty() { all } else { whole }
    }

    /// Returns the repositories that began as that of a run whose work has not begun.
    fn repositories_with_origin(&self, main: &Path, mut all: Vec<PathBuf>) -> Vec<PathBuf> {
        let Some(origin) = self.origin.as_ref().filter(|origin| !origin.is_elsewhere) else { return vec![] };
        let is_alike = |top: &Path| first_of(top).as_ref() == Some(&origin.first);
        all.retain(|candidate| is_alike(candidate));
        if all.is_empty() { self.nearby_repositories(main, is_alike) } else { all }
    }

    /// Returns whether a repository is a copy of that of a run whose work has not begun, with its store.
    fn is_copy(&self, candidate: &Path, main: &Path) -> bool {
        let store = resolve_links(&self.store);
        let had_store = store.strip_prefix(candidate).map_or(true, |inside| main.join(inside).is_dir());
        let is_elsewhere = self.origin.as_ref().is_some_and(|origin| origin.is_elsewhere);
        !is_elsewhere && had_store && begins_as(candidate, main)
    }

    /// Returns the folder of the repository as it is stored.
    pub fn root(&self) -> PathBuf {
        main_part(&self.folder)
    }

    /// Returns the repositories with the run in the folder where it was, and in the current directory: it may only have
    /// another name.
    fn nearby_repositories(&self, main: &Path, is_one: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let folders = main.parent().into_iter().chain([self.current.as_path()]);
        let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok));
        let tops = entries.map(|entry| resolve_links(&entry.path())).filter(|top| is_repository(top));
        let mut found: Vec<PathBuf> = tops.filter(|top| is_one(top)).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Returns whether a repository has the commit of the run. A clone may have it too.
    fn is_in(&self, top: &Path) -> bool {
        let commit = self.commit.as_ref().and_then(|commit| Oid::from_str(commit).ok());
        let has = |commit: Oid| Some(Repository::open(top).ok()?.find_commit(commit).is_ok());
        commit.and_then(has).unwrap_or_default()
    }

    /// Returns whether a repository has references of the run, or of another one of its name.
    fn has_references(&self, top: &Path) -> bool {
        let own = format!("{}*", private_folder(&self.thread));
        let found =
            |repository: Repository| repository.references_glob(&own).is_ok_and(|mut found| found.next().is_some());
        Repository::open(top).is_ok_and(found)
    }

    fn is_whole_in(&self, top: &Path) -> bool {
        self.is_in(top) && self.has_references(top)
    }

    /// Returns the repositories that may be the one in a folder above it that was renamed.
    fn renamed_candidates(&self, main: &Path) -> Vec<PathBuf> {
        let bases = [&self.store, &self.current];
        bases.into_iter().flat_map(|base| below_each(base, main)).map(|(found, _, _)| found).collect()
    }

    /// The same where the folder was copied: the store lay in it too.
    fn copied_candidates(&self, main: &Path) -> Vec<PathBuf> {
        let store = resolve_links(&self.store);
        let had_store = |(found, above, before): (PathBuf, PathBuf, PathBuf)| {
            let inside = store.strip_prefix(&above).ok()?;
            (above != before && before.join(inside).is_dir()).then_some(found)
        };
        below_each(&self.store, main).into_iter().filter_map(had_store).collect()
    }
}

impl Candidates {
    fn retain(&mut self, is_one: impl Fn(&PathBuf) -> bool) {
        self.of_store = self.of_store.take().filter(&is_one);
        self.of_current = self.of_current.take().filter(&is_one);
        self.beside.retain(is_one);
    }

    /// Returns each once, in the order of their precedence.
    fn all(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = vec![];
        for candidate in self.of_store.iter().chain(&self.beside).chain(&self.of_current) {
            if !all.contains(candidate) {
                all.push(candidate.clone());
            }
        }
        all
    }
}

fn move_to(from: PathBuf, to: &Path) -> RepositoryLocation {
    RepositoryLocation::Moved(FolderMove { from, to: to.to_owned() })
}

/// Returns the repositories at the end of `main` below each folder above `base`, each with that folder, and the one that
/// `main` has in its place.
fn below_each(base: &Path, main: &Path) -> Vec<(PathBuf, PathBuf, PathBuf)> {
    let (base, mut found) = (resolve_links(base), vec![]);
    for above in base.ancestors() {
        for before in main.ancestors().skip(1) {
            let Ok(end) = main.strip_prefix(before) else { continue };
            let there = above.join(end);
            if is_repository(&there) {
                found.push((there, above.to_owned(), before.to_owned()));
            }
        }
    }
    found
}

/// Returns whether two are work trees of one repository.
fn is_same(one: &Path, other: &Path) -> bool {
    common_of(one).is_some_and(|common| Some(common) == common_of(other))
}

/// Returns whether two repositories began as one.
fn begins_as(one: &Path, other: &Path) -> bool {
    first_of(one).is_some_and(|first| Some(first) == first_of(other))
}

/// Returns a digest of the first line in the log of HEAD.
fn first_of(top: &Path) -> Option<String> {
    let log = fs::read(log_file(Repository::open(top).ok()?.path())).ok()?;
    let line = log.split(|byte| *byte == b'\n').next().filter(|line| !line.is_empty())?;
    Oid::hash_object(ObjectType::Blob, line).ok().map(|digest| digest.to_string())
}

/// Mends the links of a repository whose move was [noted](superstep_base::moved::note). Work trees inside of it were moved
/// with it; those outside get the new path of git's folder, unless another repository has them. Idempotent; blocks.
///
/// # Errors
/// [`Io`](WorkspaceError::Io) if a file cannot be written.
pub fn mend_worktrees(moved: &FolderMove) -> Result<(), WorkspaceError> {
    mend_all(&moved.to, |tree| tree == moved.to)
}

/// Mends the work tree of a run that is where it was, but linked to a repository that was moved to where the store lies, or
/// the person is. Blocks.
///
/// # Errors
/// As [`mend_worktrees`].
pub fn mend_outside(run: &RecordedRun) -> Result<(), WorkspaceError> {
    let is_lost = leads_to(&run.folder).is_some_and(|entry| !entry.exists());
    let mut places = run.tops().into_iter().filter(|_| is_lost);
    places.try_for_each(|place| mend_all(&place, |tree| tree == run.folder))
}

fn mend_all(top: &Path, is_own: impl Fn(&Path) -> bool) -> Result<(), WorkspaceError> {
    let Some(common) = common_of(top) else { return Ok(()) };
    for entry in entries_in(&common) {
        let Some(stored) = tree_of(&entry) else { continue };
        match moved_along(top, &stored, &entry) {
            // Also one that a kill has left incomplete, so that it is found and removed.
            Some(tree) => repair_links(&entry, &stored, &tree)?,
            None => {
                let tree = present_path(&stored);
                if entry.join(COMPLETE).exists() || is_own(&tree) {
                    repair_links(&entry, &stored, &tree)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the work tree if it lies in the folder `.superstep` of the repository, wherever that was when it was created.
fn moved_along(top: &Path, stored: &Path, entry: &Path) -> Option<PathBuf> {
    let main = main_part(stored);
    let inside = stored.strip_prefix(&main).ok().filter(|inside| !inside.as_os_str().is_empty())?;
    let tree = top.join(inside);
    let is_its = match leads_to(&tree) {
        Some(target) => target.file_name() == entry.file_name(),
        // A kill has left it without files.
        None => common_of(&main) != common_of(top),
    };
    is_its.then_some(tree)
}

/// Mends the links between git's folder for a work tree, and the work tree.
fn repair_links(entry: &Path, stored: &Path, tree: &Path) -> Result<(), WorkspaceError> {
    let target = leads_to(tree);
    if target.as_ref().is_some_and(|target| target.file_name() != entry.file_name()) {
        return Ok(());
    }
    if stored != tree {
        write(entry, "", &tree.join(".git"), &entry.join("gitdir"))?;
    } else if target.as_ref().is_some_and(|target| target.exists()) {
        return Ok(()); // it is whole, or belongs to the repository of which this is a copy
    }
    match target {
        Some(target) if target != entry => write(entry, "gitdir: ", entry, &tree.join(".git")),
        _ => Ok(()),
    }
}

/// Writes a path into a file of git's, at once. The draft is in git's folder, where it does no harm after a kill.
fn write(entry: &Path, before: &str, path: &Path, file: &Path) -> Result<(), WorkspaceError> {
    let (text, draft) = ([before.as_bytes(), &as_bytes(path), b"\n"].concat(), entry.join("superstep-link"));
    // A work tree may be on another disk.
    let written = fs::write(&draft, &text).and_then(|()| fs::rename(&draft, file).or_else(|_| fs::write(file, &text)));
    written.map_err(|source: io::Error| WorkspaceError::Io { doing: "write", path: file.to_owned(), source })
}
