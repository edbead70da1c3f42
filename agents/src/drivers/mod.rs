//! Models and coding agents behind one [`Driver`] trait: requests, events, errors. Each driver has a file or folder of
//! its own. They know processes, HTTP and files; they know no state, no node, no plan and no git.
//!
//! | file | what it knows |
//! |---|---|
//! | `driver`, `request`, `event`, `error` | the trait; a turn's request, its events and result, its failure |
//! | `name`, `fenced`, `jsonl` | names of drivers, and the table of agent programs; JSON in text; files of JSON lines |
//! | `session`, `session_file` | conversations stored in files |
//! | `ledger` | the budget that turns share |
//! | `api`, `tools` | the driver for model servers, and the tools of its agents |
//! | `cli` | agents that are programs |
//! | `scripted` | scenarios |
//! | `wrap` | drivers around drivers |

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
mod request;
mod scripted;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod session_file;
#[cfg(unix)]
pub mod tools;
mod wrap;

pub use cli::{AgentProgram, CliAgent};
pub use driver::{AgentEvents, Capabilities, Driver, DriverExt, Sender, events};
pub use error::{DriverError, DriverErrorClass};
pub use event::{AgentEvent, Finished, Price, TurnStatus, Usage, dollars};
pub use fenced::fenced_json;
pub use ledger::{Account, Ledger, LimitsAnswer, NewLimits, RunLimits};
pub use name::{DriverKind, DriverName, UnknownDriver};
pub use request::{Access, AgentRequest, Limits, Session, SessionRef, Shell, SubmitTool, TurnPlace};
pub use scripted::{ScenarioError, Scripted};
#[cfg(unix)]
pub use session::SessionStore;
pub use wrap::{BudgetedDriver, Metered, Recording, Redacted, Replaying, Retry, RetrySettings};
