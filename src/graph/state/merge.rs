//! The rules that merge the writes of a superstep into a channel, for typed and data-defined states.

use super::mask::Mask;
use super::put::Put;

/// The error of a write that cannot be applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Two tasks of one superstep wrote a channel that takes one write.
    #[error("channel {channel} was written twice in one superstep")]
    Concurrent {
        /// The channel's index.
        channel: usize,
    },
    /// The reducer returned an error.
    #[error("channel {channel}: {reason}")]
    Refused {
        /// The channel's index.
        channel: usize,
        /// The reducer's error.
        reason: String,
    },
}

impl ApplyError {
    /// Returns the index of the channel.
    pub fn channel(&self) -> usize {
        match self {
            Self::Concurrent { channel } | Self::Refused { channel, .. } => *channel,
        }
    }
}

/// The channels written so far in a superstep, for typed and data-defined states.
#[derive(Debug, Default)]
pub struct Merge {
    written: Mask,
    overwritten: Mask,
}

impl Merge {
    /// Clears it for a new superstep.
    pub fn clear(&mut self) {
        self.written.clear();
        self.overwritten.clear();
    }

    /// Returns the channels written in this superstep.
    pub fn written(&self) -> &Mask {
        &self.written
    }

    /// Sets a channel that takes one write per superstep. LangGraph: `LastValue`.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on the second write.
    pub fn last_value<T>(&mut self, channel: usize, slot: &mut T, value: T) -> Result<(), ApplyError> {
        if !self.written.insert(channel) {
            return Err(ApplyError::Concurrent { channel });
        }
        *slot = value;
        Ok(())
    }

    /// Sets a channel of which the last write wins. LangGraph: `AnyValue`.
    pub fn any_value<T>(&mut self, channel: usize, slot: &mut T, value: T) {
        self.written.insert(channel);
        *slot = value;
    }

    /// Adds to a list of this superstep's writes; the first write drops the previous superstep's, unless `accumulate`.
    /// Without items nothing is written. LangGraph: `Topic`.
    pub fn topic<T>(&mut self, channel: usize, slot: &mut Vec<T>, more: impl IntoIterator<Item = T>, accumulate: bool) {
        let mut more = more.into_iter().peekable();
        if more.peek().is_none() {
            return;
        }
        if self.written.insert(channel) && !accumulate {
            slot.clear();
        }
        slot.extend(more);
    }

    /// Reduces a write into a channel. LangGraph: `BinaryOperatorAggregate`.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on a second overwrite.
    pub fn reduce<V, W>(
        &mut self,
        channel: usize,
        slot: &mut V,
        put: Put<V, W>,
        with: impl FnOnce(&mut V, W),
    ) -> Result<(), ApplyError> {
        self.try_reduce(channel, slot, put, |slot, write| {
            with(slot, write);
            Ok(())
        })
    }

    /// Reduces a write into a channel by a reducer that can fail.
    ///
    /// # Errors
    /// [`ApplyError::Concurrent`] on a second overwrite, [`ApplyError::Refused`] if the reducer returns an error.
    pub fn try_reduce<V, W>(
        &mut self,
        channel: usize,
        slot: &mut V,
        put: Put<V, W>,
        with: impl FnOnce(&mut V, W) -> Result<(), String>,
    ) -> Result<(), ApplyError> {
        self.written.insert(channel);
        match put {
            Put::Overwrite(_) if !self.overwritten.insert(channel) => Err(ApplyError::Concurrent { channel }),
            Put::Overwrite(value) => {
                *slot = value;
                Ok(())
            }
            Put::Reduce(_) if self.overwritten.contains(channel) => Ok(()),
            Put::Reduce(write) => with(slot, write).map_err(|reason| ApplyError::Refused { channel, reason }),
        }
    }
}
