//! Text truncation. Pure.

/// Cuts text that is longer than `most` bytes, with a note.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let (end, all) = (beginning(&text, most).len(), text.len());
        text.truncate(end);
        text.push_str(&format!("\n[cut here: {end} of {all} bytes]"));
    }
    text
}

/// Returns the first `most` bytes of a text, cut at a character boundary.
pub(in crate::drivers) fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Shortens a name for a message.
pub(super) fn short(name: &str) -> String {
    let name = name.chars().take(200).flat_map(char::escape_debug);
    name.collect()
}
