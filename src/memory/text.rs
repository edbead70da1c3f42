//! The texts in a value: those at the paths that are embedded, and those that a search without an embedding looks in. Pure.

use serde_json::Value;

/// Path of the whole value.
const WHOLE: &str = "$";

/// Returns the texts at a path: `title`, `author.name`, `tags[*]`, `notes[0].text`, `notes[-1]`; `$` is the whole value as JSON.
pub(super) fn texts_at(value: &Value, path: &str) -> Vec<String> {
    if path == WHOLE {
        return vec![value.to_string()];
    }
    let mut found = vec![value];
    for step in steps(path) {
        found = found.into_iter().flat_map(|value| step.from(value)).collect();
    }
    found.into_iter().filter_map(to_text).collect()
}

fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// One step of a path.
enum Step<'a> {
    Field(&'a str),
    Each,
    Index(i64),
}

impl Step<'_> {
    fn from<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let Value::Array(parts) = value else {
            let Self::Field(name) = self else { return vec![] };
            return value.get(name).into_iter().collect();
        };
        match self {
            Self::Each => parts.iter().collect(),
            Self::Index(at) if *at < 0 => parts.iter().rev().nth(at.unsigned_abs() as usize - 1).into_iter().collect(),
            Self::Index(at) => parts.get(*at as usize).into_iter().collect(),
            Self::Field(_) => vec![],
        }
    }
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split(['.', '[']).filter(|part| !part.is_empty()).map(|part| match part.strip_suffix(']') {
        Some("*") => Step::Each,
        Some(index) => index.parse().map_or(Step::Field(part), Step::Index),
        None => Step::Field(part),
    })
}

/// A search for words, which must all be in the texts of a value, in any case.
pub(super) struct WordSearch(Vec<String>);

impl WordSearch {
    pub(super) fn new(query: &str) -> Self {
        Self(query.split_whitespace().map(str::to_lowercase).collect())
    }

    /// Returns how often the words are in the texts of a value; `None` if one of them is not.
    pub(super) fn score(&self, value: &Value) -> Option<f64> {
        let mut texts = vec![];
        add_texts(value, &mut texts);
        let count = |word: &String| texts.iter().map(|text| text.matches(word.as_str()).count()).sum::<usize>();
        let counts: Vec<usize> = self.0.iter().map(count).collect();
        counts.iter().all(|count| *count > 0).then(|| counts.iter().sum::<usize>() as f64)
    }
}

/// Adds the texts in a value in lower case, at any depth.
fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.to_lowercase()),
        Value::Array(parts) => parts.iter().for_each(|part| add_texts(part, texts)),
        Value::Object(fields) => fields.values().for_each(|part| add_texts(part, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::field("title", &["Tides"])]
    #[case::number("year", &["1900"])]
    #[case::nested("author.name", &["Ada"])]
    #[case::each("tags[*]", &["sea", "moon"])]
    #[case::index("tags[1]", &["moon"])]
    #[case::from_the_end("tags[-2]", &["sea"])]
    #[case::fields_of_each("notes[*].text", &["one", "two"])]
    #[case::object("author", &[r#"{"name":"Ada"}"#])]
    #[case::missing("editor.name", &[])]
    #[case::out_of_range("tags[9]", &[])]
    #[case::null("none", &[])]
    #[case::list_without_an_index("tags.title", &[])]
    fn a_path_leads_to_texts(#[case] path: &str, #[case] texts: &[&str]) {
        let value = json!({"title": "Tides", "year": 1900, "author": {"name": "Ada"}, "tags": ["sea", "moon"],
            "notes": [{"text": "one"}, {"text": "two"}], "none": null});
        assert_eq!(texts_at(&value, path), texts);
    }

    #[rstest]
    #[case::one_word("tides", Some(2.0))]
    #[case::in_any_case("TIDES Moon", Some(3.0))]
    #[case::at_any_depth("deep", Some(1.0))]
    #[case::one_of_two("tides sun", None)]
    #[case::not_in_names("title", None)]
    fn all_words_are_found_or_none(#[case] query: &str, #[case] score: Option<f64>) {
        let value = json!({"title": "Tides and tides", "text": ["the moon", {"a": "Deep"}]});
        assert_eq!(WordSearch::new(query).score(&value), score);
    }
}
