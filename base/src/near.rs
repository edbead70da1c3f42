//! Suggestions for misspelled names.

use strsim::osa_distance;

/// The longest word that is compared by edits, in bytes.
const LONGEST: usize = 100;

/// Returns up to three of the names that resemble `word`, nearest first: those that begin with it or hold it, and those
/// that one edit per four characters turns into it.
pub fn near<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (word.chars().count() + 2) / 4;
    let rated = names.into_iter().filter_map(|name| Some((distance(word, name, limit)?, name)));
    let mut rated: Vec<(usize, &str)> = rated.collect();
    rated.sort_unstable();
    rated.into_iter().take(3).map(|(_, name)| name).collect()
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
