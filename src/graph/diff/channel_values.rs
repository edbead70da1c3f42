//! `Thread::channel_values`: the values of single channels at a checkpoint. The others are not read.
//!
//! Small because comparisons read channels in the same way.

use serde_json::{Map, Value};

use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::run::catch_panics::catch_panics;
use crate::graph::state::{Boxed, Channel, Mask, State};
use crate::graph::thread::{Thread, ThreadCore};

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Returns the values of channels at this handle's checkpoint ([`at`](Self::at); else the thread's newest), as they were when it
    /// was written: those that have a value and are not secret. Only these channels are read, so that one of a large state is fast.
    ///
    /// # Errors
    /// [`RunError::UnknownThread`], [`RunError::UnknownCheckpoint`]; if there is no store, it cannot be read, or a value in it does
    /// not fit its channel.
    pub async fn channel_values(&self, channels: &[&str]) -> Result<Map<String, Value>, RunError> {
        self.core.channel_values(channels).await
    }
}

impl ThreadCore {
    fn channel_values<'a>(&'a self, channels: &'a [&'a str]) -> Boxed<'a, Result<Map<String, Value>, RunError>> {
        Box::pin(catch_panics("reading a channel", async move {
            let face = self.face().await?;
            let is_shown = |channel: &Channel| !channel.is_secret() && channels.contains(&channel.name());
            let known = face.channels().iter().enumerate();
            let only: Mask = known.filter(|(_, channel)| is_shown(channel)).map(|(at, _)| at).collect();
            face.values(&only).await
        }))
    }
}
