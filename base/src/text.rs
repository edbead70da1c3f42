//! Texts that are cut to a number of bytes or characters, never inside a character; texts as parts of keys.

/// Returns the first bytes of a text, at most this many.
pub fn start(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Returns the last bytes of a text, at most this many.
pub fn end(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(text.len())..]
}

/// Returns the first characters of a text, at most this many.
pub fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// Returns the first bytes of a text, at most this many, and `…` if it is longer.
pub fn shorten(text: &str, bytes: usize) -> String {
    match start(text, bytes) {
        whole if whole.len() == text.len() => whole.to_owned(),
        start => format!("{start}…"),
    }
}

/// Returns a text in which the bytes of some characters are percent-encoded, as in `a%2Fb`.
pub fn percent_encode(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_special(letter) {
            letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| encoded.push_str(&format!("%{byte:02X}")));
        } else {
            encoded.push(letter);
        }
    }
    encoded
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a commit's id as people read it: its first nine characters.
pub fn short_id(id: &str) -> &str {
    start(id, 9)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("äöü", 0, "")]
    #[case::some("äöü", 2, "äö")]
    #[case::all("äöü", 3, "äöü")]
    #[case::more("äöü", 4, "äöü")]
    fn the_first_characters_are_whole(#[case] text: &str, #[case] count: usize, #[case] first: &str) {
        assert_eq!(first_chars(text, count), first);
    }

    #[rstest]
    #[case::nothing("äöü", 0, "", "", "…")]
    #[case::inside_a_character("äöü", 3, "ä", "ü", "ä…")]
    #[case::whole("äöü", 6, "äöü", "äöü", "äöü")]
    #[case::longer_than_the_text("äöü", 9, "äöü", "äöü", "äöü")]
    #[case::empty("", 3, "", "", "")]
    fn a_cut_never_splits_a_character(
        #[case] text: &str,
        #[case] bytes: usize,
        #[case] first: &str,
        #[case] last: &str,
        #[case] shortened: &str,
    ) {
        assert_eq!((start(text, bytes), end(text, bytes)), (first, last));
        assert_eq!(shorten(text, bytes), shortened);
    }
}
