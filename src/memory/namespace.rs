//! Namespaces, the names of items in them, and queries for namespaces. Knows no value and no store.

use std::fmt;

use serde::{Deserialize, Serialize};
use superstep_base::Printable;

use super::error::StoreError;

/// Labels that lead to items, outermost first: `["users", "ada"]`. A label is any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// Returns the labels.
    pub fn labels(&self) -> &[String] {
        &self.0
    }

    /// Returns whether the namespace is this one or inside of it.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }
}

impl<L: Into<String>> FromIterator<L> for Namespace {
    fn from_iter<I: IntoIterator<Item = L>>(labels: I) -> Self {
        Self(labels.into_iter().map(Into::into).collect())
    }
}

impl<L: Into<String>, const N: usize> From<[L; N]> for Namespace {
    fn from(labels: [L; N]) -> Self {
        labels.into_iter().collect()
    }
}

impl From<Vec<String>> for Namespace {
    fn from(labels: Vec<String>) -> Self {
        Self(labels)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = self.0.iter();
        labels.next().map_or(Ok(()), |first| write!(f, "{}", Printable(first)))?;
        labels.try_for_each(|label| write!(f, "/{}", Printable(label)))
    }
}

/// Name of an item: its namespace, and its key there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemName {
    /// The namespace; at least one label.
    pub namespace: Namespace,
    /// The key: any text.
    pub key: String,
}

impl ItemName {
    /// Returns the name of the item `key` of a namespace.
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), key: key.into() }
    }

    /// Checks that the namespace has a label.
    ///
    /// # Errors
    /// [`StoreError::EmptyNamespace`].
    pub fn check(&self) -> Result<(), StoreError> {
        match self.namespace.labels().is_empty() {
            true => Err(StoreError::EmptyNamespace { key: self.key.clone() }),
            false => Ok(()),
        }
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, Printable(&self.key))
    }
}

/// Query for the namespaces that have items. LangGraph: `list_namespaces`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "a query does nothing until it is given to a store"]
pub struct NamespaceQuery {
    /// First labels; `*` stands for any label.
    pub prefix: Namespace,
    /// Last labels; `*` stands for any label.
    pub suffix: Namespace,
    /// Maximum number of labels: longer namespaces are cut, and each is listed once.
    pub max_depth: Option<usize>,
    /// Maximum number of namespaces; 100 unless set.
    pub limit: usize,
    /// Number of namespaces that are left out at the start.
    pub offset: usize,
}

impl Default for NamespaceQuery {
    fn default() -> Self {
        let (prefix, suffix) = (Namespace::default(), Namespace::default());
        Self { prefix, suffix, max_depth: None, limit: 100, offset: 0 }
    }
}

impl NamespaceQuery {
    /// Leaves out namespaces that do not begin with these labels.
    pub fn prefix(mut self, prefix: impl Into<Namespace>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Leaves out namespaces that do not end with these labels.
    pub fn suffix(mut self, suffix: impl Into<Namespace>) -> Self {
        self.suffix = suffix.into();
        self
    }

    /// Cuts namespaces to a number of labels.
    pub fn max_depth(mut self, labels: usize) -> Self {
        self.max_depth = Some(labels);
        self
    }

    /// Sets the maximum number of namespaces.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Leaves out so many namespaces at the start.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Returns how a namespace is listed; `None` if it is not.
    pub fn list(&self, namespace: &Namespace) -> Option<Namespace> {
        let (labels, prefix, suffix) = (&namespace.0, &self.prefix.0, &self.suffix.0);
        let ends_at = labels.len().checked_sub(suffix.len())?;
        let is_listed = labels.len() >= prefix.len() && fit(labels, prefix) && fit(&labels[ends_at..], suffix);
        let depth = self.max_depth.unwrap_or(usize::MAX);
        is_listed.then(|| labels.iter().take(depth).cloned().collect())
    }

    /// Returns the labels that every listed namespace begins with.
    pub fn literal_prefix(&self) -> Namespace {
        self.prefix.0.iter().take_while(|label| *label != ANY).cloned().collect()
    }
}

/// Stands for any label.
const ANY: &str = "*";

fn fit(labels: &[String], pattern: &[String]) -> bool {
    labels.iter().zip(pattern).all(|(label, wanted)| wanted == ANY || label == wanted)
}
