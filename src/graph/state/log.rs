//! A list that shares its items between versions, for channels that append.

use std::fmt;
use std::ops::{Index, Range};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

/// The number of items that are copied at most when a shared list grows.
const CHUNK: usize = 64;

/// A list for `append` channels that are long: a copy shares its items, and appending to a copy leaves the other as it is.
///
/// A superstep appends to a state that the caller may still hold: the last outcome, a snapshot, an event. A `Vec` is then
/// copied whole, which takes time by its length; a `Log` is not. It reads like a slice, and is stored as a `Vec` is: a
/// field may be changed from one to the other.
///
/// ```
/// # use superstep::prelude::*;
/// use superstep::graph::Log;
///
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Talk {
///     #[channel(append)]
///     messages: Log<String>,
/// }
///
/// let mut messages: Log<String> = ["salt".into(), "tides".into()].into();
/// let before = messages.clone();
/// messages.push("moon".into());
/// assert_eq!(before, ["salt", "tides"]);
/// assert_eq!((messages.len(), messages[2].as_str(), messages.last()), (3, "moon", Some(&"moon".into())));
/// assert!(messages.iter().rev().any(|message| message == "salt"));
/// # let _ = Talk::update().messages(["hello"]);
/// ```
pub struct Log<T> {
    /// Chunks of [`CHUNK`] items each.
    full: Arc<Vec<Arc<Vec<T>>>>,
    /// The items after them, fewer than [`CHUNK`].
    tail: Arc<Vec<T>>,
}

impl<T> Log<T> {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self { full: Arc::default(), tail: Arc::default() }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len()
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item by its index.
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.tail.get(index.checked_sub(self.full.len() * CHUNK)?),
        }
    }

    /// Returns the first item.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// Returns the last item.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns true if an item equals `item`.
    pub fn contains(&self, item: &T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|other| other == item)
    }

    /// Iterates over the items, oldest first.
    pub fn iter(&self) -> LogIter<'_, T> {
        LogIter { log: self, range: 0..self.len() }
    }

    /// Returns copies of the items.
    pub fn to_vec(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.iter().cloned().collect()
    }
}

impl<T: Clone> Log<T> {
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        let tail = Arc::make_mut(&mut self.tail);
        tail.push(item);
        if tail.len() == CHUNK {
            let chunk = std::mem::take(&mut self.tail);
            Arc::make_mut(&mut self.full).push(chunk);
        }
    }

    /// Drops the items from this index on.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        if let Some(chunk) = self.full.get(len / CHUNK) {
            self.tail = Arc::clone(chunk);
            Arc::make_mut(&mut self.full).truncate(len / CHUNK);
        }
        let kept = len % CHUNK;
        match Arc::get_mut(&mut self.tail) {
            Some(tail) => tail.truncate(kept),
            None => self.tail = Arc::new(self.tail[..kept].to_vec()),
        }
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self { full: Arc::clone(&self.full), tail: Arc::clone(&self.tail) }
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Log<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T> Index<usize> for Log<T> {
    type Output = T;

    /// Returns an item.
    ///
    /// # Panics
    /// If there is no item at this index, as a slice does.
    fn index(&self, index: usize) -> &T {
        let len = self.len();
        self.get(index).unwrap_or_else(|| panic!("index out of bounds: the len is {len} but the index is {index}"))
    }
}

impl<T: Clone> Extend<T> for Log<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Clone> FromIterator<T> for Log<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut log = Self::new();
        log.extend(items);
        log
    }
}

impl<T: Clone> From<Vec<T>> for Log<T> {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone, const N: usize> From<[T; N]> for Log<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: PartialEq<U>, U> PartialEq<Log<U>> for Log<T> {
    fn eq(&self, other: &Log<U>) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(item, other)| item == other)
    }
}

impl<T: Eq> Eq for Log<T> {}

impl<T: PartialEq<U>, U> PartialEq<[U]> for Log<T> {
    fn eq(&self, other: &[U]) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(item, other)| item == other)
    }
}

