//! `salvage`: work that was put aside, listed and brought back.

use std::path::PathBuf;

use clap::Args;
use superstep::workspace::{SalvagedWork, Workspace, WorkspaceError};
use superstep_app::{CustomOutput, Exit, Refusal, ThreadSummary};

/// What `salvage` takes.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  {bin} salvage tides\n  {bin} salvage tides --restore refs/superstep/tides/task-1/attempt-1"
)]
pub(crate) struct SalvageArgs {
    /// Restore the files of this reference; changed files are not overwritten
    #[arg(long, value_name = "REF")]
    restore: Option<String>,
}

/// Lists the work that was put aside in a thread, or brings some of it back.
pub(crate) async fn salvage(args: SalvageArgs, found: ThreadSummary) -> Result<CustomOutput, Refusal> {
    let folder = found.state["working_dir"].as_str().map(PathBuf::from);
    let folder = folder.ok_or_else(|| {
        Refusal::new(format!("thread `{}` of the graph `{}` has no repository", found.thread, found.graph))
    })?;
    let workspace = Workspace::open(&folder).await.map_err(|error| refusal(&error))?;
    match args.restore {
        Some(reference) => {
            let _alone = workspace.lock(&found.thread).await.map_err(|error| refusal(&error))?;
            restore(&workspace, &reference).await
        }
        None => {
            let all = workspace.salvaged_work(&found.thread).await.map_err(|error| refusal(&error))?;
            CustomOutput::new(format_list(&all), &all)
        }
    }
}

async fn restore(workspace: &Workspace, reference: &str) -> Result<CustomOutput, Refusal> {
    let reset = workspace.restore(reference).await.map_err(|error| refusal(&error))?;
    let mut text: String = reset.written.iter().map(|file| format!("wrote {file}\n")).collect();
    text.extend(reset.removed.iter().map(|file| format!("removed {file}\n")));
    if text.is_empty() {
        text.push_str("nothing to restore: the files are already the same\n");
    }
    CustomOutput::new(text, &reset)
}

fn format_list(all: &[SalvagedWork]) -> String {
    if all.is_empty() {
        return "there is no salvaged work\n".to_owned();
    }
    let line = |salvaged: &SalvagedWork| format!("{}\n  {}\n", salvaged.reference, salvaged.files.join(", "));
    all.iter().map(line).collect()
}

/// Returns the refusal that a failure of git is.
pub(crate) fn refusal(error: &WorkspaceError) -> Refusal {
    let refusal = Refusal::new(error.to_string()).exit(Exit::Failed);
    error.help().into_iter().fold(refusal, Refusal::help)
}
