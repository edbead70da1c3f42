//! A write to a channel: reduced into its value, or replacing it.

/// A write to a reduced channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Put<V, W> {
    /// Goes through the reducer.
    Reduce(W),
    /// Replaces the value. Ordinary writes of the same superstep are dropped.
    Overwrite(V),
}

/// A value that replaces a reduced channel instead of going through its reducer; see [`overwrite`](crate::graph::overwrite).
#[derive(Clone, Debug)]
pub struct Overwrite<V>(pub V);

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
