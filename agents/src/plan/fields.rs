//! The labelled parts of a task's section: acceptance, verification, dependencies, files. Knows blocks of markdown and
//! no plan.

use super::blocks::{self, Block, Code, Kind, Line, Piece};
use super::command::{self, VerifyCommand};
use super::error::PlanWarning;
use super::files;
use super::labels::{self, Field, LabelledLine};
use super::needs::{self, Needs};

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
    /// Text of `Depends on` whose bracket the next line may close.
    unread: String,
    /// The last line that was read for the label.
    last_line: usize,
    /// Set right after a block of code.
    is_after_code: bool,
}

impl OpenLabel {
    /// True if what starts at this line belongs to the label even though something was read for it.
    fn is_going_on(&self, line: usize) -> bool {
        !self.is_used || self.continues || self.is_after_code || line == self.last_line + 1
    }
}

impl Reader {
    fn block(&mut self, block: &Block, in_list: bool) {
        match &block.kind {
            Kind::Heading(lines) => {
                self.close();
                self.lines(lines, true, true);
            }
            Kind::Paragraph(lines) if self.table(lines) => {}
            Kind::Paragraph(lines) => self.lines(lines, false, !in_list),
            Kind::List(list) => self.list(&list.items, block.line),
            Kind::Code(code) => self.code(code, block.line),
            Kind::Opaque => self.end(),
        }
    }

    /// Reads the rows of a table below `Files` or `Verify`; returns false for another paragraph.
    fn table(&mut self, lines: &[Line]) -> bool {
        let open = self.open.as_ref().filter(|open| !open.is_over && !open.is_used);
        let Some(open @ (Field::Files | Field::Verify)) = open.map(|open| open.field) else { return false };
        let Some(rows) = blocks::table_rows(lines) else { return false };
        for row in rows {
            match open {
                Field::Files => {
                    row.iter().filter(|cell| blocks::has_code(cell)).take(1).for_each(|cell| self.add_files(cell))
                }
                _ => _ = self.spans(&row.concat()),
            }
        }
        self.mark_used(open == Field::Verify && !self.fields.verify.is_empty());
        self.end();
        true
    }

    /// Reads a paragraph or heading. A line with a label opens a part and ends the one before it.
    fn lines(&mut self, lines: &[Line], is_heading: bool, plain_labels: bool) {
        let parts: Vec<Line> = match is_heading {
            true => lines.to_vec(),
            false => lines.iter().flat_map(Line::at_labels).collect(),
        };
        let mut before = Vec::new();
        let mut is_labelled = false;
        for line in &parts {
            match LabelledLine::of(line, is_heading, plain_labels, parts.len() == 1) {
                Some(labelled) if labelled.field.is_none() && is_labelled && self.names_files(line) => self.more(line),
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
        self.open = Some(OpenLabel {
            field,
            line: line.line,
            text: line.text(),
            is_heading,
            is_used: false,
            is_over: false,
            continues: false,
            unread: String::new(),
            last_line: line.line,
            is_after_code: false,
        });
        if field == Field::DependsOn {
            self.fields.needs.get_or_insert_default();
        }
        self.rest(field, &labelled.rest, line.line);
    }

    /// True for a line such as `**Create:** …` below `Files`.
    fn names_files(&self, line: &Line) -> bool {
        self.open.as_ref().is_some_and(|open| open.field == Field::Files && !open.is_over)
            && files::starts_with_kind(&line.prose())
    }

    /// Reads a further line of the paragraph that a label opened.
    fn more(&mut self, line: &Line) {
        let Some(open) = &mut self.open else { return };
        open.last_line = line.line;
        let is_done = open.is_used && !open.continues;
        match (open.field, self.fields.acceptance.last_mut().filter(|_| open.is_used)) {
            (Field::Acceptance, Some(text)) => *text = format!("{text} {}", line.text()),
            (Field::DependsOn, _) if is_done => self.end(),
            (Field::Files, _) if is_done && !line.starts_with_code() && !files::starts_with_kind(&line.prose()) => {
                self.end();
            }
            (Field::Verify, _) if is_done && !line.starts_with_code() => {
                self.warnings.extend(line.pieces.iter().filter(|piece| piece.is_code).map(not_a_command));
            }
            (field, _) => self.rest(field, &line.pieces, line.line),
        }
    }

    /// Reads the text of a line after its label.
    fn rest(&mut self, field: Field, pieces: &[Piece], line: usize) {
        let text = Line { pieces: pieces.to_vec(), ..Line::default() }.text();
        match field {
            Field::Acceptance => self.accept(&text),
            Field::Verify => {
                let found = self.spans(pieces) || is_none(&text);
                self.mark_used(found);
                self.set_continues(text.ends_with([':', '：']));
            }
            Field::Changes => self.fields.changes_nothing |= is_none(&text),
            Field::DependsOn => self.depends_on(&text, &text, line),
            Field::Files => self.add_files(pieces),
        }
    }

    /// Reads the ids of a text, which is a part of `whole`.
    fn depends_on(&mut self, text: &str, whole: &str, line: usize) {
        if text.is_empty() {
            return;
        }
        if let Some(open) = &mut self.open {
            open.unread = format!("{} {text}", open.unread).trim().to_owned();
            if needs::is_open(&open.unread) {
                (open.is_used, open.continues) = (true, true);
                return;
            }
        }
        let text = self.open.as_mut().map_or_else(|| text.to_owned(), |open| std::mem::take(&mut open.unread));
        self.fields.needs.get_or_insert_default().read(&text, line);
        self.mark_used(true);
        self.set_continues(needs::continues(whole));
    }

    fn add_files(&mut self, pieces: &[Piece]) {
        let text = Line { pieces: pieces.to_vec(), ..Line::default() }.text();
        let has_code = pieces.iter().any(|piece| piece.is_code);
        if text.is_empty() {
            return;
        }
        if has_code || !is_none(&needs::without_remarks(&text)) {
            for file in files::of_pieces(pieces) {
                if !self.fields.files.contains(&file) {
                    self.fields.files.push(file);
                }
            }
        }
        self.mark_used(true);
        self.set_continues(needs::continues(&text));
    }

    fn set_continues(&mut self, continues: bool) {
        if let Some(open) = &mut self.open {
            open.continues = continues;
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
                    self.add_files(&pieces);
                }
            }
            Field::Verify => {
                let codes = lines.iter().flat_map(|line| line.pieces.iter()).filter(|piece| piece.is_code);
                self.warnings.extend(codes.map(not_a_command));
                self.mark_used(is_none(&text));
            }
        }
    }

