//! Positions at which runs ended, for the next runs of the same threads: what was just written need not be read again.
//! Knows no position.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::checkpoint::{Head, ThreadId};

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
    head: Head,
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
    pub(crate) fn take<P: 'static>(&self, thread: &ThreadId, head: Head) -> Option<Box<P>> {
        let end = remove(&mut self.lock(), |end| end.is_of(thread, head))?;
        end.position.downcast().ok().filter(|_| end.head == head)
    }

    /// Looks at the position of a thread, unless the thread has moved since.
    pub(crate) fn look_at<P: 'static, T>(
        &self,
        thread: &ThreadId,
        head: Head,
        look: impl FnOnce(&P) -> T,
    ) -> Option<T> {
        let ends = self.lock();
        let end = ends.iter().rev().find(|end| end.head == head && end.thread == *thread)?;
        end.position.downcast_ref().map(look)
    }

    /// Keeps the position at the end of a run, once that is stored, with the size of its state in bytes.
    pub(crate) fn keep(&self, thread: ThreadId, head: Head, bytes: u64, position: Box<dyn Any + Send>) {
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
    fn is_of(&self, thread: &ThreadId, head: Head) -> bool {
        self.head.birth == head.birth && self.thread == *thread
    }
}

fn remove(ends: &mut VecDeque<LastEnd>, is_it: impl Fn(&LastEnd) -> bool) -> Option<LastEnd> {
    let at = ends.iter().rposition(is_it)?;
    ends.remove(at)
}
