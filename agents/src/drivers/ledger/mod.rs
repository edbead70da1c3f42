//! What the turns of a run use together: one account for all of its agents, in memory or in a file that outlives the
//! process. Knows no driver.

mod account;
mod books;
mod file;
mod handle;
mod new_limits;

pub(super) use account::TurnName;
pub use account::{Account, Left, RunLimits};
pub use handle::Ledger;
pub use new_limits::{LimitsAnswer, NewLimit, NewLimits};
