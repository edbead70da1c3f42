//! Ids of nodes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
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

    /// Returns the id of this name.
    #[doc(hidden)]
    fn of_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|id| id.name() == name)
    }

    /// Returns the name as an id.
    #[doc(hidden)]
    fn to_name(&self) -> Name {
        Name::from(self.name())
    }
}

/// A node id that is known only at run time.
#[derive(Clone)]
pub struct Name(Text);

#[derive(Clone)]
enum Text {
    Constant(&'static str),
    Shared(Arc<str>),
}

impl Name {
    /// Returns a name that is known at compile time.
    #[doc(hidden)]
    pub const fn constant(name: &'static str) -> Self {
        Self(Text::Constant(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            Text::Constant(name) => name,
            Text::Shared(name) => name,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

#[diagnostic::do_not_recommend]
impl NodeId for Name {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn all() -> Vec<Self> {
        vec![]
    }

    fn of_name(name: &str) -> Option<Self> {
        Some(name.into())
    }

    fn to_name(&self) -> Self {
        self.clone()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(Text::Shared(name.into()))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(Text::Shared(name.into()))
    }
}
