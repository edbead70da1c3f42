//! Text from outside in messages: what a terminal or a log would act on is escaped.

use std::fmt::{self, Display, Write};

/// Displays a value with its control characters escaped: `\n`, `\u{1b}`, `\u{0}`. Names in stores, files and imports may
/// hold any.
#[derive(Clone, Copy, Debug)]
pub struct Printable<T>(pub T);

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter { out: f, keeps: &[] }, "{}", self.0)
    }
}

/// Displays a text of several lines as [`Printable`] does, with its line breaks and tabs as they are.
#[derive(Clone, Copy, Debug)]
pub struct PrintableLines<T>(pub T);

impl<T: Display> Display for PrintableLines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter { out: f, keeps: &['\n', '\t'] }, "{}", self.0)
    }
}

struct EscapingWriter<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    keeps: &'static [char],
}

impl Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let keeps = self.keeps;
        let is_escaped = |c: char| c.is_control() && !keeps.contains(&c);
        text.split_inclusive(is_escaped).try_for_each(|part| match part.char_indices().next_back() {
            Some((at, last)) if is_escaped(last) => {
                self.out.write_str(&part[..at])?;
                write!(self.out, "{}", last.escape_default())
            }
            _ => self.out.write_str(part),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Printable, PrintableLines};

    #[test]
    fn no_control_character_is_left() {
        let text = Printable("plain ü\0a\nb\u{1b}[2J\u{9b}").to_string();
        assert_eq!(text, r"plain ü\u{0}a\nb\u{1b}[2J\u{9b}");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(PrintableLines("a\n\tb\r\0").to_string(), "a\n\tb\\r\\u{0}");
    }
}
