//! Budget shared by the turns of a run: one account for all of its agents, in memory or in a persistent file. Knows no
//! driver.

mod account;
mod books;
mod file;
mod handle;
mod new_limits;

pub(super) use account::TurnName;
pub use account::{Account, Left, RunLimits};
pub use handle::Ledger;
pub use new_limits::{LimitsAnswer, NewLimit, NewLimits};
