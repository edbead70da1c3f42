//! Commands that check or prepare work: one after the other until one fails, in a work tree; and the node that runs those of
//! a plan. Knows processes, must not know their purpose.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::graph::node::{NodeOptions, WithOptions};
use crate::graph::{Ctx, Node, NodeError, NodeId, State};
use crate::nodes::ask::BranchMoved;
use crate::nodes::events::Activity;
use crate::nodes::git::{Base, Folder, TamperCheck, Traces};
use crate::nodes::job::{Context, Job, MakeUpdate, ReadJob, job, node};
use crate::nodes::siblings::{Group, Siblings};
use crate::process::{Environment, Program, Redactor, RunEnd};
use crate::workspace::{BranchPositions, TreeId};

/// The number of changed files that are named.
const SHOWN: usize = 10;

job! {
    /// Commands to run.
    #[derive(Clone, Debug)]
    pub struct VerifyJob {
        /// The folder of the work.
        folder: Folder,
        /// The base of the task.
        base: Base,
        /// Command lines, in order; each in a separate shell.
        commands: Vec<String>,
        /// The time limit of each.
        limit: Duration,
        ..
        /// The files under review: changes that the commands make to them are undone. None: they are kept.
        tree: Option<TreeId>,
        /// Variables of this process that the commands get besides the usual ones.
        pass: Vec<String>,
        /// The group of tasks that stops them; none: nothing does.
        together: Option<Siblings>,
    }
}

/// Result of the commands.
#[derive(Clone, Debug, Default)]
pub struct VerifyResult {
    /// The results. After a command that fails no other is run.
    pub checks: Vec<Check>,
    /// Changes of git's hooks or configuration; nothing may be run in git then.
    pub tampered: Vec<String>,
    /// The files afterwards; none if no command was run.
    pub tree: Option<TreeId>,
    /// Notices for a person.
    pub notices: Vec<String>,
    /// The base of the task, if people made commits meanwhile: it is on top of them.
    pub base: Option<Base>,
    /// The position before the commands, if what was moved in git by them could not be put back.
    pub unfolded: Option<BranchPositions>,
    /// True if a person ended the run, because its branch was moved.
    pub is_aborted: bool,
}

/// Returns a node that runs commands: `job` reads them from the state, `done` creates the update from their results.
/// They get only the usual variables of this process.
///
/// The node fails if a command cannot be started; a failing command is a result.
pub fn verify<S: State, N: NodeId, C: Context>(
    job: impl ReadJob<S, VerifyJob>,
    done: impl MakeUpdate<S, VerifyResult>,
) -> WithOptions<impl Node<S, N, C>, S, N, C> {
    node(job, done)
}

impl<C: Context> Job<C> for VerifyJob {
    type Output = VerifyResult;

    async fn perform(self, ctx: &Ctx<C>) -> Result<VerifyResult, NodeError> {
        run_verify_job(&self, "", ctx).await
    }

    fn options<S: State, N: NodeId>(options: NodeOptions<S, N, C>) -> NodeOptions<S, N, C> {
        options.asks::<BranchMoved>()
    }
}

/// Runs the commands of a job; `prefix` distinguishes its effects from those of other jobs of the node.
pub(in crate::nodes) async fn run_verify_job<C: Context>(
    job: &VerifyJob,
    prefix: &str,
    ctx: &Ctx<C>,
) -> Result<VerifyResult, NodeError> {
    if let Some(leak) = leak(job, prefix, ctx).await? {
        ctx.emit(leak.line()).await;
        return Ok(VerifyResult { checks: vec![leak], ..VerifyResult::default() });
    }
    if job.commands.is_empty() {
        return Ok(VerifyResult::default());
    }
    let stand = format!("{prefix}stand");
    let Some(arrival) = job.folder.arrive(ctx, &stand, &job.base).await? else {
        return Ok(VerifyResult { is_aborted: true, ..VerifyResult::default() });
    };
    let mut judged = job.tree.clone();
    if let Some(tree) = &mut judged {
        *tree = arrival.carry(ctx, &format!("{stand}/tree"), &job.folder, tree).await?;
    }
    let before = job.folder.guard(ctx, &format!("{prefix}checks")).await?;
    let checks = match prefix {
        "" => job.checks().run("check", ctx).await?,
        // Each of several jobs repeats the commands of earlier ones: success is not journalled again and again.
        _ => job.checks().failure(&format!("{prefix}check"), ctx).await?.into_iter().collect(),
    };
    let tampered = job.folder.tampering_since(ctx, &format!("{prefix}checks"), &before).await?;
    let base = Base { at: arrival.turn.clone(), tree: arrival.base.tree.clone() };
    let seen = TamperCheck { tampered, is_shared: job.together.is_some() };
    let mut after = job.folder.after_as(ctx, &format!("{prefix}after"), &base, seen).await?;
    let unfolded = after.is_unfolded().then(|| base.at.clone());
    let mut notices = std::mem::take(&mut after.notices);
    notices.extend(arrival.notices.clone());
    let mut checks = checks;
    if let Some(output) = after.left {
        checks.push(Check { command: "git".into(), code: Some(1), output, stopped: false });
        return Ok(VerifyResult {
            checks,
            tampered: after.tampered,
            tree: judged,
            notices,
            unfolded,
            ..VerifyResult::default()
        });
    }
    // Commits that were made while the commands ran are not theirs, and stay.
    let key = format!("{prefix}after");
    let settled = job.folder.settle(ctx, &key, &arrival, after.at.take()).await?;
    notices.extend(settled.notices.clone());
    let Traces { tampered, mut tree, .. } = after;
    if let Some(judged) = &mut judged {
        *judged = settled.carry(ctx, &format!("{key}/tree"), &job.folder, judged).await?;
    }
    if let Some(judged) = judged.as_ref().filter(|judged| tree.as_ref().is_some_and(|left| left != *judged)) {
        let undo = format!("{prefix}undo");
        notices.extend(undone_notice(&job.folder.undo(ctx, &undo, (&settled.base.at, judged)).await?));
        tree = Some(judged.clone());
    }
    let base = settled.new_base().or(arrival.new_base());
    Ok(VerifyResult { checks, tampered, tree, notices, base, unfolded, is_aborted: false })
}

