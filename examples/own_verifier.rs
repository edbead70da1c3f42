//! A command line with a custom verifier: executes tasks in attempts, and warns about long files.
//!
//!     own_verifier run code-task --task task.md --driver cli:claude --thread tides

use std::path::PathBuf;
use std::process::ExitCode;

use superstep_app::{App, Register};
// <verifier>
use superstep::findings::{Finding, FindingKind, VerifierReport};
use superstep::nodes::Crew;
use superstep::verifiers::{Verifier, VerifierError, VerifierJob};

struct LongFiles;

impl Verifier for LongFiles {
    async fn verify(&self, job: &VerifierJob) -> Result<VerifierReport, VerifierError> {
        let most = job.config["most"].as_u64().unwrap_or(400);
        let mut report = VerifierReport::pass();
        for file in &job.changes.files {
            let Ok(text) = std::fs::read_to_string(job.folder.join(file)) else { continue }; // deleted, or no text
            let lines = text.lines().count() as u64;
            if lines > most {
                let kind = FindingKind::Other("LONG_FILE".into());
                report.push(Finding::warning(kind, format!("{lines} lines, of at most {most}")).at(file, 1));
            }
        }
        Ok(report)
    }
}
// </verifier>
// <program>
use superstep_workflows::Profile;
use superstep_workflows::code_task::{CodeTaskStateUpdate, TaskStart, TaskStartError, graph, summary};

#[derive(clap::Args)]
struct Task {
    /// The task
    #[arg(long)]
    task: PathBuf,

    /// Who works: `api`, `cli:claude`, `scripted:FILE`
    #[arg(long)]
    driver: String,
}

fn input(args: Task) -> Result<CodeTaskStateUpdate, Box<dyn std::error::Error + Send + Sync>> {
    let profile = Profile { driver: args.driver.parse()?, ..Profile::default() };
    let in_code = vec!["long-files".into()];
    let start = TaskStart { task: args.task, profile, in_code, ..TaskStart::default() };
    Ok(start.input_blocking().map_err(|error: TaskStartError| error.to_string())?)
}

fn main() -> ExitCode {
    let crew = Crew::new().with_verifier("long-files", LongFiles); // the context of the run
    App::new().graph_with("code-task", graph().args(input).summary(summary), crew).main()
}
// </program>
