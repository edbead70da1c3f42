//! The labelled parts of a task's section: acceptance, verification, dependencies, files. Knows blocks of markdown and
//! no plan.

use super::blocks::{Block, Code, Kind};
use super::command::{self, VerifyCommand};
use super::declared;
use super::dependency_ids::{self, Needs};
use super::field_labels::{Field, LabelledLine};
use super::inline::{Line, Piece};
use super::warning::PlanWarning;

/// The labelled parts of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) acceptance: Vec<String>,
    pub(super) verify: Vec<VerifyCommand>,
    pub(super) changes_nothing: bool,
    /// `None` without a `Depends on` line.
    pub(super) needs: Option<Needs>,
    pub(super) files: Vec<String>,
}

/// Reads the labelled parts of a section; warns about code that looks like a command but is not read as one.
pub(super) fn read<'b>(blocks: impl Iterator<Item = &'b Block>) -> (Fields, Vec<PlanWarning>) {
    let mut reader = Reader::default();
    blocks.for_each(|block| reader.block(block, false));
    reader.close();
    (reader.fields, reader.warnings)
}

#[derive(Default)]
struct Reader {
    fields: Fields,
    warnings: Vec<PlanWarning>,
    open: Option<OpenLabel>,
}

/// A label whose list or block may still follow.
struct OpenLabel {
    field: Field,
    line: usize,
    text: String,
    /// Set for a heading: prose may come before what it labels.
    is_heading: bool,
    /// Set once something was read for the label.
    is_used: bool,
    /// Set once unrelated content followed: no more lists or blocks belong to the label.
    is_over: bool,
    /// Set if the text so far announces more, such as with a trailing comma.
    continues: bool,
}

impl Reader {
    fn block(&mut self, block: &Block, in_list: bool) {
        match &block.kind {
            Kind::Heading(lines) => {
                self.close();
                self.lines(lines, true, true);
            }
            Kind::Paragraph(lines) => self.lines(lines, false, !in_list),
            Kind::List(items) => self.list(items),
            Kind::Code(code) => self.code(code, block.line),
            Kind::Opaque => self.end(),
        }
    }

    /// Reads a paragraph or heading. A line with a label opens a part and ends the one before it.
    fn lines(&mut self, lines: &[Line], is_heading: bool, plain_labels: bool) {
        let mut before = Vec::new();
        let mut is_labelled = false;
        for line in lines {
            match LabelledLine::of(line, is_heading, plain_labels, lines.len() == 1) {
                Some(labelled) => {
                    self.prose(&std::mem::take(&mut before));
                    self.close();
                    self.open(labelled, line, is_heading);
                    is_labelled = true;
                }
                None if is_labelled => self.more(line),
                None => before.push(line),
            }
        }
        self.prose(&before);
    }

    fn open(&mut self, labelled: LabelledLine, line: &Line, is_heading: bool) {
        let Some(field) = labelled.field else { return };
        let (line, text) = (line.line, line.text());
        self.open = Some(OpenLabel { field, line, text, is_heading, is_used: false, is_over: false, continues: false });
        if field == Field::DependsOn {
            self.fields.needs.get_or_insert_default();
        }
        self.rest(field, &labelled.rest, line);
    }

    /// Reads a further line of the paragraph that a label opened.
    fn more(&mut self, line: &Line) {
        let Some(open) = &self.open else { return };
        match (open.field, self.fields.acceptance.last_mut().filter(|_| open.is_used)) {
            (Field::Acceptance, Some(text)) => *text = format!("{text} {}", line.text()),
            (Field::DependsOn | Field::Files, _) if open.is_used && !open.continues => self.end(),
            (field, _) => self.rest(field, &line.pieces, line.line),
        }
    }

    /// Reads the text of a line after its label.
    fn rest(&mut self, field: Field, pieces: &[Piece], line: usize) {
        let text = Line { line: 0, pieces: pieces.to_vec() }.text();
        match field {
            Field::Acceptance => self.accept(&text),
            Field::Verify => {
                let found = self.spans(pieces) || is_none(&text);
                self.used(found);
            }
            Field::Changes => self.fields.changes_nothing |= is_none(&text),
            Field::DependsOn => self.depends_on(&text, &text, line),
            Field::Files => self.declares(pieces),
        }
    }

