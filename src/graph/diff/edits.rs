//! Edits from one JSON value to another: added, removed, replaced paths, lists by their longest common part. Pure.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// An operation of a JSON Patch (RFC 6902). Operations apply in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Edit {
    /// Adds a value to an object, or to a list before the index in the path; `-` is the end of a list.
    Add {
        /// A JSON pointer (RFC 6901).
        path: String,
        /// The value.
        value: Value,
    },
    /// Removes a value.
    Remove {
        /// A JSON pointer.
        path: String,
        /// The removed value.
        old: Value,
    },
    /// Replaces a value.
    Replace {
        /// A JSON pointer.
        path: String,
        /// The new value.
        value: Value,
        /// The old value.
        old: Value,
    },
}

impl Edit {
    /// Returns the JSON pointer of the changed place.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Remove { path, .. } | Self::Replace { path, .. } => path,
        }
    }
}

/// Limit of item pairs; longer lists are compared index by index, as their longest common part would take too long.
const PAIRS: usize = 16 << 20;

/// Appends the edits from one value to another, under a path.
pub(crate) fn edits(path: &str, old: &Value, new: &Value, out: &mut Vec<Edit>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(old), Value::Object(new)) => objects(path, old, new, out),
        (Value::Array(old), Value::Array(new)) => lists(path, old, new, out),
        _ => out.push(Edit::Replace { path: path.to_owned(), value: new.clone(), old: old.clone() }),
    }
}

pub(crate) fn join_pointer(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn objects(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, out: &mut Vec<Edit>) {
    for (name, value) in old {
        match new.get(name) {
            Some(now) => edits(&join_pointer(path, name), value, now, out),
            None => out.push(Edit::Remove { path: join_pointer(path, name), old: value.clone() }),
        }
    }
    for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        out.push(Edit::Add { path: join_pointer(path, name), value: value.clone() });
    }
}

fn lists(path: &str, old: &[Value], new: &[Value], out: &mut Vec<Edit>) {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let at_end = tail == 0;
    if old.len().saturating_mul(new.len()) > PAIRS {
        return compare_gap(path, head, old, new, at_end, out);
    }
    let (left, right) = number_items(old, new);
    let mut place = head;
    for step in capture_diff_slices(Algorithm::Myers, &left, &right) {
        let (was, now) = (step.old_range(), step.new_range());
        if step.tag() != DiffTag::Equal {
            let at_end = at_end && was.end == old.len() && now.end == new.len();
            compare_gap(path, place, &old[was], &new[now.clone()], at_end, out);
        }
        place += now.len();
    }
}

/// Numbers the items of both lists; equal items get equal numbers.
fn number_items(old: &[Value], new: &[Value]) -> (Vec<usize>, Vec<usize>) {
    let mut known: HashMap<&Value, usize> = HashMap::new();
    let mut number = |value| {
        let next = known.len();
        *known.entry(value).or_insert(next)
    };
    let left = old.iter().map(&mut number).collect();
    (left, new.iter().map(number).collect())
}

