//! Suggestions for misspelled names.

/// Returns up to three of the names that resemble `word`, nearest first: those that begin with it or hold it, and those
/// that are few edits apart.
pub fn near<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = word.chars().count() / 3 + 1;
    let rated = names.into_iter().map(|name| (if is_part(word, name) { 0 } else { distance(word, name) }, name));
    let mut rated: Vec<(usize, &str)> = rated.filter(|(distance, _)| *distance <= limit).collect();
    rated.sort_unstable();
    rated.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns true if one begins with the other, or a longer name holds the word.
fn is_part(word: &str, name: &str) -> bool {
    !word.is_empty()
        && (name.starts_with(word) || word.starts_with(name) || word.chars().count() > 2 && name.contains(word))
}

/// Returns the number of characters to insert, remove or replace to get from one text to the other (Levenshtein). Of
/// each text the first 100 characters count.
pub fn distance(a: &str, b: &str) -> usize {
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
    #[case("reduce", &["map_reduce"])]
    #[case("re", &[])]
    #[case("zzz", &[])]
    #[case("", &[])]
    fn what_was_meant_is_found(#[case] word: &str, #[case] meant: &[&str]) {
        assert_eq!(near(word, ["approval", "essay", "map_reduce"]), meant);
    }

    #[rstest::rstest]
    #[case("", "", 0)]
    #[case("kitten", "sitting", 3)]
    #[case("é", "e", 1)]
    #[case("abc", "", 3)]
    fn edits_are_counted(#[case] a: &str, #[case] b: &str, #[case] edits: usize) {
        assert_eq!((distance(a, b), distance(b, a)), (edits, edits));
    }
}
