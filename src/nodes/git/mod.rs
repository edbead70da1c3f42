//! The work tree of a run, as nodes use it. Knows git behind `workspace`, the effects of a task, and the question about a
//! branch that somebody else moved; no agent, no plan.
//!
//! | file | what it knows |
//! |---|---|
//! | `folder` | the repository: opened, locked, what is kept in it; git's failures |
//! | `on_top` | positions on top of commits that people made |
//! | `changes` | traces of an agent or a command, differences as text |
//! | `arrival` | the position of the work when a node starts |
//! | `commit` | the commit of work, moves of the run's branch |
//! | `record` | snapshots and records of attempts, the end of a task |
//!
//! Small because it only lists the folder.

mod arrival;
mod changes;
mod commit;
mod folder;
mod on_top;
mod record;

pub(super) use arrival::Arrival;
pub(crate) use changes::DIFF_LIMIT;
pub use changes::Traces;
pub(super) use changes::{NAMED, TamperCheck, diff, lines, list_changes, tree_now};
pub use commit::{Advance, CommitJob, CommittedWork, commit_task};
pub(super) use commit::{AdvanceResult, advance_branch, commit};
pub use folder::{Base, Folder, KeptAttempt, keep_objects, release_objects, sweep_objects, tampering_message};
pub(super) use folder::{Stop, catch_tampering, failed, reference_of, store, thread, unstore};
pub(super) use on_top::{keep_detached, on_top, reset_on_top};
pub use record::{
    CommitTarget, FinishJob, FinishedTask, KeptFiles, LeftFiles, RecordJob, RecordResult, SnapshotJob, TakenSnapshot,
};
