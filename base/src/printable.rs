//! Text from outside in messages: what a terminal or a log would act on is escaped.

use std::fmt::{self, Display, Write};

/// Displays a value with its control characters escaped: `\n`, `\u{1b}`, `\u{0}`. Names in stores, files and imports may
/// hold any.
#[derive(Clone, Copy, Debug)]
pub struct Printable<T>(pub T);

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.split_inclusive(char::is_control).try_for_each(|part| match part.char_indices().next_back() {
            Some((at, last)) if last.is_control() => {
                self.0.write_str(&part[..at])?;
                write!(self.0, "{}", last.escape_default())
            }
            _ => self.0.write_str(part),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Printable;

    #[test]
    fn no_control_character_is_left() {
        let text = Printable("plain ü\0a\nb\u{1b}[2J\u{9b}").to_string();
        assert_eq!(text, r"plain ü\u{0}a\nb\u{1b}[2J\u{9b}");
    }
}
