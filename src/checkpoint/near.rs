//! Suggestions for misspelled names.

use super::ThreadId;

/// Returns `did you mean …?` with these names, or an empty string.
pub(crate) fn meant(near: &[ThreadId]) -> String {
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!("did you mean {}?", names.join(" or ")) }
}

/// Returns up to three names similar to `word`, nearest first.
pub(crate) fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = word.chars().count() / 3 + 1;
    let begins = |name: &str| !word.is_empty() && (name.starts_with(word) || word.starts_with(name));
    let rated = names.map(|name| (if begins(name) { 0 } else { distance(word, name) }, name));
    let mut rated: Vec<(usize, &str)> = rated.filter(|(distance, _)| *distance <= limit).collect();
    rated.sort_unstable();
    rated.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance, in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.chars().take(100).enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (place, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != *y);
            before = row[place + 1];
            row[place + 1] = changed.min(before + 1).min(row[place] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("esay", &["essay"])]
    #[case("map", &["map_reduce"])]
    #[case("zzz", &[])]
    #[case("", &[])]
    fn what_was_meant_is_found(#[case] word: &str, #[case] meant: &[&str]) {
        assert_eq!(near(word, ["approval", "essay", "map_reduce"].into_iter()), meant);
    }
}
