//! The commands that every program has.

use clap::{Command, Subcommand};

use super::answers::{Approve, Dismiss, Edit, Reject, Resume, Revise};
use super::edits::{Delete, Fork, Update};
use super::reads::{Completions, Draw, Events, Graphs, History, Log, Show, Status, Threads, Watch};
use super::replays::{Diff, Replay};
use super::retention::{Gc, Tag};
use super::runner::Runner;
use super::runs::{Cancel, Proceed, Retry};
use super::signals::Signal;
use super::transfer::{CopyStore, Export, Import, Repair, Trust};

/// The commands, but for `run`, which is made from the registered graphs.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Verb {
    Resume(Resume),
    Proceed(Proceed),
    Retry(Retry),
    Approve(Approve),
    Reject(Reject),
    Revise(Revise),
    Edit(Edit),
    Signal(Signal),
    Dismiss(Dismiss),
    Cancel(Cancel),
    Threads(Threads),
    Status(Status),
    History(History),
    Show(Show),
    Diff(Diff),
    Events(Events),
    Watch(Watch),
    Log(Log),
    Replay(Replay),
    Update(Update),
    Fork(Fork),
    Delete(Delete),
    Tag(Tag),
    Gc(Gc),
    Runner(Runner),
    Export(Export),
    Import(Import),
    Trust(Trust),
    Repair(Repair),
    CopyStore(CopyStore),
    Graphs(Graphs),
    Graph(Draw),
    Completions(Completions),
}

/// Returns true if every program has a command of that name.
pub(crate) fn is_taken(name: &str) -> bool {
    let every = Verb::augment_subcommands(Command::new("any"));
    let is_there = every.get_subcommands().any(|command| command.get_name() == name);
    is_there || ["run", "help"].contains(&name)
}