    /// Reads a list: its first items may belong to the open label, the others are steps, labels or notes.
    fn list(&mut self, items: &[Vec<Block>], line: usize) {
        let field = self.open.as_ref().filter(|open| !open.is_over).map(|open| open.field);
        let own = field.filter(|_| self.takes_list(items, line)).map_or(0, |field| labels::own_items(items, field));
        let (own, rest) = items.split_at(own);
        match field {
            Some(Field::DependsOn) => {
                for item in own {
                    let line = item.first().map_or(0, |block| block.line);
                    let text = text_of(item);
                    self.depends_on(needs::of_item(&text), &text, line);
                }
            }
            Some(Field::Files) => own.iter().for_each(|item| self.file_item(item)),
            Some(Field::Acceptance) => {
                self.fields.acceptance.extend(own.iter().map(|item| text_of(item)).filter(|text| !text.is_empty()));
            }
            Some(Field::Verify) => own.iter().for_each(|item| self.verify_item(item)),
            Some(Field::Changes) | None => {}
        }
        match field {
            Some(Field::Verify) if rest.is_empty() => {}
            _ if rest.is_empty() => self.end(),
            _ => self.read_unlabelled(rest),
        }
    }

    /// True if a list at this line may belong to the open label.
    fn takes_list(&self, items: &[Vec<Block>], line: usize) -> bool {
        let Some(open) = self.open.as_ref().filter(|open| !open.is_over) else { return false };
        match open.field {
            Field::DependsOn | Field::Files => !open.is_used || open.continues,
            Field::Acceptance => open.is_heading || open.is_going_on(line),
            Field::Verify => !open.is_used || open.continues || labels::are_code(items),
            Field::Changes => false,
        }
    }

    fn read_unlabelled(&mut self, items: &[Vec<Block>]) {
        for item in items {
            self.close();
            item.iter().for_each(|block| self.block(block, true));
        }
        self.close();
    }

    fn file_item(&mut self, item: &[Block]) {
        for block in item {
            match &block.kind {
                Kind::Paragraph(lines) | Kind::Heading(lines) => {
                    lines.iter().take(1).for_each(|line| self.add_files(&line.pieces));
                }
                Kind::List(list) => list.items.iter().for_each(|item| self.file_item(item)),
                Kind::Code(_) | Kind::Opaque => {}
            }
        }
    }

