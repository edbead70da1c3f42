//! Results that model verifiers submit, as types, and the findings that are made of them, after a check of their quotes. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::job::RunVerifier;
use crate::findings::{Evidence, Finding, FindingKind, Severity};
use crate::nodes::agent::Submit;

/// A judgement on the acceptance criteria: what `alignment` hands over with `submit_alignment`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Alignment {
    /// A judgement for each criterion.
    pub(super) criteria: Vec<CriterionMet>,
}

/// A judgement on one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct CriterionMet {
    /// The criterion, word for word.
    pub(super) text: String,
    /// Whether it is met.
    pub(super) met: CriterionStatus,
    /// The place that shows it, with a quote from the file.
    #[serde(default, deserialize_with = "deserialize_place")]
    pub(super) evidence: Option<QuotedPlace>,
}

/// Whether a criterion is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CriterionStatus {
    /// It is, and the quote shows it.
    Yes,
    /// One cannot tell.
    Unclear,
    /// It is not.
    No,
}

/// A place in a file, and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub(super) struct QuotedPlace {
    /// A path from the root of the repository.
    #[serde(default)]
    pub(super) file: Option<String>,
    /// The lines, `3` or `3-5`, from 1.
    #[serde(default, deserialize_with = "lines")]
    #[schemars(with = "Option<String>")]
    pub(super) lines: Option<String>,
    /// Text from these lines, word for word.
    #[serde(default)]
    pub(super) quote: Option<String>,
}

/// Risks of the work for other tasks: what `bigpicture` hands over with `submit_risks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Risks {
    /// The risks; empty if there are none.
    pub(super) risks: Vec<Risk>,
}

/// A risk for another task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Risk {
    /// How the other task is related.
    pub(super) relation: Relation,
    /// The id of the other task.
    pub(super) id: String,
    /// What does not fit, and why it matters there.
    pub(super) claim: String,
    /// The place that shows it.
    #[serde(default, deserialize_with = "deserialize_place")]
    pub(super) evidence: Option<QuotedPlace>,
}

/// How another task is related to the one that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(super) enum Relation {
    /// The task is a part of it.
    Parent,
    /// It follows the task.
    Next,
}

/// Suggestions of style: what `style` hands over with `submit_style`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Style {
    /// The suggestions; empty if there are none.
    pub(super) suggestions: Vec<Suggestion>,
}

/// A suggestion of style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Suggestion {
    /// What would be better, and why.
    #[serde(alias = "message", alias = "suggestion")]
    pub(super) text: String,
    /// How much it matters: `info` or `warning`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(super) severity: Severity,
    /// The place.
    #[serde(default, deserialize_with = "deserialize_place")]
    pub(super) evidence: Option<QuotedPlace>,
}

/// Findings of a verifier with a prompt of your own: what it hands over with `submit_findings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Findings {
    /// The findings; empty if there are none.
    pub(super) findings: Vec<ModelFinding>,
}

/// A finding of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct ModelFinding {
    /// How grave it is: `error`, `warning` or `info`.
    #[schemars(with = "String")]
    pub(super) severity: Severity,
    /// What is wrong, and what to do about it.
    pub(super) message: String,
    /// Its kind, a word in capitals.
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    /// The place that shows it.
    #[serde(default, deserialize_with = "deserialize_place")]
    pub(super) evidence: Option<QuotedPlace>,
}

impl Submit for Alignment {
    const TOOL: &'static str = "submit_alignment";
    const PURPOSE: &'static str = "Hand over a judgement for each acceptance criterion. Call it once, at the end.";
}

impl Submit for Risks {
    const TOOL: &'static str = "submit_risks";
    const PURPOSE: &'static str = "Hand over the risks for other tasks, if there are any. Call it once, at the end.";
}

impl Submit for Style {
    const TOOL: &'static str = "submit_style";
    const PURPOSE: &'static str = "Hand over suggestions of style, if there are any. Call it once, at the end.";
}

impl Submit for Findings {
    const TOOL: &'static str = "submit_findings";
    const PURPOSE: &'static str = "Hand over the findings, if there are any. Call it once, at the end.";
}

/// Parses line numbers, which models write as text, as a number, or as two numbers.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenLines {
        Line(u32),
        Lines([u32; 2]),
        Text(String),
    }
    Ok(Option::<WrittenLines>::deserialize(deserializer)?.map(|written| match written {
        WrittenLines::Line(line) => line.to_string(),
        WrittenLines::Lines([first, last]) => format!("{first}-{last}"),
        WrittenLines::Text(text) => text,
    }))
}

/// Parses a place, which models also write as a text.
fn deserialize_place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<QuotedPlace>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WrittenPlace {
        Place(QuotedPlace),
        Text(String),
    }
    Ok(Option::<WrittenPlace>::deserialize(deserializer)?.map(|written| match written {
        WrittenPlace::Place(shown) => shown,
        WrittenPlace::Text(text) => QuotedPlace { quote: Some(text), ..QuotedPlace::default() },
    }))
}

/// The result of looking for a quote in the file that is named with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// No quote.
    None,
    /// The file contains it.
    Found,
    /// The file does not contain it.
    Missing,
}

/// The grounds on which a criterion is judged.
struct Judgement<'a> {
    met: CriterionStatus,
    reason: String,
    shown: Option<&'a QuotedPlace>,
}