/// Compares items without a common part: index by index, the rest removed or added.
fn compare_gap(path: &str, place: usize, old: &[Value], new: &[Value], at_end: bool, out: &mut Vec<Edit>) {
    for (nth, (old, new)) in old.iter().zip(new).enumerate() {
        edits(&format!("{path}/{}", place + nth), old, new, out);
    }
    let both = old.len().min(new.len());
    for old in &old[both..] {
        out.push(Edit::Remove { path: format!("{path}/{}", place + both), old: old.clone() });
    }
    for (nth, value) in new.iter().enumerate().skip(both) {
        let place = if at_end { "-".to_owned() } else { (place + nth).to_string() };
        out.push(Edit::Add { path: format!("{path}/{place}"), value: value.clone() });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(mut value: Value, edits: &[Edit]) -> Value {
        for edit in edits {
            let Some((above, last)) = edit.path().rsplit_once('/') else {
                let Edit::Replace { value: new, .. } = edit else { panic!("{edit:?}") };
                value = new.clone();
                continue;
            };
            let last = last.replace("~1", "/").replace("~0", "~");
            match (value.pointer_mut(above).unwrap(), edit) {
                (Value::Object(map), Edit::Add { value, .. }) => assert!(map.insert(last, value.clone()).is_none()),
                (Value::Object(map), Edit::Replace { value, old, .. }) => {
                    assert_eq!(map.insert(last, value.clone()).as_ref(), Some(old));
                }
                (Value::Object(map), Edit::Remove { old, .. }) => assert_eq!(map.remove(&last).as_ref(), Some(old)),
                (Value::Array(list), Edit::Add { value, .. }) if last == "-" => list.push(value.clone()),
                (Value::Array(list), Edit::Add { value, .. }) => list.insert(last.parse().unwrap(), value.clone()),
                (Value::Array(list), Edit::Replace { value, .. }) => {
                    list[last.parse::<usize>().unwrap()] = value.clone()
                }
                (Value::Array(list), Edit::Remove { old, .. }) => {
                    assert_eq!(list.remove(last.parse().unwrap()), *old);
                }
                (other, _) => panic!("{edit:?} acts on {other}"),
            }
        }
        value
    }

    fn between(old: &Value, new: &Value) -> Vec<Edit> {
        let mut out = vec![];
        edits("", old, new, &mut out);
        out
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0_u8..4).prop_map(Value::from),
            "[ab/~-]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[ab/~0-]{0,2}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn edits_lead_from_one_value_to_the_other(old in value(), new in value()) {
            prop_assert_eq!(patched(old.clone(), &between(&old, &new)), new);
        }

        #[test]
        fn lists_that_share_items_lead_to_each_other(
            old in prop::collection::vec(0_u8..6, 0..30),
            new in prop::collection::vec(0_u8..6, 0..30),
        ) {
            let (old, new) = (json!(old), json!(new));
            prop_assert_eq!(patched(old.clone(), &between(&old, &new)), new);
        }

        #[test]
        fn a_value_does_not_differ_from_itself(value in value()) {
            prop_assert_eq!(between(&value, &value), vec![]);
        }
    }

    #[rstest::rstest]
    #[case::appended(json!([1, 2]), json!([1, 2, 3, 4]), json!([
        {"op": "add", "path": "/-", "value": 3}, {"op": "add", "path": "/-", "value": 4}]))]
    #[case::taken_from_the_middle(json!([1, 2, 3, 4]), json!([1, 4]), json!([
        {"op": "remove", "path": "/1", "old": 2}, {"op": "remove", "path": "/1", "old": 3}]))]
    #[case::put_into_the_middle(json!([1, 4]), json!([1, 2, 3, 4]), json!([
        {"op": "add", "path": "/1", "value": 2}, {"op": "add", "path": "/2", "value": 3}]))]
    #[case::changed_inside(json!([{"a": 1, "b": 2}, 5]), json!([{"a": 1, "b": 3}, 5]), json!([
        {"op": "replace", "path": "/0/b", "value": 3, "old": 2}]))]
    #[case::moved_on(json!(["a", "b", "c", "d"]), json!(["b", "c", "x", "d", "e"]), json!([
        {"op": "remove", "path": "/0", "old": "a"},
        {"op": "add", "path": "/2", "value": "x"},
        {"op": "add", "path": "/-", "value": "e"}]))]
    #[case::names_with_strokes(json!({"a/b": 1}), json!({"~": 2}), json!([
        {"op": "remove", "path": "/a~1b", "old": 1}, {"op": "add", "path": "/~0", "value": 2}]))]
    fn lists_and_objects_list_only_differences(#[case] old: Value, #[case] new: Value, #[case] expected: Value) {
        assert_eq!(json!(between(&old, &new)), expected);
    }

    #[test]
    fn long_lists_without_a_common_part_are_compared_place_by_place() {
        let old: Vec<Value> = (0..5_000).map(Value::from).collect();
        let new: Vec<Value> = (5_000..9_000).map(Value::from).collect();
        let (old, new) = (json!(old), json!(new));
        assert_eq!(patched(old.clone(), &between(&old, &new)), new);
    }
}
