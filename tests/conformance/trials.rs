//! Runs trials in parallel. A panic is a failure, and so is a trial that hangs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::runner::Verdict;
use crate::subject::Way;

/// Time after which a trial hangs.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Trial {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) run: Box<dyn FnOnce() -> Verdict + Send>,
}

/// The category under which a trial is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Case(Way),
    /// The runner's own checks.
    Own,
}

#[derive(Debug)]
pub(crate) struct TrialResult {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) verdict: Verdict,
}

/// Runs every trial on this many threads; returns the results in the order of the trials.
pub(crate) fn run(trials: Vec<Trial>, threads: usize) -> Vec<TrialResult> {
    let names: Vec<(String, Kind)> = trials.iter().map(|trial| (trial.name.clone(), trial.kind)).collect();
    let verdicts: Vec<Mutex<Option<Verdict>>> = trials.iter().map(|_| Mutex::new(None)).collect();
    let queue: Vec<Mutex<Option<Trial>>> = trials.into_iter().map(|trial| Mutex::new(Some(trial))).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some((trial, verdict)) = take(&queue, &verdicts, &next) {
            store(verdict, guarded(trial));
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(worker)));
    let verdicts = verdicts.into_iter().map(|verdict| verdict.into_inner().ok().flatten());
    let missing = || broken("the trial was lost".to_owned());
    names
        .into_iter()
        .zip(verdicts)
        .map(|((name, kind), verdict)| TrialResult { name, kind, verdict: verdict.unwrap_or_else(missing) })
        .collect()
}

type Slot<T> = Mutex<Option<T>>;

fn take<'a>(
    queue: &[Slot<Trial>],
    verdicts: &'a [Slot<Verdict>],
    next: &AtomicUsize,
) -> Option<(Trial, &'a Slot<Verdict>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    let trial = queue.get(index)?.lock().ok()?.take()?;
    Some((trial, verdicts.get(index)?))
}

fn store(slot: &Slot<Verdict>, verdict: Verdict) {
    if let Ok(mut slot) = slot.lock() {
        *slot = Some(verdict);
    }
}

/// Runs a trial on a thread of its own, which is abandoned when it hangs.
fn guarded(trial: Trial) -> Verdict {
    let (send, receive) = sync_channel(1);
    let body = move || _ = send.send(catch_unwind(AssertUnwindSafe(trial.run)));
    if let Err(error) = thread::Builder::new().name(trial.name).spawn(body) {
        return broken(format!("no thread: {error}"));
    }
    match receive.recv_timeout(PATIENCE) {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(payload)) => broken(format!("panicked: {}", message(payload.as_ref()))),
        Err(RecvTimeoutError::Timeout) => broken(format!("does not end: gave up after {} s", PATIENCE.as_secs())),
        Err(RecvTimeoutError::Disconnected) => broken("the trial's thread ended without a verdict".to_owned()),
    }
}

fn broken(text: String) -> Verdict {
    Verdict::Failed(text.into())
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)")
}
