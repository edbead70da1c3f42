//! Conditions on the fields of a value, as LangGraph writes them. Pure.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Map, Value};

use super::error::StoreError;

/// Conditions on the fields of a value, which must all be met: `{"kind": "note", "stars": {"$gte": 3}}`.
///
/// A value is compared for equality, objects and lists part by part. The operators are `$eq`, `$ne`, `$gt`, `$gte`, `$lt` and
/// `$lte`; numbers are ordered by size and texts by their bytes, and nothing else is.
///
/// ```
/// # use superstep::memory::StoreFilter;
/// # use serde_json::json;
/// let filter = StoreFilter::new(json!({"kind": "note", "stars": {"$gte": 3}}))?;
/// assert!(filter.fits(&json!({"kind": "note", "stars": 5, "text": "tides"})));
/// assert!(!filter.fits(&json!({"kind": "note", "stars": 1})));
/// # Ok::<(), superstep::memory::StoreError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct StoreFilter(Map<String, Value>);

impl StoreFilter {
    /// Returns the conditions of an object; none for `null`.
    ///
    /// # Errors
    /// [`StoreError::InvalidFilter`], [`StoreError::UnknownOperator`].
    pub fn new(conditions: Value) -> Result<Self, StoreError> {
        let fields = match conditions {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            _ => return Err(StoreError::InvalidFilter),
        };
        fields.iter().try_for_each(|(field, condition)| check(field, condition))?;
        Ok(Self(fields))
    }

    /// Returns whether a value meets all conditions.
    pub fn fits(&self, value: &Value) -> bool {
        self.0.iter().all(|(field, condition)| meets(value.get(field), condition))
    }
}

/// Checks the operators of a condition.
fn check(field: &str, condition: &Value) -> Result<(), StoreError> {
    let parts = condition.as_object().into_iter().flatten();
    for (name, part) in parts {
        if name.starts_with('$') && !OPERATORS.contains(&name.as_str()) {
            return Err(StoreError::UnknownOperator { field: field.into(), operator: name.clone() });
        }
        if !name.starts_with('$') {
            check(name, part)?;
        }
    }
    Ok(())
}

const OPERATORS: [&str; 6] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"];

fn meets(found: Option<&Value>, condition: &Value) -> bool {
    let found = found.unwrap_or(&Value::Null);
    match condition {
        Value::Object(parts) if parts.keys().any(|name| name.starts_with('$')) => {
            parts.iter().all(|(name, wanted)| meets_operator(found, name, wanted))
        }
        Value::Object(parts) => found.is_object() && parts.iter().all(|(name, wanted)| meets(found.get(name), wanted)),
        Value::Array(wanted) => found.as_array().is_some_and(|found| {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| meets(Some(found), wanted))
        }),
        wanted => are_equal(found, wanted),
    }
}

fn meets_operator(found: &Value, operator: &str, wanted: &Value) -> bool {
    let order = || compare(found, wanted);
    match operator {
        "$eq" => are_equal(found, wanted),
        "$ne" => !are_equal(found, wanted),
        "$gt" => order().is_some_and(Ordering::is_gt),
        "$gte" => order().is_some_and(Ordering::is_ge),
        "$lt" => order().is_some_and(Ordering::is_lt),
        "$lte" => order().is_some_and(Ordering::is_le),
        _ => false,
    }
}

/// Returns whether two values are the same; 1 and 1.0 are.
fn are_equal(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(_), Value::Number(_)) => compare(found, wanted).is_some_and(Ordering::is_eq),
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| are_equal(found, wanted))
        }
        (Value::Object(found), Value::Object(wanted)) => {
            let same =
                |(name, value): (&String, &Value)| wanted.get(name).is_some_and(|wanted| are_equal(value, wanted));
            found.len() == wanted.len() && found.iter().all(same)
        }
        _ => found == wanted,
    }
}

fn compare(found: &Value, wanted: &Value) -> Option<Ordering> {
    match (found, wanted) {
        (Value::String(found), Value::String(wanted)) => Some(found.cmp(wanted)),
        (Value::Number(found), Value::Number(wanted)) => {
            if let (Some(found), Some(wanted)) = (found.as_i64(), wanted.as_i64()) {
                return Some(found.cmp(&wanted));
            }
            found.as_f64()?.partial_cmp(&wanted.as_f64()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::equal(json!({"a": 1}), true)]
    #[case::equal_as_numbers(json!({"a": 1.0}), true)]
    #[case::unequal(json!({"a": 2}), false)]
    #[case::several(json!({"a": 1, "b": "x"}), true)]
    #[case::one_of_several(json!({"a": 1, "b": "y"}), false)]
    #[case::missing(json!({"z": 1}), false)]
    #[case::missing_as_null(json!({"z": null}), true)]
    #[case::nested(json!({"c": {"d": [1, 2]}}), true)]
    #[case::nested_operator(json!({"c": {"e": {"$gt": 3}}}), true)]
    #[case::list_of_another_length(json!({"c": {"d": [1]}}), false)]
    #[case::eq(json!({"a": {"$eq": 1}}), true)]
    #[case::ne(json!({"a": {"$ne": 1}}), false)]
    #[case::ne_of_a_missing_field(json!({"z": {"$ne": 1}}), true)]
    #[case::gt(json!({"a": {"$gt": 0.5}}), true)]
    #[case::gt_itself(json!({"a": {"$gt": 1}}), false)]
    #[case::gte(json!({"a": {"$gte": 1}}), true)]
    #[case::lt(json!({"a": {"$lt": 1}}), false)]
    #[case::lte(json!({"a": {"$lte": 1}}), true)]
    #[case::range(json!({"a": {"$gt": 0, "$lt": 1}}), false)]
    #[case::texts(json!({"b": {"$lt": "y"}}), true)]
    #[case::another_kind(json!({"b": {"$lt": 5}}), false)]
    #[case::order_of_a_missing_field(json!({"z": {"$lt": 5}}), false)]
    #[case::large_integers(json!({"big": {"$lt": 9_007_199_254_740_993_i64}}), true)]
    fn conditions_hold_or_not(#[case] filter: Value, #[case] fits: bool) {
        let value = json!({"a": 1, "b": "x", "c": {"d": [1, 2], "e": 4}, "big": 9_007_199_254_740_992_i64});
        assert_eq!(StoreFilter::new(filter).unwrap().fits(&value), fits);
    }

    #[rstest]
    #[case(json!({"a": {"$in": [1]}}), "there is no operator `$in` for the field `a` of a filter")]
    #[case(json!({"a": {"b": {"$x": 1}}}), "there is no operator `$x` for the field `b` of a filter")]
    #[case(json!([1]), "a filter is an object with a condition for each field")]
    fn a_filter_that_means_nothing_is_refused(#[case] filter: Value, #[case] message: &str) {
        assert_eq!(StoreFilter::new(filter).unwrap_err().to_string(), message);
    }
}