impl<T: PartialEq<U>, U> PartialEq<Vec<U>> for Log<T> {
    fn eq(&self, other: &Vec<U>) -> bool {
        *self == other[..]
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for Log<T> {
    fn eq(&self, other: &[U; N]) -> bool {
        *self == other[..]
    }
}

impl<'a, T> IntoIterator for &'a Log<T> {
    type Item = &'a T;
    type IntoIter = LogIter<'a, T>;

    fn into_iter(self) -> LogIter<'a, T> {
        self.iter()
    }
}

impl<T: Serialize> Serialize for Log<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self)
    }
}

impl<'de, T: Deserialize<'de> + Clone> Deserialize<'de> for Log<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Items(Self::new()))
    }
}

/// Reads a list item by item.
struct Items<T>(Log<T>);

impl<'de, T: Deserialize<'de> + Clone> Visitor<'de> for Items<T> {
    type Value = Log<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Log<T>, A::Error> {
        while let Some(item) = items.next_element()? {
            self.0.push(item);
        }
        Ok(self.0)
    }
}

/// The items of a [`Log`], oldest first.
#[derive(Debug)]
pub struct LogIter<'a, T> {
    log: &'a Log<T>,
    range: Range<usize>,
}

impl<T> Clone for LogIter<'_, T> {
    fn clone(&self) -> Self {
        Self { log: self.log, range: self.range.clone() }
    }
}

impl<'a, T> Iterator for LogIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.log.get(self.range.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<&'a T> {
        self.log.get(self.range.nth(n)?)
    }
}

impl<'a, T> DoubleEndedIterator for LogIter<'a, T> {
    fn next_back(&mut self) -> Option<&'a T> {
        self.log.get(self.range.next_back()?)
    }
}

impl<T> ExactSizeIterator for LogIter<'_, T> {}

/// A list whose first items can be copied: the field of an `append` channel.
#[doc(hidden)]
pub trait Prefix {
    /// Returns the list without its last items; none if it has fewer.
    fn without_last(&self, items: usize) -> Option<Self>
    where
        Self: Sized;

    /// Returns the number of items.
    fn length(&self) -> usize;

    /// Drops the items beyond this number.
    fn shorten(&mut self, length: usize);
}

impl<T: Clone> Prefix for Vec<T> {
    fn length(&self) -> usize {
        self.len()
    }

    fn shorten(&mut self, length: usize) {
        self.truncate(length);
    }

    fn without_last(&self, items: usize) -> Option<Self> {
        Some(self[..self.len().checked_sub(items)?].to_vec())
    }
}

impl<T: Clone> Prefix for Log<T> {
    fn length(&self) -> usize {
        self.len()
    }

    fn shorten(&mut self, length: usize) {
        self.truncate(length);
    }

    fn without_last(&self, items: usize) -> Option<Self> {
        let (kept, mut log) = (self.len().checked_sub(items)?, self.clone());
        log.truncate(kept);
        Some(log)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u16),
        Truncate(usize),
        Keep,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => any::<u16>().prop_map(Step::Push),
            1 => (0usize..300).prop_map(Step::Truncate),
            1 => Just(Step::Keep),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_vec_whose_copies_do_not_change(steps in proptest::collection::vec(step(), 0..400)) {
            let (mut log, mut vec, mut kept) = (Log::new(), vec![], vec![]);
            for step in steps {
                match step {
                    Step::Push(item) => {
                        log.push(item);
                        vec.push(item);
                    }
                    Step::Truncate(len) => {
                        log.truncate(len);
                        vec.truncate(len);
                    }
                    Step::Keep => kept.push((log.clone(), vec.clone())),
                }
                prop_assert_eq!((log.len(), log.first(), log.last()), (vec.len(), vec.first(), vec.last()));
            }
            kept.push((log, vec));
            for (log, vec) in kept {
                prop_assert_eq!(&log, &vec);
                prop_assert!(log.iter().rev().eq(vec.iter().rev()) && log.get(vec.len()).is_none());
                let json = serde_json::to_string(&log).unwrap();
                prop_assert_eq!(&json, &serde_json::to_string(&vec).unwrap());
                prop_assert_eq!(serde_json::from_str::<Log<u16>>(&json).unwrap(), log);
                prop_assert_eq!(vec.without_last(3), log_without(&vec, 3));
            }
        }
    }

    fn log_without(vec: &[u16], items: usize) -> Option<Vec<u16>> {
        Log::from(vec.to_vec()).without_last(items).map(|log| log.to_vec())
    }
}
