//! Suggestions for misspelled names, and messages about unknown words and keys. Knows no setting.

use strsim::osa_distance;

/// The longest word that is compared by edits, in bytes.
const LONGEST: usize = 100;

/// The maximum number of listed words.
const FEW: usize = 10;

/// Returns up to three of the names that resemble `word`, nearest first: those that begin with it or hold it, and those
/// that one edit per four characters turns into it.
pub fn near<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (word.chars().count() + 2) / 4;
    let rated = names.into_iter().filter_map(|name| Some((distance(word, name, limit)?, name)));
    let mut rated: Vec<(usize, &str)> = rated.collect();
    rated.sort_unstable();
    rated.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the words in backticks, separated by commas.
pub fn quote_list<W: AsRef<str>>(words: &[W]) -> String {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect::<Vec<_>>().join(", ")
}

/// Returns `; did you mean …?` with the closest of the words, or an empty text.
pub fn did_you_mean<W: AsRef<str>>(word: &str, words: &[W]) -> String {
    let near = near(word, words.iter().map(AsRef::as_ref));
    near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Returns `; did you mean …?`, or all the words if none is close and there are few.
pub fn meant_or_all<W: AsRef<str>>(word: &str, words: &[W]) -> String {
    let meant = did_you_mean(word, words);
    let are_few = meant.is_empty() && (1..=FEW).contains(&words.len());
    if are_few { format!("; there are {}", quote_list(words)) } else { meant }
}

/// Returns the message for an unknown key.
pub fn unknown_key(key: &str, known: &[&str]) -> String {
    format!("this key is unknown{}", meant_or_all(key, known))
}

/// Returns true if at most one edit turns one text into the other: a character more, less or different, or two exchanged.
pub fn is_one_edit(one: &str, other: &str) -> bool {
    edits(one, other).is_some_and(|edits| edits <= 1)
}

fn distance(word: &str, name: &str, limit: usize) -> Option<usize> {
    if is_part(word, name) { Some(0) } else { edits(word, name).filter(|edits| *edits <= limit) }
}

/// Returns the number of edits between two texts that are short enough to be compared.
fn edits(word: &str, name: &str) -> Option<usize> {
    let is_short = word.len() <= LONGEST && name.len() <= 2 * LONGEST;
    is_short.then(|| osa_distance(word, name))
}

/// Returns true if one begins with the other, or the name holds a word of at least three characters.
fn is_part(word: &str, name: &str) -> bool {
    !word.is_empty()
        && !name.is_empty()
        && (name.starts_with(word) || word.starts_with(name) || word.chars().count() > 2 && name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("esay", &["essay"])]
    #[case("map", &["map_reduce"])]
    #[case("reduce", &["map_reduce"])]
    #[case("re", &[])]
    #[case("essya", &["essay"])]
    #[case("eszzy", &[])]
    #[case("mop_reduec", &["map_reduce"])]
    #[case("zzz", &[])]
    #[case("", &[])]
    fn what_was_meant_is_found(#[case] word: &str, #[case] meant: &[&str]) {
        assert_eq!(near(word, ["approval", "essay", "map_reduce"]), meant);
    }
}
