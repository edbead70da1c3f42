//! The result that an agent submits at the end of a turn, as a type: offered as a tool, parsed from the agent's output.
//! Pure.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::drivers::{Finished, SubmitTool, fenced_json};
use crate::plan::{FinalReview, PlanProposal, Review, WorkReport, WorkStatus};

/// A result that an agent submits.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use superstep::nodes::Submit;
///
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct Headline {
///     text: String,
/// }
/// impl Submit for Headline {
///     const TOOL: &'static str = "submit_headline";
///     const PURPOSE: &'static str = "Hand over the headline.";
///     fn check(&self) -> Result<(), String> {
///         if self.text.len() > 80 { Err("the headline has more than 80 characters".into()) } else { Ok(()) }
///     }
/// }
/// assert_eq!(Headline::tool().schema["required"][0], "text");
/// ```
pub trait Submit: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// Name of the tool that submits it.
    const TOOL: &'static str;
    /// The purpose of the tool, in a sentence.
    const PURPOSE: &'static str;

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// The problem, for the agent to read.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the tool.
    fn tool() -> SubmitTool {
        let schema = schemars::generate::SchemaSettings::draft07().with(|s| s.inline_subschemas = true);
        let mut schema = schema.into_generator().into_root_schema_for::<Self>().to_value();
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            object.remove("title");
        }
        SubmitTool { name: Self::TOOL.into(), description: Self::PURPOSE.into(), schema }
    }
}

/// Parses the result of a turn: from the tool call, or from JSON in the last text.
///
/// # Errors
/// The reason why it cannot be used, for the agent to read.
pub(crate) fn parse_submission<T: Submit>(finished: &Finished) -> Result<T, String> {
    let value = match &finished.submitted {
        Some(value) => value.clone(),
        None => fenced_json(&finished.text)
            .ok_or_else(|| format!("the tool `{}` was not called with a JSON object", T::TOOL))?,
    };
    let read: T = serde_json::from_value(value).map_err(|error| format!("`{}` was given {error}", T::TOOL))?;
    read.check()?;
    Ok(read)
}

impl Submit for PlanProposal {
    const TOOL: &'static str = "submit_plan";
    const PURPOSE: &'static str = "Hand over the plan. Call it once, at the end.";
}

impl Submit for WorkReport {
    const TOOL: &'static str = "submit_work";
    const PURPOSE: &'static str =
        "Hand over the work on the task, or say what keeps you from it. Call it once, at the end.";

    fn check(&self) -> Result<(), String> {
        let asks = self.question.as_ref().is_some_and(|question| !question.trim().is_empty());
        match self.status {
            WorkStatus::Blocked | WorkStatus::NeedsInfo if !asks => {
                Err("`question` is missing: say what has to be answered".into())
            }
            WorkStatus::Done | WorkStatus::Blocked | WorkStatus::NeedsInfo => Ok(()),
        }
    }
}

impl Submit for Review {
    const TOOL: &'static str = "submit_review";
    const PURPOSE: &'static str = "Hand over the review of the task's work. Call it once, at the end.";
}

impl Submit for FinalReview {
    const TOOL: &'static str = "submit_final_review";
    const PURPOSE: &'static str = "Hand over the review of all the work. Call it once, at the end.";
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::drivers::{TurnStatus, Usage};

    fn finished(text: &str, submitted: Option<Value>) -> Finished {
        Finished { status: TurnStatus::Done, text: text.into(), submitted, session: None, usage: Usage::default() }
    }

    #[test]
    fn a_result_is_read_from_the_tool_or_the_text() {
        let review = json!({"approved": true});
        let texts = [
            review.to_string(),
            format!("Well.\n```json\n{review}\n```\nDone."),
            format!("First\n```\n{{\"approved\": false}}\n```\nthen\n```\n{review}\n```"),
        ];
        for text in texts {
            assert!(parse_submission::<Review>(&finished(&text, None)).unwrap().approved, "{text}");
        }
        assert!(parse_submission::<Review>(&finished("{\"approved\": false}", Some(review))).unwrap().approved);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let why = |text: &str, value| parse_submission::<Review>(&finished(text, value)).unwrap_err();
        insta::assert_snapshot!(why("It looks approved to me.", None), @"the tool `submit_review` was not called with a JSON object");
        insta::assert_snapshot!(why("", Some(json!({"approved": "yes"}))), @r#"`submit_review` was given invalid type: string "yes", expected a boolean"#);
        insta::assert_snapshot!(why("```json\n{\"approve\": true}\n```", None), @"`submit_review` was given missing field `approved`");
    }

    #[test]
    fn a_question_is_needed_by_those_who_cannot_go_on() {
        let report = json!({"status": "blocked", "summary": "no", "question": " "});
        let error = parse_submission::<WorkReport>(&finished("", Some(report))).unwrap_err();
        insta::assert_snapshot!(error, @"`question` is missing: say what has to be answered");
    }
}
