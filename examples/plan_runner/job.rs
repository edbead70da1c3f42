//! The graph of `plan_runner`: asks for approval, then runs the command for each task; its exit code decides on the
//! task. Knows neither the command line nor the terminal.

use superstep::nodes::{
    ApprovalResult, ApprovePlan, CommandOutput, ShellCommand, human_approval, next_task_node, run_command,
};
use superstep::plan::{Decision, Plan, PlanError, TaskProgress};
use superstep::prelude::*;
use superstep::routes::{AfterApproval, AfterTaskReview, route_after_task_review, route_approval};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) plan: Option<Plan>,
    pub(crate) command: String,
    pub(crate) decision: Option<Decision>,
    pub(crate) progress: TaskProgress,
    pub(crate) last_run: Option<CommandOutput>,
}

#[derive(NodeId)]
pub(crate) enum Step {
    HumanApproval,
    RunTask,
    NextTask,
}

targets! { Step:
    AfterApproval { Approve => Step::RunTask, Reject | Revise => END }
    AfterTaskReview { Retry => Step::RunTask, NextTask => Step::NextTask, Complete | Halt => END }
}

impl Job {
    pub(crate) fn question(&self) -> Result<ApprovePlan, &'static str> {
        Ok(ApprovePlan::of(self.plan.as_ref().ok_or("there is no plan to approve")?))
    }

    fn decided(&self, approved: ApprovalResult) -> JobUpdate {
        Self::update().decision(Some(approved.decision))
    }

    pub(crate) fn after_approval(&self) -> AfterApproval {
        route_approval(self.decision.as_ref())
    }

    /// Returns the command of the current task, with the task's section as its input.
    fn task_command(&self) -> Result<ShellCommand, PlanError> {
        let (index, total) = (self.progress.current_task_index, self.progress.total_tasks);
        let plan = self.plan.as_ref().ok_or(PlanError::NoSuchTask { index, total })?;
        let task = plan.task(index)?;
        let command = ShellCommand::new(&self.command).stdin(task.section);
        let command = command.env("SUPERSTEP_TASK", task.id.as_str()).env("SUPERSTEP_TASK_TITLE", task.title);
        let attempt = self.progress.task_review_iteration + 1;
        Ok(command.env("SUPERSTEP_TASKS", total.to_string()).env("SUPERSTEP_ATTEMPT", attempt.to_string()))
    }

    fn task_ended(&self, output: CommandOutput) -> JobUpdate {
        Self::update().last_run(Some(output)).progress(self.progress.after_review())
    }

    pub(crate) fn after_task(&self) -> AfterTaskReview {
        route_after_task_review(&self.progress, self.last_run.as_ref().is_some_and(CommandOutput::is_success))
    }

    fn moved_on(progress: TaskProgress) -> JobUpdate {
        Self::update().progress(progress).last_run(None)
    }

    /// Returns the current task for display.
    pub(crate) fn task(&self) -> String {
        let task =
            self.plan.as_ref().and_then(|plan| Some(plan.task(self.progress.current_task_index).ok()?.to_string()));
        task.unwrap_or_default()
    }
}

pub(crate) fn graph() -> Result<CompiledGraph<Job, Step>, CompileError> {
    StateGraph::new()
        .name("plan_runner")
        .add_node(Step::HumanApproval, human_approval(Job::question, Job::decided))
        .add_node(Step::RunTask, run_command(Job::task_command, Job::task_ended))
        .add_node(Step::NextTask, next_task_node(|job: &Job| job.progress, Job::moved_on))
        .add_edge(START, Step::HumanApproval)
        .add_conditional_edges(Step::HumanApproval, Job::after_approval)
        .add_conditional_edges(Step::RunTask, Job::after_task)
        .add_edge(Step::NextTask, Step::RunTask)
        .compile()
}
