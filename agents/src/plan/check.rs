//! Problems and warnings about the headings of a plan, and warnings about headings, list items and lines that were
//! probably meant as tasks: they differ only in a rising number, or each has a box. Pure: headings and blocks in,
//! findings out.

use std::collections::{HashMap, HashSet};

use super::blocks::{Block, Kind, Line};
use super::error::{PlanProblem, PlanWarning};
use super::headings::{Headings, LabelledHeading};
use super::id::TaskId;
use super::labels::{Label, NumberPrefix};

/// Returns every problem with the headings, in document order.
pub(super) fn problems(headings: &Headings) -> Vec<PlanProblem> {
    let Some(expected) = headings.task_level else { return Vec::new() };
    let first_line = headings.tasks().next().map_or(1, |task| task.heading.line);
    let mut first_lines = HashMap::new();
    let mut known = HashSet::new();
    let opens_numbers = headings.all.iter().filter_map(LabelledHeading::id).any(|id| id.parent().is_none());
    let mut problems = Vec::new();
    for labelled in headings.all.iter().filter(|labelled| labelled.heading.level <= expected) {
        let (level, line) = (labelled.heading.level, labelled.heading.line);
        match &labelled.label {
            Label::Phase { id } => _ = known.insert(id.clone()),
            Label::Task { id, .. } if level == expected => {
                problems.extend(duplicate(id, line, &mut first_lines));
                problems.extend(orphan(id, line, &known, opens_numbers));
                known.insert(id.clone());
            }
            Label::Task { id, .. } if level > 1 => {
                problems.push(PlanProblem::MixedLevels { id: id.clone(), line, level, expected, first_line });
            }
            Label::Task { .. } | Label::AlmostTask | Label::Other => known.extend(number(labelled)),
        }
    }
    problems
}

fn duplicate<'h>(id: &'h TaskId, line: usize, first_lines: &mut HashMap<&'h TaskId, usize>) -> Option<PlanProblem> {
    let first_line = *first_lines.entry(id).or_insert(line);
    (first_line != line).then(|| PlanProblem::Duplicate { id: id.clone(), line, first_line })
}

/// Returns a problem if nothing before the task opens the number above it, in a plan that opens such numbers. Others only
/// count in two parts: `1.1`, `1.2`, `2.1`.
fn orphan(id: &TaskId, line: usize, known: &HashSet<TaskId>, opens_numbers: bool) -> Option<PlanProblem> {
    let parent = id.parent()?;
    (opens_numbers && !known.contains(&parent)).then(|| PlanProblem::Orphan { id: id.clone(), parent, line })
}

/// Returns the number of a heading such as `Milestone 2` or `2. Storage`.
fn number(labelled: &LabelledHeading) -> Option<TaskId> {
    let number = NumberPrefix::of(labelled.heading.text.trim())?.number;
    number.iter().map(u64::to_string).collect::<Vec<_>>().join(".").parse().ok()
}

/// Returns every warning about the headings, in document order.
pub(super) fn warnings(headings: &Headings) -> Vec<PlanWarning> {
    let mut last = HashMap::new();
    let mut warnings: Vec<PlanWarning> = headings.all.iter().flat_map(|l| of_heading(l, headings, &mut last)).collect();
    warnings.extend(headings.open_fence.map(|line| PlanWarning::OpenFence { line }));
    warnings.extend(headings.open_front_matter.then_some(PlanWarning::OpenFrontMatter { line: 1 }));
    warnings
}

fn of_heading<'h>(
    labelled: &'h LabelledHeading,
    headings: &Headings,
    last: &mut HashMap<Option<TaskId>, &'h TaskId>,
) -> Vec<PlanWarning> {
    let (level, line) = (labelled.heading.level, labelled.heading.line);
    let expected = headings.task_level;
    match &labelled.label {
        Label::AlmostTask if level <= expected.unwrap_or(4) => not_a_task(labelled),
        Label::Task { id, .. } if Some(level) != expected => {
            vec![PlanWarning::OtherLevel { line, id: id.clone(), level, expected }]
        }
        Label::Task { id, title } => of_task(id, title, line, last),
        Label::AlmostTask | Label::Phase { .. } | Label::Other => Vec::new(),
    }
}

