//! The state that a reader of several checkpoints has read last.

use std::sync::{Arc, Mutex, PoisonError};

use crate::checkpoint::Slot;
use crate::graph::state::AnyState;

/// A state that was read, and where its values are.
#[derive(Clone)]
pub(crate) struct KnownState {
    pub state: AnyState,
    pub slots: Vec<Slot>,
    /// Stored size of each channel's value in bytes.
    pub sizes: Vec<u64>,
}

/// A namespace, and its [`KnownState`].
type Known = (String, Arc<KnownState>);

/// The state that was read last, shared by the clones of a reader.
#[derive(Clone, Default)]
pub(crate) struct KnownValues(Arc<Mutex<Option<Known>>>);

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

impl std::fmt::Debug for KnownValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KnownValues")
    }
}
