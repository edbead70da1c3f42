//! Joins split surrogate pairs. Servers that cut text in UTF-16 units send `"\ud83c"` in one chunk and `"\udf0a"` in
//! the next, which is not valid JSON. Such halves are kept until they meet. Pure.

/// Until they meet, halves are represented by unused characters at the end of the last private plane.
const MARKS: u32 = 0x0010_f000;
/// Replacement for a half without its counterpart.
const LOST: char = '\u{fffd}';

/// Replaces surrogate halves in JSON by marks; `None` if there are none.
pub(super) fn marked(json: &str) -> Option<String> {
    let (mut out, mut rest, mut found) = (String::with_capacity(json.len()), json, false);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (escape(rest), escape(rest.get(6..).unwrap_or_default())) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(half @ 0xd800..=0xdfff), _) => {
                out.extend(char::from_u32(MARKS + half - 0xd800));
                (rest, found) = (&rest[6..], true);
                continue;
            }
            // A backslash and the character it escapes.
            _ => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Parses a `\uXXXX` at the start of the text.
fn escape(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

/// Joins halves in streamed text.
#[derive(Debug, Default)]
pub(super) struct Joiner(Option<u32>);

impl Joiner {
    /// Adds a piece; a first half at its end is held back.
    pub(super) fn push(&mut self, piece: String) -> String {
        if self.0.is_none() && !piece.chars().any(|letter| half(letter).is_some()) {
            return piece;
        }
        let mut out = String::with_capacity(piece.len() + 4);
        for letter in piece.chars() {
            match (self.0.take(), half(letter)) {
                (Some(first), Some(second @ 0xdc00..)) => {
                    let whole = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    out.push(char::from_u32(whole).unwrap_or(LOST));
                }
                (before, found) => {
                    out.extend(before.map(|_| LOST));
                    match found {
                        None => out.push(letter),
                        Some(0xdc00..) => out.push(LOST),
                        Some(first) => self.0 = Some(first),
                    }
                }
            }
        }
        out
    }

    /// Returns the replacement for a half that remains.
    pub(super) fn finish(&mut self) -> Option<char> {
        self.0.take().map(|_| LOST)
    }
}

fn half(letter: char) -> Option<u32> {
    let address = u32::from(letter).checked_sub(MARKS)?;
    (address < 0x800).then_some(0xd800 + address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::one_after_the_other(&[r#"a \ud83c"#, r#"\udf0a b"#], "a 🌊 b")]
    #[case::whole(&[r#"\ud83c\udf0a"#, r#"\u00fc\n"#], "🌊ü\n")]
    #[case::no_escape(&[r#"\\ud83c"#], "\\ud83c")]
    #[case::lost(&[r#"\ud83c"#, "x", r#"\udf0a"#, r#"\ud83c"#], "\u{fffd}x\u{fffd}\u{fffd}")]
    #[case::twice(&[r#"\ud83c"#, r#"\udf0a\ud83c"#, r#"\udf0a"#], "🌊🌊")]
    fn halves_meet(#[case] pieces: &[&str], #[case] text: &str) {
        let mut joiner = Joiner::default();
        let mut joined = String::new();
        for piece in pieces {
            let json = format!("\"{piece}\"");
            let read: String = serde_json::from_str(&marked(&json).unwrap_or(json)).expect("JSON");
            joined.push_str(&joiner.push(read));
        }
        joined.extend(joiner.finish());
        assert_eq!(joined, text);
    }
}
