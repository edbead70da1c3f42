//! The text of a paragraph or heading as lines of plain, strong and code pieces. Knows markdown and no tasks.

use pulldown_cmark::{Event, Tag};

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
pub(super) struct Inline {
    lines: Vec<Line>,
    nested: usize,
    strong: usize,
}

impl Inline {
    pub(super) fn new(line: usize) -> Self {
        Self { lines: vec![Line { line, ..Line::default() }], nested: 0, strong: 0 }
    }

    /// True inside emphasis, a link or an image.
    pub(super) fn is_nested(&self) -> bool {
        self.nested > 0
    }

    pub(super) fn step(&mut self, event: &Event<'_>, line: usize) {
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

    pub(super) fn end(mut self) -> Vec<Line> {
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
