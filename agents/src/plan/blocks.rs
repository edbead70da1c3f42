//! A markdown document as a tree of blocks: paragraphs, lists, code, headings; and the text of each as lines of plain,
//! strong and code pieces, a table as rows of cells. Quotes and HTML are opaque. Knows markdown and no tasks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, OffsetIter, Parser, Tag};

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

/// A line of a paragraph.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The line number, from 1.
    pub(super) line: usize,
    pub(super) pieces: Vec<Piece>,
    /// True after the box of a task list.
    pub(super) has_box: bool,
}

/// A run of text of one kind within a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) is_code: bool,
    pub(super) is_strong: bool,
    /// The line number, from 1.
    pub(super) line: usize,
}

impl Line {
    /// Returns the plain text: emphasis dropped, code kept in backticks.
    pub(super) fn text(&self) -> String {
        let texts = self.pieces.iter().map(|p| if p.is_code { format!("`{}`", p.text) } else { p.text.clone() });
        texts.collect::<String>().trim().to_owned()
    }

    /// True if the line starts with strong text.
    pub(super) fn is_strong(&self) -> bool {
        self.pieces.first().is_some_and(|piece| piece.is_strong)
    }

    /// Returns the text before the first code.
    pub(super) fn prose(&self) -> String {
        self.pieces.iter().take_while(|piece| !piece.is_code).map(|piece| piece.text.as_str()).collect()
    }

    /// True if the line starts with code.
    pub(super) fn starts_with_code(&self) -> bool {
        self.pieces.iter().find(|piece| !piece.text.trim().is_empty()).is_some_and(|piece| piece.is_code)
    }

    /// Cuts the line before each bold label after the first: `**Owner:** Ada. **Depends on:** 1`.
    pub(super) fn at_labels(&self) -> Vec<Self> {
        let mut parts = vec![Self { line: self.line, has_box: self.has_box, pieces: Vec::new() }];
        for (at, piece) in self.pieces.iter().enumerate() {
            let next = self.pieces.get(at + 1).map_or("", |next| next.text.as_str());
            let is_label =
                piece.is_strong && !piece.is_code && (piece.text.trim_end().ends_with(':') || next.starts_with(':'));
            if is_label && at > 0 && !self.pieces[at - 1].is_strong {
                parts.iter_mut().for_each(Self::trim_separator);
                parts.push(Self { line: self.line, ..Self::default() });
            }
            parts.last_mut().into_iter().for_each(|part| part.pieces.push(piece.clone()));
        }
        parts
    }

    fn trim_separator(&mut self) {
        if let Some(last) = self.pieces.last_mut().filter(|piece| !piece.is_code) {
            last.text.truncate(last.text.trim_end_matches([' ', '·', '|', '•', '—', '–', ';', ',']).len());
        }
    }

    fn push(&mut self, piece: Piece) {
        match self.pieces.last_mut() {
            Some(last) if !last.is_code && !piece.is_code && last.is_strong == piece.is_strong => {
                last.text.push_str(&piece.text);
            }
            _ => self.pieces.push(piece),
        }
    }

    /// Drops the box of a task list, `[ ]` or `[x]`.
    fn without_box(mut self) -> Self {
        let Some(first) = self.pieces.first_mut().filter(|piece| !piece.is_code) else { return self };
        let rest = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| first.text.strip_prefix(mark));
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(' ')) else { return self };
        first.text = rest.trim_start().to_owned();
        self.has_box = true;
        if first.text.is_empty() {
            self.pieces.remove(0);
        }
        self
    }
}

/// The lines of a paragraph or heading while they are read.
#[derive(Debug)]
struct Inline {
    lines: Vec<Line>,
    nested: usize,
    strong: usize,
}

impl Inline {
    fn new(line: usize) -> Self {
        Self { lines: vec![Line { line, ..Line::default() }], nested: 0, strong: 0 }
    }

    /// True inside emphasis, a link or an image.
    fn is_nested(&self) -> bool {
        self.nested > 0
    }

    fn step(&mut self, event: &Event<'_>, line: usize) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(_) => self.close(),
            Event::Text(text) => self.write(text, false, line),
            Event::Code(code) => self.write(code, true, line),
            Event::InlineHtml(html) if !html.starts_with("<!--") => self.write(html, false, line),
            Event::SoftBreak | Event::HardBreak => self.lines.push(Line { line: line + 1, ..Line::default() }),
            _ => {}
        }
    }

    fn end(mut self) -> Vec<Line> {
        let first = std::mem::take(&mut self.lines[0]).without_box();
        self.lines[0] = first;
        self.lines
    }

    fn open(&mut self, tag: &Tag<'_>) {
        self.nested += 1;
        if self.strong > 0 || matches!(tag, Tag::Strong) {
            self.strong += 1;
        }
    }

    fn close(&mut self) {
        self.nested = self.nested.saturating_sub(1);
        self.strong = self.strong.saturating_sub(1);
    }

    fn write(&mut self, text: &str, is_code: bool, line: usize) {
        let piece = Piece { text: text.to_owned(), is_code, is_strong: self.strong > 0, line };
        if let Some(last) = self.lines.last_mut() {
            last.push(piece);
        }
    }
}

/// Returns the cells of each row below the head; `None` for a paragraph that is no table.
pub(super) fn table_rows(lines: &[Line]) -> Option<Vec<Vec<Vec<Piece>>>> {
    let is_rule = |line: &Line| {
        let text = line.text();
        text.contains("--") && text.chars().all(|c| "|-: ".contains(c))
    };
    let rule = lines.iter().position(is_rule).filter(|at| *at == 1)?;
    let rows = lines[rule + 1..].iter().take_while(|line| line.text().contains('|'));
    Some(rows.map(cells).collect())
}

/// True if a cell has code.
pub(super) fn has_code(cell: &[Piece]) -> bool {
    cell.iter().any(|piece| piece.is_code)
}

fn cells(line: &Line) -> Vec<Vec<Piece>> {
    let mut cells: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in &line.pieces {
        let texts: Vec<&str> = if piece.is_code { vec![&piece.text] } else { piece.text.split('|').collect() };
        for (nth, text) in texts.into_iter().enumerate() {
            if nth > 0 {
                cells.push(Vec::new());
            }
            let piece = Piece { text: text.to_owned(), ..piece.clone() };
            cells.last_mut().into_iter().for_each(|cell| cell.push(piece.clone()));
        }
    }
    cells
}
