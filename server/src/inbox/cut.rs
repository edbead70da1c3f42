//! Long texts and values, cut to a size: a plan may be megabytes. Knows no question.

use serde_json::{Map, Value};
use superstep_base::text::start;

/// The largest text or value, in bytes of its text.
pub(super) const LARGEST: usize = 1 << 20;

/// Cuts a text; returns whether it was too long.
pub(super) fn cut_text(text: &mut String, bytes: usize) -> bool {
    let is_long = text.len() > bytes;
    if is_long {
        text.truncate(start(text, bytes).len());
    }
    is_long
}

/// Cuts a value to so many bytes: long fields are cut before short ones. Returns whether it was too long.
pub(super) fn cut_value(value: &mut Value, bytes: usize) -> bool {
    !Budget(bytes).cut(value)
}

/// The bytes that are left.
struct Budget(usize);

impl Budget {
    /// Cuts a value; returns whether all of it is there.
    fn cut(&mut self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let is_cut = cut_text(text, self.0);
                self.take(text.len());
                !is_cut
            }
            Value::Array(items) => {
                let count = items.len();
                let mut is_whole = true;
                items.retain_mut(|item| {
                    let has_room = self.take(1);
                    is_whole &= has_room && self.cut(item);
                    has_room
                });
                is_whole && items.len() == count
            }
            Value::Object(fields) => self.cut_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.take(1);
                true
            }
        }
    }

    /// Cuts the fields of an object, the shortest first: a long one does not take the place of the others.
    fn cut_fields(&mut self, fields: &mut Map<String, Value>) -> bool {
        let mut names: Vec<(usize, String)> = fields.iter().map(|(name, field)| (size(field), name.clone())).collect();
        names.sort();
        let mut is_whole = true;
        for (_, name) in names {
            match fields.get_mut(&name).filter(|_| self.take(name.len() + 1)) {
                Some(field) => is_whole &= self.cut(field),
                None => {
                    fields.remove(&name);
                    is_whole = false;
                }
            }
        }
        is_whole
    }

    /// Takes bytes; returns whether there were as many.
    fn take(&mut self, bytes: usize) -> bool {
        let has_enough = self.0 >= bytes;
        self.0 = self.0.saturating_sub(bytes);
        has_enough
    }
}

/// Returns the bytes that a value takes.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + 1 + size(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("plan", 4, "plan", false)]
    #[case("plan", 3, "pla", true)]
    #[case("aü", 2, "a", true)]
    fn a_text_is_cut_between_letters(
        #[case] text: &str,
        #[case] bytes: usize,
        #[case] kept: &str,
        #[case] is_cut: bool,
    ) {
        let mut text = text.to_owned();
        assert_eq!((cut_text(&mut text, bytes), text.as_str()), (is_cut, kept));
    }

    #[rstest]
    #[case(json!({ "a": [1, 2], "b": "text" }), 100, json!({ "a": [1, 2], "b": "text" }), false)]
    #[case(json!({ "a": "text", "b": 1 }), 7, json!({ "a": "te", "b": 1 }), true)]
    #[case(json!(["one", "two", "three"]), 8, json!(["one", "two"]), true)]
    #[case(json!({ "long name": 1 }), 4, json!({}), true)]
    fn a_value_keeps_what_is_short(
        #[case] mut value: Value,
        #[case] bytes: usize,
        #[case] kept: Value,
        #[case] is_cut: bool,
    ) {
        assert_eq!((cut_value(&mut value, bytes), value), (is_cut, kept));
    }
}
