//! The text of a plan before its markdown is read: line ends, byte order mark, front matter, line numbers. Knows no
//! other markdown.

use std::borrow::Cow;

/// Returns the text with each lone carriage return replaced by a line feed. Offsets do not change.
pub(super) fn with_line_feeds(markdown: &str) -> Cow<'_, str> {
    let bytes = markdown.as_bytes();
    let is_lone = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    if !(0..bytes.len()).any(is_lone) {
        return Cow::Borrowed(markdown);
    }
    let lines = markdown.char_indices().map(|(at, c)| if c == '\r' && is_lone(at) { '\n' } else { c });
    Cow::Owned(lines.collect())
}

/// The start of the markdown in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// The byte after the byte order mark and the front matter.
    pub(super) start: usize,
    /// Set if it starts like front matter, but no line closes it, or a task heading comes before that line.
    pub(super) open_front_matter: bool,
}

/// Finds the start of the markdown: after a byte order mark and front matter between two `---` or two `+++` lines.
///
/// The parser's own option is not used: it takes any `---` line in the document for the start of such a block.
pub(super) fn body(markdown: &str) -> Body {
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    let mark = markdown.len() - text.len();
    match front_matter(text) {
        FrontMatter::None => Body { start: mark, open_front_matter: false },
        FrontMatter::Open => Body { start: mark, open_front_matter: true },
        FrontMatter::Closed(length) => Body { start: mark + length, open_front_matter: false },
    }
}

enum FrontMatter {
    None,
    Open,
    Closed(usize),
}

fn front_matter(text: &str) -> FrontMatter {
    let mut lines = text.split_inclusive('\n');
    let fence = lines.next().map(str::trim_end).filter(|line| matches!(*line, "---" | "+++"));
    let (Some(fence), true) = (fence, lines.next().is_some_and(is_key)) else { return FrontMatter::None };
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let is_first = length == 0;
        length += line.len();
        match line.trim_end() {
            end if !is_first && end == fence => return FrontMatter::Closed(length),
            heading if is_task_heading(heading) => return FrontMatter::Open,
            _ => {}
        }
    }
    FrontMatter::Open
}

/// True for `key: value`, `key = value` and `[table]`, the first lines of front matter; false for prose and headings.
fn is_key(line: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.\"'".contains(c));
    let before = |end: char| line.split_once(end).is_some_and(|(name, _)| is_name(name.trim()));
    before(':') || before('=') || line.starts_with('[')
}

/// True for a line that opens a task unless front matter hides it.
fn is_task_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (2..=4).contains(&level) && text.trim_start().starts_with("Task ")
}

/// True if the last line of a fenced block closes it.
pub(super) fn is_closed(block: &str) -> bool {
    let block = block.trim();
    let Some(fence) = block.chars().next() else { return true };
    let length = block.chars().take_while(|c| *c == fence).count();
    let Some((_, last)) = block.rsplit_once('\n') else { return false };
    let last = last.trim();
    last.len() >= length && last.chars().all(|c| c == fence)
}

/// Converts increasing byte offsets to line numbers in one pass.
pub(super) struct Lines<'m> {
    text: &'m str,
    at: usize,
    line: usize,
}

impl<'m> Lines<'m> {
    pub(super) fn new(text: &'m str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line, from 1, of an offset that is not before the previous one.
    pub(super) fn of(&mut self, offset: usize) -> usize {
        let between = self.text.get(self.at..offset).unwrap_or_default();
        self.line += between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = self.at.max(offset);
        self.line
    }
}
