//! The place of a thread: the machine and the folder that its work is bound to. Knows no store.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_base::Printable;

use crate::checkpoint::owner::host_name;

/// The variable that replaces the id of the machine: for containers, which share one or lose it.
const MACHINE: &str = "SUPERSTEP_MACHINE";

/// A machine and a folder on it. A thread with a place is handed out only to runners on that machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ThreadPlace {
    /// The id of the machine: [`ThreadPlace::machine_id`].
    pub machine: String,
    /// The name of the machine, for people.
    pub host: String,
    /// The folder.
    pub path: String,
}

impl ThreadPlace {
    /// Returns a folder on this machine.
    pub fn here(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_string_lossy().into_owned();
        Self { machine: Self::machine_id(), host: host_name(), path }
    }

    /// Returns the id of this machine: the variable SUPERSTEP_MACHINE, else the id in `/etc/machine-id`, else its name.
    pub fn machine_id() -> String {
        let set = std::env::var(MACHINE).ok();
        let known = set.or_else(|| std::fs::read_to_string("/etc/machine-id").ok());
        let known = known.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
        known.unwrap_or_else(host_name)
    }

    /// Returns whether it is on this machine.
    pub fn is_here(&self) -> bool {
        self.machine == Self::machine_id()
    }
}

impl fmt::Display for ThreadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on host `{}`", Printable(&self.path), Printable(&self.host))
    }
}