fn not_a_task(labelled: &LabelledHeading) -> Vec<PlanWarning> {
    vec![PlanWarning::NotATask { line: labelled.heading.line, text: labelled.heading.text.trim().to_owned() }]
}

fn of_task<'h>(
    id: &'h TaskId,
    title: &str,
    line: usize,
    last: &mut HashMap<Option<TaskId>, &'h TaskId>,
) -> Vec<PlanWarning> {
    let previous = last.insert(id.parent(), id);
    let is_first_below = previous.is_none() && id.parent().is_some();
    let jump = (!is_first_below && is_jump(previous, id)).then(|| PlanWarning::NumberJump {
        line,
        id: id.clone(),
        previous: previous.cloned(),
    });
    let untitled = title.is_empty().then(|| PlanWarning::NoTitle { line, id: id.clone() });
    jump.into_iter().chain(untitled).collect()
}

/// True unless `id` follows `previous`: `0` or `1` is first, then numbers or letters rise by one: `1`, `2a`, `2b`, `3`.
fn is_jump(previous: Option<&TaskId>, id: &TaskId) -> bool {
    let Some((number, letters)) = id.last_number() else { return false };
    match previous.map(TaskId::last_number) {
        None => number > 1 || letters > 1,
        Some(None) => true,
        Some(Some((before, rank))) => {
            let is_next_number = before.checked_add(1) == Some(number) && letters <= 1;
            !is_next_number && (number, letters) != (before, rank + 1)
        }
    }
}

/// The number of texts of one shape that are not passed over in silence.
const MANY: usize = 3;

/// The number of characters of a text in a warning.
const SHOWN: usize = 60;

/// Returns warnings about texts that were probably meant as tasks, in document order.
pub(super) fn unread_tasks(headings: &Headings, blocks: &[Block]) -> Vec<PlanWarning> {
    let is_whole = headings.task_level.is_none();
    let of_headings = heading_groups(headings).largest();
    let of_items = is_whole.then(|| item_groups(blocks).largest()).flatten();
    let least = of_headings.as_ref().map_or(0, |group| group.count);
    let of_items = of_items.filter(|group| group.count >= least);
    of_headings.into_iter().chain(of_items).map(|group| group.warning(is_whole)).collect()
}

/// Texts of one shape whose numbers rise.
#[derive(Clone, Debug)]
struct Group {
    what: &'static str,
    line: usize,
    count: usize,
    first: String,
    last: String,
    number: Vec<u64>,
    /// The number of texts from which on it is warned about.
    least: usize,
    /// True if a word comes before the number, or a box: a plain list may be anything.
    is_named: bool,
}

impl Group {
    fn warning(self, is_whole: bool) -> PlanWarning {
        let Self { what, line, count, first, last, .. } = self;
        PlanWarning::NotTasks { line, count, what, first, last, is_whole }
    }
}

/// The groups of a document, each under its kind, level and word.
#[derive(Default)]
struct Groups {
    open: HashMap<(&'static str, usize, String), Group>,
    done: Vec<Group>,
}

impl Groups {
    fn add(&mut self, what: &'static str, level: usize, text: &str, line: usize, number: NumberPrefix) {
        let least = if what == "headings" && !number.word.is_empty() { MANY - 1 } else { MANY };
        let is_named = !number.word.is_empty();
        let key = (what, level, number.word);
        let number = number.number;
        match self.open.get_mut(&key) {
            Some(group) if group.number < number => {
                (group.count, group.last, group.number) = (group.count + 1, shorten(text), number);
            }
            _ => {
                let (first, last) = (shorten(text), shorten(text));
                let group = Group { what, line, count: 1, first, last, number, least, is_named };
                self.done.extend(self.open.insert(key, group));
            }
        }
    }

