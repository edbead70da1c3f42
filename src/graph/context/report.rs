//! Reports of a task: its expenses, and what it does and has done in words for people. Knows no store.

use serde_json::Value;

use super::ctx::Ctx;
use super::task::TaskCtx;
use crate::checkpoint::spending::{Amount, Expense, Reporter, TaskReport};
use crate::graph::view::event::task_id;

impl<C> Ctx<C> {
    /// Reports tokens and cost, which count for the task, its thread and its graph: programs show them beside the task, and the server
    /// in `GET /spend`. Stored with the next commit of the run. Nothing is reported without a store, and by a replay.
    ///
    /// A message that a node emits with [`emit_message`](Self::emit_message) and that has `usage_metadata`, as LangChain's have, is
    /// such a report too, of unknown cost unless that has `total_cost` in dollars.
    ///
    /// Reports add up over all attempts of a task. Call it in the effect that calls the model, so that an attempt which finds the answer
    /// in the journal does not report it again, or give the expense a [key](Expense::key).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use superstep::checkpoint::spending::Expense;
    /// # use superstep::prelude::*;
    /// # #[derive(State, Clone, Debug, Default, Serialize, Deserialize)] struct Draft { text: String }
    /// async fn write(_: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
    ///     ctx.set_label("the chapter about tides").await;
    ///     let text = ctx.effect("ask", "", |_| async {
    ///         ctx.spend(Expense::tokens(900, 120).cost(4_000).role("writer")).await; // 0.4 cents
    ///         Ok::<_, NodeError>("The sea rises twice a day.".to_owned())
    ///     });
    ///     Ok(Draft::update().text(text.await?))
    /// }
    /// ```
    pub async fn spend(&self, expense: Expense) {
        self.0.report(TaskReport::Spent(self.0.without_secrets(expense))).await;
    }

    /// Sets what the task does, in a few words for people who look on; cut after 200 bytes. Programs show it beside the node. Stored as
    /// [`spend`](Self::spend) does it.
    pub async fn set_label(&self, label: impl Into<String>) {
        self.0.report(TaskReport::Label(self.0.visible(label.into()))).await;
    }

    /// Sets what the task has done, in a sentence for people who look on; cut after 600 bytes. Stored as [`spend`](Self::spend) does it.
    pub async fn set_summary(&self, summary: impl Into<String>) {
        self.0.report(TaskReport::Summary(self.0.visible(summary.into()))).await;
    }
}

impl TaskCtx {
    /// Returns true if reports are stored.
    pub(super) fn is_reported(&self) -> bool {
        self.shared.recorder.is_some() && self.shared.replay.is_none()
    }

    /// Reports what a message has used, if it says so.
    pub(super) async fn report_usage(&self, message: &Value) {
        if let Some(expense) = expense_of(message) {
            self.report(TaskReport::Spent(expense)).await;
        }
    }

    /// A store that fails now fails the run at its next commit, which tells why.
    async fn report(&self, report: TaskReport) {
        let Some(recorder) = self.shared.recorder.as_ref().filter(|_| self.is_reported()) else { return };
        let from = Reporter {
            task: self.id(),
            above: self.tasks_above(),
            node: self.facts.name.to_string(),
            at: self.shared.now(),
        };
        let _ = recorder.report(from, self.at.checkpoint, report).await;
    }

    /// Returns the ids of the tasks in whose subgraphs it is; the outermost alone where nobody listens to the run.
    fn tasks_above(&self) -> Vec<String> {
        if !self.scope.places.is_empty() {
            let tasks = self.scope.places.iter().filter_map(|place| place.rsplit_once(':'));
            return tasks.map(|(_, task)| task.to_owned()).collect();
        }
        let root = self.scope.journal.journal.as_ref();
        root.map(|journal| task_id(journal.checkpoint(), journal.task())).into_iter().collect()
    }

    fn visible(&self, text: String) -> String {
        self.shared.events.secrets.hide(&text)
    }

    fn without_secrets(&self, mut expense: Expense) -> Expense {
        let hide = |text: &mut String| *text = self.visible(std::mem::take(text));
        expense.role.iter_mut().for_each(hide);
        expense.task.iter_mut().for_each(hide);
        expense
    }
}

/// Returns what a message in LangChain's form has used. LangSmith's `total_cost` is in dollars.
fn expense_of(message: &Value) -> Option<Expense> {
    let amount = Amount::of_message(message)?;
    let cost = message["usage_metadata"]["total_cost"].as_f64().filter(|cost| *cost >= 0.0);
    let expense = Expense::new(Amount { unpriced: amount.tokens(), ..amount });
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cost is small, and casts saturate")]
    Some(match cost {
        Some(dollars) => expense.cost((dollars * 1e6).round() as u64),
        None => expense,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::piece(json!({ "content": "hi", "usage_metadata": null }), None)]
    #[case::text(json!("hi"), None)]
    #[case::tokens(json!({ "usage_metadata": { "input_tokens": 20, "output_tokens": 3, "input_token_details": { "cache_read": 4 } } }),
        Some(Amount { input: 16, output: 3, cache_read: 4, unpriced: 23, ..Amount::default() }))]
    #[case::cost(json!({ "usage_metadata": { "input_tokens": 20, "output_tokens": 3, "total_cost": 0.0125 } }),
        Some(Amount { input: 20, output: 3, cost: 12_500, ..Amount::default() }))]
    #[case::nonsense(json!({ "usage_metadata": { "input_tokens": -1, "output_tokens": "3", "total_cost": -5 } }),
        Some(Amount::default()))]
    fn what_a_message_has_used(#[case] message: Value, #[case] amount: Option<Amount>) {
        assert_eq!(expense_of(&message).map(|expense| expense.amount()), amount);
    }
}
