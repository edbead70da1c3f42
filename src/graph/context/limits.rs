//! The limits of a run: supersteps, concurrent tasks, bytes of the state. `run/tick` counts supersteps, `permits` tasks.

/// The limits of a run, and what a failure or an update does to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The number of supersteps.
    pub recursion: u64,
    /// The number of tasks that run at once; 0: no limit.
    pub concurrency: usize,
    pub fail_fast: bool,
    pub rerun_unanswered: bool,
    pub only_output: bool,
    pub state_bytes: u64,
    /// Set if nodes may ask questions: answers can be stored, or the graph is allowed to lose them.
    pub may_ask: bool,
}
