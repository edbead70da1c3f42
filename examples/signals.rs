//! Signals: an order waits up to three days for its payment, and can be cancelled while its parcels are packed.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::sync::Arc;
use std::time::Duration;

use superstep::graph::interrupt::SignalRequest;
use superstep::graph::runner;
use superstep::graph::runner::Until;
use superstep::prelude::*;

// <signals>
#[derive(Signal, Serialize, Deserialize)]
struct Paid {
    cents: u64,
}

#[derive(Signal, Serialize, Deserialize)]
#[signal(name = "stop")]
struct StopIt;
// </signals>

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Order {
    parcels: u32,
    paid: u64,
    #[channel(append)]
    log: Vec<String>,
}

#[derive(NodeId)]
enum Step {
    Pay,
    Pack,
}

// <receive>
async fn pay(_: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    const THREE_DAYS: Duration = Duration::from_secs(3 * 24 * 3600);
    Ok(match ctx.receive_within::<Paid>(THREE_DAYS).await? {
        Some(Paid { cents }) => Order::update().paid(cents).log(["paid"]),
        None => Order::update().log(["not paid in time"]),
    })
}
// </receive>

// <look>
async fn pack(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    for parcel in 0..order.parcels {
        if ctx.receive_within::<StopIt>(Duration::ZERO).await?.is_some() {
            return Ok(Order::update().log([format!("stopped after {parcel} parcels")]));
        }
        ctx.effect(format!("parcel {parcel}"), &parcel, |_| async { Ok::<_, NodeError>(()) }).await?;
    }
    Ok(Order::update().log(["packed"]))
}
// </look>

fn graph() -> Result<CompiledGraph<Order, Step>, CompileError> {
    // <graph>
    StateGraph::new()
        .add_node(Step::Pay, pay.receives::<Paid>())
        .add_node(Step::Pack, pack.receives::<StopIt>())
        .add_sequence([Step::Pay, Step::Pack])
        .compile()
    // </graph>
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = graph()?.with_checkpointer(MemoryCheckpointer::new());
    // <send>
    let outcome = graph.thread("order-7").invoke(Order::update().parcels(3u32)).await?;
    assert!(matches!(outcome, Outcome::AwaitingSignal { .. }));

    let thread = graph.thread("order-7"); // in this process or another, whatever the thread does
    thread.signal(Paid { cents: 500 }).await?; // stored
    let outcome = thread.proceed().await?; // or a runner does it
    // </send>
    println!("{:?}", outcome.state().log);

    graph.thread("order-8").invoke(Order::update().parcels(3u32)).await?;
    // <runner>
    let runner = runner([graph.clone()]);
    let waker = runner.waker();
    let request = SignalRequest::json("paid", &serde_json::json!({ "cents": 700 })).by("bank");
    graph.thread("order-8").send(request).await?;
    waker.wake(); // the runner looks at the store now, instead of at its next poll
    runner.run(Until::Idle).await?;
    // </runner>
    println!("{:?}", graph.thread("order-8").status().await?);
    Ok(())
}
