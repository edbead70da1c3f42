//! What has to be awaited, and is not.

use std::sync::Arc;

use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Order {
    receipt: String,
    paid: bool,
}

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct MayPay;

async fn charge() -> Result<String, NodeError> {
    Ok(String::new())
}

async fn pays(_: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    let receipt: String = ctx.effect("charge", &(), |_| charge())?;
    Ok(Order::update().receipt(receipt))
}

async fn asks(_: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
    let paid = ctx.ask(MayPay).approvals(2)?;
    Ok(Order::update().paid(paid))
}

fn main() {}
