//! Models and coding agents behind one [`Driver`] trait: requests, events, errors. Each driver has a file or folder of
//! its own. They know processes, HTTP and files; they know no state, no node, no plan and no git.

#[cfg(unix)]
pub mod api;
mod cli;
mod driver;
mod error;
mod event;
mod fenced;
mod jsonl;
mod ledger;
mod name;
mod price;
mod request;
mod scripted;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
pub mod tools;
mod wrap;

pub use cli::CliAgent;
pub use driver::{AgentEvents, Capabilities, Driver, DriverExt, Sender, events};
pub use error::{DriverError, ErrorClass};
pub use event::{AgentEvent, Finished, Status, Usage};
pub use fenced::fenced_json;
pub use ledger::{Account, Ledger, Left, LimitsAnswer, NewLimit, NewLimits, RunLimits};
pub use name::{DriverName, UnknownDriver};
pub use price::{Price, dollars};
pub use request::{Access, AgentRequest, Limits, Place, Session, SessionRef, Shell, SubmitTool};
pub use scripted::{ScenarioError, Scripted};
#[cfg(unix)]
pub use sessions::SessionStore;
pub use wrap::{Budget, Metered, Recording, Redacted, Replaying, Retry, RetrySettings};
