//! The state that a reader of several checkpoints has read last.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::checkpoint::Slot;

/// A state that was read, and where its values are.
#[derive(Clone, Debug)]
pub(crate) struct KnownState<S> {
    pub state: Arc<S>,
    pub slots: Vec<Slot>,
    /// Stored size of each channel's value in bytes.
    pub sizes: Vec<u64>,
}

/// A namespace, and its [`KnownState`].
type Known = (String, Arc<dyn Any + Send + Sync>);

/// The state that was read last, shared by the clones of a reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownValues(Arc<Mutex<Option<Known>>>);

impl KnownValues {
    /// The state that was read last, if it is one of this namespace.
    pub(crate) fn get<S: Send + Sync + 'static>(&self, namespace: &str) -> Option<Arc<KnownState<S>>> {
        let (known, state) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        if known == namespace { state.downcast().ok() } else { None }
    }

    pub(crate) fn keep<S: Send + Sync + 'static>(&self, namespace: &str, state: KnownState<S>) {
        let known = (namespace.to_owned(), Arc::new(state) as _);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }
}
