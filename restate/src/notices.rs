//! Lines for people about a worker that runs: who gets them. Knows no line.
//!
//! Small because it only passes them on.

use std::fmt;
use std::sync::Arc;

/// Gets what whoever keeps a worker running should know.
#[derive(Clone)]
pub(crate) struct Notices(Arc<dyn Fn(&str) + Send + Sync>);

impl Notices {
    pub(crate) fn new(notice: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(notice))
    }

    pub(crate) fn send(&self, line: &str) {
        (self.0)(line);
    }
}

/// Logs them as warnings.
impl Default for Notices {
    fn default() -> Self {
        Self::new(|line| tracing::warn!("{line}"))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notices")
    }
}
