//! The command line: commands, their arguments and their help. Must not know a store.
//!
//! | file | what it knows |
//! |---|---|
//! | `runs`, `answers`, `reads`, `checkpoints`, `stores`, `serve`, `keys`, `mcp` | the arguments of the commands |
//! | `command` | the whole command line; what was parsed; the commands that a program adds |
//!
//! Small because it only lists the folder.

mod answers;
mod checkpoints;
mod command;
mod keys;
mod mcp;
mod reads;
mod runs;
mod serve;
mod stores;

pub(crate) use answers::{AnswerTo, Decision, EditArgs, Resume, Signal};
pub(crate) use checkpoints::{DeleteArgs, DiffArgs, ForkArgs, GcArgs, Mode, Replay, Tag, Update};
pub(crate) use command::{
    AnswerVerb, DebugVerb, Globals, Invocation, KeepVerb, LookVerb, RunVerb, Verb, command, invocation, is_taken,
};
pub(crate) use keys::KeysArgs;
#[cfg(feature = "server")]
pub(crate) use keys::{AddKeyArgs, KeysVerb, RevokeKeyArgs};
#[cfg_attr(not(feature = "server"), allow(unused_imports, reason = "the program has no server"))]
pub(crate) use mcp::{AgentProgram, McpArgs};
pub(crate) use reads::{CompletionsArgs, Draw, EventsArgs, HistoryArgs, Log, Show, Status, Threads};
pub(crate) use runs::{RunArgs, RunModeArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use stores::{
    CopyStoreArgs, ExportArgs, ImportArgs, MigrateArgs, RepairArgs, RestateOptions, Runner, StoreArgs, StoreVerb,
    TrustArgs,
};
