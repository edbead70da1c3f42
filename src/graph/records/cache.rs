//! Results of nodes kept by their input. Knows bytes only.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

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
pub struct MemoryCache(Mutex<HashMap<Vec<u8>, Kept>>);

#[derive(Debug)]
struct Kept {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Kept { result, expires });
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