    /// Reads the ids of a text, which is a part of `whole`.
    fn depends_on(&mut self, text: &str, whole: &str, line: usize) {
        if text.is_empty() {
            return;
        }
        let needs = self.fields.needs.get_or_insert_default();
        if !is_none(&dependency_ids::without_remarks(text)) {
            needs.read(text, line);
        }
        self.used(true);
        self.continues(whole);
    }

    fn declares(&mut self, pieces: &[Piece]) {
        let text = Line { line: 0, pieces: pieces.to_vec() }.text();
        let has_code = pieces.iter().any(|piece| piece.is_code);
        if text.is_empty() {
            return;
        }
        if has_code || !is_none(&dependency_ids::without_remarks(&text)) {
            let files = declared::of_pieces(pieces).into_iter();
            let mut known = std::mem::take(&mut self.fields.files);
            files.for_each(|file| {
                if !known.contains(&file) {
                    known.push(file);
                }
            });
            self.fields.files = known;
        }
        self.used(true);
        self.continues(&text);
    }

    fn continues(&mut self, text: &str) {
        if let Some(open) = &mut self.open {
            open.continues = dependency_ids::continues(text);
        }
    }

    /// Reads lines without a label: allowed between a heading and what it labels; they end every other label.
    fn prose(&mut self, lines: &[&Line]) {
        if lines.is_empty() {
            return;
        }
        let Some(open) = self.open.as_ref().filter(|open| open.is_heading && !open.is_over) else { return self.end() };
        let text = lines.iter().map(|line| line.text()).collect::<Vec<_>>().join(" ");
        match open.field {
            Field::Verify if open.is_used => self.end(),
            Field::Acceptance => self.accept(&text),
            Field::Changes => self.fields.changes_nothing |= is_none(&text),
            Field::DependsOn | Field::Files if open.is_used => self.end(),
            Field::DependsOn => self.depends_on(&text, &text, lines.first().map_or(0, |line| line.line)),
            Field::Files => {
                let pieces: Vec<Piece> = lines.iter().flat_map(|line| line.pieces.iter().cloned()).collect();
                if pieces.iter().any(|piece| piece.is_code) {
                    self.declares(&pieces);
                }
            }
            Field::Verify => {
                let codes = lines.iter().flat_map(|line| line.pieces.iter()).filter(|piece| piece.is_code);
                self.warnings.extend(codes.map(not_a_command));
                self.used(is_none(&text));
            }
        }
    }

    fn list(&mut self, items: &[Vec<Block>]) {
        let open = self.open.as_ref().filter(|open| !open.is_over);
        let takes_list = open.is_some_and(|open| !open.is_used || open.continues);
        match open.map(|open| open.field) {
            Some(Field::DependsOn) if takes_list && !has_label(items) => {
                for item in items {
                    let line = item.first().map_or(0, |block| block.line);
                    let text = text_of(item);
                    self.depends_on(dependency_ids::of_item(&text), &text, line);
                }
                self.end();
            }
            Some(Field::Files) if takes_list && !has_label(items) => {
                items.iter().for_each(|item| self.file_item(item));
                self.end();
            }
            Some(Field::Acceptance) => {
                self.fields.acceptance.extend(items.iter().map(|item| text_of(item)).filter(|text| !text.is_empty()));
                self.end();
            }
            Some(Field::Verify) => items.iter().for_each(|item| self.verify_item(item)),
            Some(Field::Changes | Field::DependsOn | Field::Files) | None => {
                for item in items {
                    self.close();
                    item.iter().for_each(|block| self.block(block, true));
                }
                self.close();
            }
        }
    }

    fn file_item(&mut self, item: &[Block]) {
        for block in item {
            match &block.kind {
                Kind::Paragraph(lines) | Kind::Heading(lines) => {
                    lines.iter().take(1).for_each(|line| self.declares(&line.pieces));
                }
                Kind::List(items) => items.iter().for_each(|item| self.file_item(item)),
                Kind::Code(_) | Kind::Opaque => {}
            }
        }
    }

    fn verify_item(&mut self, item: &[Block]) {
        let before = self.fields.verify.len();
        for block in item {
            match &block.kind {
                Kind::Paragraph(lines) | Kind::Heading(lines) => {
                    let pieces: Vec<Piece> = lines.iter().flat_map(|line| line.pieces.iter().cloned()).collect();
                    self.spans(&pieces);
                }
                Kind::Code(code) => self.commands(code, block.line),
                Kind::List(items) => items.iter().for_each(|item| self.verify_item(item)),
                Kind::Opaque => {}
            }
        }
        self.used(true);
        if self.fields.verify.len() == before {
            let line = item.first().map_or(0, |block| block.line);
            self.warnings.push(PlanWarning::NoCommand { line, text: text_of(item) });
        }
    }

