//! The state of a plan's execution: a person's decision about it, and the progress of work on its tasks. Knows ids and
//! counts, no plan text, and not what follows from a decision.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::id::TaskId;

/// A person's decision on a plan. As JSON: `"approve"`, `{"approve": {"tasks": ["1", "3"]}}`, `{"reject": {"feedback": ".."}}`,
/// `{"revise": {"feedback": ".."}}` or `{"edit_plan": {"markdown": ".."}}`.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::plan::Decision;
/// let decision = Decision::reject("too large");
/// assert_eq!(decision.to_string(), "rejected: too large");
/// assert_eq!(serde_json::to_string(&decision)?, r#"{"reject":{"feedback":"too large"}}"#);
/// assert_eq!(serde_json::from_str::<Decision>(r#""approve""#)?, Decision::approve());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The plan is executed.
    Approve {
        /// Only these tasks; `None` for all of them.
        tasks: Option<Vec<TaskId>>,
    },
    /// The plan is dropped.
    Reject {
        /// The reason; empty if none was given.
        feedback: String,
    },
    /// The plan is sent back to be written again.
    Revise {
        /// The requested changes.
        feedback: String,
    },
    /// Another plan is executed instead.
    EditPlan {
        /// The other plan's markdown.
        markdown: String,
    },
}

impl Decision {
    /// The JSON forms of a decision, for error messages.
    pub const SHAPE: &'static str = r#""approve" or {"approve": {"tasks": [id, ..]}} or {"reject": {"feedback": text}} or {"revise": {"feedback": text}} or {"edit_plan": {"markdown": text}}"#;

    /// Returns an approval.
    pub fn approve() -> Self {
        Self::Approve { tasks: None }
    }

    /// Returns an approval of only these tasks; the others are skipped.
    pub fn approve_only(tasks: impl IntoIterator<Item = TaskId>) -> Self {
        Self::Approve { tasks: Some(tasks.into_iter().collect()) }
    }

    /// Returns a rejection.
    pub fn reject(feedback: impl Into<String>) -> Self {
        Self::Reject { feedback: feedback.into() }
    }

    /// Returns a request for a revised plan.
    pub fn revise(feedback: impl Into<String>) -> Self {
        Self::Revise { feedback: feedback.into() }
    }

    /// Returns an approval of another plan.
    pub fn edit_plan(markdown: impl Into<String>) -> Self {
        Self::EditPlan { markdown: markdown.into() }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_text = |f: &mut fmt::Formatter<'_>, word: &str, text: &str| match text {
            "" => f.write_str(word),
            text => write!(f, "{word}: {text}"),
        };
        match self {
            Self::Approve { tasks: None } => f.write_str("approved"),
            Self::Approve { tasks: Some(tasks) } => {
                let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                write!(f, "approved for the tasks {}", ids.join(", "))
            }
            Self::Reject { feedback } => with_text(f, "rejected", feedback),
            Self::Revise { feedback } => with_text(f, "sent back", feedback),
            Self::EditPlan { .. } => f.write_str("approved with another plan"),
        }
    }
}

/// The JSON form of every decision but the plain word `approve`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum DecisionForm {
    Approve {
        tasks: Vec<TaskId>,
    },
    Reject {
        #[serde(default)]
        feedback: String,
    },
    Revise {
        feedback: String,
    },
    EditPlan {
        markdown: String,
    },
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tagged = match self.clone() {
            Self::Approve { tasks: None } => return serializer.serialize_str("approve"),
            Self::Approve { tasks: Some(tasks) } => DecisionForm::Approve { tasks },
            Self::Reject { feedback } => DecisionForm::Reject { feedback },
            Self::Revise { feedback } => DecisionForm::Revise { feedback },
            Self::EditPlan { markdown } => DecisionForm::EditPlan { markdown },
        };
        tagged.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Decision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("approve") => return Ok(Self::approve()),
            Some("reject") => return Ok(Self::reject("")),
            _ => {}
        }
        let tagged = serde_json::from_value(value)
            .map_err(|error| de::Error::custom(format!("{error}; a decision is {}", Self::SHAPE)))?;
        Ok(match tagged {
            DecisionForm::Approve { tasks } => Self::Approve { tasks: Some(tasks) },
            DecisionForm::Reject { feedback } => Self::Reject { feedback },
            DecisionForm::Revise { feedback } => Self::Revise { feedback },
            DecisionForm::EditPlan { markdown } => Self::EditPlan { markdown },
        })
    }
}

