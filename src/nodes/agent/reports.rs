//! Turns as the task that they are in reports them: tokens and cost by role and task of the plan, the task in a few words, and the
//! agent's own summary.

use super::outcome::RequestRecord;
use super::turn::Turn;
use crate::checkpoint::spending::{Amount, Expense};
use crate::drivers::{Finished, Usage};
use crate::graph::Ctx;

impl Turn {
    /// Reports the task of the plan that a turn is about.
    pub(super) async fn report_label<C>(&self, ctx: &Ctx<C>) {
        if let Some(task) = self.task_label() {
            let attempt = if self.attempt > 1 { format!(", attempt {}", self.attempt) } else { String::new() };
            ctx.set_label(format!("{task}{attempt}")).await;
        }
    }

    /// Reports what a request has used. The `nth` turn in this one's place has one amount over all of its requests, also when the
    /// journal has them already.
    pub(super) async fn report_request<C>(&self, ctx: &Ctx<C>, nth: u32, recorded: &RequestRecord) {
        let (usage, summary) = match recorded {
            RequestRecord::Finished(finished) => (finished.usage, summary(finished)),
            other => (other.unreported_usage(), None),
        };
        let expense = Expense::new(usage.into()).key(format!("{}#{nth}", self.key)).role(&self.agent.role);
        ctx.spend(self.task_label().into_iter().fold(expense, Expense::task)).await;
        if let Some(summary) = summary {
            ctx.set_summary(summary).await;
        }
    }

    fn task_label(&self) -> Option<String> {
        match (self.task.as_str(), self.about.title.as_str()) {
            ("", "") => None,
            ("", title) => Some(title.to_owned()),
            (task, "") => Some(format!("task {task}")),
            (task, title) => Some(format!("task {task}: {title}")),
        }
    }
}

impl From<Usage> for Amount {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, cost, unpriced, .. } = usage;
        Self { input, output, cache_read, cache_write, cost, unpriced }
    }
}

/// Returns the summary in a result, or the first line of the last message.
fn summary(finished: &Finished) -> Option<String> {
    let submitted = finished.submitted.as_ref();
    let written = submitted.and_then(|result| result["summary"].as_str());
    let words = written.or_else(|| finished.text.lines().find(|line| !line.trim().is_empty()))?.trim();
    let verdict = match submitted.and_then(|result| result["approved"].as_bool()) {
        Some(true) => "approved: ",
        Some(false) => "not approved: ",
        None => "",
    };
    (!words.is_empty()).then(|| format!("{verdict}{words}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::drivers::TurnStatus;

    #[rstest::rstest]
    #[case::of_a_developer(Some(json!({ "status": "done", "summary": "It prints the table." })), "", Some("It prints the table."))]
    #[case::of_a_reviewer(Some(json!({ "approved": false, "summary": "It fails." })), "", Some("not approved: It fails."))]
    #[case::without_one(Some(json!({ "approved": true })), "\n Fine.\nMore", Some("approved: Fine."))]
    #[case::nothing(None, " ", None)]
    fn the_summary_of_a_turn(#[case] submitted: Option<Value>, #[case] text: &str, #[case] expected: Option<&str>) {
        let (status, usage) = (TurnStatus::Done, Usage::default());
        let finished = Finished { status, text: text.into(), submitted, session: None, usage };
        assert_eq!(summary(&finished).as_deref(), expected);
    }
}
