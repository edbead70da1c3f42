//! The command line: commands, their arguments and their help. Must not know a store.
//!
//! | file | what it knows |
//! |---|---|
//! | `runs`, `answers`, `signals`, `reads`, `replays`, `edits`, `retention`, `runner`, `transfer`, `stops` | options |
//! | `globals`, `verb` | options of all commands; all commands but `run` |
//! | `custom` | the commands that a program adds |
//! | `invocation`, `command` | a parsed command line; the whole command line |

mod answers;
mod command;
mod custom;
mod edits;
mod globals;
mod invocation;
mod reads;
mod replays;
mod retention;
mod runner;
mod runs;
mod signals;
mod stops;
mod transfer;
mod verb;

pub(crate) use answers::{AnswerTo, Decision, Edit, Resume};
pub(crate) use command::{command, invocation};
pub(crate) use edits::{Delete, Fork, Update};
pub(crate) use globals::Globals;
pub(crate) use invocation::Invocation;
pub(crate) use reads::{Completions, Draw, Events, History, Log, Show, Status, Threads};
pub(crate) use replays::{Diff, Mode, Replay};
pub(crate) use retention::{Gc, Tag};
pub(crate) use runner::Runner;
pub(crate) use runs::{InteractiveArg, RunArgs};
pub(crate) use signals::Signal;
pub(crate) use stops::StopArgs;
pub(crate) use transfer::{CopyStore, Export, Import, Repair, Trust};
pub(crate) use verb::{Verb, is_taken};
