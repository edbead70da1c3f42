//! Verifiers that are programs: a command, configured or discovered in the files of the attempt; or code, found by its id.
//! `findings` knows the meaning of a command's output.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_base::panics::catch_panic_in;
use tokio::time::sleep;

use super::checks::CheckCommand;
use super::job::{RunVerifier, VerifierResult, failed_report};
use crate::findings::{Finding, FindingKind, ReportReader, ShellExit, ShellOutput, VerifierReport};
use crate::graph::{Ctx, NodeError};
use crate::nodes::agent::Agents;
use crate::nodes::events::Activity;
use crate::nodes::git::failed;
use crate::nodes::job::Context;
use crate::process::{Environment, Redactor, RunEnd, SecretKey};
use crate::spec::VerifierEntry;
use crate::verifiers::{Changes, DynVerifier, KnownKey, VerifierJob};
use crate::workspace::{LeakedKey, TreeId, Workspace, WorkspaceError};

/// The number of bytes that are kept of the beginning and of the end of each output.
const KEPT: usize = 5 * 1024 * 1024;
/// The maximum size of a file in which a command is looked for, in bytes.
const LONGEST_FILE: usize = 1024 * 1024;

/// Result of a command, or of none.
#[derive(Debug, Serialize, Deserialize)]
struct ShellResult {
    has_command: bool,
    timed: TimedReport,
}

impl ShellResult {
    fn result(self, job: &RunVerifier) -> VerifierResult {
        let Self { has_command, timed: TimedReport { report, ms } } = self;
        let has_found = has_command && job.entry.config.command.is_none();
        VerifierResult { report, ms, has_command, has_found, ..VerifierResult::default() }
    }
}

pub(super) async fn run_shell<C: Context>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierResult, NodeError> {
    let asked = (&job.entry.config.command, &job.tree);
    Ok(ctx.effect(job.key("command"), &asked, |_| shell(job, ctx)).await?.result(job))
}

async fn shell<C: Context>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<ShellResult, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    match command(&job.entry, &job.tree, &workspace).await? {
        Some(command) => {
            Ok(ShellResult { has_command: true, timed: TimedReport::of(shell_report(job, &command, ctx)).await? })
        }
        None => Ok(ShellResult { has_command: false, timed: TimedReport { report: without(job), ms: 0 } }),
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

async fn shell_report<C: Context>(job: &RunVerifier, command: &str, ctx: &Ctx<C>) -> Result<VerifierReport, NodeError> {
    Activity::Check { command }.emit(ctx).await;
    let environment = environment(job);
    let program = CheckCommand { line: command, directory: &job.folder.directory, environment, kept: [KEPT; 2] };
    let redactor = program.redactor();
    let ran = program.run(sleep(limit(job)), || ctx.heartbeat()).await;
    let (report, code) = parse_output(job, command, ran);
    let report = redact_report(report, &redactor);
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
fn parse_output(job: &RunVerifier, command: &str, ran: io::Result<RunEnd<()>>) -> (VerifierReport, Option<i32>) {
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
    (report, if let ShellExit::Code(code) = exit { Some(code) } else { None })
}

fn exit(how: Result<ExitStatus, ()>, job: &RunVerifier) -> ShellExit {
    match how {
        Ok(status) => status.code().map_or_else(|| ShellExit::Signal(status.signal()), ShellExit::Code),
        Err(()) => ShellExit::TimedOut(limit(job)),
    }
}

fn limit(job: &RunVerifier) -> Duration {
    Duration::from_secs(job.entry.config.timeout_sec.into())
}

/// Redacts secrets in a report.
fn redact_report(mut report: VerifierReport, redactor: &Redactor) -> VerifierReport {
    let keys = Redactor::keys();
    let hide = |text: &mut String| *text = redactor.redact(&keys.known(std::mem::take(text)));
    for finding in &mut report.findings {
        hide(&mut finding.message);
        finding.evidence.log.iter_mut().for_each(hide);
    }
    report.evidence.log.iter_mut().for_each(hide);
    report
}

/// Folders with Python files that are not the repository's.
const FOREIGN: &str = r"(^|/)(\.git|\.tox|\.venv|venv|node_modules)/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Build,
    Test,
}

/// The top level of a repository.
#[derive(Clone, Debug, Default)]
struct Top {
    /// Names of its files and folders.
    names: Vec<String>,
    /// The text of `package.json`.
    package: Option<String>,
    /// The text of the makefile.
    makefile: Option<String>,
    /// The text of `.gitignore`.
    ignored: Option<String>,
}

impl Purpose {
    /// Returns the purpose of the built-in verifiers that discover a command.
    fn of(verifier: &str) -> Option<Self> {
        match verifier {
            "build" => Some(Self::Build),
            "test" => Some(Self::Test),
            _ => None,
        }
    }
}

const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the command for a repository, from the first of cargo, npm, go, python and make that has one.
fn discovered(purpose: Purpose, top: &Top) -> Option<String> {
    [cargo, npm, go, python, make].into_iter().find_map(|tool| tool(purpose, top))
}

impl Top {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }
}

