//! The headings of a markdown document and where they stand, from CommonMark events. Knows markdown and no tasks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A heading at the top level of the document: not in a quote, list, fence or comment.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// Its plain text: emphasis dropped, code kept in backticks.
    pub(super) text: String,
    /// The byte at which its line starts.
    pub(super) start: usize,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// What a document consists of, as far as plans care.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// In document order.
    pub(super) headings: Vec<Heading>,
    /// The line of a code fence that runs to the end of the document because nothing closes it.
    pub(super) open_fence: Option<usize>,
}

impl Outline {
    /// Reads `markdown`, front matter aside.
    pub(super) fn of(markdown: &str) -> Self {
        let body = body_start(markdown);
        let mut walk =
            Walk { markdown, body, lines: Lines::new(markdown), depth: 0, heading: None, outline: Self::default() };
        for (event, range) in Parser::new(&markdown[body..]).into_offset_iter() {
            walk.step(&event, range.start + body..range.end + body);
        }
        walk.outline
    }
}

/// Returns where the markdown starts: after a byte order mark and front matter between two `---` lines.
///
/// Done here because the parser's own option takes any `---` line in the document for the start of such a block.
pub(super) fn body_start(markdown: &str) -> usize {
    let text = markdown.strip_prefix('\u{feff}').unwrap_or(markdown);
    markdown.len() - text.len() + front_matter(text).unwrap_or(0)
}

/// Returns the length of the front matter. A rule followed by an empty line or a heading opens none.
fn front_matter(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next().filter(|line| line.trim_end() == "---")?;
    let opens = text[opening.len()..].starts_with(|c: char| c != '#' && !c.is_whitespace());
    let mut length = opening.len();
    for line in lines.take_while(|_| opens) {
        length += line.len();
        if line.trim_end() == "---" {
            return Some(length);
        }
    }
    None
}

/// A walk over the events of one document.
struct Walk<'m> {
    markdown: &'m str,
    body: usize,
    lines: Lines<'m>,
    depth: usize,
    heading: Option<Heading>,
    outline: Outline,
}

impl Walk<'_> {
    fn step(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.open(tag, range),
            Event::End(tag) => self.close(*tag),
            Event::Text(text) | Event::InlineHtml(text) => self.write(&[text]),
            Event::Code(code) => self.write(&["`", code, "`"]),
            Event::SoftBreak | Event::HardBreak => self.write(&[" "]),
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.depth == 0 => self.open_heading(*level as u8, range.start),
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) if self.depth == 0 => self.note_open_fence(range),
            _ => {}
        }
        self.depth += 1;
    }

    fn open_heading(&mut self, level: u8, at: usize) {
        let start = self.markdown[self.body..at].rfind(['\n', '\r']).map_or(self.body, |end| self.body + end + 1);
        self.heading = Some(Heading { level, text: String::new(), start, line: self.lines.of(start) });
    }

    fn note_open_fence(&mut self, range: Range<usize>) {
        let block = &self.markdown[range.clone()];
        let is_last = self.markdown[range.end..].trim().is_empty();
        if is_last && !is_closed(block) {
            self.outline.open_fence = Some(self.lines.of(range.start));
        }
    }

    fn close(&mut self, tag: TagEnd) {
        self.depth = self.depth.saturating_sub(1);
        if let (TagEnd::Heading(_), 0) = (tag, self.depth) {
            self.outline.headings.extend(self.heading.take());
        }
    }

    fn write(&mut self, pieces: &[&str]) {
        if let Some(heading) = &mut self.heading {
            heading.text.extend(pieces.iter().copied());
        }
    }
}

/// True if the last line of a fenced block closes it.
fn is_closed(block: &str) -> bool {
    let block = block.trim();
    let Some(fence) = block.chars().next() else { return true };
    let Some((_, last)) = block.rsplit_once(['\n', '\r']) else { return false };
    let last = last.trim();
    last.len() >= 3 && last.chars().all(|c| c == fence)
}

/// Turns rising byte offsets into line numbers in one pass.
struct Lines<'m> {
    markdown: &'m str,
    at: usize,
    line: usize,
}

impl<'m> Lines<'m> {
    fn new(markdown: &'m str) -> Self {
        Self { markdown, at: 0, line: 1 }
    }

    /// Returns the line, from 1, of an offset not before the last one asked for.
    fn of(&mut self, offset: usize) -> usize {
        let between = self.markdown.get(self.at..offset).unwrap_or_default();
        self.line += between.bytes().filter(|byte| *byte == b'\n').count();
        self.at = self.at.max(offset);
        self.line
    }
}