    /// Reads an item of a `Verify` list: its first command, and what belongs to it.
    fn verify_item(&mut self, item: &[Block]) {
        let before = self.fields.verify.len();
        // Set while a command may follow: before the first one, and after a text that ends with a colon.
        let mut announces = true;
        for block in item {
            match &block.kind {
                Kind::Paragraph(lines) | Kind::Heading(lines) => {
                    let pieces: Vec<Piece> = lines.iter().flat_map(|line| line.pieces.iter().cloned()).collect();
                    if announces || lines.first().is_some_and(Line::starts_with_code) {
                        self.spans(&pieces);
                    } else {
                        // Code in prose after the command usually describes its result.
                        self.warnings.extend(pieces.iter().filter(|piece| piece.is_code).map(not_a_command));
                    }
                    let ends_open = lines.last().is_some_and(|line| line.text().ends_with([':', '：']));
                    announces = ends_open || self.fields.verify.len() == before;
                }
                Kind::Code(code) if announces => self.commands(code, block.line),
                Kind::Code(code) => self.warnings.extend(block_is_no_command(code, block.line)),
                // The items of a nested list may be the commands that the item announces.
                Kind::List(list) if announces || labels::are_code(&list.items) => {
                    list.items.iter().for_each(|item| self.verify_item(item));
                }
                Kind::List(_) | Kind::Opaque => {}
            }
        }
        self.mark_used(true);
        // A colon at the end of the item announces a block that still belongs to the label.
        self.set_continues(text_of(item).ends_with([':', '：']));
        // An item without a command verifies nothing, which its author may not expect.
        if self.fields.verify.len() == before {
            let line = item.first().map_or(0, |block| block.line);
            self.warnings.push(PlanWarning::NoCommand { line, text: text_of(item) });
        }
    }

    fn code(&mut self, code: &Code, line: usize) {
        match self.open.as_ref().filter(|open| open.field == Field::Verify) {
            Some(open) if !open.is_over && open.is_going_on(line) => {
                self.set_continues(false);
                self.commands(code, line);
                self.open.iter_mut().for_each(|open| open.is_after_code = true);
            }
            Some(_) => {
                self.warnings.extend(block_is_no_command(code, line).filter(|_| command::is_shell(code)));
                self.open.iter_mut().for_each(|open| open.is_over = true);
            }
            None => self.end(),
        }
    }

    fn commands(&mut self, code: &Code, line: usize) {
        self.mark_used(true);
        if command::is_shell(code) {
            self.fields.verify.extend(command::of_block(code));
        } else {
            self.warnings.extend(block_is_no_command(code, line));
        }
    }

    /// Reads the code of a line or item that reads as commands, and warns about the rest. Returns whether there was code.
    fn spans(&mut self, pieces: &[Piece]) -> bool {
        let (commands, others) = command::of_line(pieces);
        let is_used = !(commands.is_empty() && others.is_empty());
        self.fields.verify.extend(commands.iter().filter_map(|piece| command::of_text(&piece.text, piece.line)));
        self.warnings.extend(others.into_iter().map(not_a_command));
        is_used
    }

    /// Adds a criterion, unless the text introduces a list or means "none".
    fn accept(&mut self, text: &str) {
        if !text.is_empty() && !text.ends_with(':') && !is_none(text) {
            self.fields.acceptance.push(text.to_owned());
            self.mark_used(true);
        }
    }

    fn mark_used(&mut self, is_used: bool) {
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
        let Some(open) = self.open.take() else { return };
        if !open.unread.is_empty() {
            self.fields.needs.get_or_insert_default().read(&open.unread, open.last_line);
        }
        if open.is_used {
            return;
        }
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

/// Returns the warning about a block that is not read; `None` for an empty one.
fn block_is_no_command(code: &Code, line: usize) -> Option<PlanWarning> {
    let text = code.lines.iter().map(|(_, text)| text.trim()).find(|text| !text.is_empty())?.to_owned();
    Some(PlanWarning::NotACommand { line, text })
}

/// True for `none` in its usual spellings.
fn is_none(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || ".*_`()".contains(c)).to_lowercase();
    [
        "none",
        "nothing",
        "no",
        "no files",
        "no changes",
        "no file changes",
        "n/a",
        "-",
        "–",
        "—",
        "无",
        "無",
        "なし",
        "없음",
    ]
    .contains(&text.as_str())
}

fn text_of(item: &[Block]) -> String {
    let texts = item.iter().map(|block| match &block.kind {
        Kind::Paragraph(lines) | Kind::Heading(lines) => lines.iter().map(Line::text).collect::<Vec<_>>().join(" "),
        Kind::List(list) => list.items.iter().map(|item| text_of(item)).collect::<Vec<_>>().join("; "),
        Kind::Code(code) => {
            code.lines.iter().map(|(_, text)| format!("`{}`", text.trim())).collect::<Vec<_>>().join(" ")
        }
        Kind::Opaque => String::new(),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}
