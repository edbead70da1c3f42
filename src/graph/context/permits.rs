//! How many tasks run at once: over all levels of a run, and over all runs for the nodes of a group. A task that waits for its
//! own subgraphs gives its permits back meanwhile, so that they can run.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};

/// The groups of all graphs of the process, by name and limit.
static GROUPS: LazyLock<Mutex<Groups>> = LazyLock::new(Mutex::default);

type Groups = HashMap<(String, usize), Weak<Semaphore>>;

/// Returns the semaphore of a group: one for the whole process, as long as a graph uses it.
pub(crate) fn group(name: &str, limit: usize) -> Arc<Semaphore> {
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.retain(|_, group| group.strong_count() > 0);
    let key = (name.to_owned(), limit);
    if let Some(group) = groups.get(&key).and_then(Weak::upgrade) {
        return group;
    }
    let group = Arc::new(semaphore(limit));
    groups.insert(key, Arc::downgrade(&group));
    group
}

/// Returns a semaphore of so many permits, at least one.
pub(crate) fn semaphore(limit: usize) -> Semaphore {
    Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS))
}

/// The concurrency limits that a task counts towards, and the permits that it holds.
#[derive(Debug)]
pub(crate) struct Permits {
    /// The group first: who waits for that holds nobody up.
    sources: Vec<Arc<Semaphore>>,
    held: Mutex<PermitState>,
    /// Calls that end one after the other take the permits once.
    turn: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct PermitState {
    permits: Vec<OwnedSemaphorePermit>,
    /// The number of running subgraphs of the task.
    calls: u32,
    ended: bool,
}

impl Permits {
    /// Returns the permits of a task; none if nothing limits it.
    pub(crate) fn of(sources: impl IntoIterator<Item = Arc<Semaphore>>) -> Option<Arc<Self>> {
        let sources: Vec<_> = sources.into_iter().collect();
        (!sources.is_empty()).then(|| Arc::new(Self { sources, held: Mutex::default(), turn: AsyncMutex::default() }))
    }

    /// Runs a task's body once there is a permit for it.
    pub(crate) async fn run<T>(self: Arc<Self>, body: impl Future<Output = T>) -> T {
        let _end = PermitGuard(Arc::clone(&self));
        self.acquire().await;
        body.await
    }

    /// Runs a subgraph of the task. The task gives its permits back until none of its subgraphs runs.
    pub(crate) async fn released_during<T>(&self, subgraph: impl Future<Output = T>) -> T {
        let call = {
            let mut held = self.lock();
            held.calls += 1;
            held.permits.clear();
            Call(self)
        };
        let result = subgraph.await;
        drop(call);
        let is_last = self.lock().calls == 0;
        if is_last {
            self.acquire().await;
        }
        result
    }

    async fn acquire(&self) {
        let _turn = self.turn.lock().await;
        if !self.lock().permits.is_empty() {
            return;
        }
        let mut permits = vec![];
        for source in &self.sources {
            permits.extend(Arc::clone(source).acquire_owned().await);
        }
        let mut held = self.lock();
        if held.calls == 0 && !held.ended {
            held.permits = permits;
        }
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the permits back when the body ends or is dropped, even if its context is still held.
struct PermitGuard(Arc<Permits>);

impl Drop for PermitGuard {
    fn drop(&mut self) {
        let mut held = self.0.lock();
        held.ended = true;
        held.permits.clear();
    }
}

/// A subgraph of the task runs.
struct Call<'a>(&'a Permits);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.lock().calls -= 1;
    }
}