/// Returns the findings on the criteria; `quotes` returns the check of a judgement's quote.
pub(super) fn findings(
    job: &RunVerifier,
    criteria: &[String],
    given: &Alignment,
    quotes: impl Fn(&CriterionMet) -> Quote,
) -> Vec<Finding> {
    let judge = |criterion: &String| {
        let of = given.criteria.iter().filter(|judged| is_same(&judged.text, criterion));
        // Take the worst of several, as one of them was about another criterion.
        let worst = of.map(|judged| judgement(judged, quotes(judged))).max_by_key(|judgement| judgement.met);
        finding(job, criterion, worst)
    };
    let known = |judged: &CriterionMet| job.task.acceptance.iter().any(|criterion| is_same(&judged.text, criterion));
    let invented = given.criteria.iter().filter(|judged| !known(judged)).map(|judged| {
        let message = format!("a criterion was judged that the task does not have: {}", judged.text);
        Finding::info(FindingKind::SpecDivergence, message)
    });
    criteria.iter().filter_map(judge).chain(invented).collect()
}

fn judgement(judged: &CriterionMet, quote: Quote) -> Judgement<'_> {
    let shown = judged.evidence.as_ref();
    let file = shown.and_then(|shown| shown.file.as_deref());
    let (met, reason) = match (judged.met, quote, file) {
        (_, Quote::Missing, Some(file)) => (CriterionStatus::Unclear, format!("the quote is not in {file}")),
        (_, Quote::Missing, None) => (CriterionStatus::Unclear, "the quote names no file".to_owned()),
        (CriterionStatus::Yes, Quote::None, _) => {
            (CriterionStatus::Unclear, "nothing is quoted that shows it".to_owned())
        }
        (met, Quote::None | Quote::Found, _) => (met, String::new()),
    };
    Judgement { met, reason, shown }
}

fn finding(job: &RunVerifier, criterion: &str, judgement: Option<Judgement<'_>>) -> Option<Finding> {
    let kind = FindingKind::SpecDivergence;
    let Some(Judgement { met, reason, shown }) = judgement else {
        return Some(job.with_identity(
            Finding::warning(kind, format!("not judged: {criterion}")),
            "left-out",
            criterion,
        ));
    };
    let reason = if reason.is_empty() { reason } else { format!(" ({reason})") };
    let (finding, code) = match met {
        CriterionStatus::Yes => return None,
        CriterionStatus::Unclear => (Finding::warning(kind, format!("unclear: {criterion}{reason}")), "unclear"),
        CriterionStatus::No => (Finding::error(kind, format!("not met: {criterion}{reason}")), "no"),
    };
    let finding = Finding { evidence: shown.map(evidence).unwrap_or_default(), ..finding };
    Some(job.with_identity(finding, code, criterion))
}

/// Returns true if a text is a criterion, ignoring spacing, case, a leading bullet and a final period.
fn is_same(text: &str, criterion: &str) -> bool {
    plain(text) == plain(criterion)
}

fn plain(text: &str) -> String {
    let text = collapse_spaces(text.trim().trim_start_matches(['-', '*', ' ']).trim_end_matches(['.', ' ']));
    text.to_lowercase()
}

/// Returns true if a text contains a quote, ignoring spacing. The lines of the quote may have the `+` of a diff.
pub(super) fn has_quote(text: &str, quote: &str) -> bool {
    let text = collapse_spaces(text);
    let lines: Vec<&str> = quote.lines().map(|line| line.strip_prefix('+').unwrap_or(line)).collect();
    text.contains(&collapse_spaces(quote)) || text.contains(&collapse_spaces(&lines.join("\n")))
}

fn collapse_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the risks as warnings; those for unknown tasks as infos.
pub(super) fn risks(job: &RunVerifier, given: &Risks) -> Vec<Finding> {
    given.risks.iter().map(|risk| of_risk(job, risk)).collect()
}

fn of_risk(job: &RunVerifier, risk: &Risk) -> Finding {
    let Risk { relation, id, claim, evidence } = risk;
    let mut others = match relation {
        Relation::Parent => job.task.parent.as_slice(),
        Relation::Next => &job.task.next,
    }
    .iter();
    let severity = if others.any(|other| other.id == *id) { Severity::Warning } else { Severity::Info };
    let message = format!("{relation} task {id}: {claim}");
    let finding = with_evidence(Finding::new(FindingKind::ContextRisk, severity, message), evidence.as_ref());
    job.with_identity(finding, &format!("{relation} {id}"), claim)
}

/// Returns the suggestions as warnings and infos.
pub(super) fn suggestions(given: &Style) -> Vec<Finding> {
    let of = |suggestion: &Suggestion| {
        let severity = suggestion.severity.min(Severity::Warning);
        with_evidence(Finding::new(FindingKind::Style, severity, &suggestion.text), suggestion.evidence.as_ref())
    };
    given.suggestions.iter().map(of).collect()
}

/// Returns the findings of a verifier with its own prompt.
pub(super) fn own(given: &Findings) -> Vec<Finding> {
    let of = |finding: &ModelFinding| {
        let kind = FindingKind::from(finding.kind.clone().unwrap_or_else(|| "REVIEW".into()));
        with_evidence(Finding::new(kind, finding.severity, &finding.message), finding.evidence.as_ref())
    };
    given.findings.iter().map(of).collect()
}

fn with_evidence(finding: Finding, shown: Option<&QuotedPlace>) -> Finding {
    Finding { evidence: shown.map(evidence).unwrap_or_default(), ..finding }
}

/// Converts a place that a model named to evidence; unreadable lines are left out.
fn evidence(shown: &QuotedPlace) -> Evidence {
    let QuotedPlace { file, lines, quote } = shown.clone();
    Evidence { file, lines: lines.and_then(|lines| lines.parse().ok()), log: quote, command: None }
}
