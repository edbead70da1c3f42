//! Errors of one thread, which must not hide the items of the others. Knows no record.
//!
//! Small because it only tells errors of a thread from those of the store.

use superstep::graph::RunError;

/// Returns the result of reading a thread; `None` if its graph or one of its records is at fault, which is logged.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn readable<T>(found: Result<T, RunError>) -> Result<Option<T>, RunError> {
    match found {
        Err(error @ RunError::Checkpoint(_)) if !is_of_thread(&error) => Err(error),
        Err(error) => {
            tracing::warn!(%error, "a thread of the inbox cannot be read");
            Ok(None)
        }
        Ok(found) => Ok(Some(found)),
    }
}

fn is_of_thread(error: &RunError) -> bool {
    use superstep::checkpoint::CheckpointError::{Codec, Damaged, Format, UnknownThread};
    matches!(error, RunError::Checkpoint(Damaged { .. } | Format { .. } | UnknownThread { .. } | Codec { .. }))
}
