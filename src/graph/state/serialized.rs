//! Serializable views of writes and channels.

use serde::{Serialize, Serializer};

use super::channels::State;

pub(crate) struct WriteValue<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S::Write);

impl<S: State> Serialize for WriteValue<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        S::encode_write(self.0, self.1, out)
    }
}

pub(crate) struct ChannelValue<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S, pub(super) usize);

impl<S: State> Serialize for ChannelValue<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        self.1.encode_channel(self.0, self.2, out)
    }
}
