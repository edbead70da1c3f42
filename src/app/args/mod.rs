//! The command line's words: which commands there are, what they take, and how they explain themselves. Knows no store.
//!
//! | file | what it knows |
//! |---|---|
//! | `runs`, `answers`, `signals`, `reads`, `replays`, `edits`, `keeps`, `runner`, `carry`, `stops` | what each command takes |
//! | `globals`, `verb` | what all of them take; all of them but `run` |
//! | `own` | the commands that a program adds |
//! | `wish`, `command` | what was asked for; the whole command line |

mod answers;
mod carry;
mod command;
mod edits;
mod globals;
mod keeps;
mod own;
mod reads;
mod replays;
mod runner;
mod runs;
mod signals;
mod stops;
mod verb;
mod wish;

pub(crate) use answers::{AnswerTo, Decision, Edit, Resume};
pub(crate) use carry::{Export, Import, Repair, Trust};
pub(crate) use command::{command, wish};
pub(crate) use edits::{Delete, Fork, Update};
pub(crate) use globals::Globals;
pub(crate) use keeps::{Gc, Tag};
pub(crate) use reads::{Completions, Draw, Events, History, Log, Show, Status, Threads};
pub(crate) use replays::{Diff, Mode, Replay};
pub(crate) use runner::Runner;
pub(crate) use runs::{RunArgs, Talk};
pub(crate) use signals::Signal;
pub(crate) use stops::StopArgs;
pub(crate) use verb::{Verb, is_taken};
pub(crate) use wish::Wish;
