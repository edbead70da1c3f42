//! Drivers around drivers: they record, replay, try again, keep to a budget, hide secrets. They know no driver in particular.

mod asked;
mod budget;
mod cassette;
mod metered;
mod passes_on;
mod recording;
mod redacted;
mod replaying;
mod retry;

pub use budget::Budget;
pub use metered::Metered;
pub use recording::Recording;
pub use redacted::Redacted;
pub use replaying::Replaying;
pub use retry::{Retry, RetrySettings};
