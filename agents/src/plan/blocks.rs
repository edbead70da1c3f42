//! A markdown document as a tree of blocks: paragraphs, lists, code, headings. Quotes, HTML and tables are opaque.
//! Knows markdown and no tasks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Parser, Tag};

use super::inline::{Inline, Line};
use super::source::{self, Lines};

/// Maximum nesting depth of lists; deeper ones are opaque.
const MAX_DEPTH: usize = 8;

#[derive(Debug)]
pub(super) struct Block {
    /// The offset of its first byte.
    pub(super) start: usize,
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Heading(Vec<Line>),
    Paragraph(Vec<Line>),
    List(List),
    Code(Code),
    /// A rule, quote, table or other block whose content is not read.
    Opaque,
}

#[derive(Debug)]
pub(super) struct List {
    /// The number of the first item; `None` for bullets.
    pub(super) first: Option<u64>,
    /// The items, each a sequence of blocks.
    pub(super) items: Vec<Vec<Block>>,
}

#[derive(Debug, Default)]
pub(super) struct Code {
    /// The first word after the fence; empty if there is none.
    pub(super) language: String,
    /// Each line with its number.
    pub(super) lines: Vec<(usize, String)>,
    /// True for a fence that is never closed.
    pub(super) is_open: bool,
}

/// Reads a document [with line feeds](source::with_line_feeds).
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let body = source::body(text).start;
    let events = Parser::new(&text[body..]).into_offset_iter();
    Reader { text, body, lines: Lines::new(text), events }.blocks(0)
}

struct Reader<'m> {
    text: &'m str,
    body: usize,
    lines: Lines<'m>,
    events: OffsetIter<'m>,
}

impl<'m> Reader<'m> {
    fn next(&mut self) -> Option<(Event<'m>, Range<usize>)> {
        let (event, range) = self.events.next()?;
        Some((event, range.start + self.body..range.end + self.body))
    }

    /// Reads the blocks of a document or list item, including its end event.
    fn blocks(&mut self, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut bare = BareText::default();
        while let Some((event, range)) = self.next() {
            let line = self.lines.of(range.start);
            if bare.takes(&event) {
                bare.take(&event, range.start, line);
                continue;
            }
            blocks.extend(bare.end());
            match event {
                Event::End(_) => break,
                Event::Start(tag) => {
                    blocks.push(Block { start: range.start, line, kind: self.block(&tag, &range, line, depth) });
                }
                _ => blocks.push(Block { start: range.start, line, kind: Kind::Opaque }),
            }
        }
        blocks.extend(bare.end());
        blocks
    }

    fn block(&mut self, tag: &Tag<'_>, range: &Range<usize>, line: usize, depth: usize) -> Kind {
        match tag {
            Tag::Heading { .. } => Kind::Heading(self.inline(line)),
            Tag::Paragraph => Kind::Paragraph(self.inline(line)),
            Tag::CodeBlock(kind) => Kind::Code(self.code(kind, &self.text[range.clone()])),
            Tag::List(first) if depth < MAX_DEPTH => Kind::List(List { first: *first, items: self.items(depth) }),
            _ => self.skip(),
        }
    }

    fn items(&mut self, depth: usize) -> Vec<Vec<Block>> {
        let mut items = Vec::new();
        while let Some((Event::Start(_), _)) = self.next() {
            items.push(self.blocks(depth + 1));
        }
        items
    }

    /// Reads the text of a heading or paragraph, including its end event.
    fn inline(&mut self, line: usize) -> Vec<Line> {
        let mut inline = Inline::new(line);
        while let Some((event, range)) = self.next() {
            if matches!(event, Event::End(_)) && !inline.is_nested() {
                break;
            }
            inline.step(&event, self.lines.of(range.start));
        }
        inline.end()
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>, block: &str) -> Code {
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', '\t', ',', '{']).next().unwrap_or_default().to_owned(),
            CodeBlockKind::Indented => String::new(),
        };
        let (mut text, mut starts) = (String::new(), Vec::new());
        while let Some((event, range)) = self.next() {
            let Event::Text(piece) = event else { break };
            let line = self.lines.of(range.start);
            let is_new_line = text.is_empty() || text.ends_with('\n');
            starts.extend(is_new_line.then_some(line));
            starts.extend((1..piece.lines().count()).map(|nth| line + nth));
            text.push_str(&piece);
        }
        let is_open = matches!(kind, CodeBlockKind::Fenced(_)) && !source::is_closed(block);
        Code { language, is_open, lines: starts.into_iter().zip(text.lines().map(str::to_owned)).collect() }
    }

    /// Skips a block, including its end event.
    fn skip(&mut self) -> Kind {
        let mut depth = 1_usize;
        while let Some((event, _)) = self.next() {
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        Kind::Opaque
    }
}

/// The text of a tight list item, which has no paragraph around it.
#[derive(Default)]
struct BareText {
    open: Option<(usize, usize, Inline)>,
}

impl BareText {
    fn takes(&self, event: &Event<'_>) -> bool {
        match event {
            Event::Text(_) | Event::Code(_) | Event::InlineHtml(_) | Event::SoftBreak | Event::HardBreak => true,
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. }) => true,
            Event::End(_) => self.open.as_ref().is_some_and(|(_, _, inline)| inline.is_nested()),
            _ => false,
        }
    }

    fn take(&mut self, event: &Event<'_>, start: usize, line: usize) {
        let (_, _, inline) = self.open.get_or_insert_with(|| (start, line, Inline::new(line)));
        inline.step(event, line);
    }

    fn end(&mut self) -> Option<Block> {
        let (start, line, inline) = self.open.take()?;
        Some(Block { start, line, kind: Kind::Paragraph(inline.end()) })
    }
}
