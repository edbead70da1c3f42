//! Items: values beside threads, under a namespace and a key. Knows names, sizes and conditions; must not know threads or stores.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::CheckpointError;
use super::key::{ItemKey, Order};

/// Name of an item and its value.
pub type Item = (ItemKey, Vec<u8>);

/// Condition of a write: the item as it must be for the write to be accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpectedItem {
    /// Anything.
    #[default]
    Any,
    /// Not there.
    Absent,
    /// This value.
    Value(Vec<u8>),
}

impl ExpectedItem {
    /// Returns whether an item is as expected.
    pub fn fits(&self, found: Option<&[u8]>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => found.is_none(),
            Self::Value(value) => found == Some(value.as_slice()),
        }
    }
}

/// Change of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a write does nothing until it is given to a store"]
pub struct ItemWrite {
    /// The item.
    pub key: ItemKey,
    /// Its value from now on; `None` to delete it.
    pub value: Option<Vec<u8>>,
    /// Condition on its value now; [`CheckpointError::ItemConflict`] otherwise.
    pub expected: ExpectedItem,
}

impl ItemWrite {
    /// Largest value that a store accepts, in bytes (64 MiB).
    pub const MAX_VALUE: usize = 64 << 20;

    /// Sets the value of an item.
    pub fn put(key: ItemKey, value: impl Into<Vec<u8>>) -> Self {
        Self { key, value: Some(value.into()), expected: ExpectedItem::Any }
    }

    /// Deletes an item. One that is not there is no error.
    pub fn delete(key: ItemKey) -> Self {
        Self { key, value: None, expected: ExpectedItem::Any }
    }

    /// Accepts the write only if the item is as expected: compare-and-set.
    pub fn expecting(mut self, expected: ExpectedItem) -> Self {
        self.expected = expected;
        self
    }

    /// Returns the error for an item that is not as expected.
    ///
    /// # Errors
    /// [`CheckpointError::ItemConflict`].
    pub fn check_found(&self, found: Option<&[u8]>) -> Result<(), CheckpointError> {
        match self.expected.fits(found) {
            true => Ok(()),
            false => Err(CheckpointError::ItemConflict { item: self.key.clone() }),
        }
    }

    /// Returns the size of the value in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Vec::len)
    }

    /// Checks everything that needs no store: sizes, names, and that no item is written twice.
    ///
    /// # Errors
    /// [`CheckpointError::TooLarge`], [`CheckpointError::Codec`].
    pub fn check_all(writes: &[Self]) -> Result<(), CheckpointError> {
        let mut seen = BTreeSet::new();
        for write in writes {
            let key = &write.key;
            check_name(key)?;
            let (bytes, limit) = (write.bytes(), Self::MAX_VALUE);
            if bytes > limit {
                return Err(CheckpointError::TooLarge { what: key.to_string(), bytes, limit });
            }
            if !seen.insert(key) {
                let reason = "it is written twice at once".into();
                return Err(CheckpointError::Codec { what: key.to_string(), reason });
            }
        }
        Ok(())
    }
}

/// Query for items in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a scan does nothing until it is given to a store"]
pub struct ItemScan {
    /// The namespace; `None` for the items of all.
    pub namespace: Option<Arc<str>>,
    /// First part of the keys; ignored without a namespace.
    pub prefix: String,
    /// The item after which the answer begins, in the direction of the scan.
    pub after: Option<ItemKey>,
    /// Direction.
    pub order: Order,
    /// Maximum number of items.
    pub limit: usize,
}

impl ItemScan {
    /// Returns a scan of all items of a namespace, smallest key first.
    pub fn of(namespace: impl Into<Arc<str>>) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::all() }
    }

    /// Returns a scan of the items of all namespaces.
    pub fn all() -> Self {
        Self { namespace: None, prefix: String::new(), after: None, order: Order::Ascending, limit: usize::MAX }
    }

    /// Leaves out keys that do not begin with `prefix`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Begins after an item, in the direction of the scan: the last one of the page before.
    pub fn after(mut self, item: ItemKey) -> Self {
        self.after = Some(item);
        self
    }

    /// Returns the greatest key first.
    pub fn descending(mut self) -> Self {
        self.order = Order::Descending;
        self
    }

    /// Sets the maximum number of items.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Returns whether the scan has an item, its limit aside.
    pub(super) fn has(&self, item: &ItemKey) -> bool {
        let is_in = self.namespace.as_ref().is_none_or(|namespace| *namespace == item.namespace);
        let starts = self.namespace.is_none() || item.key.starts_with(self.prefix.as_str());
        let is_later = self.after.as_ref().is_none_or(|after| match self.order {
            Order::Ascending => item > after,
            Order::Descending => item < after,
        });
        is_in && starts && is_later
    }

    /// Returns the bounds of the names that the scan may have: the first, and one that is not before the last, or `None` if the last
    /// is any. `None` if the scan has no names.
    pub(super) fn bounds(&self) -> Option<(ItemKey, Option<ItemKey>)> {
        let (mut first, mut last) = self.widest_bounds();
        if let Some(after) = &self.after {
            match self.order {
                Order::Ascending => first = first.max(after.clone()),
                Order::Descending => last = Some(last.map_or(after.clone(), |last| last.min(after.clone()))),
            }
        }
        let is_empty = last.as_ref().is_some_and(|last| *last < first);
        (!is_empty && self.limit > 0).then_some((first, last))
    }

    fn widest_bounds(&self) -> (ItemKey, Option<ItemKey>) {
        let Some(namespace) = &self.namespace else { return (ItemKey::new("", ""), None) };
        let first = ItemKey::new(Arc::clone(namespace), self.prefix.as_str());
        let last = match next_prefix(&self.prefix) {
            Some(next) => Some(ItemKey::new(Arc::clone(namespace), next)),
            None => next_prefix(namespace).map(|next| ItemKey::new(next, "")),
        };
        (first, last)
    }
}

/// Checks the name of an item.
fn check_name(item: &ItemKey) -> Result<(), CheckpointError> {
    let parts = [(&item.namespace, ItemKey::MAX_NAMESPACE), (&item.key, ItemKey::MAX_KEY)];
    for (part, limit) in parts {
        if part.contains('\0') {
            let reason = "a namespace or a key cannot contain U+0000".into();
            return Err(CheckpointError::Codec { what: item.to_string(), reason });
        }
        if part.len() > limit {
            let what = "the namespace or key of an item".into();
            return Err(CheckpointError::TooLarge { what, bytes: part.len(), limit });
        }
    }
    Ok(())
}

/// Returns the smallest text after all that begin with `prefix`; `None` if there is none.
fn next_prefix(prefix: &str) -> Option<String> {
    let mut start: Vec<char> = prefix.chars().collect();
    while let Some(last) = start.pop() {
        if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
            start.push(next);
            return Some(start.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::nothing("", None)]
    #[case::a_letter("ab", Some("ac"))]
    #[case::before_the_surrogates("a\u{d7ff}", Some("a\u{e000}"))]
    #[case::the_greatest("a\u{10ffff}", Some("b"))]
    #[case::nothing_after("\u{10ffff}", None)]
    fn the_text_after_a_prefix(#[case] prefix: &str, #[case] next: Option<&str>) {
        assert_eq!(next_prefix(prefix).as_deref(), next);
    }
}