    /// Returns the largest group, one with words before the numbers first; of equals the first.
    fn largest(self) -> Option<Group> {
        let groups = self.done.into_iter().chain(self.open.into_values()).filter(|group| group.count >= group.least);
        groups.max_by_key(|group| (group.is_named, group.count, std::cmp::Reverse(group.line)))
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    if end < text.len() { format!("{}…", text[..end].trim_end()) } else { text.to_owned() }
}

/// Groups the headings that are no tasks. In a plan with tasks, those that have one below them only arrange it.
fn heading_groups(headings: &Headings) -> Groups {
    let mut groups = Groups::default();
    for (at, labelled) in headings.all.iter().enumerate().filter(|(at, _)| is_unread(headings, *at)) {
        if let Some(number) = NumberPrefix::of(&labelled.heading.text) {
            let arranges = headings.task_level.is_some() && (number.word.is_empty() || has_task(headings, at));
            if !arranges {
                let heading = &labelled.heading;
                groups.add("headings", usize::from(heading.level), &heading.text, heading.line, number);
            }
        }
    }
    groups
}

/// True for a heading that no other warning names: in a plan with tasks, one at their level or above.
fn is_unread(headings: &Headings, at: usize) -> bool {
    let labelled = &headings.all[at];
    let is_open =
        headings.task_level.is_none_or(|level| labelled.heading.level <= level && !headings.is_phase(labelled));
    is_open && matches!(labelled.label, Label::Other | Label::Phase { .. })
}

fn has_task(headings: &Headings, at: usize) -> bool {
    let level = headings.all[at].heading.level;
    let inside = headings.all[at + 1..].iter().take_while(|next| next.heading.level > level);
    inside.into_iter().any(LabelledHeading::is_task)
}

fn item_groups(blocks: &[Block]) -> Groups {
    let mut reader = Reader::default();
    reader.blocks(blocks, 0);
    reader.groups
}

#[derive(Default)]
struct Reader {
    groups: Groups,
    boxes: u64,
}

impl Reader {
    fn blocks(&mut self, blocks: &[Block], depth: usize) {
        for block in blocks {
            match &block.kind {
                Kind::Paragraph(lines) if depth == 0 => lines.iter().for_each(|line| self.line(line)),
                Kind::List(list) => {
                    for (nth, item) in list.items.iter().enumerate() {
                        let number = list.first.map(|first| first.saturating_add(nth as u64));
                        self.item(item, number, depth);
                        self.blocks(item, depth + 1);
                    }
                }
                Kind::Heading(_) | Kind::Paragraph(_) | Kind::Code(_) | Kind::Opaque => {}
            }
        }
    }

    /// Adds an item: by the number in its text, that of the list, or its box.
    fn item(&mut self, item: &[Block], number: Option<u64>, depth: usize) {
        let Some(Kind::Paragraph(lines)) = item.first().map(|block| &block.kind) else { return };
        let Some(line) = lines.first() else { return };
        let text = line.text();
        let of_list =
            || number.map(|number| NumberPrefix { word: String::new(), number: vec![number], is_marked: true });
        if line.has_box {
            self.boxes += 1;
        }
        let boxed = NumberPrefix { word: "[ ]".to_owned(), number: vec![self.boxes], is_marked: true };
        let own = NumberPrefix::of(&text).filter(|number| number.is_marked || is_id(&text)).or_else(of_list);
        if line.has_box {
            self.groups.add("list items", depth, &text, line.line, boxed);
        } else if let Some(number) = own {
            self.groups.add("list items", depth, &text, line.line, number);
        }
    }

    /// Adds a line of text that starts with a marked number, or the row of a table.
    fn line(&mut self, line: &Line) {
        let text = line.text();
        let cell = text.strip_prefix('|').and_then(|row| row.split('|').next());
        let number = NumberPrefix::of(cell.unwrap_or(&text)).or_else(|| first_number(cell?));
        if let Some(number) = number.filter(|number| number.is_marked || cell.is_some_and(is_id)) {
            self.groups.add("lines", 0, &text, line.line, number);
        }
    }
}

/// Reads a cell that is only a number.
fn first_number(cell: &str) -> Option<NumberPrefix> {
    Some(NumberPrefix { word: String::new(), number: vec![cell.trim().parse().ok()?], is_marked: true })
}

/// True if the number is part of the first word: `T001 [P] …`.
fn is_id(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()))
}
