//! The failure of a node, and how retry policies treat it. Knows no graph.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::checkpoint::panics::caught;

/// How a failure is treated by a retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// May succeed when tried again.
    Transient,
    /// Fails again however often it is tried.
    Permanent,
    /// Nobody said.
    Unclassified,
}

/// A failure of a node. It takes `?` from any error (and so is not itself an `Error`): such a failure is
/// [`Class::Unclassified`], and is tried again if the node has a retry policy.
#[derive(Debug)]
pub struct NodeError {
    pub(crate) source: Box<dyn Error + Send + Sync>,
    pub(crate) class: Class,
}

impl NodeError {
    /// Returns a failure that a retry may cure.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class: Class::Transient }
    }

    /// Returns a failure that no retry cures.
    pub fn permanent(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class: Class::Permanent }
    }

    /// Returns a failure of a class.
    #[cfg(feature = "test-util")]
    pub(crate) fn of_class(class: Class, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { source: source.into(), class }
    }

    /// Returns how a retry policy treats it.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Returns the error inside.
    pub fn source(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.source
    }
}

/// The error of a node, shared: as an error it stands for the one inside, whose causes follow.
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
        let text = caught(|| with_causes(&*self.source));
        f.write_str(&text.unwrap_or_else(unprintable))
    }
}

/// The words for an error that has none of its own.
pub(crate) fn unprintable(panic: String) -> String {
    format!("an error whose `Display` panicked: {panic}")
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
