//! Writes and channels of a state as values that serialize.

use serde::{Serialize, Serializer};

use super::channels::State;

/// The value a write carries, to be serialized.
pub(crate) struct Written<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S::Write);

impl<S: State> Serialize for Written<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        S::encode_write(self.0, self.1, out)
    }
}

/// The value of a channel, to be serialized.
pub(crate) struct Valued<'a, S: State>(pub(super) &'a S::Schema, pub(super) &'a S, pub(super) usize);

impl<S: State> Serialize for Valued<'_, S> {
    fn serialize<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error> {
        self.1.encode_channel(self.0, self.2, out)
    }
}
