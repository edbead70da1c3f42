//! Tests of your graph (feature `test-util`): one node, one router, or the whole graph, with scripted answers and effects,
//! a fixed clock, a fixed seed, and crashes at every commit.
//!
//! ```
//! use std::sync::Arc;
//! use superstep::prelude::*;
//!
//! # #[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)] struct Order { cents: u64, receipt: String }
//! # #[derive(NodeId)] enum Step { Pay }
//! # #[derive(Serialize, Deserialize)] struct Confirm { cents: u64 }
//! # impl Interrupt for Confirm { type Resume = bool; const NAME: &'static str = "confirm"; }
//! # async fn charge(_: u64) -> Result<String, std::io::Error> { unreachable!() }
//! async fn pay(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
//!     let cents = order.cents;
//!     if !ctx.interrupt(Confirm { cents })? {
//!         return Err(NodeError::permanent("not confirmed"));
//!     }
//!     let receipt: String = ctx.effect("charge", &cents, |_| charge(cents)).await?;
//!     Ok(Order::update().receipt(receipt))
//! }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = StateGraph::new().add_node(Step::Pay, pay.asks::<Confirm>()).add_sequence([Step::Pay]).compile()?;
//! let test = graph.test().answer::<Confirm>(true).effect("charge", "r-1");
//!
//! let paid = test.node(Step::Pay, Order { cents: 700, ..Order::default() }).await?;
//! assert_eq!(paid.state.receipt, "r-1");
//!
//! let ran = test.run(Order::update().cents(700)).await?;
//! assert_eq!((ran.state.receipt.as_str(), ran.effects.len()), ("r-1", 1));
//!
//! test.cut_everywhere(Order::update().cents(700)).await?; // each time with the same end
//! # Ok(()) }
//! ```
//!
//! | file | what it knows |
//! |---|---|
//! | `script` | the answers and effects of a test |
//! | `alone` | one node, or one router |
//! | `whole` | a whole graph, and crashes at each of its commits |
//! | `fixture` | recorded threads in files |

mod alone;
mod fixture;
mod script;
mod whole;

pub use alone::{NodeRun, RouteChoice};
pub use fixture::{Fixture, FixtureError};
pub use script::{EffectCall, Test};
pub use whole::{CutError, TestRun};
