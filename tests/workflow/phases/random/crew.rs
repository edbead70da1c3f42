//! Agents that follow a script, and record what they see.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::drivers::{DriverError, DriverErrorClass};
use tokio::sync::Notify;

use super::script::{Cut, Files, Run, Script, Work, lines, list};
use super::seen::Seen;
use super::trees::changed_files;
use super::turns::{DIED, question};
use crate::agent::{approved, rejected, work};
use crate::phases::stage::{Call, Cast};

/// The text of every answer to a developer.
pub(super) const REPLY: &str = "Choose the blue one.";

/// The agents of a run.
pub(super) struct Crew {
    script: Script,
    /// The user's work tree.
    checkout: PathBuf,
    /// Notified when the run is to be dropped.
    pub(super) cut: Notify,
    turns: AtomicUsize,
    at_work: AtomicUsize,
    /// The attempt of the first turn of each run.
    firsts: Mutex<BTreeMap<Run, u32>>,
    pub(super) seen: Mutex<Seen>,
}

/// A running turn of a subtask.
struct TurnGuard<'c>(&'c AtomicUsize);

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Crew {
    pub(super) fn new(script: &Script, checkout: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            script: script.clone(),
            checkout,
            cut: Notify::new(),
            turns: AtomicUsize::default(),
            at_work: AtomicUsize::default(),
            firsts: Mutex::default(),
            seen: Mutex::default(),
        })
    }

    /// Returns the driver of the agents.
    pub(super) fn cast(self: &Arc<Self>) -> Arc<Cast> {
        let this = Arc::clone(self);
        Cast::new(move |call| {
            let this = Arc::clone(&this);
            async move { this.act(&call).await }
        })
    }

    async fn act(&self, call: &Call) -> Result<Value, DriverError> {
        let place = Place::of(call);
        self.look(&place);
        let answer = match &place.task {
            None => Ok(self.review(&place)),
            Some(run) => {
                let _at_work = self.enter();
                self.on_subtask(call, run).await
            }
        };
        let nth = self.turns.fetch_add(1, Ordering::SeqCst) + 1;
        if matches!(self.script.cut, Some(Cut::Turn(at)) if at == nth) {
            self.cut.notify_one();
            std::future::pending::<()>().await;
        }
        answer
    }

    fn enter(&self) -> TurnGuard<'_> {
        let now = self.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(now <= self.script.settings.max_parallel as usize, "{now} subtasks are worked on at once");
        TurnGuard(&self.at_work)
    }

    /// Records the user's files and the branch, and the files with which a run or a review starts.
    fn look(&self, place: &Place) {
        let branch = self.checkout.join(".git/refs/heads/superstep/clock");
        let commit = std::fs::read_to_string(branch).unwrap().trim().to_owned();
        let mut seen = self.seen.lock().unwrap();
        seen.checkouts.entry(place.phase).or_default().insert((commit, files(&self.checkout)));
        seen.starts.entry(place.name.clone()).or_insert_with(|| files(&place.folder));
    }

    fn review(&self, place: &Place) -> Value {
        verdict(self.script.rejects(place.phase, place.attempt))
    }

    async fn on_subtask(&self, call: &Call, run: &Run) -> Result<Value, DriverError> {
        let attempt = call.request.place.attempt;
        let first = *self.firsts.lock().unwrap().entry(run.clone()).or_insert(attempt);
        let nth = (attempt - first) as usize;
        let turn = self.script.turn(run, nth);
        if !call.is_developer() {
            return Ok(verdict(turn.is_rejected));
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(turn.pause)) => {}
            () = call.request.cancel.cancelled() => {
                return Err(DriverError::new(DriverErrorClass::Cancelled, "the turn was cancelled"));
            }
        }
        let is_reply = call.request.prompt.contains(REPLY);
        if !is_reply {
            change(call.folder(), |files| turn.work.apply(run, nth, files));
        }
        if turn.asks && !is_reply {
            return Ok(json!({"status": "blocked", "summary": "half", "question": question(run, nth)}));
        }
        match turn.work {
            Work::Dies => Err(DriverError::new(DriverErrorClass::Fatal, DIED)),
            _ => Ok(work()),
        }
    }
}

fn verdict(is_rejected: bool) -> Value {
    if is_rejected { rejected("flaw") } else { approved() }
}

/// The place of a turn, from the folder of its worktree.
struct Place {
    folder: PathBuf,
    name: String,
    phase: u32,
    attempt: u32,
    /// The run of a subtask; `None` for the review of a phase.
    task: Option<Run>,
}

impl Place {
    fn of(call: &Call) -> Self {
        let folder = call.folder().to_owned();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let parts: Vec<&str> = name.splitn(5, '-').collect();
        let &["phase", phase, "attempt", attempt, rest] = parts.as_slice() else { panic!("{name}") };
        let (phase, attempt) = (phase.parse().unwrap(), attempt.parse().unwrap());
        let task = rest.strip_prefix("task-").map(|task| Run {
            task: task.split('-').next().unwrap().to_owned(),
            phase,
            attempt,
            is_second: task.contains('-'),
        });
        let name = task.as_ref().map_or_else(|| format!("phase-{phase}/attempt-{attempt}/{rest}"), Run::name);
        Self { folder, name, phase, attempt, task }
    }
}

/// Reads the files of a folder.
pub(super) fn files(folder: &Path) -> Files {
    let mut all = Files::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name == ".git" || !entry.file_type().unwrap().is_file() {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        if name == "list.txt" { all.extend(lines(&text)) } else { drop(all.insert(name, text)) }
    }
    all
}

/// Changes the files of a folder.
fn change(folder: &Path, change: impl FnOnce(&mut Files)) {
    let before = files(folder);
    let mut after = before.clone();
    change(&mut after);
    for name in changed_files(&before, &after) {
        let path = folder.join(&name);
        match (name.as_str(), after.get(&name)) {
            ("list.txt", _) => std::fs::write(path, list(&after)).unwrap(),
            (_, Some(text)) => std::fs::write(path, text).unwrap(),
            (_, None) => std::fs::remove_file(path).unwrap(),
        }
    }
}
