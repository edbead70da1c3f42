//! Nodes for a task with attempts, each of which is verified, decided on and recorded. They know git, files and agents,
//! and must not know the rules of decisions.

mod ask;
mod begin;
mod children;
mod finish;
mod record;
mod snapshot;
mod split;
mod task_questions;

pub use ask::{AskJob, Asking, Reply, ask};
pub use begin::{BeginTaskJob, BegunTask, begin_task};
pub use children::{ChildWork, ChildrenJob, JoinedChildren, join_children};
pub use finish::{FinishJob, FinishedTask, KeptFiles, LeftFiles, finish_task};
pub use record::{Keep, RecordJob, Recorded, record};
pub use snapshot::{SnapshotJob, TakenSnapshot, snapshot};
pub use split::{SplitCheck, SplitJob, SplitPrompt, SplitTask, split};
pub use task_questions::{AfterGivingUp, DecideTask, GaveUp, WrittenOverride};
