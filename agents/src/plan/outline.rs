//! The headings of a markdown document and their positions, from CommonMark events. Knows markdown and no tasks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::source::{self, Lines};

/// A top-level heading of the document: not in a quote, list, fence or comment.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: u8,
    /// The plain text: emphasis, comments and leading anchors dropped, code kept in backticks.
    pub(super) text: String,
    /// The byte at which its line starts.
    pub(super) start: usize,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// The headings of a document, and its unclosed fence or front matter.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// In document order.
    pub(super) headings: Vec<Heading>,
    /// The line of a code fence that is never closed, so that it runs to the end of the document.
    pub(super) open_fence: Option<usize>,
    /// True if it starts like front matter but no line closes it.
    pub(super) open_front_matter: bool,
}

impl Outline {
    /// Reads a document [with line feeds](source::with_line_feeds), without its front matter.
    pub(super) fn of(markdown: &str) -> Self {
        let body = source::body(markdown);
        let outline = Self { open_front_matter: body.open_front_matter, ..Self::default() };
        let body = body.start;
        let mut walk = Walk { markdown, body, lines: Lines::new(markdown), depth: 0, heading: None, outline };
        for (event, range) in Parser::new(&markdown[body..]).into_offset_iter() {
            walk.step(&event, range.start + body..range.end + body);
        }
        walk.outline
    }
}

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
            Event::Text(text) => self.write(&[text]),
            Event::InlineHtml(html) => self.write_html(html),
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
        let start = self.markdown[self.body..at].rfind('\n').map_or(self.body, |end| self.body + end + 1);
        self.heading = Some(Heading { level, text: String::new(), start, line: self.lines.of(start) });
    }

    fn note_open_fence(&mut self, range: Range<usize>) {
        let block = &self.markdown[range.clone()];
        let is_last = self.markdown[range.end..].trim().is_empty();
        if is_last && !source::is_closed(block) {
            self.outline.open_fence = Some(self.lines.of(range.start));
        }
    }

    fn close(&mut self, tag: TagEnd) {
        self.depth = self.depth.saturating_sub(1);
        if let (TagEnd::Heading(_), 0) = (tag, self.depth) {
            self.outline.headings.extend(self.heading.take());
        }
    }

    /// Appends an HTML tag, which in a heading is rarely meant as one: `Vec<T>`.
    fn write_html(&mut self, html: &str) {
        let is_anchor = self.heading.as_ref().is_some_and(|heading| heading.text.trim().is_empty());
        if !is_anchor && !html.starts_with("<!--") {
            self.write(&[html]);
        }
    }

    fn write(&mut self, pieces: &[&str]) {
        if let Some(heading) = &mut self.heading {
            heading.text.extend(pieces.iter().copied());
        }
    }
}
