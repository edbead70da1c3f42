//! What each command does: from parsed arguments to text, JSON and an exit code.
//!
//! | file | what it knows |
//! |---|---|
//! | `told`, `session` | what a command says; one call of the program |
//! | `holds` | who holds the store |
//! | `given`, `replies`, `editor`, `talk` | JSON from a person, the commands that answer a question, answers at the terminal |
//! | `runs`, `answers`, `signals`, `reads`, `stories`, `replays`, `edits`, `keeps`, `carry`, `fixture`, `runner`, `own` | the commands |
//! | `perform` | which of them does what was asked for |

mod answers;
mod carry;
mod editor;
mod edits;
mod fixture;
mod given;
mod holds;
mod keeps;
mod output;
mod own;
mod perform;
mod reads;
mod replays;
mod replies;
mod runner;
mod runs;
mod session;
mod signals;
mod stories;
mod talk;

pub(crate) use session::Session;
