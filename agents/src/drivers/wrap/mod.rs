//! Drivers that wrap drivers: recording, replay, retry, budget, redaction. They know no driver in particular.

mod budget;
mod cassette;
mod forward;
mod metered;
mod recording;
mod redacted;
mod replaying;
mod request_key;
mod retry;

pub use budget::Budget;
pub use metered::Metered;
pub use recording::Recording;
pub use redacted::Redacted;
pub use replaying::Replaying;
pub use retry::{Retry, RetrySettings};
