//! JSON values as lines for people: long texts verbatim, entries of a journal in brief, events of coding-agent workflows and
//! their phases in words, the rest as JSON. Pure.

use serde_json::Value;

use super::escape::{clean, clean_lines, safe_json};

/// The maximum number of characters of a value on one line.
const WIDTH: usize = 88;

/// Formats a named value as lines, indented by `indent`.
pub(super) fn value(name: &str, value: &Value, indent: usize) -> String {
    let (name, space) = (clean(name), " ".repeat(indent));
    match value {
        Value::String(text) if text.contains('\n') => {
            let lines = text.lines().map(|line| format!("{space}  {}\n", clean(line)));
            format!("{space}{name}:\n{}", lines.collect::<String>())
        }
        Value::String(text) => format!("{space}{name}: {}\n", clean(text)),
        Value::Array(items) if is_long(value) => {
            let items = items.iter().map(|item| format!("{space}  - {}\n", one_line(item)));
            format!("{space}{name}:\n{}", items.collect::<String>())
        }
        Value::Object(fields) if is_long(value) => {
            let fields = fields.iter().map(|(name, inner)| self::value(name, inner, indent + 2));
            format!("{space}{name}:\n{}", fields.collect::<String>())
        }
        _ => format!("{space}{name}: {}\n", one_line(value)),
    }
}

/// Returns the output of a running node: a text as it is written, its further lines indented; an event of a phase as
/// text; the rest as JSON.
pub(crate) fn format_output(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => clean_lines(text, indent),
        other => workflow_event(other, indent).unwrap_or_else(|| one_line(other)),
    }
}

fn is_long(value: &Value) -> bool {
    value.to_string().chars().nth(WIDTH).is_some()
}

fn one_line(value: &Value) -> String {
    safe_json(&value.to_string()).into_owned()
}

/// Formats an entry as one line, for events.
pub(super) fn brief(entry: &Value) -> String {
    let key = clean(entry["key"].as_str().unwrap_or_default()).into_owned();
    let held = |name: &str| safe_json(&entry[name].to_string()).into_owned();
    match entry["kind"].as_str().unwrap_or_default() {
        "effect" if entry["error"].is_string() => {
            format!("effect {key} {} failed: {}", held("arguments"), clean_lines(text(entry, "error"), 4))
        }
        "effect" => format!("effect {key} {} returned {}", held("arguments"), held("result")),
        "value" => format!("recorded {key}: {}", held("value")),
        "sleep" => format!("waits until {}", clean(text(entry, "until"))),
        kind => format!("recorded {kind} {}", held("value")),
    }
}

/// Returns a field of an entry as text; empty if it is none.
pub(super) fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry[key].as_str().unwrap_or_default()
}

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

/// Formats an event of a phase or subtask as a line, its further lines indented; none for any other value.
fn phase_event(value: &Value, indent: usize) -> Option<String> {
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