    fn code(&mut self, code: &Code, line: usize) {
        match self.open.as_ref().map(|open| (open.field, open.is_over)) {
            Some((Field::Verify, false)) => self.commands(code, line),
            Some((Field::Verify, true)) if command::is_shell(code) => {
                self.warnings.push(block_is_no_command(code, line));
            }
            _ => self.end(),
        }
    }

    fn commands(&mut self, code: &Code, line: usize) {
        self.used(true);
        if command::is_shell(code) {
            self.fields.verify.extend(command::of_block(code));
        } else {
            self.warnings.push(block_is_no_command(code, line));
        }
    }

    /// Reads the first code span of a line or item, and those joined to it, as commands, and warns about the others.
    /// Returns whether there was code.
    fn spans(&mut self, pieces: &[Piece]) -> bool {
        let (mut taken, mut is_joined) = (false, true);
        for piece in pieces {
            match piece.is_code {
                false => is_joined = !taken || is_joined && joins(&piece.text),
                true if is_joined => {
                    taken = true;
                    self.fields.verify.extend(command::of_text(&piece.text, piece.line));
                }
                true => self.warnings.push(not_a_command(piece)),
            }
        }
        taken
    }

    /// Adds a criterion, unless the text introduces a list or means "none".
    fn accept(&mut self, text: &str) {
        if !text.is_empty() && !text.ends_with(':') && !is_none(text) {
            self.fields.acceptance.push(text.to_owned());
            self.used(true);
        }
    }

    fn used(&mut self, is_used: bool) {
        if let Some(open) = &mut self.open {
            open.is_used |= is_used;
        }
    }

    /// Ends the open label because unrelated content follows.
    fn end(&mut self) {
        match &mut self.open {
            Some(open) if open.is_heading => open.is_over = true,
            _ => self.close(),
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| !open.is_used) else { return };
        match open.field {
            Field::Verify => self.warnings.push(PlanWarning::NoCommand { line: open.line, text: open.text }),
            Field::DependsOn => {
                self.fields.needs.get_or_insert_default().bad.push((String::new(), open.line));
            }
            Field::Acceptance | Field::Changes | Field::Files => {}
        }
    }
}

fn not_a_command(piece: &Piece) -> PlanWarning {
    PlanWarning::NotACommand { line: piece.line, text: piece.text.clone() }
}

fn block_is_no_command(code: &Code, line: usize) -> PlanWarning {
    let text = code.lines.first().map(|(_, text)| text.trim().to_owned()).unwrap_or_default();
    PlanWarning::NotACommand { line, text }
}

/// True if `between` only joins two commands of one line.
fn joins(between: &str) -> bool {
    let words = between.split(|c: char| c.is_whitespace() || ",;.&+/".contains(c));
    words.filter(|word| !word.is_empty()).all(|word| matches!(word, "and" | "then"))
}

/// True for `none` in its usual spellings.
fn is_none(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || ".*_`()".contains(c)).to_lowercase();
    ["none", "nothing", "no", "no files", "no changes", "no file changes", "n/a", "-", "–", "—"]
        .contains(&text.as_str())
}

fn text_of(item: &[Block]) -> String {
    let texts = item.iter().map(|block| match &block.kind {
        Kind::Paragraph(lines) | Kind::Heading(lines) => lines.iter().map(Line::text).collect::<Vec<_>>().join(" "),
        Kind::List(items) => items.iter().map(|item| text_of(item)).collect::<Vec<_>>().join("; "),
        Kind::Code(code) => {
            code.lines.iter().map(|(_, text)| format!("`{}`", text.trim())).collect::<Vec<_>>().join(" ")
        }
        Kind::Opaque => String::new(),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// True if an item opens a labelled part.
fn has_label(items: &[Vec<Block>]) -> bool {
    let opens =
        |line: &Line| LabelledLine::of(line, false, false, false).is_some_and(|labelled| labelled.field.is_some());
    items.iter().filter_map(|item| item.first()).any(|block| match &block.kind {
        Kind::Paragraph(lines) | Kind::Heading(lines) => lines.first().is_some_and(opens),
        Kind::List(_) | Kind::Code(_) | Kind::Opaque => false,
    })
}
