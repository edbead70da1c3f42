//! A write to a channel: reduced into its value, or replacing it; and the arguments of setters, which become one. Knows no state.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A write to a reduced channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Put<V, W> {
    /// Goes through the reducer.
    Reduce(W),
    /// Replaces the value. Ordinary writes of the same superstep are dropped.
    Overwrite(V),
}

impl<V, W> Put<V, W> {
    /// Returns true if the write replaces the value.
    pub fn overwrites(&self) -> bool {
        matches!(self, Self::Overwrite(_))
    }

    /// Encodes the value of the write.
    ///
    /// # Errors
    /// Whatever the serializer fails with.
    pub fn encode<E: Serializer>(&self, out: E) -> Result<E::Ok, E::Error>
    where
        V: Serialize,
        W: Serialize,
    {
        match self {
            Self::Reduce(write) => write.serialize(out),
            Self::Overwrite(value) => value.serialize(out),
        }
    }

    /// Decodes the value of a write.
    ///
    /// # Errors
    /// Whatever the deserializer fails with.
    pub fn decode<'de, D: Deserializer<'de>>(overwrite: bool, from: D) -> Result<Self, D::Error>
    where
        V: Deserialize<'de>,
        W: Deserialize<'de>,
    {
        if overwrite { V::deserialize(from).map(Self::Overwrite) } else { W::deserialize(from).map(Self::Reduce) }
    }
}

/// A value that replaces a reduced channel instead of going through its reducer; see [`overwrite`](crate::graph::overwrite).
#[derive(Clone, Debug)]
pub struct Overwrite<V>(pub V);

/// Marks a value as replacing the whole channel, instead of going through its reducer. LangGraph: `Overwrite`.
///
/// Two overwrites of a channel in one superstep are an error; ordinary writes of that superstep are dropped for one.
///
/// ```
/// # use superstep::prelude::*;
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { #[channel(append)] notes: Vec<String> }
/// let appended = Draft::update().notes(["salt"]);
/// let emptied = Draft::update().notes(overwrite(vec![]));
/// ```
pub fn overwrite<V>(value: V) -> Overwrite<V> {
    Overwrite(value)
}

/// The argument of a reduced field's setter: the write itself, or [`overwrite`](crate::graph::overwrite)`(value)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to this channel",
    note = "give a `{W}`, or replace the whole value with `overwrite(..)` of a `{V}`"
)]
pub trait IntoPut<V, W, M> {
    /// Converts into a write.
    fn into_put(self) -> Put<V, W>;
}

/// Marks a plain write in [`IntoPut`].
#[derive(Debug)]
pub struct ByReduce;

/// Marks an overwrite in [`IntoPut`].
#[derive(Debug)]
pub struct ByOverwrite;

impl<V, W> IntoPut<V, W, ByReduce> for W {
    fn into_put(self) -> Put<V, W> {
        Put::Reduce(self)
    }
}

#[diagnostic::do_not_recommend]
impl<V, W> IntoPut<V, W, ByOverwrite> for Overwrite<V> {
    fn into_put(self) -> Put<V, W> {
        Put::Overwrite(self.0)
    }
}

/// The argument of a list field's setter: an iterator of its items, or [`overwrite`]`(list)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to this list",
    note = "give something that yields items of `{T}`, or replace the list with `overwrite(..)`"
)]
pub trait IntoList<V, T> {
    /// Converts into a write.
    fn into_list(self) -> Put<V, Vec<T>>;
}

impl<V, T, I: IntoIterator<Item: Into<T>>> IntoList<V, T> for I {
    fn into_list(self) -> Put<V, Vec<T>> {
        Put::Reduce(self.into_iter().map(Into::into).collect())
    }
}

#[diagnostic::do_not_recommend]
impl<V, T> IntoList<V, T> for Overwrite<V> {
    fn into_list(self) -> Put<V, Vec<T>> {
        Put::Overwrite(self.0)
    }
}

/// The argument of a number list's setter: an iterator of numbers, or [`overwrite`]`(list)`. The items have the list's own
/// type, so that literals need no suffix.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to this list",
    note = "give something that yields items of `{T}`, or replace the list with `overwrite(..)`"
)]
pub trait IntoItems<V, T> {
    /// Converts into a write.
    fn into_items(self) -> Put<V, Vec<T>>;
}

impl<V, T, I: IntoIterator<Item = T>> IntoItems<V, T> for I {
    fn into_items(self) -> Put<V, Vec<T>> {
        Put::Reduce(self.into_iter().collect())
    }
}

#[diagnostic::do_not_recommend]
impl<V, T> IntoItems<V, T> for Overwrite<V> {
    fn into_items(self) -> Put<V, Vec<T>> {
        Put::Overwrite(self.0)
    }
}

/// The argument of an `Option<String>` field's setter: a text, or an option of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a channel of type `Option<String>`",
    note = "give a `&str`, a `String`, or an `Option<String>`"
)]
pub trait IntoText {
    /// Converts into a write.
    fn into_text(self) -> Option<String>;
}

#[diagnostic::do_not_recommend]
impl IntoText for Option<String> {
    fn into_text(self) -> Option<String> {
        self
    }
}

#[diagnostic::do_not_recommend]
impl IntoText for String {
    fn into_text(self) -> Option<String> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoText for &String {
    fn into_text(self) -> Option<String> {
        Some(self.clone())
    }
}

#[diagnostic::do_not_recommend]
impl IntoText for &str {
    fn into_text(self) -> Option<String> {
        Some(self.to_owned())
    }
}
