//! HEADER

mod branch;
mod fold;
pub(super) mod head;
pub(super) mod head_log;
mod standing;

pub use branch::OwnBranch;
pub use fold::{Folded, PutBack};
pub use head::Head;
pub(super) use head::{head_of, tip_of};
pub(super) use head_log::HeadLog;
pub use head_log::TurnWatch;
pub use standing::{BranchMove, HeadMove, Movement, Standing};
