//! Durable notes of the parts of HEAD's reflog that were written while an agent worked: each turn appends a line at its
//! start and one whenever the reflog has grown, so that after a kill it is known what the agent had done until then. What
//! is written later is somebody else's.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use git2::{ObjectType, Oid};

use super::error::WorkspaceError;
use super::head_log;
use super::index::own_folder;
use super::place::{Place, Workspace};

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
    pub async fn watch_turn(&self, thread: &str, task: &str) -> Result<TurnWatch, WorkspaceError> {
        let names = [thread.to_owned(), task.to_owned()];
        self.run_blocking(move |place| {
            let failed = |source| WorkspaceError::Io { doing: "write", path: place.git_dir.clone(), source };
            started(&place, &names).map_err(failed)
        })
        .await?
    }

    /// Returns the parts of HEAD's reflog that were written during the turns of a task, for
    /// [`Standing::turns`](super::Standing).
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    pub async fn turns(&self, thread: &str, task: &str) -> Result<Vec<[u64; 2]>, WorkspaceError> {
        let names = [thread.to_owned(), task.to_owned()];
        self.run_blocking(move |place| parts(&fs::read_to_string(note(&place, &names)).unwrap_or_default())).await
    }

    /// Removes the notes of a thread that has ended.
    ///
    /// # Errors
    /// [`Io`](WorkspaceError::Io) if the blocking task fails.
    pub async fn forget_turns(&self, thread: &str) -> Result<(), WorkspaceError> {
        let thread = thread.to_owned();
        self.run_blocking(move |place| {
            // What is left does no harm.
            let _ = fs::remove_dir_all(folder(&place.git_dir, &thread));
        })
        .await
    }
}

fn started(place: &Place, names: &[String; 2]) -> io::Result<TurnWatch> {
    own_folder(place)?;
    let (note, until) = (note(place, names), head_log::length(place)?);
    fs::create_dir_all(folder(&place.git_dir, &names[0]))?;
    append(&note, 's', until)?;
    let part = Part { note, log: head_log::file(&place.git_dir), until, has_ended: false };
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

fn locked(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for TurnWatch {
    fn drop(&mut self) {
        let mut part = locked(&self.0);
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
        let part = locked(part);
        Changes::of([part.log.parent(), Some(&part.note)])
    };
    loop {
        {
            let mut part = locked(part);
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
    git_dir.join("superstep").join(FOLDER).join(hashed(thread))
}

fn note(place: &Place, [thread, task]: &[String; 2]) -> PathBuf {
    folder(&place.git_dir, thread).join(hashed(task))
}

/// Returns a name for a file, whatever the id contains.
fn hashed(id: &str) -> String {
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
