//! Reflog of a work tree's HEAD: which branches were checked out there, and how they moved meanwhile. Git writes it in
//! the work tree in which a branch is moved and in no other, so it shows who moved a branch.
//!
//! The parts that were written while an agent worked are noted durably: each turn appends a line at its start and one
//! whenever the reflog has grown, so that after a kill it is known what the agent had done until then. What is written
//! later is somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use async_recursion::async_recursion as boxed;
use git2::{ObjectType, Oid, Repository};

use super::head::descends;
use crate::workspace::error::WorkspaceError;
use crate::workspace::place::{Fault, Place, Workspace, own_folder};

/// Message of a move by [`fold`](Workspace::fold).
pub(super) const FOLD: &str = "superstep: fold";

/// Move of a branch or of HEAD: the commits before and after; `None`: it did not exist.
#[derive(Clone, Copy, Debug)]
struct Move {
    old: Option<Oid>,
    new: Option<Oid>,
    /// Set if it was made in one of the parts that were asked for.
    is_inside: bool,
    is_fold: bool,
}

/// Moves in a work tree, newest first.
#[derive(Debug, Default)]
pub(in crate::workspace) struct HeadLog {
    /// Moves of each branch while it was checked out.
    branches: BTreeMap<String, Vec<Move>>,
    /// All lines, with those that move nothing.
    head: Vec<Move>,
    /// Branches that HEAD was switched to inside of the parts.
    switched: BTreeSet<String>,
    /// Commits that were made there.
    made: Vec<Oid>,
    /// Commits at which HEAD was on no branch, and from which it went elsewhere inside of the parts.
    left_detached: Vec<Oid>,
    /// Set if the whole log was asked for: earlier moves may be missing.
    is_whole: bool,
}

/// A line of the log: `OLD NEW WHO TIME`, a tab, and the action.
struct Line<'a> {
    old: Option<Oid>,
    new: Option<Oid>,
    action: &'a str,
}

impl HeadLog {
    /// Reads the whole log. `branch` is the branch that HEAD is on now.
    pub(super) fn read_whole(place: &Place, branch: Option<&str>) -> Self {
        Self { is_whole: true, ..Self::read_parts_of(&place.git_dir, &[[0, u64::MAX]], branch) }
    }

    /// Reads the log from the first of these parts on; each part is the bytes from one position to another. Lines
    /// elsewhere were written by somebody else. `branch` is the branch that HEAD is on now.
    pub(in crate::workspace) fn read_parts(place: &Place, parts: &[[u64; 2]], branch: Option<&str>) -> Self {
        Self::read_parts_of(&place.git_dir, parts, branch)
    }