impl VerifyJob {
    fn checks(&self) -> Checks<'_> {
        Checks {
            folder: &self.folder,
            commands: &self.commands,
            limit: self.limit,
            pass: &self.pass,
            together: self.together.as_ref(),
        }
    }
}

/// Returns a failed check if the files contain a key of this process, as nobody may see them then.
async fn leak<C: Context>(job: &VerifyJob, prefix: &str, ctx: &Ctx<C>) -> Result<Option<Check>, NodeError> {
    let Some(tree) = job.tree.as_ref().filter(|tree| **tree != job.base.tree) else { return Ok(None) };
    let between = [&job.base.tree, tree];
    let leaked =
        ctx.effect(format!("{prefix}keys"), &between, |_| job.folder.leaked_keys(between[0], between[1])).await?;
    let output = format!("{}\nTake the value out of the file: keys are read from the environment.", leaked.join("\n"));
    let check = Check { command: "look for keys".into(), code: Some(1), output, stopped: false };
    Ok((!leaked.is_empty()).then_some(check))
}

/// Returns the notice about files that were reset.
fn undone_notice(files: &[String]) -> Option<String> {
    let message = || format!("the checks changed files, which was taken back: {}", some_of(files));
    (!files.is_empty()).then(message)
}

/// Lists the first files.
pub(super) fn some_of(files: &[String]) -> String {
    let shown = files.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The number of bytes that are kept of the end of a command's output.
const KEPT: usize = 8 * 1024;

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The command.
    pub command: String,
    /// Its exit code; none if a signal or its time ended it.
    pub code: Option<i32>,
    /// The end of what it wrote.
    pub output: String,
    /// True if it was stopped with the group of its task: its result says nothing about the work then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

impl Check {
    /// Returns whether it succeeded.
    pub fn has_passed(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns the result as a line.
    pub fn line(&self) -> String {
        match self.code {
            Some(0) => format!("`{}` succeeded", self.command),
            Some(code) => format!("`{}` ended with {code}", self.command),
            None => format!("`{}` was killed", self.command),
        }
    }

    /// Returns the result with the output.
    pub fn report(&self) -> String {
        format!("{}\n{}", self.line(), self.output)
    }
}

/// Commands to run.
pub(in crate::nodes) struct Checks<'a> {
    pub(in crate::nodes) folder: &'a Folder,
    pub(in crate::nodes) commands: &'a [String],
    /// The time limit of each.
    pub(in crate::nodes) limit: Duration,
    /// Variables of this process that they get besides the usual ones.
    pub(in crate::nodes) pass: &'a [String],
    /// The group of tasks that stops them.
    pub(in crate::nodes) together: Option<&'a Siblings>,
}

/// Reason for stopping a command.
enum CommandStop {
    /// Its group of tasks was stopped.
    Group(String),
    /// It timed out.
    TooLong(Duration),
}

impl CommandStop {
    /// Returns the end of a command that was stopped, which waited for `children`.
    fn into_check(self, command: &str, children: &[String]) -> Check {
        let (output, stopped) = match self {
            Self::Group(why) => (why, true),
            Self::TooLong(limit) => {
                let limit = limit.as_secs();
                let running = match children {
                    [] => String::new(),
                    all => format!("; it waited for `{}`", all.join("`, `")),
                };
                (
                    format!("it took longer than {limit} s (`verify_timeout` in the profile) and was killed{running}"),
                    false,
                )
            }
        };
        Check { command: command.to_owned(), code: None, output, stopped }
    }
}

impl Checks<'_> {
    /// Runs the commands until one fails; each is an effect named `key` and its number.
    pub(in crate::nodes) async fn run<C: Context>(&self, key: &str, ctx: &Ctx<C>) -> Result<Vec<Check>, NodeError> {
        let mut checks = vec![];
        for (nth, command) in self.commands.iter().enumerate() {
            let check = ctx.effect(format!("{key}/{nth}"), command, |_| self.run_one(command, ctx)).await?;
            let passed = check.has_passed();
            if !passed {
                ctx.emit(check.line()).await;
            }
            checks.push(check);
            if !passed {
                break;
            }
        }
        Ok(checks)
    }

    /// Runs the commands until one fails, all as one effect, and returns the one that failed.
    pub(in crate::nodes) async fn failure<C: Context>(
        &self,
        key: &str,
        ctx: &Ctx<C>,
    ) -> Result<Option<Check>, NodeError> {
        let failure = |_| async {
            for command in self.commands {
                let check = self.run_one(command, ctx).await?;
                if !check.has_passed() {
                    ctx.emit(check.line()).await;
                    return Ok(Some(check));
                }
            }
            Ok::<_, NodeError>(None)
        };
        let commands = crate::plan::hash(&self.commands.join("\n"));
        ctx.effect(key, &commands, failure).await
    }

    pub(in crate::nodes) async fn run_one<C: Context>(&self, command: &str, ctx: &Ctx<C>) -> Result<Check, NodeError> {
        self.folder.hold(ctx).await?;
        let group = match self.together {
            Some(siblings) => Some(siblings.join(ctx).await?),
            None => None,
        };
        Activity::Check { command }.emit(ctx).await;
        let check = match group.as_ref().and_then(Group::stop_reason) {
            Some(why) => CommandStop::Group(why).into_check(command, &[]),
            None => self.run_to_end(command, group.as_ref(), ctx).await?,
        };
        let output = (!check.has_passed()).then_some(check.output.as_str());
        Activity::Checked { command, code: check.code, output }.emit(ctx).await;
        Ok(check)
    }

    /// Waits until the command must be stopped.
    async fn stop(&self, group: Option<&Group>) -> CommandStop {
        let too_long = tokio::time::sleep(self.limit);
        let Some(group) = group else {
            too_long.await;
            return CommandStop::TooLong(self.limit);
        };
        tokio::select! {
            biased;
            () = group.wait_for_stop() => CommandStop::Group(group.stop_reason().unwrap_or_default()),
            () = too_long => CommandStop::TooLong(self.limit),
        }
    }

    /// Runs the command to its end, or until it must be stopped.
    async fn run_to_end<C: Context>(
        &self,
        command: &str,
        group: Option<&Group>,
        ctx: &Ctx<C>,
    ) -> Result<Check, NodeError> {
        let environment = CheckCommand::environment(self.pass);
        let program = CheckCommand { line: command, directory: &self.folder.directory, environment, kept: [0, KEPT] };
        let redactor = program.redactor();
        match program.run(self.stop(group), || ctx.heartbeat()).await {
            Ok(RunEnd { how: Ok(status), out, err, .. }) => {
                let said = redactor.redact(&[out.text(), err.text()].concat());
                Ok(Check { command: command.to_owned(), code: status.code(), output: said, stopped: false })
            }
            Ok(RunEnd { how: Err(stop), children, .. }) => {
                let children: Vec<String> = children.iter().map(|child| redactor.redact(child)).collect();
                Ok(stop.into_check(command, &children))
            }
            Err(error) => Err(NodeError::permanent(format!("cannot run `{command}`: {error}"))),
        }
    }
}