/// Builds outside of a work tree whose `.gitignore` does not list `target`.
fn cargo(purpose: Purpose, top: &Top) -> Option<String> {
    let verb = match purpose {
        Purpose::Build => "build",
        Purpose::Test => "test",
    };
    let is_target = |line: &str| line.trim().trim_matches('/').trim_start_matches("**/") == "target";
    let is_ignored = top.ignored.as_deref().is_some_and(|text| text.lines().any(is_target));
    let place = if is_ignored { "" } else { r#"CARGO_TARGET_DIR="${TMPDIR:-/tmp}/superstep-target" "# };
    top.has("Cargo.toml").then(|| format!("{place}cargo {verb}"))
}

fn npm(purpose: Purpose, top: &Top) -> Option<String> {
    let package: Value = serde_json::from_str(top.package.as_deref()?).ok()?;
    let (script, command) = match purpose {
        Purpose::Build => ("build", "npm run build"),
        Purpose::Test => ("test", "npm test"),
    };
    let line = package["scripts"][script].as_str()?;
    // The placeholder that `npm init` writes.
    (!line.contains("no test specified")).then(|| command.to_owned())
}

fn go(purpose: Purpose, top: &Top) -> Option<String> {
    let verb = match purpose {
        Purpose::Build => "build",
        Purpose::Test => "test",
    };
    top.has("go.mod").then(|| format!("go {verb} ./..."))
}

/// Neither command leaves files in the work tree.
fn python(purpose: Purpose, top: &Top) -> Option<String> {
    let is_python = top.has_any(&["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"])
        || top.names.iter().any(|name| name.ends_with(".py"));
    let is_test = |name: &String| name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py");
    let has_tests = top.has_any(&["tests", "test", "pytest.ini", "conftest.py"]) || top.names.iter().any(is_test);
    match purpose {
        Purpose::Build => is_python.then(|| {
            let cache = r#"PYTHONPYCACHEPREFIX="${TMPDIR:-/tmp}/superstep-pycache""#;
            format!("{cache} python3 -m compileall -q -f -x '{FOREIGN}' .")
        }),
        Purpose::Test => (is_python && has_tests).then(|| {
            let with = "python3 -m pytest -q -p no:cacheprovider";
            let check = "python3 -c 'import pytest' 2>/dev/null";
            format!("export PYTHONDONTWRITEBYTECODE=1; if {check}; then {with}; else python3 -m unittest discover; fi")
        }),
    }
}

fn make(purpose: Purpose, top: &Top) -> Option<String> {
    let text = top.makefile.as_deref()?;
    let has = |target: &str| text.lines().any(|line| is_target(line, target));
    match purpose {
        Purpose::Build if has("build") => Some("make build".into()),
        Purpose::Build => Some("make".into()),
        Purpose::Test => {
            ["test", "check"].into_iter().find(|target| has(target)).map(|target| format!("make {target}"))
        }
    }
}

/// Returns true if a line of a makefile starts the rule of a target.
fn is_target(line: &str, target: &str) -> bool {
    let Some((names, rest)) = line.split_once(':') else { return false };
    !line.starts_with([' ', '\t']) && !rest.starts_with('=') && names.split_whitespace().any(|name| name == target)
}

/// A report with its duration.
#[derive(Debug, Serialize, Deserialize)]
struct TimedReport {
    report: VerifierReport,
    ms: u64,
}

impl TimedReport {
    /// Measures the time of a report.
    async fn of(report: impl Future<Output = Result<VerifierReport, NodeError>>) -> Result<Self, NodeError> {
        let started = Instant::now();
        let report = report.await?;
        Ok(Self { report, ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX) })
    }
}

pub(super) async fn run_code<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierResult, NodeError> {
    let trees = [&job.base.tree, &job.tree];
    let TimedReport { report, ms } =
        ctx.effect(job.key("report"), &trees, |_| TimedReport::of(code_report(job, ctx))).await?;
    Ok(VerifierResult { report, ms, ..VerifierResult::default() })
}

/// Runs the verifier; its failure is a finding.
async fn code_report<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<VerifierReport, NodeError> {
    let id = &job.entry.id;
    let Some(verifier) = ctx.context().verifier(id) else {
        let why = format!("there is no verifier `{id}` in this program; add it by `Crew::with_verifier`");
        return Ok(failed_report(why));
    };
    let given = read_input(job, &verifier, ctx).await?;
    let limit = Duration::from_secs(job.entry.config.timeout_sec.into());
    let failed = match tokio::time::timeout(limit, catch_panic_in(verifier.verify(&given))).await {
        Ok(Ok(Ok(report))) => return Ok(report),
        Ok(Ok(Err(error))) => format!("the verifier failed: {error}"),
        Ok(Err(panic)) => format!("the verifier panicked: {panic}"),
        Err(_) => format!("the verifier took longer than {} s", limit.as_secs()),
    };
    Ok(failed_report(failed))
}

