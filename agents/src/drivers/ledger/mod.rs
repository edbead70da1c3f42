//! Budget shared by the turns of a run: one account for all of its agents, in memory or in a persistent file. Knows no
//! driver.
//! Small because it only lists the folder.

mod account;
mod books;
mod handle;

pub(super) use account::TurnName;
pub use account::{Account, LimitsAnswer, NewLimits, RunLimits};
pub use handle::Ledger;
