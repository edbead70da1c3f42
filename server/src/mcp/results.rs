//! Results of calls: structured content, and text of bounded size that names the thread, as clients may show a model only one of them.

use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use serde_json::{Value, json};

use super::position::{OpenQuestion, Position, PositionStatus};
use crate::error::ApiError;

/// The longest text of a result, in bytes.
const TEXT: usize = 100 << 10;

/// Returns where a thread is as the result of a call. A graph that failed is an error of the tool.
pub(super) fn of_position(position: &Position) -> CallToolResult {
    let structured = json!({
        "thread": position.thread,
        "graph": position.graph,
        "status": position.status,
        "state": position.state,
        "questions": position.questions.iter().map(question).collect::<Vec<_>>(),
        "note": position.note,
    });
    let mut text = summary(position);
    if !position.state.is_null() {
        text += &format!("\n{}", position.state);
    }
    let mut result = of_json(text, structured);
    result.is_error = Some(position.status == PositionStatus::Failed);
    result
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
    (shown["text"], shown["schema"]) = (json!(open.text), json!(open.question.answer_schema()));
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
