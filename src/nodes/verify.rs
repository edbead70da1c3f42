//! The node that runs the commands of a plan after the work on a task. It knows commands, not why they are run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::folder::{After, Base, Folder};
use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::process::{Environment, Program, Redactor};
use crate::workspace::TreeId;

/// How much of the end of a command's output is kept, in bytes.
const KEPT: usize = 8 * 1024;
/// How many files that they changed are named.
const SHOWN: usize = 10;

/// Commands to be run.
#[derive(Clone, Debug)]
pub struct VerifyJob {
    /// Where.
    pub folder: Folder,
    /// The lines, in order; each in a shell of its own.
    pub commands: Vec<String>,
    /// How long each may take.
    pub limit: Duration,
    /// Where the task began.
    pub base: Base,
    /// The files that are judged: what the commands change of them is taken back. None: it stays.
    pub tree: Option<TreeId>,
    /// Variables of this process that the commands get besides the usual ones.
    pub pass: Vec<String>,
}

/// Commands that were run.
#[derive(Clone, Debug)]
pub struct Verified {
    /// How each ended. After one that fails no other is run.
    pub checks: Vec<Check>,
    /// What they did to git's hooks or configuration; nothing may be run in git then.
    pub tampered: Vec<String>,
    /// The files afterwards; none if no command was run.
    pub tree: Option<TreeId>,
    /// What a person should know.
    pub notices: Vec<String>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command.
    pub command: String,
    /// Its exit code; none if a signal or its time ended it.
    pub code: Option<i32>,
    /// The end of what it wrote.
    pub output: String,
}

impl Check {
    /// Returns whether it succeeded.
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns how it ended, in a line.
    pub fn line(&self) -> String {
        match self.code {
            Some(0) => format!("`{}` succeeded", self.command),
            Some(code) => format!("`{}` ended with {code}", self.command),
            None => format!("`{}` was killed", self.command),
        }
    }

    /// Returns how it ended, with its output.
    pub fn report(&self) -> String {
        format!("{}\n{}", self.line(), self.output)
    }
}

/// Returns a node that runs commands: `job` reads from the state which, `done` makes the update from how they ended. They get
/// no variables of this process but the usual ones.
///
/// The node fails if a command cannot be started; one that fails has ended.
pub fn verify<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<VerifyJob, E> + Send + Sync + 'static,
    D: Fn(&S, Verified) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done)
}

async fn perform<C: Send + Sync + 'static>(job: VerifyJob, ctx: Ctx<C>) -> Result<Verified, NodeError> {
    let mut checks = vec![];
    if let Some(leak) = leak(&job, &ctx).await? {
        ctx.emit(leak.line()).await;
        return Ok(Verified { checks: vec![leak], tampered: vec![], tree: None, notices: vec![] });
    }
    if job.commands.is_empty() {
        return Ok(Verified { checks, tampered: vec![], tree: None, notices: vec![] });
    }
    let at = job.folder.stand(&ctx, "stand", &job.base).await?;
    let before = job.folder.guard(&ctx, "checks").await?;
    for (nth, command) in job.commands.iter().enumerate() {
        let check = ctx.effect(format!("check/{nth}"), command, |_| run(&job, command, &ctx)).await?;
        let passed = check.passed();
        if !passed {
            ctx.emit(check.line()).await;
        }
        checks.push(check);
        if !passed {
            break;
        }
    }
    let tampered = job.folder.tampered(&ctx, "checks", &before).await?;
    let After { tampered, mut tree, mut notices } = job.folder.after(&ctx, tampered, &Base { at, ..job.base }).await?;
    if let Some(judged) = job.tree.filter(|judged| tree.as_ref().is_some_and(|left| left != judged)) {
        notices.push(undone(&job.folder.undo(&ctx, &judged).await?));
        tree = Some(judged);
    }
    Ok(Verified { checks, tampered, tree, notices })
}

/// A check that fails if the files hold a key of this process: nobody is shown them then.
async fn leak<C: Send + Sync + 'static>(job: &VerifyJob, ctx: &Ctx<C>) -> Result<Option<Check>, NodeError> {
    let Some(tree) = job.tree.as_ref().filter(|tree| **tree != job.base.tree) else { return Ok(None) };
    let between = [&job.base.tree, tree];
    let leaked = ctx.effect("keys", &between, |_| job.folder.leaked(between[0], between[1])).await?;
    let output = format!("{}\nTake the value out of the file: keys are read from the environment.", leaked.join("\n"));
    Ok((!leaked.is_empty()).then(|| Check { command: "look for keys".into(), code: Some(1), output }))
}

fn undone(files: &[String]) -> String {
    let shown = files.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => format!("the checks changed files, which was taken back: {shown}"),
        more => format!("the checks changed files, which was taken back: {shown} and {more} more"),
    }
}

async fn run<C: Send + Sync + 'static>(job: &VerifyJob, command: &str, ctx: &Ctx<C>) -> Result<Check, NodeError> {
    job.folder.hold(ctx).await?;
    Activity::Check { command }.tell(ctx).await;
    let check = ended(job, command, ctx).await?;
    let output = (!check.passed()).then_some(check.output.as_str());
    Activity::Checked { command, code: check.code, output }.tell(ctx).await;
    Ok(check)
}

async fn ended<C: Send + Sync + 'static>(job: &VerifyJob, command: &str, ctx: &Ctx<C>) -> Result<Check, NodeError> {
    let pass: Vec<&str> = job.pass.iter().map(String::as_str).collect();
    let environment = Environment::allowed().keep(&pass);
    let redactor = Redactor::new(environment.secrets());
    let program = Program::new("sh").args(["-c", command]).environment(environment);
    let program = program.directory(&job.folder.directory).keep(KEPT);
    let ended = tokio::time::timeout(job.limit, program.run(|| ctx.heartbeat())).await;
    let command = command.to_owned();
    match ended {
        Ok(Ok(output)) => {
            let said = redactor.redact(&[output.stdout, output.stderr].concat());
            Ok(Check { command, code: output.code, output: said })
        }
        Ok(Err(error)) => Err(NodeError::permanent(format!("cannot run `{command}`: {error}"))),
        Err(_) => {
            let output = format!("it took longer than {} s and was killed", job.limit.as_secs());
            Ok(Check { command, code: None, output })
        }
    }
}
