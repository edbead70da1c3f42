//! Reads the report that a verifier writes itself, as one JSON object.

use serde_json::{Map, Value};

use super::evidence::{Evidence, Lines};
use super::finding::{Finding, FindingKind, Fingerprint, Severity};
use super::report::{Verdict, VerifierReport};

pub(super) type Object = Map<String, Value>;

/// Fields that mark an object as part of a tool's own stream, such as cargo's.
const TOOLS: [&str; 3] = ["reason", "$message_type", "Action"];

/// Returns the only object of a text; `None` for any other text, and for a line of a tool's own stream.
pub(super) fn object(text: &str) -> Option<Object> {
    let text = text.trim();
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let object: Object = serde_json::from_str(text).ok()?;
    (!TOOLS.iter().any(|field| object.contains_key(*field))).then_some(object)
}

/// Reads a report.
///
/// # Errors
///
/// Every problem with its shape.
pub(super) fn report(object: &Object, kind: &FindingKind) -> Result<VerifierReport, Vec<String>> {
    let mut problems = Problems::default();
    let severity = problems.severity(object.get("severity"), "severity", None);
    let verdict = problems.verdict(object.get("verdict"));
    let findings = match object.get("findings") {
        Some(Value::Array(findings)) => findings.as_slice(),
        Some(_) => problems.add_problem("findings", "is not a list", &[]),
        None => problems.add_problem("findings", "is missing: a list, which may be empty", &[]),
    };
    let numbered = findings.iter().enumerate();
    let findings: Vec<Finding> =
        numbered.filter_map(|(nth, value)| problems.finding(value, nth, (severity, kind))).collect();
    let severity = VerifierReport::of(findings.clone()).severity.max(severity);
    let report = VerifierReport { severity, verdict, findings, evidence: Evidence::default() };
    if problems.0.is_empty() { Ok(report) } else { Err(problems.0) }
}

/// The problems of a report.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    /// Adds a problem, and returns the default instead.
    fn add_problem<T>(&mut self, field: &str, problem: &str, instead: T) -> T {
        self.0.push(format!("`{field}` {problem}"));
        instead
    }

    fn severity(&mut self, value: Option<&Value>, field: &str, missing: Option<Severity>) -> Severity {
        match (value, missing) {
            (None | Some(Value::Null), Some(missing)) => missing,
            (None, None) => self.add_problem(field, "is missing: error, warning or info", Severity::Error),
            (Some(value), _) => match serde_json::from_value(value.clone()) {
                Ok(severity) => severity,
                Err(_) => self.add_problem(field, "is not error, warning or info", Severity::Error),
            },
        }
    }

    fn verdict(&mut self, value: Option<&Value>) -> Option<Verdict> {
        let value = value.filter(|value| !value.is_null())?;
        match serde_json::from_value(value.clone()) {
            Ok(verdict) => Some(verdict),
            Err(_) => self.add_problem("verdict", "is not pass, fail or advisory", None),
        }
    }

    /// Reads a finding; `default` supplies the missing fields.
    fn finding(&mut self, value: &Value, nth: usize, default: (Severity, &FindingKind)) -> Option<Finding> {
        let field = |name: &str| format!("findings[{nth}].{name}");
        let Value::Object(object) = value else {
            return self.add_problem(&format!("findings[{nth}]"), "is not an object", None);
        };
        let message = match object.get("message") {
            Some(Value::String(message)) if !message.trim().is_empty() => message.clone(),
            Some(_) => self.add_problem(&field("message"), "is not a text, or empty", String::new()),
            None => self.add_problem(&field("message"), "is missing: a text", String::new()),
        };
        let severity = self.severity(object.get("severity"), &field("severity"), Some(default.0));
        let kind = self.text(object.get("type"), &field("type"));
        let fingerprint = self.text(object.get("fingerprint"), &field("fingerprint")).unwrap_or_default();
        let evidence = self.evidence(object.get("evidence"), &field("evidence"));
        let kind = kind.map_or(default.1.clone(), FindingKind::from);
        Some(Finding { kind, severity, message, evidence, fingerprint: Fingerprint::from(fingerprint) })
    }

    fn evidence(&mut self, value: Option<&Value>, field: &str) -> Evidence {
        let object = match value {
            None | Some(Value::Null) => return Evidence::default(),
            Some(Value::Object(object)) => object,
            Some(_) => return self.add_problem(field, "is not an object", Evidence::default()),
        };
        let mut text = |name: &str| self.text(object.get(name), &format!("{field}.{name}"));
        let (file, log, command) = (text("file"), text("log"), text("command"));
        Evidence { file, lines: self.lines(object.get("lines"), &format!("{field}.lines")), log, command }
    }

    fn lines(&mut self, value: Option<&Value>, field: &str) -> Option<Lines> {
        let text = match value? {
            Value::Null => return None,
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return self.add_problem(field, "is neither a number nor a text", None),
        };
        match text.parse() {
            Ok(lines) => Some(lines),
            Err(error) => self.add_problem(field, &format!("is wrong: {error}"), None),
        }
    }

    fn text(&mut self, value: Option<&Value>, field: &str) -> Option<String> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => self.add_problem(field, "is not a text", None),
        }
    }
}
