//! The built-in reducers. Each takes the channel's value and one write, and knows nothing else.

use std::any::Any;
use std::collections::HashSet;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Appends to a list. `#[channel(append)]`
pub fn append<L: Extend<T>, T>(list: &mut L, more: Vec<T>) {
    list.extend(more);
}

/// Adds to a sum. `#[channel(add)]`
///
/// Integers and [`Duration`] are checked for overflow in every build; other types use their `+=`.
///
/// # Errors
/// If the sum is out of the type's range; the value is unchanged.
pub fn add<T: AddAssign + 'static>(sum: &mut T, more: T) -> Result<(), String> {
    match checked_sum(sum, &more) {
        Some(true) => {}
        Some(false) => return Err(format!("it would overflow: `{}` cannot hold the sum", std::any::type_name::<T>())),
        None => *sum += more,
    }
    Ok(())
}

/// Adds to an integer or duration, and returns false on overflow; `None` for other types. The type tests are resolved at
/// compile time.
fn checked_sum<T: 'static>(sum: &mut T, more: &T) -> Option<bool> {
    let (sum, more): (&mut dyn Any, &dyn Any) = (sum, more);
    macro_rules! of {
        ($($number:ty),*) => {
            $(if let (Some(sum), Some(more)) = (sum.downcast_mut::<$number>(), more.downcast_ref::<$number>()) {
                let added = sum.checked_add(*more);
                *sum = added.unwrap_or(*sum);
                return Some(added.is_some());
            })*
        };
    }
    of!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, Duration);
    None
}

/// Adds the members of a set. `#[channel(union)]`
pub fn union<T: IntoIterator + Extend<T::Item>>(set: &mut T, more: T) {
    set.extend(more);
}

/// Adds or replaces the entries of a map. `#[channel(merge)]`
pub fn merge<T: IntoIterator + Extend<T::Item>>(map: &mut T, more: T) {
    map.extend(more);
}

/// Keeps the greater value, counting from the field's default. `#[channel(max)]`
pub fn max<T: PartialOrd>(value: &mut T, other: T) {
    if other > *value {
        *value = other;
    }
}

/// Keeps the smaller value, counting from the field's default. `#[channel(min)]`
pub fn min<T: PartialOrd>(value: &mut T, other: T) {
    if other < *value {
        *value = other;
    }
}

/// Keeps the greater value, starting with the first write. `#[channel(max)]` on an `Option`.
pub fn max_of_any<T: PartialOrd>(value: &mut Option<T>, other: T) {
    match value {
        Some(value) => max(value, other),
        None => *value = Some(other),
    }
}

/// Keeps the smaller value, starting with the first write. `#[channel(min)]` on an `Option`.
pub fn min_of_any<T: PartialOrd>(value: &mut Option<T>, other: T) {
    match value {
        Some(value) => min(value, other),
        None => *value = Some(other),
    }
}

/// A value that can be merged by id; see [`messages`].
pub trait Keyed {
    /// Returns the id, by which a later entry replaces an earlier one; empty if it has none yet.
    fn id(&self) -> &str;

    /// Sets the id of an entry without one. The default does nothing: entries without ids never replace each other.
    fn set_id(&mut self, id: String) {
        let _ = id;
    }
}

/// A change to a list that is merged by id: the argument of a `#[channel(messages)]` field's setter.
///
/// ```
/// # use superstep::graph::reducers::{Change, Keyed};
/// # use superstep::prelude::*;
/// # #[derive(Clone, Debug, Serialize, Deserialize)] struct Message { id: String, text: String }
/// # impl Keyed for Message { fn id(&self) -> &str { &self.id } }
/// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Chat { #[channel(messages)] messages: Vec<Message> }
/// let hello = Message { id: "m1".into(), text: "hello".into() };
/// let update = Chat::update().messages([Change::from(hello), Change::remove("m0")]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(description = "A change to a list that is merged by id."))]
#[serde(rename_all = "snake_case")]
pub enum Change<T> {
    /// Adds an entry, or replaces the one with its id in place.
    Put(T),
    /// Removes the entry with this id.
    Remove(String),
    /// Removes every entry before this change.
    RemoveAll,
}

impl<T> Change<T> {
    /// Removes the entry with this id.
    pub fn remove(id: impl Into<String>) -> Self {
        Self::Remove(id.into())
    }
}

impl<T> From<T> for Change<T> {
    fn from(entry: T) -> Self {
        Self::Put(entry)
    }
}

/// Merges changes into a list by id. `#[channel(messages)]`; LangGraph: `add_messages`. Entries without an id get one from
/// their position and content, so that applying a write again gives the same.
///
/// # Errors
/// If an id to remove is not in the list; a later [`Change::Put`] of that id in the same write brings it back in place.
pub fn messages<T: Keyed + Serialize>(list: &mut Vec<T>, mut changes: Vec<Change<T>>) -> Result<(), String> {
    give_ids(list, &mut changes);
    let start = changes.iter().rposition(|change| matches!(change, Change::RemoveAll));
    if start.is_some() {
        list.clear();
    }
    let mut gone: Vec<String> = vec![];
    for change in changes.into_iter().skip(start.map_or(0, |at| at + 1)) {
        match change {
            Change::Put(entry) => put(list, &mut gone, entry),
            Change::Remove(id) if id.is_empty() => return Err("an entry without an id cannot be removed by it".into()),
            Change::Remove(id) if list.iter().any(|entry| entry.id() == id) => gone.push(id),
            Change::Remove(id) => return Err(format!("no entry has the id `{id}`, so it cannot be removed")),
            Change::RemoveAll => {}
        }
    }
    list.retain(|entry| !gone.iter().any(|id| id == entry.id()));
    Ok(())
}

fn put<T: Keyed>(list: &mut Vec<T>, gone: &mut Vec<String>, entry: T) {
    gone.retain(|id| id != entry.id());
    match list.iter().position(|known| !entry.id().is_empty() && known.id() == entry.id()) {
        Some(at) => list[at] = entry,
        None => list.push(entry),
    }
}

/// Gives an id to each entry without one, from its position and content: giving them again gives the same.
pub(crate) fn give_ids<T: Keyed + Serialize>(list: &[T], changes: &mut [Change<T>]) {
    let is_nameless = |change: &Change<T>| matches!(change, Change::Put(entry) if entry.id().is_empty());
    if !changes.iter().any(is_nameless) {
        return;
    }
    let new = changes.iter().filter_map(|change| match change {
        Change::Put(entry) => Some(entry.id()),
        Change::Remove(_) | Change::RemoveAll => None,
    });
    let mut taken: HashSet<String> = list.iter().map(T::id).chain(new).map(str::to_owned).collect();
    for (at, change) in changes.iter_mut().enumerate() {
        let Change::Put(entry) = change else { continue };
        if entry.id().is_empty() {
            let content = crc32c::crc32c(&serde_json::to_vec(entry).unwrap_or_default());
            entry.set_id(free_id(&mut taken, list.len() + at, content));
        }
    }
}

/// Makes an unused id from the position and content of an entry.
fn free_id(taken: &mut HashSet<String>, mut position: usize, content: u32) -> String {
    loop {
        let id = format!("m{position}-{content:08x}");
        if taken.insert(id.clone()) {
            return id;
        }
        position += 1;
    }
}
