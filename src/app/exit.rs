//! Exit codes of a call. Must not know a graph.

/// The end of a run, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The work is done: 0.
    Finished,
    /// It failed: 1.
    Failed,
    /// It waits for an answer from a person: 10.
    Asking,
    /// It gave up, stopped at a breakpoint, or used up a budget: 11.
    Halted,
    /// A person rejected it: 12.
    Rejected,
    /// It was cancelled, and can be resumed: 13.
    Cancelled,
    /// It waits for a time or a signal: 14.
    Waiting,
    /// A replay found no difference, but compared nothing, or too little for `--strict`: 15.
    Unverified,
}

impl Exit {
    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Failed => 1,
            Self::Asking => 10,
            Self::Halted => 11,
            Self::Rejected => 12,
            Self::Cancelled => 13,
            Self::Waiting => 14,
            Self::Unverified => 15,
        }
    }
}
