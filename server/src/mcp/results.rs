//! Results of calls: structured content, and text of bounded size that names the thread, as clients may show a model only one of them.

use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use serde_json::{Map, Value, json};

use super::position::{OpenQuestion, Position, PositionStatus};
use crate::error::ApiError;
use crate::panics::answer_schema;
use crate::records::items::path_part;

/// The longest text of a result, and the largest state in one, in bytes of JSON.
const TEXT: usize = 100 << 10;

/// Returns where a thread is as the result of a call. A graph that failed is an error of the tool.
pub(super) fn of_position(position: &Position) -> CallToolResult {
    let (state, left_out) = bounded_state(position);
    let note: Vec<&str> = [position.note.as_deref(), left_out.as_deref()].into_iter().flatten().collect();
    let structured = json!({
        "thread": position.thread,
        "graph": position.graph,
        "status": position.status,
        "state": state,
        "questions": position.questions.iter().map(question).collect::<Vec<_>>(),
        "note": (!note.is_empty()).then(|| note.join("; ")),
    });
    let mut text = summary(position);
    if !position.state.is_null() {
        text += &format!("\n{}", position.state);
    }
    let mut result = of_json(text, structured);
    result.is_error = Some(position.status == PositionStatus::Failed);
    result
}

/// Returns the state as far as a result has room for it, the smallest channels first, and a note about those that are left out.
fn bounded_state(position: &Position) -> (Value, Option<String>) {
    let size = position.state.to_string().len();
    let Value::Object(fields) = &position.state else { return (position.state.clone(), None) };
    if size <= TEXT {
        return (position.state.clone(), None);
    }
    let mut sizes: Vec<(usize, &String)> =
        fields.iter().map(|(name, value)| (name.len() + value.to_string().len() + 4, name)).collect();
    sizes.sort();
    let (mut room, mut shown, mut left_out) = (TEXT - 2, Map::new(), vec![]);
    for (size, name) in sizes {
        match room.checked_sub(size) {
            Some(rest) => _ = (room = rest, shown.insert(name.clone(), fields[name].clone())),
            None => left_out.push(format!("`{name}`")),
        }
    }
    let (left_out, thread) = (left_out.join(", "), path_part(&position.thread));
    let note = format!(
        "the state has {size} bytes and is shown without {left_out}: `status` with `channel` returns one channel, and \
         GET /threads/{thread}/state over HTTP all of them"
    );
    (shown.into(), Some(note))
}

/// Returns the newest steps of a history as far as a result has room for them, and a note about those that are left out.
pub(super) fn bounded_steps(mut steps: Vec<Value>, thread: &str) -> (Vec<Value>, Option<String>) {
    let mut room = TEXT;
    let fits = |step: &Value| {
        let rest = room.checked_sub(step.to_string().len() + 1);
        rest.map(|rest| room = rest).is_some()
    };
    let (all, shown) = (steps.len(), steps.iter().map(fits).take_while(|fits| *fits).count());
    if shown == all {
        return (steps, None);
    }
    steps.truncate(shown);
    let thread = path_part(thread);
    let note = format!(
        "only {shown} of {all} steps have room here: `status` returns the newest state, and POST /threads/{thread}/history over \
         HTTP all steps"
    );
    (steps, Some(note))
}

/// Returns a result of structured content with a text.
pub(super) fn of_json(text: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::structured(Value::Null);
    (result.content, result.structured_content) = (vec![ContentBlock::text(cut(text))], Some(structured));
    result
}

/// Returns an error that the model reads.
pub(super) fn of_error(error: &ApiError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(cut(error.detail.clone()))])
}

/// Returns an error of the protocol.
pub(super) fn protocol_error(error: ApiError) -> ErrorData {
    match error.status.is_server_error() {
        true => ErrorData::internal_error(error.detail, None),
        false => ErrorData::invalid_params(error.detail, None),
    }
}

/// Returns where a thread is, and what to do next.
pub(super) fn summary(position: &Position) -> String {
    let Position { thread, graph, status, note, .. } = position;
    let next = match status {
        PositionStatus::Working => format!("is working; `wait` with thread `{thread}` returns once it is done or asks"),
        PositionStatus::InputRequired => format!("asks: {}", questions_text(&position.questions)),
        PositionStatus::Completed => "is completed; its state is".into(),
        PositionStatus::Failed => "has failed".into(),
        PositionStatus::Cancelled => "was cancelled".into(),
    };
    let note = note.iter().map(|note| format!(" ({note})")).collect::<String>();
    format!("thread `{thread}` of graph `{graph}` {next}{note}")
}

fn questions_text(questions: &[OpenQuestion]) -> String {
    let one = |open: &OpenQuestion| {
        format!("\n{}\nanswer question `{}` with {}", open.text, open.id(), open.question.answer_shape())
    };
    questions.iter().map(one).collect()
}

fn question(open: &OpenQuestion) -> Value {
    let mut shown = open.shown.clone();
    (shown["text"], shown["schema"]) = (json!(open.text), json!(answer_schema(&open.question)));
    shown
}

/// Returns text that is not too long.
fn cut(mut text: String) -> String {
    if text.len() <= TEXT {
        return text;
    }
    let rest = format!("… ({} bytes in all; `status` with `channel` returns one channel)", text.len());
    let mut end = TEXT - rest.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = cut("é".repeat(TEXT));
        assert!(text.len() <= TEXT && text.ends_with("returns one channel)"), "{}", text.len());
        assert_eq!(cut("short".into()), "short");
    }
}
