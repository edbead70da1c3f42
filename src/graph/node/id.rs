//! Ids of nodes.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// A node id: a fieldless enum with `#[derive(NodeId)]`, or [`Name`] for graphs read from data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node id",
    note = "use a fieldless enum with `#[derive(NodeId)]`, or `Name` for a graph read from data"
)]
pub trait NodeId: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// Returns the node's name in checkpoints, drawings and errors.
    fn name(&self) -> &str;

    /// Returns all ids, if the set is closed.
    fn all() -> Vec<Self>;
}

/// A node id that is known only at run time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl NodeId for Name {
    fn name(&self) -> &str {
        &self.0
    }

    fn all() -> Vec<Self> {
        vec![]
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}
