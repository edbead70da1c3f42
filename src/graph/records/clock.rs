//! The time and the random numbers of the engine. Nothing else here reads a clock.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use superstep_base::Fnv;
pub(crate) use superstep_base::time::{millis, now};

use crate::checkpoint::Checkpointer;

/// The source of a thread's time: for tests, and for machines whose clock is set by somebody else.
pub trait Clock: Send + Sync + 'static {
    /// Returns the time.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync + 'static> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// The time and the random numbers of a run: those of the store or the machine, unless others are given.
#[derive(Clone, Default)]
pub(crate) struct Host {
    pub clock: Option<Arc<dyn Clock>>,
    /// The store whose clock counts, if it has one and no other is given.
    pub store: Option<Arc<dyn Checkpointer>>,
    /// The state of seeded random numbers, which come again in the same order.
    pub seed: Option<Arc<AtomicU64>>,
    /// The seed as it was given.
    pub first: Option<u64>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

impl Host {
    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        let of_store = || self.store.as_ref().and_then(|store| store.time());
        self.clock.as_ref().map(|clock| clock.now()).or_else(of_store).map_or_else(now, millis)
    }

    /// Returns these for threads of a store.
    pub(crate) fn over(&self, store: Option<&Arc<dyn Checkpointer>>) -> Self {
        Self { store: store.cloned(), ..self.clone() }
    }

    /// A number that nobody can foresee, unless the seed is known; not for secrets.
    pub(crate) fn random(&self) -> u64 {
        self.seed.as_ref().map_or_else(random, |seed| {
            let step = 0x9e37_79b9_7f4a_7c15_u64;
            mix(seed.fetch_add(step, Ordering::Relaxed).wrapping_add(step))
        })
    }
}

impl Host {
    /// A number that is the same at one place for one seed, whatever was drawn before.
    pub(crate) fn random_at(&self, place: impl FnOnce() -> String) -> u64 {
        let Some(first) = self.first else { return random() };
        let mut hash = Fnv::with_seed(first);
        hash.mix(place().as_bytes());
        mix(hash.finish())
    }
}

/// SplitMix64.
fn mix(seed: u64) -> u64 {
    let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that nobody can foresee; not for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}

/// The bits of a random number that distinguish a thread from others of its name, or a run without a thread from other
/// runs.
pub(crate) const BIRTH: u64 = 0xffff_ffff;
