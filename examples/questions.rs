//! Interrupts with terms: a payment that two people approve within a day, a title with a default, and a cancelled
//! interrupt.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::sync::Arc;
use std::time::Duration;

use superstep::prelude::*;

const A_DAY: Duration = Duration::from_secs(24 * 3600);

// <questions>
#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct MayPay {
    cents: u64,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = String)]
struct Title;
// </questions>

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Bill {
    cents: u64,
    title: String,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Entitle,
    Pay,
}

// <default>
async fn entitle(_: Arc<Bill>, ctx: Ctx) -> Result<BillUpdate, NodeError> {
    let title = ctx.ask(Title).expires_after(A_DAY).default("Bill".to_owned()).await?;
    Ok(Bill::update().title(title))
}
// </default>

// <pay>
async fn pay(bill: Arc<Bill>, ctx: Ctx) -> Result<BillUpdate, NodeError> {
    let asked = ctx.ask(MayPay { cents: bill.cents }).approvals(2).approvers(["ada", "ben", "cy"]).expires_after(A_DAY);
    let note = match asked.await {
        Ok(true) => "paid".to_owned(),
        Ok(false) => "refused".to_owned(),
        Err(AskError::Cancelled { by, .. }) => format!("cancelled by {}", by.unwrap_or_default()),
        Err(AskError::Expired { .. } | AskError::Disagreed { .. }) => "not agreed in time".to_owned(),
        Err(other) => return Err(other.into()), // among them: there is no answer yet
    };
    Ok(Bill::update().log([note]))
}
// </pay>

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = StateGraph::new()
        .add_node(Step::Entitle, entitle.asks::<Title>())
        .add_node(Step::Pay, pay.asks::<MayPay>())
        .add_sequence([Step::Entitle, Step::Pay])
        .compile()?
        .with_checkpointer(MemoryCheckpointer::new());
    let thread = graph.thread("bill-1");
    thread.invoke(Bill::update().cents(500u64)).await?;
    thread.resume::<Title>("Tea".to_owned()).await?;
    // <vote>
    thread.answer(Answer::new::<MayPay>(&true).by("ada")).await?; // stored; the question stays open
    let outcome = thread.answer(Answer::new::<MayPay>(&true).by("cy").note("as agreed")).await?;
    // </vote>
    println!("{:?}", outcome.state().log);

    let thread = graph.thread("bill-2");
    thread.invoke(Bill::update().cents(900u64)).await?;
    thread.resume::<Title>("Tea".to_owned()).await?;
    // <cancel>
    let outcome = thread.answer(Answer::cancel().by("ada").note("ordered twice")).await?;
    // </cancel>
    println!("{:?}", outcome.state().log);
    Ok(())
}
