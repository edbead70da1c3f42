//! The error of a value that cannot be stored.

use crate::checkpoint::CheckpointError;

/// The error of a value that cannot be stored: its type does not serialize or does not read back its own output, or the
/// value nests too deeply or is too large.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct ValueError(#[from] pub(crate) CheckpointError);

impl ValueError {
    /// Returns the suggested fix.
    pub fn help(&self) -> Option<&str> {
        self.0.help()
    }
}
