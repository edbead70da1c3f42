//! A command verifier: configured, or discovered in the files of the attempt. `findings` knows the meaning of its
//! output.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::code::Timed;
use super::command::{MAKEFILES, Purpose, Top, discovered};
use super::job::RunVerifier;
use super::result::{VerifierResult, failed_report};
use crate::findings::{Exit, Finding, FindingKind, ReportReader, ShellOutput, VerifierReport};
use crate::graph::{Ctx, NodeError};
use crate::nodes::activity::Activity;
use crate::nodes::check_command::CheckCommand;
use crate::nodes::folder::failed;
use crate::process::{Environment, Redactor, RunEnd};
use crate::spec::VerifierEntry;
use crate::workspace::{TreeId, Workspace};

/// The number of bytes that are kept of the beginning and of the end of each output.
const KEPT: usize = 5 * 1024 * 1024;
/// The maximum size of a file in which a command is looked for, in bytes.
const LONGEST_FILE: usize = 1024 * 1024;

/// Result of a command, or of none.
#[derive(Debug, Serialize, Deserialize)]
struct Shell {
    has_command: bool,
    timed: Timed,
}

impl Shell {
    fn result(self, job: &RunVerifier) -> VerifierResult {
        let Self { has_command, timed: Timed { report, ms } } = self;
        let has_found = has_command && job.entry.config.command.is_none();
        VerifierResult { report, ms, has_command, has_found, ..VerifierResult::default() }
    }
}

pub(super) async fn ran<C: Send + Sync + 'static>(
    job: &RunVerifier,
    ctx: &Ctx<C>,
) -> Result<VerifierResult, NodeError> {
    let asked = (&job.entry.config.command, &job.tree);
    Ok(ctx.effect(job.key("command"), &asked, |_| shell(job, ctx)).await?.result(job))
}

async fn shell<C: Send + Sync + 'static>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<Shell, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    match command(&job.entry, &job.tree, &workspace).await? {
        Some(command) => Ok(Shell { has_command: true, timed: Timed::of(reported(job, &command, ctx)).await? }),
        None => Ok(Shell { has_command: false, timed: Timed { report: without(job), ms: 0 } }),
    }
}

/// Returns the configured command, else a discovered one.
pub(super) async fn command(
    entry: &VerifierEntry,
    tree: &TreeId,
    workspace: &Workspace,
) -> Result<Option<String>, NodeError> {
    if let Some(command) = &entry.config.command {
        return Ok(Some(command.clone()));
    }
    let Some(purpose) = Purpose::of(&entry.id) else { return Ok(None) };
    let text = async |name: &str| workspace.text_of(tree, name, LONGEST_FILE).await.map_err(failed);
    let names = workspace.top_names(tree).await.map_err(failed)?;
    let makefile = match MAKEFILES.iter().find(|name| names.iter().any(|known| known == *name)) {
        Some(name) => text(name).await?,
        None => None,
    };
    let (package, ignored) = (text("package.json").await?, text(".gitignore").await?);
    Ok(discovered(purpose, &Top { names, package, makefile, ignored }))
}

/// Returns the report of a verifier without a command.
fn without(job: &RunVerifier) -> VerifierReport {
    let id = &job.entry.id;
    let how = format!("set `config.command` of the verifier `{id}`");
    if Purpose::of(id).is_none() {
        return failed_report(format!("there is no command: {how}"));
    }
    let why = format!("no command was found for `{id}`: {how}, if there is one");
    VerifierReport::of([Finding::info(FindingKind::Other("NO_COMMAND".into()), why)])
}

async fn reported<C>(job: &RunVerifier, command: &str, ctx: &Ctx<C>) -> Result<VerifierReport, NodeError>
where
    C: Send + Sync + 'static,
{
    Activity::Check { command }.emit(ctx).await;
    let environment = environment(job);
    let program = CheckCommand { line: command, directory: &job.folder.directory, environment, kept: [KEPT; 2] };
    let redactor = program.redactor();
    let ran = program.run(sleep(limit(job)), || ctx.heartbeat()).await;
    let (report, code) = read(job, command, ran);
    let report = shown(report, &redactor);
    let output = report.evidence.log.as_deref().filter(|_| code != Some(0));
    Activity::Checked { command, code, output }.emit(ctx).await;
    Ok(report)
}

/// Returns the command's environment.
fn environment(job: &RunVerifier) -> Environment {
    CheckCommand::environment(&job.host.pass)
        .set("SUPERSTEP_TASK_ID", &job.task.id)
        .set("SUPERSTEP_ATTEMPT", job.attempt.to_string())
        .set("SUPERSTEP_BASE", job.base.tree.as_str())
        .set("SUPERSTEP_TREE", job.tree.as_str())
}

/// Parses the output of the command; returns the report and its exit code.
fn read(job: &RunVerifier, command: &str, ran: io::Result<RunEnd<()>>) -> (VerifierReport, Option<i32>) {
    let RunEnd { how, out, err, .. } = match ran {
        Ok(ran) => ran,
        Err(error) => return (failed_report(format!("`{command}` cannot be run: {error}")), None),
    };
    let exit = exit(how, job);
    let normalizer = job.normalizer();
    let reader = ReportReader::new(&job.entry.id, command, &normalizer);
    let reader = reader.max_findings(job.entry.config.max_findings as usize);
    let (stdout, stderr) = (out.text(), err.text());
    let report = reader.read(&ShellOutput { stdout: stdout.as_bytes(), stderr: stderr.as_bytes(), exit });
    (report, if let Exit::Code(code) = exit { Some(code) } else { None })
}

fn exit(how: Result<ExitStatus, ()>, job: &RunVerifier) -> Exit {
    match how {
        Ok(status) => status.code().map_or_else(|| Exit::Signal(status.signal()), Exit::Code),
        Err(()) => Exit::TimedOut(limit(job)),
    }
}

fn limit(job: &RunVerifier) -> Duration {
    Duration::from_secs(job.entry.config.timeout_sec.into())
}

/// Redacts secrets in a report.
fn shown(mut report: VerifierReport, redactor: &Redactor) -> VerifierReport {
    let keys = Redactor::keys();
    let hide = |text: &mut String| *text = redactor.redact(&keys.known(std::mem::take(text)));
    for finding in &mut report.findings {
        hide(&mut finding.message);
        finding.evidence.log.iter_mut().for_each(hide);
    }
    report.evidence.log.iter_mut().for_each(hide);
    report
}
