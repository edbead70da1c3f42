//! `override`: a person's decision in place of the rules, while a task waits or is over.

use std::path::Path;
use std::process::Command;

use clap::Args;
use serde_json::json;
use superstep::decide::{DecisionKind, Override};
use superstep_app::{CustomOutput, Exit, Pending, Refusal, ThreadSummary};
use superstep_workflows::code_task::CodeTaskState;

use super::state;
use crate::code_task;

/// The arguments of `override`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  {bin} override tides DONE --why 'the flaky test is known'\n  {bin} override tides FAIL --why 'not needed any more' --by ada"
)]
pub(crate) struct OverrideArgs {
    /// The decision: DONE, RETRY, SPLIT or FAIL
    #[arg(value_name = "DECISION")]
    decision: String,

    /// The reason; stored with the decision
    #[arg(long, value_name = "TEXT")]
    why: String,

    /// The question to answer, if several tasks wait; `status` lists the ids
    #[arg(long, value_name = "ID")]
    interrupt: Option<String>,

    /// The person who decides [default: git's user.name, or the user of this machine]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Decides in place of the rules, and goes on.
pub(crate) async fn override_decision(args: OverrideArgs, found: ThreadSummary) -> Result<CustomOutput, Refusal> {
    let state = state::task(&found)?;
    let by = args.by.unwrap_or_else(|| user(&state.settings.repository));
    let over = code_task::parse_override(&args.decision, &args.why, &by)?;
    match waiting(&found, args.interrupt.as_deref())? {
        Some(pending) => {
            let answer = json!({ "decision": over.decision, "why": over.note.why, "by": over.note.by });
            Ok(CustomOutput::answer(&pending.id, &json!({ "override": answer }))?.by(by))
        }
        None if found.status == "finished" && state.start.is_some() => {
            ensure_possible(&state, &over)?;
            CustomOutput::input(&json!({ "pending": over }))
        }
        None => Err(not_overridable(&found)),
    }
}

/// Returns the question of the task that waits; none if none does.
fn waiting<'a>(found: &'a ThreadSummary, id: Option<&str>) -> Result<Option<&'a Pending>, Refusal> {
    let is_meant = |pending: &&Pending| id.is_none_or(|id| pending.id == id);
    let is_answered = |pending: &&Pending| ["gave_up", "decide", "budget"].contains(&pending.name.as_str());
    let open: Vec<&Pending> = found.pending.iter().filter(is_answered).filter(is_meant).collect();
    match (open.as_slice(), id) {
        ([], Some(id)) => Err(Refusal::new(format!("no task waits for a decision on the question {id}"))
            .help(format!("`status {}` lists the pending questions", found.thread))),
        ([], None) => Ok(None),
        ([pending], _) => Ok(Some(pending)),
        (several, _) => {
            let line =
                |pending: &&Pending| format!("{} ({})", pending.id, pending.question["task"].as_str().unwrap_or("?"));
            let lines: Vec<String> = several.iter().map(line).collect();
            Err(Refusal::new(format!("{} tasks wait for a decision", several.len()))
                .help(format!("select one with `--interrupt ID`: {}", lines.join(", "))))
        }
    }
}

/// Refuses a split of a task that is over and cannot be split.
fn ensure_possible(state: &CodeTaskState, over: &Override) -> Result<(), Refusal> {
    let Some(spec) = state.spec.as_ref().filter(|_| over.decision == DecisionKind::Split) else { return Ok(()) };
    let why = match (&state.children, state.place.depth, spec.policy.max_depth) {
        (Some(_), ..) => "it was already split, and a task is split at most once".to_owned(),
        (None, depth, most) if depth >= most => format!("it is at depth {depth}, and max_depth is {most}"),
        (None, ..) => return Ok(()),
    };
    Err(Refusal::new(format!("task {} cannot be split: {why}", spec.id.as_str())).help("choose DONE, RETRY or FAIL"))
}

fn not_overridable(found: &ThreadSummary) -> Refusal {
    let (thread, status) = (&found.thread, &found.status);
    match found.pending.first() {
        Some(pending) => {
            Refusal::new(format!("thread `{thread}` waits for an answer to `{}`, not for a decision", pending.name))
                .help("answer that first")
        }
        None => Refusal::new(format!("thread `{thread}` is {status}: there is no decision to override"))
            .help("override a decision while the task waits for a person, or after it has ended"),
    }
    .exit(Exit::Failed)
}

/// Returns the name of the person at this machine.
fn user(repository: &Path) -> String {
    let git = Command::new("git").arg("-C").arg(repository).args(["config", "user.name"]).output();
    let name = git.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.unwrap_or_else(code_task::user)
}
