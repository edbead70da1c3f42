//! Questions to people, and their answers: plain data, in the JSON in which they are stored and answered. They know no
//! node, and must not know who asks them, or how people are reached.
//! Small because it only lists the folder.

mod agents;
mod work;

pub use agents::{
    AfterBudget, AfterRefusal, AgentQuestion, AgentReply, BudgetReached, Raise, ReviewUnavailable, SessionRefused,
    WithoutReview,
};
pub use work::{
    AfterGivingUp, AfterHalt, AfterMove, ApprovePlan, BranchMoved, DecideTask, GaveUp, Halted, HaltedPhasePlace,
    PlanChanged, Salvage, TaskToApprove, WhichPlan, WrittenOverride,
};
