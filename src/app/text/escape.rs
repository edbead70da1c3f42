//! Text without anything that a terminal would obey. Pure.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text with control characters, and characters that turn the direction of writing, as escapes: `\n`, `\u{1b}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Returns the lines of a text, each cleaned; those after the first are indented so far.
pub(crate) fn clean_lines(text: &str, indent: usize) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(clean).collect();
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// Returns JSON as text, in which such characters stand as JSON's own escapes.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| acts(c) && c != '\n';
    if !json.chars().any(acts) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if acts(c) {
            // Writing to a string cannot fail. None of these is beyond the first plane.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Whether a terminal may do something other than show it.
pub(crate) fn acts(c: char) -> bool {
    let turns = ('\u{200e}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    c.is_control() || turns || ('\u{2028}'..='\u{2029}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_acts() {
        assert_eq!(clean("plain, with ü and 写"), "plain, with ü and 写");
        assert_eq!(clean("a\x1b[2Jb\r\u{9b}1m\u{202e}"), r"a\u{1b}[2Jb\r\u{9b}1m\u{202e}");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(clean_lines("no:\r\n\x1b[1mline\tone\n", 2), "no:\n  \\u{1b}[1mline\\tone");
    }

    #[test]
    fn json_stays_json() {
        let text = serde_json::to_string(&"a\u{9b}\u{202e}\x1b").unwrap();
        let safe = safe_json(&text);
        assert_eq!(safe, r#""a\u009b\u202e\u001b""#);
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "a\u{9b}\u{202e}\x1b");
    }
}
