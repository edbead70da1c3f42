//! The arguments of `run code-task`, and the exit code of its runs.

use std::error::Error;
use std::path::PathBuf;

use clap::Args;
use superstep::decide::Override;
use superstep::spec::Flags;
use superstep_app::{CustomOutput, Exit, Instead, Refusal};
use superstep_workflows::code_task::{CodeTaskState, CodeTaskStateUpdate, TaskOutcome, TaskStart, TaskStartError};

use crate::tasks::{AgentArgs, profile};

/// The arguments of `run code-task`.
#[derive(Args)]
pub(crate) struct CodeTask {
    /// The task file: markdown with front matter
    #[arg(long, value_name = "FILE")]
    task: PathBuf,

    /// Maximum number of children that run at once, instead of the task's
    #[arg(long, value_name = "N")]
    parallel: Option<u32>,

    /// The verifiers [default: verifiers.yml next to the task or in the root of the repository]
    #[arg(long, value_name = "FILE")]
    verifiers: Option<PathBuf>,

    #[command(flatten)]
    agents: AgentArgs,

    /// Same as --dir
    #[arg(long, value_name = "REPOSITORY", conflicts_with = "dir")]
    repo: Option<PathBuf>,

    /// The depth of the task
    #[arg(long, value_name = "N", default_value_t = 0)]
    depth: u32,

    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,

    /// Skip these verifiers, separated by commas; a task that skips a required one is DONE only by an override
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    skip_verifiers: Vec<String>,

    /// Replace a limit of the task, for example max_attempts=2
    #[arg(long, value_name = "KEY=VALUE")]
    override_policy: Vec<String>,

    /// Override the first decision: DONE, RETRY, SPLIT, FAIL
    #[arg(long = "override", value_name = "DECISION", requires = "why")]
    decision: Option<String>,

    /// The reason for --override
    #[arg(long, value_name = "TEXT", requires = "decision")]
    why: Option<String>,

    /// The folder of the records, relative to the root of the repository [default: runs]
    #[arg(long, value_name = "FOLDER")]
    runs: Option<PathBuf>,

    /// Check the task and its verifiers, print stages, commands and prompt sizes, and run nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reads everything that can be wrong before anything is stored.
pub(crate) fn input(args: CodeTask) -> Result<CodeTaskStateUpdate, Box<dyn Error + Send + Sync>> {
    let is_dry = args.dry_run;
    let start = start(args)?;
    if is_dry {
        let dry = start.dry_run_blocking().map_err(|error| of_start(&error))?;
        return Err(Instead(CustomOutput::new(dry.text(), &dry)?).into());
    }
    start.ensure_programs_blocking().map_err(|error| of_start(&error))?;
    Ok(start.input_blocking().map_err(|error| of_start(&error))?)
}

fn start(args: CodeTask) -> Result<TaskStart, Refusal> {
    let allow_dirty = args.agents.allow_dirty;
    let decision = match args.decision {
        Some(decision) => Some(parse_override(&decision, &args.why.unwrap_or_default(), &user())?),
        None => None,
    };
    let dir = args.agents.dir.clone().or(args.repo);
    let profile = profile(AgentArgs { dir, ..args.agents }, None, None)?;
    let mut policy = args.override_policy;
    policy.extend(args.parallel.map(|at_once| format!("parallel_children={at_once}")));
    let flags = Flags { strict: args.strict, skip: args.skip_verifiers, policy };
    let (task, verifiers, depth, records) = (args.task, args.verifiers, args.depth, args.runs);
    let in_code = vec![];
    Ok(TaskStart { task, verifiers, profile, flags, depth, records, allow_dirty, decision, in_code })
}

/// Reads a person's decision.
pub(crate) fn parse_override(decision: &str, why: &str, by: &str) -> Result<Override, Refusal> {
    Override::new(decision, why, by, "").map_err(|error| Refusal::new(error.to_string()).help(error.help()))
}

/// Returns the name of the user of this machine.
pub(crate) fn user() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "a person".into())
}

fn of_start(error: &TaskStartError) -> Refusal {
    let refusal = Refusal::new(error.to_string());
    let refusal = if error.is_usage() { refusal } else { refusal.exit(Exit::Failed) };
    error.help().into_iter().fold(refusal, Refusal::help)
}

/// Returns the exit code of a run that has ended.
pub(crate) fn ends(state: &CodeTaskState) -> Exit {
    match state.outcome {
        Some(TaskOutcome::Done) | None => Exit::Finished,
        Some(TaskOutcome::GaveUp | TaskOutcome::Failed) => Exit::Halted,
        Some(TaskOutcome::Cancelled) => Exit::Cancelled,
    }
}