/// Reads the input of the verifier.
async fn read_input<C: Agents>(job: &RunVerifier, by: &DynVerifier, ctx: &Ctx<C>) -> Result<VerifierJob, NodeError> {
    let workspace = job.folder.hold(ctx).await?;
    let most = by.diff_limit(job.entry.config.max_diff_bytes as usize);
    let changes = changes(&workspace, [&job.base.tree, &job.tree], most).await.map_err(failed)?;
    Ok(VerifierJob {
        task: job.task.clone(),
        attempt: job.attempt,
        folder: superstep_base::moved::present_path(&job.folder.directory),
        base: job.base.tree.to_string(),
        tree: job.tree.to_string(),
        changes,
        config: serde_json::Value::Object(job.entry.config.other.clone().into_iter().collect()),
    })
}

async fn changes(workspace: &Workspace, [from, to]: [&TreeId; 2], most: usize) -> Result<Changes, WorkspaceError> {
    let (diff, is_all) = workspace.diff_start(from, to, most).await?;
    let files = workspace.changed_files(from, to).await?;
    let keys = workspace.leaked_keys(from, to, SecretKey::from_environment()).await?.into_iter().map(known).collect();
    Ok(Changes { diff, is_cut: !is_all, files, keys })
}

fn known(LeakedKey { path, line, variable, .. }: LeakedKey) -> KnownKey {
    KnownKey { file: path, line: u32::try_from(line).unwrap_or(u32::MAX), variable }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SCRIPTS: &str = r#"{"scripts": {"build": "tsc", "test": "vitest run"}}"#;
    const NEW: &str = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;

    #[rstest]
    #[case::nothing(&["README.md"], "", "", [None, None])]
    #[case::cargo(&["Cargo.toml", "Makefile"], "", "build:\n", [Some("cargo build"), Some("cargo test")])]
    #[case::npm(&["package.json"], SCRIPTS, "", [Some("npm run build"), Some("npm test")])]
    #[case::npm_without_scripts(&["package.json"], "{}", "", [None, None])]
    #[case::npm_as_new(&["package.json"], NEW, "", [None, None])]
    #[case::npm_that_is_no_json(&["package.json"], "{", "", [None, None])]
    #[case::npm_without_scripts_and_make(&["package.json", "Makefile"], "{}", "all:\n", [Some("make"), None])]
    #[case::go(&["go.mod", "main.go"], "", "", [Some("go build ./..."), Some("go test ./...")])]
    #[case::make(&["Makefile"], "", "all: a\n\tcc a.c\n", [Some("make"), None])]
    #[case::make_build_and_check(&["makefile"], "", ".PHONY: x\nbuild check:\n", [Some("make build"), Some("make check")])]
    #[case::make_variables(&["Makefile"], "", "test := 1\nbuild:=2\n\ttest:\n", [Some("make"), None])]
    #[case::python_without_tests(&["main.py"], "", "", [Some("compileall"), None])]
    #[case::python(&["pyproject.toml", "tests"], "", "", [Some("compileall"), Some("pytest")])]
    #[case::python_with_a_test(&["a.py", "test_a.py"], "", "", [Some("compileall"), Some("pytest")])]
    #[case::tests_of_something_else(&["tests", "README.md"], "", "", [None, None])]
    fn a_command_is_found_by_the_files_at_the_top(
        #[case] names: &[&str],
        #[case] package: &str,
        #[case] makefile: &str,
        #[case] expected: [Option<&str>; 2],
    ) {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let ignored = Some("*.log\n/target/\n".to_owned());
        let top = Top { names, package: text(package), makefile: text(makefile), ignored };
        for (purpose, expected) in [Purpose::Build, Purpose::Test].into_iter().zip(expected) {
            let found = discovered(purpose, &top);
            let is_expected = match (&found, expected) {
                (Some(found), Some(part @ ("compileall" | "pytest"))) => found.contains(part),
                (found, expected) => found.as_deref() == expected,
            };
            assert!(is_expected, "{found:?}, not {expected:?}");
        }
    }

    #[rstest]
    #[case::not_there(None)]
    #[case::something_else(Some("targets\n"))]
    fn what_cargo_builds_is_outside_where_it_is_not_ignored(#[case] ignored: Option<&str>) {
        let top = Top { names: vec!["Cargo.toml".into()], ignored: ignored.map(str::to_owned), ..Top::default() };
        let found = discovered(Purpose::Build, &top).unwrap();
        assert_eq!(found, r#"CARGO_TARGET_DIR="${TMPDIR:-/tmp}/superstep-target" cargo build"#);
    }
}
