//! Results that model verifiers submit, as types. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::findings::Severity;
use crate::nodes::submit::Submit;

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
    pub(super) met: Met,
    /// The place that shows it, with a quote from the file.
    #[serde(default, deserialize_with = "shown")]
    pub(super) evidence: Option<Shown>,
}

/// Whether a criterion is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Met {
    /// It is, and the quote shows it.
    Yes,
    /// One cannot tell.
    Unclear,
    /// It is not.
    No,
}

/// A place in a file, and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Shown {
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
    #[serde(default, deserialize_with = "shown")]
    pub(super) evidence: Option<Shown>,
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
    #[serde(default, deserialize_with = "shown")]
    pub(super) evidence: Option<Shown>,
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
    #[serde(default, deserialize_with = "shown")]
    pub(super) evidence: Option<Shown>,
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
    enum Written {
        Line(u32),
        Lines([u32; 2]),
        Text(String),
    }
    Ok(Option::<Written>::deserialize(deserializer)?.map(|written| match written {
        Written::Line(line) => line.to_string(),
        Written::Lines([first, last]) => format!("{first}-{last}"),
        Written::Text(text) => text,
    }))
}

/// Parses a place, which models also write as a text.
fn shown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Shown>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Place(Shown),
        Text(String),
    }
    Ok(Option::<Written>::deserialize(deserializer)?.map(|written| match written {
        Written::Place(shown) => shown,
        Written::Text(text) => Shown { quote: Some(text), ..Shown::default() },
    }))
}
