//! The items of a list that belong to the label above it: those before the first step, label or box. Knows blocks of
//! markdown and no plan.

use super::blocks::{Block, Kind};
use super::field_labels::{Field, LabelledLine};
use super::inline::Line;
use super::numbered::Numbered;

/// Words for a step of a task.
const STEPS: [&str; 18] = [
    "step",
    "steps",
    "task",
    "schritt",
    "étape",
    "etape",
    "paso",
    "passo",
    "stap",
    "krok",
    "шаг",
    "步骤",
    "步驟",
    "第",
    "ステップ",
    "手順",
    "단계",
    "작업",
];

/// Returns the number of items, from the first, that a reader sees as part of what is above the list.
pub(super) fn count(items: &[Vec<Block>], field: Field) -> usize {
    let has_box = items.first().and_then(|item| first_line(item)).is_some_and(|line| line.has_box);
    let first = items.first().and_then(|item| numbered(item));
    let ends = |item: &Vec<Block>| {
        let Some(line) = first_line(item) else { return false };
        let has_other_number = match (numbered(item), &first) {
            (Some(number), Some(first)) => number.word != first.word && (line.is_strong() || line.has_box),
            (Some(_), None) => line.is_strong(),
            (None, _) => false,
        };
        is_step(line, field) || opens_label(line) || (line.has_box && !has_box) || has_other_number
    };
    items.iter().position(ends).unwrap_or(items.len())
}

/// True if each item starts with code and has no box.
pub(super) fn are_code(items: &[Vec<Block>]) -> bool {
    items.iter().filter_map(|item| first_line(item)).all(|line| line.starts_with_code() && !line.has_box)
}

fn first_line(item: &[Block]) -> Option<&Line> {
    match &item.first()?.kind {
        Kind::Paragraph(lines) | Kind::Heading(lines) => lines.first(),
        Kind::List(_) | Kind::Code(_) | Kind::Opaque => None,
    }
}

fn numbered(item: &[Block]) -> Option<Numbered> {
    Numbered::of(&first_line(item)?.text()).filter(|number| !number.word.is_empty() && number.is_marked)
}

/// True for the title of a step: `**Step 3: Commit**`, `- [ ] 步骤 3：提交`. A criterion may begin like one.
fn is_step(line: &Line, field: Field) -> bool {
    let Some(number) = Numbered::of(&line.text()).filter(|_| !line.starts_with_code()) else { return false };
    let is_title = line.is_strong() || line.has_box || matches!(field, Field::Verify | Field::Files);
    let names_task = field == Field::DependsOn && number.word == "task";
    STEPS.contains(&number.word.as_str()) && (number.is_marked || line.is_strong()) && is_title && !names_task
}

fn opens_label(line: &Line) -> bool {
    LabelledLine::of(line, false, false, false).is_some_and(|labelled| labelled.field.is_some())
}
