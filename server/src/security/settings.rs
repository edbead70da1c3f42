//! Settings of the checks of requests, from which their guard is made. Must not know who sets them.
//!
//! Small because the checks themselves have their defaults.

use std::sync::Arc;

use super::guard::Guard;
use super::keys::Keys;
use super::limits::Limits;
use super::origins::Origins;

/// Settings of the checks of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Security {
    keys: Option<Keys>,
    pub(crate) origins: Origins,
    pub(crate) limits: Limits,
}

impl Security {
    /// Accepts only requests with a key.
    pub(crate) fn set_keys(&mut self, keys: Keys) {
        self.origins.allow_any_host();
        self.keys = Some(keys);
    }

    pub(crate) fn guard(&self) -> Arc<Guard> {
        Arc::new(Guard::new(self.keys.clone(), self.origins.clone(), self.limits))
    }
}
