//! Nodes, commands, routers, and the options of nodes.
//!
//! Knows no graph and no run.

mod blocking;
pub(crate) mod body;
mod body_type;
pub(crate) mod command;
mod defaults;
mod execution;
mod ext;
mod id;
pub(crate) mod options;
mod retry;
mod route;
mod slow;

pub use blocking::{Blocking, blocking};
#[doc(hidden)]
pub use body::AsyncBody;
pub use body::{Input, Node, Work};
pub use command::{Command, END, Ended, IntoCommand, START, Sends, Target, Worker};
pub use defaults::NodeDefaults;
pub use execution::CachePolicy;
pub use ext::{NodeExt, WithOptions, worker};
pub use id::{Name, NodeId};
pub use options::{Failure, NodeOptions};
pub use retry::RetryPolicy;
pub use route::{Chooser, Declared, Outcomes, OverContext, OverState, Route, Router};

pub(crate) use body::{Body, EitherBody, MissingBody, StateBody, WorkBody};
pub(crate) use body_type::BodyType;
pub(crate) use command::{AnyCommand, AnyEnded};
pub(crate) use options::RowOptions;
pub(crate) use route::Choose;
pub(crate) use slow::{Longest, TimedBody};