impl JsonSchema for Decision {
    fn schema_name() -> Cow<'static, str> {
        "Decision".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tasks = json_schema!({
            "type": "array", "items": generator.subschema_for::<TaskId>(), "description": "The ids of these tasks.",
        });
        let reason = text("markdown", "The reason; empty if none was given.");
        let changes = text("markdown", "The requested changes.");
        let plan = text("plan", "The other plan.");
        json_schema!({
            "description": "A person's decision on a plan.",
            "oneOf": [
                { "const": "approve", "type": "string", "description": "The plan is executed." },
                variant("approve", "Only some tasks are executed; the others are skipped.", ("tasks", &tasks, true)),
                { "const": "reject", "type": "string", "description": "The plan is dropped, for no reason that is given." },
                variant("reject", "The plan is dropped.", ("feedback", &reason, false)),
                variant("revise", "The plan is sent back to be written again.", ("feedback", &changes, true)),
                variant("edit_plan", "Another plan is executed instead.", ("markdown", &plan, true)),
            ],
        })
    }
}

fn text(format: &str, description: &str) -> Schema {
    json_schema!({ "type": "string", "format": format, "description": description })
}

/// Returns the schema of an object whose only field names a decision, with a field of it.
fn variant(word: &str, description: &str, (field, schema, is_required): (&str, &Schema, bool)) -> Schema {
    let required: &[&str] = if is_required { &[field] } else { &[] };
    let fields = json_schema!({
        "type": "object", "properties": { field: schema }, "required": required, "additionalProperties": false,
    });
    json_schema!({
        "type": "object", "description": description,
        "properties": { word: fields }, "required": [word], "additionalProperties": false,
    })
}

/// The progress of work on the tasks of a plan: one value, so that it fits in one channel.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::plan::TaskProgress;
/// let progress = TaskProgress::new(2, 3).after_review();
/// assert_eq!((progress.task_review_iteration, progress.has_attempts_left()), (1, true));
/// let progress = progress.next_task();
/// assert_eq!((progress.current_task_index, progress.task_review_iteration, progress.is_last()), (1, 0, true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskProgress {
    /// The index of the current task, from 0.
    pub current_task_index: usize,
    /// The number of tasks.
    pub total_tasks: usize,
    /// The number of attempts at the current task that were reviewed or failed their checks.
    pub task_review_iteration: u32,
    /// The maximum number of attempts at a task, including the first.
    pub max_task_review_iterations: u32,
}

impl TaskProgress {
    /// The default maximum number of attempts at a task.
    pub const MAX_TASK_REVIEW_ITERATIONS: u32 = 5;

    /// Returns the initial progress of a plan with this many tasks, each with this many attempts.
    pub fn new(total_tasks: usize, max_task_review_iterations: u32) -> Self {
        Self { current_task_index: 0, total_tasks, task_review_iteration: 0, max_task_review_iterations }
    }

    /// Returns the progress after another attempt was reviewed or failed its checks.
    #[must_use]
    pub fn after_review(self) -> Self {
        Self { task_review_iteration: self.task_review_iteration.saturating_add(1), ..self }
    }

    /// Returns the progress at the start of the next task.
    #[must_use]
    pub fn next_task(self) -> Self {
        Self { current_task_index: self.current_task_index.saturating_add(1), task_review_iteration: 0, ..self }
    }

    /// Returns whether the current task is the last.
    pub fn is_last(&self) -> bool {
        self.current_task_index.saturating_add(1) >= self.total_tasks
    }

    /// Returns whether the current task may be attempted again.
    pub fn has_attempts_left(&self) -> bool {
        self.task_review_iteration < self.max_task_review_iterations
    }
}

impl Default for TaskProgress {
    fn default() -> Self {
        Self::new(0, Self::MAX_TASK_REVIEW_ITERATIONS)
    }
}
