//! Escapes of characters that a terminal would interpret. Pure.

use std::borrow::Cow;
use std::fmt::Write;

use superstep_base::shell::needs_escape;

/// Escapes control characters and invisible ones: `\n`, `\u{1b}`, `\u{202e}`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_escape) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if needs_escape(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Escapes each line of a text; those after the first are indented.
pub(crate) fn clean_lines(text: &str, indent: usize) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(clean).collect();
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// Escapes such characters in JSON text by JSON's own escapes.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    let needs_escape = |c: char| needs_escape(c) && c != '\n';
    if !json.chars().any(needs_escape) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if needs_escape(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}"); // writing to a string cannot fail
            }
        } else {
            out.push(c);
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_acts() {
        assert_eq!(clean("plain, with ü and 写"), "plain, with ü and 写");
        assert_eq!(clean("a\x1b[2Jb\r\u{9b}1m\u{202e}"), r"a\u{1b}[2Jb\r\u{9b}1m\u{202e}");
    }

    #[rstest::rstest]
    #[case('\u{ad}', "soft hyphen")]
    #[case('\u{61c}', "Arabic letter mark")]
    #[case('\u{180e}', "Mongolian vowel separator")]
    #[case('\u{200b}', "zero width space")]
    #[case('\u{200d}', "zero width joiner")]
    #[case('\u{200f}', "right to left")]
    #[case('\u{2060}', "word joiner")]
    #[case('\u{2066}', "isolate")]
    #[case('\u{206a}', "deprecated")]
    #[case('\u{3164}', "filler")]
    #[case('\u{feff}', "byte order mark")]
    #[case('\u{fff9}', "annotation")]
    #[case('\u{e0041}', "tag")]
    fn what_is_not_seen_is_written_out(#[case] c: char, #[case] what: &str) {
        assert_eq!(clean(&format!("a{c}b")), format!("a\\u{{{:x}}}b", u32::from(c)), "{what}");
        let safe = safe_json(&format!("\"a{c}b\"")).into_owned();
        assert!(safe.is_ascii(), "{what}: {safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), format!("a{c}b"), "{what}");
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
