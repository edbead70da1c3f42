//! Text as programs print it: lossy UTF-8 without escape sequences, lines as a terminal shows them.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Returns an output as text without terminal escape sequences.
pub(super) fn plain(output: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(output) {
        text if !text.contains(ESCAPE) => text,
        text => Cow::Owned(without_escapes(&text)),
    }
}

fn without_escapes(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = &after[escape(after)..];
    }
    plain + rest
}

/// Returns the length in bytes of an escape sequence after the escape character.
fn escape(after: &str) -> usize {
    match after.as_bytes().first() {
        Some(b'[') => {
            let parameters = after[1..].bytes().take_while(|byte| (0x20..0x40).contains(byte)).count();
            let last = after.as_bytes().get(1 + parameters).is_some_and(|byte| (0x40..0x7f).contains(byte));
            1 + parameters + usize::from(last)
        }
        Some(b']') => command(after),
        Some(b'(' | b')') => 1 + usize::from(after.as_bytes().get(1).is_some_and(u8::is_ascii)),
        Some(0x30..0x7f) => 1,
        _ => 0,
    }
}

/// Returns the length of an operating system command, such as a link: up to a bell or `ESC \`, within the line.
fn command(after: &str) -> usize {
    let end = after.find(['\u{7}', ESCAPE, '\n']).unwrap_or(after.len());
    let closing = &after[end..];
    end + match closing.as_bytes() {
        [0x07, ..] => 1,
        [0x1b, b'\\', ..] => 2,
        _ => 0,
    }
}

/// Returns the lines as a terminal shows them: for an overwritten line, the last text.
pub(super) fn lines(text: &str) -> Vec<&str> {
    match text.contains('\r') {
        true => text.lines().map(visible_text).collect(),
        false => text.lines().collect(),
    }
}

fn visible_text(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}
