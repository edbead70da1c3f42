//! The way from a store to the holder of a lease. Must not know what a lease allows.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::checkpoint::error::CheckpointError;

/// A request to whoever runs a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum OwnerRequest {
    /// Stop at once, in the middle of a node.
    Cancel,
    /// Stop after the superstep.
    Drain,
}

/// The way from a store to the holder of a lease.
#[derive(Clone, Debug, Default)]
pub struct LeaseHandle(pub(super) Arc<HolderTokens>);

#[derive(Debug, Default)]
pub(super) struct HolderTokens {
    lost: LazyToken,
    loss: OnceLock<CheckpointError>,
    pub(super) cancel: LazyToken,
    pub(super) drain: LazyToken,
}

/// A token that is made when somebody waits for it or cancels it, as few do in a short run.
#[derive(Debug, Default)]
pub(super) struct LazyToken(OnceLock<CancellationToken>);

impl LazyToken {
    pub(super) fn get(&self) -> &CancellationToken {
        self.0.get_or_init(CancellationToken::new)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.0.get().is_some_and(CancellationToken::is_cancelled)
    }

    pub(super) fn cancel(&self) {
        self.get().cancel();
    }
}

impl LeaseHandle {
    /// Tells the holder that the lease was lost; only the first error counts.
    pub fn report_loss(&self, error: CheckpointError) {
        _ = self.0.loss.set(error);
        self.0.lost.cancel();
    }

    /// Returns the error with which the lease was lost.
    pub fn loss(&self) -> Option<CheckpointError> {
        self.0.loss.get().cloned()
    }

    /// Waits until the loss is reported, and returns its error.
    pub(in crate::checkpoint) async fn reported(&self) -> Option<CheckpointError> {
        self.0.lost.get().cancelled().await;
        self.loss()
    }

    /// Returns whether the holder was asked to stop at once.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Returns whether the holder was asked to stop after its superstep.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.drain.is_cancelled()
    }

    /// Passes a request to the holder.
    pub fn deliver(&self, request: OwnerRequest) {
        match request {
            OwnerRequest::Cancel => self.0.cancel.cancel(),
            OwnerRequest::Drain => self.0.drain.cancel(),
        }
    }
}
