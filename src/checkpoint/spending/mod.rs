//! Tokens and cost of threads and of their tasks, and the words that a task has for people: items of the store, written with the
//! commits of the run that they are of.
//!
//! Must not know who spends, or on what. A thread whose tasks report nothing has no item here.
//!
//! | file | what it knows |
//! |---|---|
//! | `amount` | tokens and cost, and what a task reports of them |
//! | `thread` | the amounts of a thread by hour, role and task |
//! | `note` | the words and the amounts of a task |
//! | `items` | both as items of a store; their deletion with the thread |
//!
//! Small because it only lists the folder.

mod amount;
mod items;
mod note;
mod thread;

pub use amount::{Amount, Expense};
pub use items::delete_thread;
pub(crate) use items::{Reporter, RunItems, SpendingThread, TaskReport, read_for_run};
pub use note::TaskNote;
pub use thread::{SpendingRow, ThreadSpending};
