//! [`ForkPoint`]: a fork that is about to be made, for graphs whose threads work outside of the store.

use std::sync::Arc;

use serde_json::Value;

use super::failure::Refusal;
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
