//! The arguments of `run tasks` and `run phases`, and the exit code of their runs.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use superstep::drivers::DriverName;
use superstep_app::{CustomOutput, Exit, Instead, Refusal};
use superstep_workflows::task_based::{
    ExecutionState, ExecutionStateUpdate, RunOutcome, RunStart, StartError, ensure_programs,
};
use superstep_workflows::{Overrides, Profile, ProfileError};

/// The arguments that all workflows of coding agents share.
#[derive(Args)]
pub(crate) struct AgentArgs {
    /// The settings of the run: drivers, models, limits; a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,

    #[arg(long, value_name = "NAME", help = driver_help())]
    pub(crate) driver: Option<String>,

    /// The repository [default: the profile's, or the current directory]
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) dir: Option<PathBuf>,

    /// Start with uncommitted changes; no commit of the run includes them
    #[arg(long)]
    pub(crate) allow_dirty: bool,

    /// Stay on the run's branch at the end instead of switching back
    #[arg(long)]
    pub(crate) stay: bool,
}

fn driver_help() -> String {
    format!("The driver of the agents, instead of the profile's: {}", DriverName::forms().join(", "))
}

/// The arguments of `run tasks`.
#[derive(Args)]
pub(crate) struct Tasks {
    /// The plan: markdown with a heading `Task N: title` for each task
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// The issue, as markdown; without --plan, an architect writes a plan for it
    #[arg(long, value_name = "FILE")]
    issue: Option<PathBuf>,

    #[command(flatten)]
    agents: AgentArgs,

    /// Maximum number of attempts at a task, instead of the profile's
    #[arg(long, value_name = "N")]
    max_task_reviews: Option<u32>,

    /// The branch of the run [default: superstep/ISSUE or superstep/THREAD]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Check the plan and the repository, print the text of the approval, and run nothing
    #[arg(long)]
    dry_run: bool,
}

/// The error is a refusal, or the text of a dry run.
type InputResult = Result<ExecutionStateUpdate, Box<dyn Error + Send + Sync>>;

/// Reads everything that can be wrong before anything is stored.
pub(crate) fn input(args: Tasks, thread: Option<&str>) -> InputResult {
    start(args, None, (thread, false))
}

/// The arguments of `run phases`.
#[derive(Args)]
pub(crate) struct PhasesArgs {
    #[command(flatten)]
    tasks: Tasks,

    /// Maximum number of subtasks that run at once [default: the profile's, or 4]
    #[arg(long, value_name = "N")]
    max_parallel: Option<u32>,
}

/// The same for `run phases`.
pub(crate) fn phases_input(args: PhasesArgs, thread: Option<&str>) -> InputResult {
    start(args.tasks, args.max_parallel, (thread, true))
}

fn start(args: Tasks, max_parallel: Option<u32>, (thread, in_phases): (Option<&str>, bool)) -> InputResult {
    let Tasks { plan, issue, agents, max_task_reviews, branch, dry_run } = args;
    let allow_dirty = agents.allow_dirty;
    let profile = profile(agents, max_task_reviews, max_parallel)?;
    let thread = thread.map(str::to_owned);
    let start = RunStart { plan, issue, profile, allow_dirty, branch, thread, in_phases };
    if dry_run {
        let dry = start.dry_run_blocking().map_err(|error| of_start(&error))?;
        return Err(Instead(CustomOutput::new(dry.text(), &dry)?).into());
    }
    ensure_programs(&start.profile, &start.roles()).map_err(|error| of_start(&error))?;
    Ok(start.input_blocking().map_err(|error| of_start(&error))?)
}

/// Returns the profile with what the command line says.
pub(crate) fn profile(
    agents: AgentArgs,
    max_task_review_iterations: Option<u32>,
    max_parallel: Option<u32>,
) -> Result<Profile, Refusal> {
    let AgentArgs { profile, driver, dir, stay, .. } = agents;
    let driver = driver.map(|name| name.parse::<DriverName>()).transpose();
    let driver = driver.map_err(|error| Refusal::new(error.to_string()))?;
    let profile = match &profile {
        Some(file) => Profile::read(file).map_err(|error| of_profile(&error))?,
        None => Profile::default(),
    };
    let overrides = Overrides { driver, working_dir: dir, max_task_review_iterations, max_parallel, stay };
    let profile = profile.with(overrides).map_err(|error| of_profile(&error))?;
    let stay_on_branch = Some(profile.stay_on_branch.unwrap_or(false)); // a person's checkout goes back
    Ok(Profile { stay_on_branch, ..profile })
}

fn of_profile(error: &ProfileError) -> Refusal {
    let refusal = Refusal::new(error.to_string());
    error.help().into_iter().fold(refusal, Refusal::help)
}

fn of_start(error: &StartError) -> Refusal {
    let refusal = Refusal::new(error.to_string());
    let refusal = if error.is_usage() { refusal } else { refusal.exit(Exit::Failed) };
    error.help().into_iter().fold(refusal, Refusal::help)
}

/// Returns the exit code of a run that has ended.
pub(crate) fn ends(state: &ExecutionState) -> Exit {
    match state.result.outcome {
        Some(RunOutcome::Completed) | None => Exit::Finished,
        Some(RunOutcome::Halted) => Exit::Halted,
        Some(RunOutcome::Rejected) => Exit::Rejected,
        Some(RunOutcome::Cancelled) => Exit::Cancelled,
        Some(RunOutcome::Failed) => Exit::Failed,
    }
}
