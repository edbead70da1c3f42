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

pub(crate) mod blocking;
pub(crate) mod body;
pub(crate) mod command;
pub(crate) mod execution;
pub(crate) mod ext;
pub(crate) mod id;
pub(crate) mod options;
pub(crate) mod route;

pub use blocking::Blocking;
pub(crate) use blocking::{LongestPoll, TimedBody};
pub(crate) use body::{Body, BodyType, EitherBody, MissingBody, Node, StateBody, WorkBody};
pub use body::{Input, Work};
pub(crate) use command::{AnyCommand, AnyNodeResult, Command, END, START, Sends, Target, Worker};
pub use command::{IntoCommand, NodeResult};
pub(crate) use execution::{CachePolicy, NodeDefaults, RetryPolicy};
pub use ext::WithOptions;
pub(crate) use id::{Name, NodeId};
pub use options::NodeOptions;
pub(crate) use options::{Failure, RowOptions};
pub use route::Chooser;
pub(crate) use route::{Choose, DeclaredTargets, Router};
