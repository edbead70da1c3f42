//! The failure of a node, and its class for retry policies. Knows no graph.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use superstep_base::PrintableLines;
use superstep_base::panics::catch_panic;

/// The class of a failure, for retry policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, serde::Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// May succeed when retried.
    Transient,
    /// Fails again on every retry.
    Permanent,
    /// Not classified.
    Unclassified,
}

/// A failure of a node. `?` converts any error into it (so it does not implement `Error` itself): such a failure is
/// [`ErrorClass::Unclassified`], and is retried if the node has a retry policy.
#[derive(Debug)]
pub struct NodeError {
    pub(crate) source: Box<dyn Error + Send + Sync>,
    pub(crate) class: ErrorClass,
}

impl NodeError {
    /// Returns a failure that may succeed on retry.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class: ErrorClass::Transient }
    }

    /// Returns a failure that is never retried.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class: ErrorClass::Permanent }
    }

    #[cfg(feature = "test-util")]
    pub(crate) fn of_class(class: ErrorClass, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class }
    }

    /// Returns the class, for retry policies.
    pub fn class(&self) -> ErrorClass {
        self.class
    }

    /// Returns the error inside.
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

/// The error of a node, shared: it displays as the inner error, whose causes follow.
#[derive(Clone, Debug)]
pub struct SharedNodeError(pub(crate) Arc<NodeError>);

impl std::ops::Deref for SharedNodeError {
    type Target = NodeError;

    fn deref(&self) -> &NodeError {
        &self.0
    }
}

impl fmt::Display for SharedNodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SharedNodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.source())
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = catch_panic(|| with_causes(&*self.source));
        PrintableLines(text.unwrap_or_else(unprintable)).fmt(f)
    }
}

/// Returns the message for an error whose own cannot be printed.
pub(crate) fn unprintable(panic: String) -> String {
    format!("`Display` of an error panicked: {panic}")
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}