    /// Reads the log of the work tree that has this folder of git's.
    pub(super) fn read_parts_of(git_dir: &Path, parts: &[[u64; 2]], branch: Option<&str>) -> Self {
        let Some([start, _]) = parts.first() else { return Self::default() };
        let text = fs::read(log_file(git_dir)).unwrap_or_default();
        let start = usize::try_from(*start).unwrap_or(usize::MAX);
        // A log in which the part does not begin with a line was rewritten: nothing is known then.
        let is_as_noted = start == 0 || text.get(start - 1).is_some_and(|byte| *byte == b'\n');
        let Some(new) = text.get(start..).filter(|_| is_as_noted) else { return Self::default() };
        let mut at = start as u64;
        let mut lines = vec![];
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            let is_inside = parts.iter().any(|[from, to]| (*from..*to).contains(&at));
            lines.push((String::from_utf8_lossy(line.trim_ascii_end()).into_owned(), is_inside));
            at += line.len() as u64;
        }
        Self::of(lines.iter().map(|(line, is_inside)| (line.as_str(), *is_inside)), branch)
    }

    /// Follows the log back from the present branch, because a line names only the branch that HEAD left.
    fn of<'a>(lines: impl DoubleEndedIterator<Item = (&'a str, bool)>, branch: Option<&str>) -> Self {
        let mut found = Self::default();
        let mut branch = branch.map(str::to_owned);
        // A rebase whose start is not read yet: its branch, its last commit, and whether its end is inside.
        let mut rebased: Option<(String, Option<Oid>, bool)> = None;
        // Newest line first: `branch` is the branch that HEAD was on after the current line.
        for (line, is_inside) in lines.rev() {
            let Some(Line { old, new, action }) = parse(line) else { continue };
            found.head.push(Move { old, new, is_inside, is_fold: action == FOLD });
            if is_inside {
                found.note((old, new), action);
            }
            let renamed = action.strip_prefix("Branch: renamed refs/heads/").and_then(|names| names.split_once(" to "));
            let is_rebase = action.starts_with("rebase") || action.starts_with("pull");
            if let Some((from, _)) =
                action.strip_prefix("checkout: moving from ").and_then(|names| names.split_once(" to "))
            {
                // Earlier lines belong to the branch that HEAD left; an id means that HEAD was detached.
                branch = (!is_id(from)).then(|| from.to_owned());
            } else if let Some((from, _)) = renamed {
                // Earlier lines belong to the branch under its old name.
                branch = Some(from.to_owned());
            } else if let Some((_, to)) = action.split_once(": returning to refs/heads/").filter(|_| is_rebase) {
                // HEAD is detached during a rebase: no line between its start and its end moves a branch.
                rebased = Some((to.to_owned(), new, is_inside));
                branch = None;
            } else if is_rebase && (action.contains("(start): ") || action.starts_with("rebase: checkout")) {
                if let Some((name, end, was_inside)) = rebased.take() {
                    // A rebase is one move of its branch, inside only if both its start and its end are.
                    found.add(&name, Move { old, new: end, is_inside: is_inside && was_inside, is_fold: false });
                    branch = Some(name);
                }
            } else if let Some(name) = &branch {
                found.add(name, Move { old, new, is_inside, is_fold: action == FOLD });
            }
        }
        found
    }

    fn note(&mut self, (old, new): (Option<Oid>, Option<Oid>), action: &str) {
        const MAKES: [&str; 3] = ["commit", "cherry-pick: ", "revert"];
        let moves = ["checkout: moving from ", "Branch: renamed refs/heads/"];
        let ends = moves.iter().find_map(|moves| action.strip_prefix(moves)?.split_once(" to "));
        if let Some((from, to)) = ends {
            self.switched.insert(to.trim_start_matches("refs/heads/").to_owned());
            self.left_detached.extend(old.filter(|_| is_id(from)));
        }
        self.made.extend(new.filter(|_| MAKES.iter().any(|makes| action.starts_with(makes))));
    }

    /// Returns the commits that HEAD left inside of the parts, and at which it was on no branch.
    pub(in crate::workspace) fn left_detached(&self) -> &[Oid] {
        &self.left_detached
    }

    /// Returns whether a branch that is new at `tip` was created here: HEAD was switched to it, or it is at a commit that
    /// was made here, or after one.
    pub(super) fn has_created(&self, repository: &Repository, name: &str, tip: Oid) -> Result<bool, Fault> {
        if self.made.contains(&tip) || self.switched.contains(name) {
            return Ok(true);
        }
        for made in self.made.iter().filter(|made| repository.find_commit(**made).is_ok()) {
            if descends(repository, tip, *made)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn add(&mut self, name: &str, moved: Move) {
        if moved.old != moved.new {
            self.branches.entry(name.to_owned()).or_default().push(moved);
        }
    }

    /// Returns whether the newest line is inside of the parts: nobody else has touched HEAD since.
    pub(super) fn ends_inside(&self) -> bool {
        self.head.first().is_some_and(|newest| newest.is_inside)
    }

    /// Returns the commit of a branch before the newest moves that were made inside (`None`: it did not exist), if these
    /// brought it to `tip`. They are followed back to `from`, the commit of the branch at the start, or to the first move
    /// of somebody else.
    pub(in crate::workspace) fn origin(&self, name: &str, from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        self.follow_back(self.branches.get(name)?, from, tip)
    }

    /// Returns the same for HEAD itself, whichever branches it was on.
    pub(super) fn head_origin(&self, from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        self.follow_back(&self.head, from, tip)
    }

    fn follow_back(&self, moves: &[Move], from: Option<Oid>, tip: Option<Oid>) -> Option<Option<Oid>> {
        let mut at = tip;
        let mut origin = None;
        for moved in moves {
            if moved.is_fold && moved.new != at && moved.old == at {
                continue; // killed after it had written the line, and before it moved the branch
            }
            if !moved.is_inside || moved.new != at {
                break;
            }
            at = moved.old;
            origin = Some(at);
            if at == from {
                return origin;
            }
        }
        origin.filter(|_| !self.is_whole)
    }
}

/// Returns the length of the log, which is created if it does not exist: git writes only to one that does where reflogs
/// are turned off.
fn log_length(place: &Place) -> io::Result<u64> {
    let file = log_file(&place.git_dir);
    fs::create_dir_all(file.parent().unwrap_or(&file))?;
    Ok(fs::File::options().append(true).create(true).open(&file)?.metadata()?.len())
}

/// Returns whether the newest line that leads to a commit is an amend.
pub(in crate::workspace) fn is_amended(place: &Place, commit: Oid) -> bool {
    let text = fs::read(log_file(&place.git_dir)).unwrap_or_default();
    let log = String::from_utf8_lossy(&text);
    let newest = log.lines().rev().filter_map(parse).find(|line| line.new == Some(commit));
    newest.is_some_and(|line| line.action.starts_with("commit (amend)"))
}

/// Returns the log of HEAD in the work tree that has this folder of git's.
pub(in crate::workspace) fn log_file(git_dir: &Path) -> PathBuf {
    git_dir.join("logs").join("HEAD")
}

fn is_id(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn parse(line: &str) -> Option<Line<'_>> {
    let (about, action) = line.split_once('\t').unwrap_or((line, ""));
    let mut ids = about.split(' ').map(|id| Oid::from_str(id).ok());
    let mut next = || ids.next()?.map(|id| (!id.is_zero()).then_some(id));
    Some(Line { old: next()?, new: next()?, action })
}

/// Folder of the notes in git's folder of a work tree. No branch of a run has this name: git takes files there for
/// references.
const FOLDER: &str = "turns+";
/// Interval at which the reflog is read where the system does not report changes.
const LOOK: Duration = Duration::from_millis(50);

/// A turn at work: its part of HEAD's reflog grows until it is dropped.
#[derive(Debug)]
#[must_use = "the part ends when it is dropped"]
pub struct TurnWatch(Arc<Mutex<Part>>);

/// The last part of a note.
#[derive(Debug)]
struct Part {
    note: PathBuf,
    log: PathBuf,
    /// Position up to which it is noted.
    until: u64,
    has_ended: bool,
}

impl Workspace {
    /// Starts to note what is done to HEAD in this work tree as that of an agent, until the result is dropped. Several
    /// turns of a task add to one note.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the note cannot be written.
    #[boxed]
    pub async fn watch_turn(&self, thread: &str, task: &str) -> Result<TurnWatch, WorkspaceError> {
        let names = [thread.to_owned(), task.to_owned()];
        self.run_blocking(move |place| {
            let failed = |source| WorkspaceError::Io { doing: "write", path: place.git_dir.clone(), source };
            start_watch(&place, &names).map_err(failed)
        })
        .await?
    }

    /// Returns the parts of HEAD's reflog that were written during the turns of a task, for
    /// [`BranchPositions::turns`](super::BranchPositions).
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    #[boxed]
    pub async fn turns(&self, thread: &str, task: &str) -> Result<Vec<[u64; 2]>, WorkspaceError> {
        let names = [thread.to_owned(), task.to_owned()];
        self.run_blocking(move |place| parts(&fs::read_to_string(note(&place, &names)).unwrap_or_default())).await
    }

    /// Removes the notes of a thread that has ended.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    #[boxed]
    pub async fn forget_turns(&self, thread: &str) -> Result<(), WorkspaceError> {
        let thread = thread.to_owned();
        self.run_blocking(move |place| {
            // What is left does no harm.
            let _ = fs::remove_dir_all(folder(&place.git_dir, &thread));
        })
        .await
    }
}

fn start_watch(place: &Place, names: &[String; 2]) -> io::Result<TurnWatch> {
    own_folder(place)?;
    let (note, until) = (note(place, names), log_length(place)?);
    fs::create_dir_all(folder(&place.git_dir, &names[0]))?;
    append(&note, 's', until)?;
    let part = Part { note, log: log_file(&place.git_dir), until, has_ended: false };
    let part = Arc::new(Mutex::new(part));
    let watched = Arc::clone(&part);
    thread::Builder::new().name("turn".into()).spawn(move || follow(&watched))?;
    Ok(TurnWatch(part))
}

/// Returns the parts of the turns of all tasks of a thread in the work tree that has this folder of git's, in order.
pub(super) fn turns_in(git_dir: &Path, thread: &str) -> Vec<[u64; 2]> {
    let notes = fs::read_dir(folder(git_dir, thread)).into_iter().flatten().filter_map(Result::ok);
    let texts = notes.filter_map(|note| fs::read_to_string(note.path()).ok());
    let mut turns: Vec<_> = texts.flat_map(|text| parts(&text)).collect();
    turns.sort_unstable();
    turns
}

fn lock_part(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for TurnWatch {
    fn drop(&mut self) {
        let mut part = lock_part(&self.0);
        part.has_ended = true;
        let until = part.length();
        // It also wakes the thread that waits for changes.
        part.note(until);
    }
}

impl Part {
    fn length(&self) -> u64 {
        fs::metadata(&self.log).map_or(self.until, |about| about.len())
    }

    fn note(&mut self, until: u64) {
        // A part that is noted too short leaves commits as they are.
        if append(&self.note, 'e', until).is_ok() {
            self.until = until;
        }
    }
}

/// Notes each change until the turn has ended.
fn follow(part: &Mutex<Part>) {
    let mut changes = {
        let part = lock_part(part);
        Changes::of([part.log.parent(), Some(&part.note)])
    };
    loop {
        {
            let mut part = lock_part(part);
            if part.has_ended {
                return;
            }
            let until = part.length();
            if until != part.until {
                part.note(until);
            }
        }
        changes.wait();
    }
}

/// Appends a line, whole or not at all.
fn append(note: &Path, kind: char, at: u64) -> io::Result<()> {
    let mut file = fs::File::options().append(true).create(true).open(note)?;
    file.write_all(format!("{kind} {at}\n").as_bytes())
}

fn folder(git_dir: &Path, thread: &str) -> PathBuf {
    git_dir.join("superstep").join(FOLDER).join(file_name_of(thread))
}

fn note(place: &Place, [thread, task]: &[String; 2]) -> PathBuf {
    folder(&place.git_dir, thread).join(file_name_of(task))
}

/// Returns a name for a file, whatever the id contains.
fn file_name_of(id: &str) -> String {
    Oid::hash_object(ObjectType::Blob, id.as_bytes()).map_or_else(|_| "none".to_owned(), |hash| hash.to_string())
}

/// Reads a note. A line without an end was being written when the process was killed.
fn parts(note: &str) -> Vec<[u64; 2]> {
    let mut parts: Vec<[u64; 2]> = vec![];
    for line in note.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match (line.split_once(' ').map(|(kind, at)| (kind, at.parse::<u64>())), parts.last_mut()) {
            (Some(("s", Ok(at))), _) => parts.push([at, at]),
            (Some(("e", Ok(at))), Some(part)) => part[1] = at,
            _ => {}
        }
    }
    parts.retain(|[from, to]| from < to);
    parts
}

/// Reports of changes of files.
#[cfg(target_os = "linux")]
struct Changes(Option<rustix::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Changes {
    fn of(paths: [Option<&Path>; 2]) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let flags = WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::DELETE_SELF;
        let watch = || {
            let changes = init(CreateFlags::CLOEXEC).ok()?;
            paths.into_iter().flatten().try_for_each(|path| add_watch(&changes, path, flags).map(drop)).ok()?;
            Some(changes)
        };
        Self(watch())
    }

    fn wait(&mut self) {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
        let is_waited = self
            .0
            .as_ref()
            .is_some_and(|changes| rustix::fs::inotify::Reader::new(changes, &mut buffer).next().is_ok());
        if !is_waited {
            thread::sleep(LOOK);
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Changes;

#[cfg(not(target_os = "linux"))]
impl Changes {
    fn of(_: [Option<&Path>; 2]) -> Self {
        Self
    }

    fn wait(&mut self) {
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[rstest::rstest]
    #[case::none("", &[])]
    #[case::a_turn("s 10\ne 20\ne 30\n", &[[10, 30]])]
    #[case::a_turn_that_moved_nothing("s 10\ne 10\n", &[])]
    #[case::a_killed_turn_and_its_repetition("s 10\ne 20\ns 45\ne 60\n", &[[10, 20], [45, 60]])]
    #[case::killed_while_it_was_noted("s 10\ne 20\ne 3", &[[10, 20]])]
    #[case::something_else("x\ne 5\n", &[])]
    fn a_note_is_read_as_far_as_it_was_written(#[case] note: &str, #[case] expected: &[[u64; 2]]) {
        assert_eq!(parts(note), expected);
    }
}
