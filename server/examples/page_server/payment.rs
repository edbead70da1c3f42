//! A graph whose question takes two approvals of three people, and has an answer of its own once it has expired.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde_json::Value;
use superstep::prelude::*;

/// A bill that is paid if two people approve it in time.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Bill {
    title: String,
    cents: u64,
    /// The time to answer, in seconds; a day unless set.
    seconds: Option<u64>,
    verdict: Option<Value>,
}

/// May the bill be paid?
#[derive(Interrupt, Serialize, Deserialize, JsonSchema)]
#[interrupt(resume = PayAnswer, schema, name = "may_pay")]
struct MayPay {
    question: String,
    cents: u64,
}

/// The answer to a bill.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PayAnswer {
    /// Pay it.
    Approve,
    /// Pay a part of it.
    Revise {
        /// The amount to pay.
        cents: u64,
        /// Anything that the ledger is to keep with it.
        #[serde(default)]
        tags: Option<Value>,
    },
    /// Do not pay it.
    Reject,
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Till {
    Pay,
}

async fn pay(bill: Arc<Bill>, ctx: Ctx) -> Result<BillUpdate, NodeError> {
    let question = format!("May {} be paid?", bill.title);
    let asked = ctx.ask(MayPay { question, cents: bill.cents }).approvals(2).approvers(["ada", "ben", "cy"]);
    let seconds = ctx.record("seconds", bill.seconds.unwrap_or(24 * 3600)).await?;
    let answer = asked.expires_after(Duration::from_secs(seconds)).default(PayAnswer::Reject).await?;
    let verdict = serde_json::to_value(answer).map_err(NodeError::permanent)?;
    Ok(Bill::update().verdict(Some(verdict)))
}

/// Returns the graph `payment`.
pub(crate) fn payment() -> Result<CompiledGraph<Bill, Till>, CompileError> {
    StateGraph::new().add_node(Till::Pay, pay.asks::<MayPay>()).add_sequence([Till::Pay]).compile()
}
