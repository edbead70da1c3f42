//! The leases that are alive in one process, by thread and by epoch. Must not know what a lease allows.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::handle::LeaseHandle;
use crate::checkpoint::key::ThreadId;

#[derive(Debug, Default)]
pub(super) struct LiveLeases {
    by_thread: HashMap<ThreadId, LiveLease>,
    /// Each commit looks up the thread of its epoch, which takes a tenth of looking up a name.
    by_epoch: HashMap<u64, ThreadId, BuildHasherDefault<EpochHasher>>,
}

#[derive(Debug)]
pub(super) struct LiveLease {
    pub(super) epoch: u64,
    /// The engine for which it was claimed.
    pub(super) engine: Option<&'static str>,
    pub(super) handle: LeaseHandle,
    /// True if records were posted to the thread meanwhile.
    pub(super) has_mail: bool,
}

impl LiveLeases {
    /// Adds the lease of a thread; returns the one that it takes over.
    pub(super) fn insert(&mut self, thread: ThreadId, lease: LiveLease) -> Option<LiveLease> {
        self.by_epoch.insert(lease.epoch, thread.clone());
        let earlier = self.by_thread.insert(thread, lease);
        earlier.inspect(|earlier| _ = self.by_epoch.remove(&earlier.epoch))
    }

    pub(super) fn remove(&mut self, thread: &ThreadId) {
        if let Some(lease) = self.by_thread.remove(thread) {
            self.by_epoch.remove(&lease.epoch);
        }
    }

    pub(super) fn get(&self, thread: &ThreadId) -> Option<&LiveLease> {
        self.by_thread.get(thread)
    }

    pub(super) fn get_mut(&mut self, thread: &ThreadId) -> Option<&mut LiveLease> {
        self.by_thread.get_mut(thread)
    }

    pub(super) fn contains(&self, thread: &ThreadId) -> bool {
        self.by_thread.contains_key(thread)
    }

    /// Returns true if the lease of the thread has this epoch.
    pub(super) fn has(&self, thread: &ThreadId, epoch: u64) -> bool {
        self.by_epoch.get(&epoch) == Some(thread)
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &ThreadId> {
        self.by_thread.keys()
    }
}

/// Hashes epochs, which are counted: nobody can choose some that collide.
#[derive(Debug, Default)]
struct EpochHasher(u64);

impl Hasher for EpochHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(8) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(epoch: u64) -> LiveLease {
        LiveLease { epoch, engine: None, handle: LeaseHandle::default(), has_mail: false }
    }

    #[test]
    fn an_epoch_is_that_of_the_last_lease_of_its_thread() {
        let (mut live, [one, two]) = (LiveLeases::default(), ["one", "two"].map(ThreadId::from));
        assert!(live.insert(one.clone(), lease(1)).is_none() && live.insert(two.clone(), lease(2)).is_none());
        assert!(live.has(&one, 1) && live.has(&two, 2) && !live.has(&one, 2) && !live.has(&two, 1));
        assert_eq!(live.insert(one.clone(), lease(3)).map(|earlier| earlier.epoch), Some(1));
        assert!(live.has(&one, 3) && !live.has(&one, 1));
        live.remove(&one);
        assert!(!live.has(&one, 3) && !live.contains(&one) && live.has(&two, 2));
        assert_eq!(live.by_epoch.len(), 1);
    }
}
