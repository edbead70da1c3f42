//! The two things the engine takes from outside: the time, and a little noise. Nothing else here reads a clock.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A number that nobody can foresee; not for secrets.
pub(crate) fn noise() -> u64 {
    RandomState::new().hash_one(SystemTime::now())
}

/// Tells a thread from others of its name, and a run without a thread from other runs.
pub(crate) fn birth() -> u64 {
    noise() & 0xffff_ffff
}
