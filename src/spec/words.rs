//! Messages about unknown keys and words. Knows no setting.

use superstep_base::near::near;

/// The maximum number of listed words.
const FEW: usize = 10;

/// Returns the words in backticks, separated by commas.
pub(crate) fn quoted<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Returns `; did you mean …?` with the closest of the words, or an empty text.
pub(crate) fn meant<W: AsRef<str>>(word: &str, words: &[W]) -> String {
    let near = near(word, words.iter().map(AsRef::as_ref));
    near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Returns `; did you mean …?`, or all the words if none is close and there are few.
pub(crate) fn meant_or_all<W: AsRef<str>>(word: &str, words: &[W]) -> String {
    let meant = meant(word, words);
    let are_few = meant.is_empty() && (1..=FEW).contains(&words.len());
    if are_few { format!("; there are {}", quoted(words)) } else { meant }
}

/// Returns the message for an unknown key.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    format!("this key is unknown{}", meant_or_all(key, known))
}
