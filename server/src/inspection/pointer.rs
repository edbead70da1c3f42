//! The way to a part of a JSON value, as RFC 6901 writes it: `/list/0/name`. Knows no state.

use std::fmt;

use serde_json::Value;

/// The longest text of an error that names a part of a path, in characters.
const SHOWN: usize = 200;

/// A JSON pointer. `""` and `/` name the whole value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    /// Parses a pointer; none if it does not begin with `/`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text == "/" {
            return Some(Self(vec![]));
        }
        let parts = text.strip_prefix('/')?.split('/');
        Some(Self(parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// Returns its first part: in a state, a channel.
    pub(crate) fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// Returns the part of a value that it names.
    ///
    /// # Errors
    /// The first part that is not there.
    pub(crate) fn find<'a>(&self, value: &'a Value) -> Result<&'a Value, MissingPart> {
        let mut found = value;
        for (depth, part) in self.0.iter().enumerate() {
            found = entry(found, part).ok_or_else(|| self.missing(depth, found))?;
        }
        Ok(found)
    }

    fn missing(&self, depth: usize, there: &Value) -> MissingPart {
        let inside = Self(self.0[..depth].to_vec()).to_string();
        MissingPart { part: self.0[depth].clone(), inside, there: describe(there) }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "/{}", part.replace('~', "~0").replace('/', "~1")))
    }
}

fn entry<'a>(value: &'a Value, part: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A part of a path that a value does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no `{}` in {}", first_characters(.part), place(.inside, .there))]
pub(crate) struct MissingPart {
    part: String,
    inside: String,
    there: String,
}

fn place(inside: &str, there: &str) -> String {
    if inside.is_empty() { there.to_owned() } else { format!("`{}`, which is {there}", first_characters(inside)) }
}

fn first_characters(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

fn describe(value: &Value) -> String {
    match value {
        Value::Object(fields) => format!("an object with {}", count(fields.len(), "field")),
        Value::Array(items) => format!("an array of {}", count(items.len(), "entry")),
        Value::String(_) => "a text".into(),
        Value::Number(_) => "a number".into(),
        Value::Bool(_) => "true or false".into(),
        Value::Null => "null".into(),
    }
}

fn count(number: usize, of: &str) -> String {
    match (number, of) {
        (1, _) => format!("1 {of}"),
        (_, "entry") => format!("{number} entries"),
        _ => format!("{number} {of}s"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::whole("", Some(json!({ "a/b": { "~": [1, { "c": 2 }] }, "": 3 })))]
    #[case::whole_by_a_slash("/", Some(json!({ "a/b": { "~": [1, { "c": 2 }] }, "": 3 })))]
    #[case::escaped("/a~1b/~0/0", Some(json!(1)))]
    #[case::deep("/a~1b/~0/1/c", Some(json!(2)))]
    #[case::no_pointer("a", None)]
    fn a_pointer_names_a_part(#[case] text: &str, #[case] expected: Option<Value>) {
        let value = json!({ "a/b": { "~": [1, { "c": 2 }] }, "": 3 });
        let pointer = Pointer::parse(text);
        assert_eq!(pointer.as_ref().map(|pointer| pointer.find(&value).unwrap()), expected.as_ref());
        let again = pointer.map(|pointer| pointer.to_string()).filter(|again| !again.is_empty());
        assert!(again.is_none_or(|again| again == text));
    }

    #[rstest]
    #[case("/b", "there is no `b` in an object with 1 field")]
    #[case("/a/2", "there is no `2` in `/a`, which is an array of 2 entries")]
    #[case("/a/x/y", "there is no `x` in `/a`, which is an array of 2 entries")]
    #[case("/a/0/x", "there is no `x` in `/a/0`, which is a number")]
    fn an_error_names_the_first_part_that_is_missing(#[case] text: &str, #[case] expected: &str) {
        let value = json!({ "a": [1, null] });
        assert_eq!(Pointer::parse(text).unwrap().find(&value).unwrap_err().to_string(), expected);
    }
}
