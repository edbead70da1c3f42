//! Events of phases and subtasks as lines for people. Pure.

use serde_json::Value;

use super::escape::{clean, clean_lines};

/// Formats an event of a phase or subtask as a line, its further lines indented; none for any other value.
pub(super) fn phase_event(value: &Value, indent: usize) -> Option<String> {
    let (kind, place) = value.as_object().filter(|fields| fields.len() == 1)?.iter().next()?;
    let (about, verb) = kind.split_once('_')?;
    let verb = match (about, verb) {
        ("phase" | "subtask", "started" | "completed") | ("subtask", "failed") => verb,
        ("phase", "retry") => "started again",
        _ => return None,
    };
    let number = match about {
        "phase" => (place["phase_index"].as_u64()? + 1).to_string(),
        _ => clean(place["subtask_id"].as_str()?).into_owned(),
    };
    let more = place["reason"].as_str().or_else(|| place["title"].as_str().filter(|_| verb == "started"));
    let more = more.filter(|more| !more.is_empty()).map(|more| format!(": {}", clean_lines(more, indent)));
    Some(format!("{about} {number} {verb}, attempt {}{}", place["attempt"].as_u64()?, more.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!({"phase_started": {"phase_index": 0, "subtask_id": null, "attempt": 1}}), Some("phase 1 started, attempt 1"))]
    #[case(json!({"phase_completed": {"phase_index": 1, "attempt": 2}}), Some("phase 2 completed, attempt 2"))]
    #[case(
        json!({"phase_retry": {"phase_index": 1, "attempt": 2, "reason": "rejected"}}),
        Some("phase 2 started again, attempt 2: rejected")
    )]
    #[case(
        json!({"subtask_started": {"phase_index": 1, "subtask_id": "2a", "attempt": 1, "title": "Print a day"}}),
        Some("subtask 2a started, attempt 1: Print a day")
    )]
    #[case(
        json!({"subtask_completed": {"phase_index": 1, "subtask_id": "2a", "attempt": 1, "title": "Print a day"}}),
        Some("subtask 2a completed, attempt 1")
    )]
    #[case(
        json!({"subtask_failed": {"subtask_id": "2b", "attempt": 3, "title": "x", "reason": "no\u{1b}[2J\nway"}}),
        Some("subtask 2b failed, attempt 3: no\\u{1b}[2J\n    way")
    )]
    #[case(json!({"subtask_failed": "2b"}), None)]
    #[case(json!({"turn": {"task": "2a", "attempt": 1}}), None)]
    #[case(json!("phase_started"), None)]
    fn an_event_of_a_phase_is_a_line(#[case] event: Value, #[case] line: Option<&str>) {
        assert_eq!(phase_event(&event, 4).as_deref(), line);
    }
}
