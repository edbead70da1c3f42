//! Events of the workflows of coding agents as lines for people. Pure.

use serde_json::Value;

use super::escape::clean_lines;
use super::phase::phase_event;

/// Returns the line of an event of a phase, a subtask or a decision, its further lines indented so far; none for any other value.
pub(crate) fn workflow_event(value: &Value, indent: usize) -> Option<String> {
    phase_event(value, indent).or_else(|| decision_event(value, indent))
}

fn decision_event(value: &Value, indent: usize) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let made = fields.get("decision")?;
    let (decision, reason) = (made["decision"].as_str()?, made["reason"].as_str()?);
    let (attempt, task) = (made["attempt"].as_u64()?, made["task_id"].as_str()?);
    Some(clean_lines(&format!("{task}, attempt {attempt}: {decision}, {reason}"), indent))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_told_with_its_reason() {
        let made =
            json!({"decision": {"task_id": "tides", "attempt": 2, "decision": "SPLIT", "reason": "repeated: twice"}});
        insta::assert_snapshot!(decision_event(&made, 2).unwrap(), @"tides, attempt 2: SPLIT, repeated: twice");
        assert_eq!(decision_event(&json!({"decision": "SPLIT"}), 2), None);
        assert_eq!(decision_event(&json!("decision"), 2), None);
    }
}