/// A command line for `sh`, with the folder of the work and the variables that it gets.
pub(super) struct CheckCommand<'a> {
    pub(super) line: &'a str,
    pub(super) directory: &'a Path,
    pub(super) environment: Environment,
    /// The number of bytes that are kept of the beginning and of the end of each output.
    pub(super) kept: [usize; 2],
}

impl CheckCommand<'_> {
    /// Returns the variables of this process that a command gets: no keys but those that the profile passes.
    pub(super) fn environment(pass: &[String]) -> Environment {
        Environment::from_process().keep(&pass.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns what hides the secrets of its environment.
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(self.environment.secrets())
    }

    /// Runs the command until its shell has exited, and calls `alive` on each write. What it left running in the
    /// background is killed then: its result is the exit code, however long others hold its outputs open. Once `stop`
    /// is ready, it is asked to end, and killed if it does not.
    pub(super) async fn run<T>(self, stop: impl Future<Output = T>, alive: impl Fn()) -> io::Result<RunEnd<T>> {
        let Self { line, directory, environment, kept: [head, tail] } = self;
        let program = Program::new("sh")
            .args(["-c", line])
            .environment(environment)
            .directory(superstep_base::moved::present_path(directory));
        program.keep(tail).keep_head(head).run_until(stop, alive).await
    }
}
