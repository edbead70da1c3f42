//! Nodes, commands, routers, and the options of nodes.
//!
//! Knows no graph and no run.
//!
//! | file | what it knows |
//! |---|---|
//! | `id` | ids of nodes |
//! | `body`, `blocking` | nodes and workers; bodies that block their thread |
//! | `command`, `route` | writes and gotos of a finished node; routers |
//! | `options`, `ext` | options of a node, and how they are chained onto a body |
//! | `execution` | retry, timeouts, cache, and their defaults |
//!
//! Small because it only lists the folder.

mod blocking;
pub(crate) mod body;
pub(crate) mod command;
mod execution;
mod ext;
mod id;
pub(crate) mod options;
mod route;

pub use blocking::{Blocking, blocking};
#[doc(hidden)]
pub use body::AsyncBody;
pub use body::{Input, Node, Work};
pub use command::{Command, END, IntoCommand, NodeResult, START, Sends, Target, Worker};
pub use execution::{CachePolicy, NodeDefaults, RetryPolicy};
pub use ext::{NodeExt, WithOptions, worker};
pub use id::{Name, NodeId};
pub use options::{Failure, NodeOptions};
pub use route::{Chooser, DeclaredTargets, Outcomes, OverContext, OverState, Route, Router, targets};

pub(crate) use blocking::{LongestPoll, TimedBody};
pub(crate) use body::{Body, BodyType, EitherBody, MissingBody, StateBody, WorkBody};
pub(crate) use command::{AnyCommand, AnyNodeResult};
pub(crate) use options::RowOptions;
pub(crate) use route::Choose;
