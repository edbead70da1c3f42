//! Drivers that wrap drivers: recording, replay, retry, budget, redaction. They know no driver in particular.
//!
//! | file | what it knows |
//! |---|---|
//! | `cassette` | recording and replay |
//! | `metered` | usage, limits and budgets |
//! | `retry` | another attempt after a failure |
//! | `redacted` | secrets in what a driver reports |
//!
//! Small because it only lists the folder.

mod cassette;
mod metered;
mod redacted;
mod retry;

pub use cassette::{Recording, Replaying};
pub use metered::{BudgetedDriver, Metered};
pub use redacted::Redacted;
pub use retry::{Retry, RetrySettings};
