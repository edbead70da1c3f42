//! Questions to people, and their answers: plain data, in the JSON in which they are stored and answered. They know no
//! node, and must not know who asks them, or how people are reached.
//! Small because it only lists the folder.

mod agents;
mod work;

pub use agents::{
    AfterBudget, AfterMissingReview, AfterRefusal, AgentQuestion, AgentReply, BudgetReached, RaisedLimits,
    ReviewUnavailable, SessionRefused,
};
pub use work::{
    AfterGivingUp, AfterHalt, AfterMove, ApprovePlan, BranchMoved, DecideTask, Halted, HaltedPhasePlace, PlanChanged,
    PlanChoice, Salvage, TaskGivenUp, TaskToApprove, WrittenOverride,
};
