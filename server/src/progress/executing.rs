//! The threads that a server executes now: each once, and each with the token that stops its run.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep::checkpoint::ThreadId;
use superstep::graph::CancellationToken;
use tokio::sync::Notify;
use uuid::Uuid;

/// The threads that are executed now.
#[derive(Clone, Default)]
pub(crate) struct ExecutingThreads(Arc<ThreadTable>);

#[derive(Default)]
struct ThreadTable {
    threads: Mutex<HashMap<String, Execution>>,
    /// Notified when a thread was left.
    left: Notify,
    entered: AtomicU64,
}

#[derive(Default)]
struct Execution {
    /// Differs from that of an earlier execution of the thread.
    number: u64,
    /// The run that is executed, and the token that stops it.
    run: Option<(Uuid, CancellationToken)>,
    /// The run that was stopped last: it may have been before its token was made.
    stopped: Option<Uuid>,
    /// Set if somebody wanted to execute the thread meanwhile: it may have a run that its executor has not seen.
    is_wanted: bool,
}

impl ExecutingThreads {
    /// Enters a thread; `None` if it is executed already: its executor then looks for runs once more before it leaves.
    pub(crate) fn enter(&self, thread: &str) -> Option<ExecutingThread> {
        let mut threads = self.lock();
        if let Some(execution) = threads.get_mut(thread) {
            execution.is_wanted = true;
            return None;
        }
        let number = self.0.entered.fetch_add(1, Ordering::Relaxed);
        threads.insert(thread.to_owned(), Execution { number, ..Execution::default() });
        Some(ExecutingThread { all: self.clone(), thread: thread.to_owned(), number })
    }

    /// Returns a new token that stops a run, which its thread executes from now on.
    pub(crate) fn token(&self, thread: &str, run: Uuid) -> CancellationToken {
        let cancel = CancellationToken::new();
        if let Some(execution) = self.lock().get_mut(thread) {
            if execution.stopped == Some(run) {
                cancel.cancel();
            }
            execution.run = Some((run, cancel.clone()));
        }
        cancel
    }

    /// Stops a run, and no other of its thread. Returns false if the thread is not executed here.
    pub(crate) fn stop(&self, thread: &str, run: Uuid) -> bool {
        let mut threads = self.lock();
        let Some(execution) = threads.get_mut(thread) else { return false };
        execution.stopped = Some(run);
        let own = execution.run.iter().filter(|(executed, _)| *executed == run);
        own.for_each(|(_, cancel)| cancel.cancel());
        true
    }

    /// Returns the names of the threads.
    pub(crate) fn names(&self) -> HashSet<ThreadId> {
        self.lock().keys().map(|name| ThreadId::from(name.as_str())).collect()
    }

    /// Returns the runs that are executed, with their threads.
    pub(crate) fn runs(&self) -> Vec<(String, Uuid)> {
        let threads = self.lock();
        let runs = threads.iter().filter_map(|(thread, execution)| Some((thread.clone(), execution.run.as_ref()?.0)));
        runs.collect()
    }

    /// Waits until no thread is executed.
    pub(crate) async fn wait_until_none(&self) {
        loop {
            let left = self.0.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.lock().is_empty() {
                return;
            }
            left.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Execution>> {
        self.0.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that this server executes, until this is dropped.
pub(crate) struct ExecutingThread {
    all: ExecutingThreads,
    thread: String,
    number: u64,
}

impl ExecutingThread {
    /// Returns whether somebody wanted to execute the thread meanwhile; if not, it is no longer executed.
    pub(crate) fn is_wanted_again(&self) -> bool {
        let mut threads = self.all.lock();
        let is_wanted = threads.get_mut(&self.thread).is_some_and(|execution| std::mem::take(&mut execution.is_wanted));
        if !is_wanted {
            self.remove(&mut threads);
        }
        is_wanted
    }

    fn remove(&self, threads: &mut HashMap<String, Execution>) {
        threads.remove(&self.thread);
        self.all.0.left.notify_waiters();
    }
}

impl Drop for ExecutingThread {
    fn drop(&mut self) {
        let mut threads = self.all.lock();
        if threads.get(&self.thread).is_some_and(|execution| execution.number == self.number) {
            self.remove(&mut threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stopped_and_no_other_of_its_thread() {
        let (threads, first, second) = (ExecutingThreads::default(), Uuid::now_v7(), Uuid::now_v7());
        assert!(!threads.stop("t", first));
        let _executing = threads.enter("t");
        let token = threads.token("t", first);
        assert!(threads.stop("t", second) && !token.is_cancelled());
        assert!(threads.stop("t", first) && token.is_cancelled());
        assert!(threads.stop("t", second) && threads.token("t", second).is_cancelled());
    }
}
