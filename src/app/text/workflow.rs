//! Events of coding-agent workflows as lines for people. Pure.

use serde_json::Value;

use super::escape::clean_lines;
use super::phase::phase_event;

/// Formats an event of a phase, subtask, verifier, decision or a note as a line, its further lines indented; else none.
pub(crate) fn workflow_event(value: &Value, indent: usize) -> Option<String> {
    phase_event(value, indent)
        .or_else(|| decision_event(value, indent))
        .or_else(|| verifier_event(value, indent))
        .or_else(|| note_event(value, indent))
}

fn note_event(value: &Value, indent: usize) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    Some(clean_lines(&format!("note: {}", fields.get("note")?.as_str()?), indent))
}

fn verifier_event(value: &Value, indent: usize) -> Option<String> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let ended = fields.get("verified")?;
    let (task, verifier) = (ended["task_id"].as_str()?, ended["verifier"].as_str()?);
    let (attempt, findings) = (ended["attempt"].as_u64()?, ended["findings"].as_u64()?);
    let result = match (ended["skipped"].as_str(), findings) {
        (Some(why), _) => format!("skipped ({why})"),
        (None, 0) => ended["severity"].as_str()?.replace("info", "ok"),
        (None, 1) => format!("{}, 1 finding", ended["severity"].as_str()?),
        (None, count) => format!("{}, {count} findings", ended["severity"].as_str()?),
    };
    Some(clean_lines(&format!("{task}, attempt {attempt}: verifier {verifier}: {result}"), indent))
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
    fn a_decision_shows_its_reason() {
        let made =
            json!({"decision": {"task_id": "tides", "attempt": 2, "decision": "SPLIT", "reason": "repeated: twice"}});
        insta::assert_snapshot!(decision_event(&made, 2).unwrap(), @"tides, attempt 2: SPLIT, repeated: twice");
        assert_eq!(decision_event(&json!({"decision": "SPLIT"}), 2), None);
        assert_eq!(decision_event(&json!("decision"), 2), None);
    }

    #[test]
    fn a_note_is_a_line() {
        let note = json!({"note": "the branch `main` was moved"});
        insta::assert_snapshot!(workflow_event(&note, 2).unwrap(), @"note: the branch `main` was moved");
        assert_eq!(workflow_event(&json!({"note": 3}), 2), None);
    }

    #[test]
    fn the_end_of_a_verifier_shows_the_number_of_its_findings() {
        let ended = |severity: &str, findings: u32, skipped: Option<&str>| {
            let ended = json!({"verified": {
                "task_id": "tides", "attempt": 2, "verifier": "build", "severity": severity, "findings": findings, "skipped": skipped,
            }});
            verifier_event(&ended, 2).unwrap()
        };
        let all = [
            ended("error", 2, None),
            ended("warning", 1, None),
            ended("info", 0, None),
            ended("info", 0, Some("flag")),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        tides, attempt 2: verifier build: error, 2 findings
        tides, attempt 2: verifier build: warning, 1 finding
        tides, attempt 2: verifier build: ok
        tides, attempt 2: verifier build: skipped (flag)
        ");
        assert_eq!(verifier_event(&json!({"verified": 3}), 2), None);
    }
}
