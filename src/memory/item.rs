//! Items of a store, and requests to write, read and find them. Knows no store.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::StoreError;
use super::filter::StoreFilter;
use super::namespace::{ItemName, Namespace};

/// Item of a store. LangGraph: `Item`, `SearchItem`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreItem {
    /// The namespace.
    pub namespace: Namespace,
    /// The key in the namespace.
    pub key: String,
    /// The value: an object.
    pub value: Value,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: u64,
    /// Time of the last write, in milliseconds since 1970.
    pub updated_at: u64,
    /// Similarity to the query of a search; `None` without a query.
    pub score: Option<f64>,
}

/// Fields of a value that a store embeds, so that a search finds the item by its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum IndexFields {
    /// The fields that the store embeds unless told otherwise.
    #[default]
    OfStore,
    /// Nothing: a search with a query does not find the item.
    Nothing,
    /// The texts at these paths: `title`, `author.name`, `tags[*]`, `notes[0].text`; `$` is the whole value.
    Paths(Vec<String>),
}

/// Write of an item: makes it, or replaces its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[must_use = "a write does nothing until it is given to a store"]
pub struct StoreWrite {
    /// The item.
    pub name: ItemName,
    /// Its value: an object.
    pub value: Value,
    /// Lifetime in minutes, from now or from the last read that refreshes it; forever if `None`.
    pub ttl_minutes: Option<f64>,
    /// The fields that are embedded.
    pub index: IndexFields,
}

impl StoreWrite {
    /// Returns a write of a value, which must be an object.
    ///
    /// ```
    /// # use superstep::memory::StoreWrite;
    /// # use serde_json::json;
    /// let write = StoreWrite::new(["users", "ada"], "prefs", json!({"units": "metric"})).ttl_minutes(60.0);
    /// assert_eq!(write.name.to_string(), "users/ada/prefs");
    /// ```
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>, value: Value) -> Self {
        let (name, index) = (ItemName::new(namespace, key), IndexFields::default());
        Self { name, value, ttl_minutes: None, index }
    }

    /// Sets the lifetime in minutes.
    pub fn ttl_minutes(mut self, minutes: f64) -> Self {
        self.ttl_minutes = Some(minutes);
        self
    }

    /// Sets the fields that are embedded.
    pub fn index(mut self, fields: IndexFields) -> Self {
        self.index = fields;
        self
    }

    /// Checks everything that needs no store.
    ///
    /// # Errors
    /// [`StoreError::EmptyNamespace`], [`StoreError::NotAnObject`], [`StoreError::InvalidTtl`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.name.check()?;
        if !self.value.is_object() {
            return Err(StoreError::NotAnObject { item: self.name.to_string(), found: kind_of(&self.value) });
        }
        match self.ttl_minutes {
            Some(minutes) if !(minutes.is_finite() && minutes > 0.0) => Err(StoreError::InvalidTtl { minutes }),
            _ => Ok(()),
        }
    }
}

/// Read of one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "a read does nothing until it is given to a store"]
pub struct StoreRead {
    /// The item.
    pub name: ItemName,
    /// Set if the lifetime of the item begins anew, which is the default.
    pub refresh_ttl: bool,
}

impl StoreRead {
    /// Returns a read of the item `key` of a namespace.
    pub fn new(namespace: impl Into<Namespace>, key: impl Into<String>) -> Self {
        Self { name: ItemName::new(namespace, key), refresh_ttl: true }
    }

    /// Sets whether the lifetime of the item begins anew.
    pub fn refresh_ttl(mut self, refresh: bool) -> Self {
        self.refresh_ttl = refresh;
        self
    }
}

/// Search for items, in the order of their names; with a query, the best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[must_use = "a search does nothing until it is given to a store"]
pub struct StoreSearch {
    /// Namespace of the items, or one around theirs; empty for all.
    pub namespace_prefix: Namespace,
    /// Conditions on the value.
    pub filter: StoreFilter,
    /// Text that is searched for: by meaning if the store embeds items, else by its words.
    pub query: Option<String>,
    /// Maximum number of items; 10 unless set.
    pub limit: usize,
    /// Number of items that are left out at the start.
    pub offset: usize,
    /// Set if the lifetimes of the items found begin anew, which is the default.
    pub refresh_ttl: bool,
}

impl StoreSearch {
    /// Returns a search in a namespace and those inside of it.
    pub fn new(namespace_prefix: impl Into<Namespace>) -> Self {
        Self {
            namespace_prefix: namespace_prefix.into(),
            filter: StoreFilter::default(),
            query: None,
            limit: 10,
            offset: 0,
            refresh_ttl: true,
        }
    }

    /// Sets the conditions on the value.
    pub fn filter(mut self, filter: StoreFilter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the text that is searched for.
    pub fn query(mut self, text: impl Into<String>) -> Self {
        self.query = Some(text.into());
        self
    }

    /// Sets the maximum number of items.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Leaves out so many items at the start.
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Sets whether the lifetimes of the items found begin anew.
    pub fn refresh_ttl(mut self, refresh: bool) -> Self {
        self.refresh_ttl = refresh;
        self
    }

    /// Returns the query, unless it is blank.
    pub fn words(&self) -> Option<&str> {
        self.query.as_deref().filter(|query| !query.trim().is_empty())
    }
}

/// Returns the kind of a value, for errors.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
