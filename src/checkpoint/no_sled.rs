//! Placeholder for `SledCheckpointer` where its feature is off, so that the compiler names the feature. Cannot be used.
//!
//! Small because it takes the place of the folder `sled`.

use super::error::CheckpointError;
use super::memory::MemoryCheckpointer;

/// Implemented by no type: its bound reports that the feature `sled` is missing.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`SledCheckpointer` needs the feature `sled` of superstep",
    label = "the feature `sled` is off",
    note = "it is one of the default features: `cargo add superstep --features sled`, or use `MemoryCheckpointer`"
)]
pub trait Sled {}

/// Placeholder for the embedded store.
#[doc(hidden)]
#[derive(Debug)]
pub enum SledCheckpointer {}

impl SledCheckpointer {
    #[doc(hidden)]
    pub fn open<P: Sled>(_: P) -> Result<MemoryCheckpointer, CheckpointError> {
        Ok(MemoryCheckpointer::new())
    }

    #[doc(hidden)]
    pub fn open_read_only<P: Sled>(_: P) -> Result<MemoryCheckpointer, CheckpointError> {
        Ok(MemoryCheckpointer::new())
    }
}
