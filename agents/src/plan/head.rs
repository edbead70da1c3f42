//! The title and goal in the head of a plan. Knows markdown and no tasks.

use pulldown_cmark::{Event, Parser, Tag};

use super::source;

const GOAL_LABELS: [&str; 3] = ["**Goal:**", "**Goal**:", "Goal:"];

/// Returns the goal in the head of a plan: the paragraph that starts with `**Goal:**`, or the first one below a heading
/// `Goal`.
pub(super) fn goal(head: &str) -> Option<String> {
    let head = &head[source::body(head).start..];
    let mut depth = 0_usize;
    let mut below_goal = false;
    for (event, range) in Parser::new(head).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) if depth == 0 => below_goal = is_goal_heading(&head[range]),
            Event::Start(Tag::Paragraph) if depth == 0 => {
                let paragraph = &head[range];
                if let Some(goal) = if below_goal { joined(paragraph.lines()) } else { labelled(paragraph) } {
                    return Some(goal);
                }
            }
            _ => {}
        }
        depth = depth_after(depth, &event);
    }
    None
}

fn depth_after(depth: usize, event: &Event<'_>) -> usize {
    match event {
        Event::Start(_) => depth + 1,
        Event::End(_) => depth.saturating_sub(1),
        _ => depth,
    }
}

fn is_goal_heading(source: &str) -> bool {
    source.lines().next().unwrap_or_default().trim_matches(['#', ' ', '*', ':', '\t']).eq_ignore_ascii_case("goal")
}

/// Returns the text after the label, up to the next label of the same paragraph.
fn labelled(paragraph: &str) -> Option<String> {
    let mut lines = paragraph.lines().map(str::trim_start).skip_while(|line| after_label(line).is_none());
    let first = after_label(lines.next()?)?;
    joined(std::iter::once(first).chain(lines.take_while(|line| !line.starts_with("**"))))
}

fn after_label(line: &str) -> Option<&str> {
    GOAL_LABELS.iter().find_map(|label| line.strip_prefix(label))
}

/// Joins the lines with spaces; `None` if nothing is left.
fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> Option<String> {
    let words: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}
