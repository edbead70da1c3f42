//! Words that change with every run: hashes, UUIDs, the names of days and months.

/// The length of a UUID.
pub(super) const UUID: usize = 36;
/// The minimum length of a hash: git's abbreviation.
const SHORTEST: usize = 7;
/// The length from which one digit among letters makes a hexadecimal word a hash.
const LONG: usize = 16;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the length in bytes of the word at the start of the text.
pub(super) fn length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Returns whether the text starts with a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let Some(text) = text.as_bytes().get(..UUID) else { return false };
    text.iter().enumerate().all(|(nth, byte)| match nth {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Returns whether the word is a hash: hexadecimal, with letters and digits alternating, or long. `facade1` is a name.
pub(super) fn is_hash(word: &str) -> bool {
    let word = word.strip_prefix('h').filter(|rest| rest.len() == LONG).unwrap_or(word);
    if word.len() < SHORTEST || !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let kinds = word.as_bytes().windows(2);
    let turns = kinds.filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    turns >= if word.len() < LONG { 2 } else { 1 }
}

/// Returns whether the word is the name of a day or month that a date follows.
pub(super) fn is_date(word: &str, after: &str) -> bool {
    let next = after.trim_start_matches([',', ' ']);
    let goes_on = |next: &str| next.starts_with(|c: char| c.is_ascii_digit());
    let named = |next: &str| MONTHS.iter().any(|month| next.starts_with(month));
    if after.len() == next.len() {
        return false;
    }
    (MONTHS.contains(&word) && goes_on(next)) || (DAYS.contains(&word) && (goes_on(next) || named(next)))
}
