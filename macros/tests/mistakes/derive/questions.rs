//! Questions whose answers or names are missing or wrong.

use superstep::prelude::*;

#[derive(Interrupt, Serialize, Deserialize)]
struct NoAnswer;

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, name = "")]
struct NoName;

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool, resume = u8, answer = u8)]
struct Twice;

#[derive(Interrupt, Serialize, Deserialize)]
#[interrupt(resume = bool)]
struct Generic<T>(T);

#[derive(Interrupt)]
#[interrupt(resume = bool)]
struct NotSerialized;

struct NotDerived;

async fn ask(_: std::sync::Arc<()>, ctx: Ctx) -> Result<(), NodeError> {
    ctx.interrupt(NotDerived)?;
    Ok(())
}

fn main() {}
