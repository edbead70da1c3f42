//! What the compiler says of `SledCheckpointer` where its feature is off. Nothing here can be used.

use super::error::CheckpointError;
use super::memory::MemoryCheckpointer;

/// Implemented by nothing: what asks for it needs the feature `sled`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`SledCheckpointer` needs the feature `sled` of superstep",
    label = "the feature `sled` is off",
    note = "it is one of the default features: `cargo add superstep --features sled`, or use `MemoryCheckpointer`"
)]
pub trait Sled {}

/// In the place of the embedded store.
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
