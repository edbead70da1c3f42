//! The commands: from parsed arguments to text, JSON and an exit code.
//!
//! | file | what it knows |
//! |---|---|
//! | `output`, `session` | the result of a command; one call of the program |
//! | `store` | access to the store, here or in the process that holds it |
//! | `json_input`, `answer_commands`, `editor`, `interactive` | JSON arguments; ways to answer a question |
//! | `runs`, `answers`, `signals`, `reads`, `observe`, `replays`, `edits` | the commands about threads |
//! | `retention`, `transfer`, `fixture`, `runner`, `custom` | the commands about stores; those that a program adds |
//! | `perform` | dispatch of an invocation to its command |

mod answer_commands;
mod answers;
mod copy_store;
mod custom;
mod editor;
mod edits;
mod fixture;
mod interactive;
mod json_input;
mod observe;
mod output;
mod perform;
mod reads;
mod replays;
mod retention;
mod runner;
mod runs;
mod session;
mod signals;
mod store;
mod transfer;

pub(crate) use session::Session;
