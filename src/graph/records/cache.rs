//! What need not be computed or read again: results of nodes by their input, the state that a reader has read last, and the
//! positions at which runs of a graph ended. Knows no position.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::checkpoint::{Slot, ThreadHead, ThreadId};
use crate::graph::state::AnyState;

/// A store of node results that outlives runs and threads.
pub trait NodeCache: Debug + Send + Sync + 'static {
    /// Returns what was kept under a key, unless it has expired; `now` is in milliseconds since 1970, by the clock of the run
    /// that asks.
    fn get(&self, key: &[u8], now: u64) -> Option<Vec<u8>>;

    /// Keeps a result; `expires` is in milliseconds since 1970, by the clock of the run that came to it.
    fn put(&self, key: Vec<u8>, result: Vec<u8>, expires: Option<u64>);

    /// Forgets everything kept for nodes of this name, in all graphs that share the cache; of all nodes if none is named.
    /// Their keys begin with the name and a zero byte.
    fn clear(&self, node: Option<&str>);
}

/// A node cache in memory, without a limit.
#[derive(Debug, Default)]
pub struct MemoryCache(Mutex<HashMap<Vec<u8>, CachedEntry>>);

#[derive(Debug)]
struct CachedEntry {
    result: Vec<u8>,
    expires: Option<u64>,
}

impl NodeCache for MemoryCache {
    fn get(&self, key: &[u8], now: u64) -> Option<Vec<u8>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(key)?;
        if found.expires.is_none_or(|at| now < at) {
            return Some(found.result.clone());
        }
        kept.remove(key);
        None
    }

    fn put(&self, key: Vec<u8>, result: Vec<u8>, expires: Option<u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, CachedEntry { result, expires });
    }

    fn clear(&self, node: Option<&str>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match node {
            Some(node) => kept.retain(|key, _| !key.starts_with(&prefix(node))),
            None => kept.clear(),
        }
    }
}

/// Keys begin with the node's name and a zero byte.
pub(crate) fn prefix(node: &str) -> Vec<u8> {
    [node.as_bytes(), &[0]].concat()
}

/// A state that was read, and where its values are.
#[derive(Clone)]
pub(crate) struct KnownState {
    pub state: AnyState,
    pub slots: Vec<Slot>,
    /// Stored size of each channel's value in bytes.
    pub sizes: Vec<u64>,
}

/// A namespace, and its [`KnownState`].
type NamedState = (String, Arc<KnownState>);

/// The state that was read last, shared by the clones of a reader.
#[derive(Clone, Default)]
pub(crate) struct KnownValues(Arc<Mutex<Option<NamedState>>>);

impl KnownValues {
    /// Starts with the state of a root graph.
    pub(crate) fn of_root(state: KnownState) -> Self {
        let known = Self::default();
        known.keep("", state);
        known
    }

    /// The state that was read last, if it is one of this namespace.
    pub(crate) fn get(&self, namespace: &str) -> Option<Arc<KnownState>> {
        let (known, state) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        (known == namespace).then_some(state)
    }

    pub(crate) fn keep(&self, namespace: &str, state: KnownState) {
        let known = (namespace.to_owned(), Arc::new(state));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }
}

impl Debug for KnownValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownValues")
    }
}

/// The maximum number of threads whose ends are kept.
const THREADS: usize = 64;
/// The maximum size in bytes of the states that are kept besides the newest.
const BYTES: u64 = 16 << 20;
/// The size in bytes of a state that is read again as soon as kept.
const SMALL: u64 = 1024;

/// The ends of the latest runs of a graph, the newest last.
#[derive(Default)]
pub(crate) struct LastEnds(Mutex<VecDeque<LastEnd>>);

struct LastEnd {
    thread: ThreadId,
    /// The thread's head at that time. Another run, of this process or another, moves it.
    head: ThreadHead,
    /// The size of its state in the store.
    bytes: u64,
    position: Box<dyn Any + Send>,
}

impl LastEnds {
    /// Returns true if keeping a state of this size in bytes saves more than it costs.
    pub(crate) fn is_worth(bytes: u64) -> bool {
        bytes >= SMALL
    }

    /// Takes the position of a thread, unless the thread has moved since.
    pub(crate) fn take<P: 'static>(&self, thread: &ThreadId, head: ThreadHead) -> Option<Box<P>> {
        let end = remove(&mut self.lock(), |end| end.is_of(thread, head))?;
        end.position.downcast().ok().filter(|_| end.head == head)
    }

    /// Looks at the position of a thread, unless the thread has moved since.
    pub(crate) fn look_at<P: 'static, T>(
        &self,
        thread: &ThreadId,
        head: ThreadHead,
        look: impl FnOnce(&P) -> T,
    ) -> Option<T> {
        let ends = self.lock();
        let end = ends.iter().rev().find(|end| end.head == head && end.thread == *thread)?;
        end.position.downcast_ref().map(look)
    }

    /// Keeps the position at the end of a run, once that is stored, with the size of its state in bytes.
    pub(crate) fn keep(&self, thread: ThreadId, head: ThreadHead, bytes: u64, position: Box<dyn Any + Send>) {
        let mut ends = self.lock();
        let mut dropped: Vec<LastEnd> = remove(&mut ends, |end| end.is_of(&thread, head)).into_iter().collect();
        while ends.len() >= THREADS || ends.iter().map(|end| end.bytes).sum::<u64>() > BYTES {
            dropped.extend(ends.pop_front());
        }
        ends.push_back(LastEnd { thread, head, bytes, position });
        drop(ends);
        drop(dropped); // it may run code of the state's type
    }

    /// Forgets where a thread ended.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        let end = remove(&mut self.lock(), |end| end.thread == *thread);
        drop(end); // not under the lock
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<LastEnd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LastEnd {
    /// Returns true if it is of the thread that has this head, not of a deleted one of the same name.
    fn is_of(&self, thread: &ThreadId, head: ThreadHead) -> bool {
        self.head.birth == head.birth && self.thread == *thread
    }
}

fn remove(ends: &mut VecDeque<LastEnd>, is_it: impl Fn(&LastEnd) -> bool) -> Option<LastEnd> {
    let at = ends.iter().rposition(is_it)?;
    ends.remove(at)
}
