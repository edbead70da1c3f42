//! An effect that runs once, a probe of the external system, a sleep of a week, and a verification of the whole run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Order {
    cents: u64,
    receipt: String,
    is_reminded: bool,
}

#[derive(NodeId)]
enum Step {
    Pay,
    Remind,
}

/// A bank that executes the first payment but loses the connection before it replies.
#[derive(Debug, Default)]
struct Bank {
    payments: Mutex<Vec<String>>,
    has_hung_up: AtomicBool,
}

impl Bank {
    async fn charge(&self, cents: u64, key: String) -> Result<String, &'static str> {
        println!("charged {cents} cents");
        self.payments.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
        if self.has_hung_up.swap(true, Ordering::Relaxed) { Ok(receipt(&key)) } else { Err("the line is dead") }
    }

    async fn charged(&self, key: String) -> Result<Option<String>, &'static str> {
        let is_there = self.payments.lock().unwrap_or_else(PoisonError::into_inner).contains(&key);
        println!("was it charged? {is_there}");
        Ok(is_there.then(|| receipt(&key)))
    }
}

fn receipt(key: &str) -> String {
    format!("receipt of {} letters", key.len())
}

async fn pay(order: Arc<Order>, ctx: Ctx<Bank>) -> Result<OrderUpdate, NodeError> {
    let (bank, cents) = (ctx.context(), order.cents);
    let receipt: String = ctx
        .effect("charge", &cents, |key| bank.charge(cents, key))
        .probe(|key| bank.charged(key)) // called when an earlier attempt may have charged
        .await?;
    Ok(Order::update().receipt(receipt))
}

async fn remind(_: Arc<Order>, ctx: Ctx<Bank>) -> Result<OrderUpdate, NodeError> {
    ctx.sleep(Duration::from_secs(7 * 24 * 3600)).await?; // the process may end meanwhile
    Ok(Order::update().is_reminded(true))
}

fn graph() -> Result<CompiledGraph<Order, Step, Bank>, CompileError> {
    StateGraph::new()
        .add_node(Step::Pay, pay.retry(RetryPolicy::attempts(2).pause(Duration::from_millis(1))).replayable())
        .add_node(Step::Remind, remind.replayable())
        .add_sequence([Step::Pay, Step::Remind])
        .compile()
}

async fn run() -> Result<(), Box<dyn Error>> {
    let thread = graph()?.with_checkpointer(MemoryCheckpointer::new()).thread_with("order-1", Bank::default());
    if let Outcome::Waiting { rest, .. } = thread.invoke(Order::update().cents(900)).await? {
        println!("paid ({}), waits before {:?}", rest.state().receipt, rest.next());
    }
    let in_a_week = thread.clone().clock(|| SystemTime::now() + Duration::from_secs(8 * 24 * 3600));
    let order = in_a_week.proceed().await?;
    println!("reminded: {}", order.state().is_reminded);
    println!("{}", thread.verify().await?); // runs the bodies over what was recorded: nothing is charged
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    if let Some(help) = error.downcast_ref::<RunError>().and_then(RunError::help) {
        eprintln!(" help: {help}");
    }
    ExitCode::FAILURE
}
