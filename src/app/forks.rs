//! [`ForkPoint`]: a fork that is about to be made, for graphs whose threads work outside of the store.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::failure::{Failure, Refusal};
use crate::checkpoint::BoxFuture;

/// A fork of a thread that is about to be made.
#[derive(Clone, Debug)]
pub struct ForkPoint<S> {
    /// The state at the checkpoint.
    pub at: Arc<S>,
    /// The newest state of the thread.
    pub newest: Arc<S>,
    /// The name of the thread that the fork belongs to.
    pub thread: String,
    /// True if it becomes a new thread.
    pub is_new_thread: bool,
}

/// The values that a fork writes.
#[derive(Clone, Debug, Default)]
pub struct ForkWrites {
    /// An object with a key for each channel.
    pub values: Value,
    /// Lines for people about it.
    pub text: String,
    /// Undoes what was done outside of the store.
    undo: Undo,
}

type UndoFn = dyn Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync;

#[derive(Clone, Default)]
struct Undo(Option<Arc<UndoFn>>);

impl fmt::Debug for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Undo").field(&self.0.is_some()).finish()
    }
}

impl ForkWrites {
    /// Returns the values of a fork, with lines for people about it.
    pub fn new(values: Value, text: impl Into<String>) -> Self {
        Self { values, text: text.into(), undo: Undo::default() }
    }

    /// Sets what undoes everything that was done outside of the store: it is called if the fork cannot be stored.
    pub fn undo(mut self, undo: impl Fn() -> BoxFuture<'static, Result<(), Refusal>> + Send + Sync + 'static) -> Self {
        self.undo = Undo(Some(Arc::new(undo)));
        self
    }

    /// Returns the result of storing the fork; after a failure, everything is undone.
    pub(crate) async fn stored<T>(&self, stored: Result<T, Failure>) -> Result<T, Failure> {
        let Undo(undo) = &self.undo;
        let Some(undo) = undo else { return stored };
        let mut failure = match stored {
            Ok(stored) => return Ok(stored),
            Err(failure) => failure,
        };
        if let Err(left) = undo().await {
            failure.causes.push(format!("what was made for the fork was not removed: {left}"));
        }
        Err(failure)
    }
}

/// Makes the values of a fork.
pub(crate) type Forks<S> = fn(ForkPoint<S>) -> BoxFuture<'static, Result<ForkWrites, Refusal>>;

/// Adds values given by a person, which take precedence.
pub(crate) fn merged(own: Value, given: Option<Value>) -> Value {
    let mut all = own.as_object().cloned().unwrap_or_default();
    match given {
        Some(Value::Object(given)) => all.extend(given),
        Some(other) => return other, // its error names the problem
        None => {}
    }
    Value::Object(all)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn counting(undone: &Arc<AtomicU32>, ends: fn() -> Result<(), Refusal>) -> ForkWrites {
        let undone = Arc::clone(undone);
        ForkWrites::new(Value::Null, "").undo(move || {
            undone.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(ends()))
        })
    }

    #[tokio::test]
    async fn what_was_made_for_a_fork_is_undone_if_it_cannot_be_stored() {
        let undone = Arc::default();
        let own = counting(&undone, || Ok(()));
        assert_eq!(own.stored(Ok(7)).await.ok(), Some(7));
        assert_eq!(undone.load(Ordering::SeqCst), 0);
        let failure = own.stored::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!((failure.error, undone.load(Ordering::SeqCst)), ("the disk is full".into(), 1));
        let own = counting(&undone, || Err(Refusal::new("the folder is in use")));
        let failure = own.stored::<()>(Err(Failure::new("the disk is full"))).await.unwrap_err();
        assert_eq!(failure.causes, ["what was made for the fork was not removed: the folder is in use"]);
    }
}
