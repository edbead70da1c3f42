//! The node that runs the commands of a plan after the work on a task. Knows commands, must not know their purpose.

use std::time::Duration;

use super::checks::{Check, Checks};
use super::folder::{After, Base, Folder, TamperCheck};
use super::questions::BranchMoved;
use super::siblings::Siblings;
use super::step::step;
use crate::graph::{Ctx, Node, NodeError, NodeExt, NodeId, State, WithOptions, Writes};
use crate::workspace::{Standing, TreeId};

/// The number of changed files that are named.
const SHOWN: usize = 10;

/// Commands to run.
#[derive(Clone, Debug)]
pub struct VerifyJob {
    /// The folder of the work.
    pub folder: Folder,
    /// Command lines, in order; each in a separate shell.
    pub commands: Vec<String>,
    /// The time limit of each.
    pub limit: Duration,
    /// The base of the task.
    pub base: Base,
    /// The files under review: changes that the commands make to them are undone. None: they are kept.
    pub tree: Option<TreeId>,
    /// Variables of this process that the commands get besides the usual ones.
    pub pass: Vec<String>,
    /// The group of tasks that stops them; none: nothing does.
    pub together: Option<Siblings>,
}

/// Result of the commands.
#[derive(Clone, Debug, Default)]
pub struct Verified {
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
    pub unfolded: Option<Standing>,
    /// True if a person ended the run, because its branch was moved.
    pub is_aborted: bool,
}

/// Returns a node that runs commands: `job` reads them from the state, `done` creates the update from their results.
/// They get only the usual variables of this process.
///
/// The node fails if a command cannot be started; a failing command is a result.
pub fn verify<S, N, C, A, D, E, W>(job: A, done: D) -> WithOptions<impl Node<S, N, C>, S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<VerifyJob, E> + Send + Sync + 'static,
    D: Fn(&S, Verified) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done).asks::<BranchMoved>()
}

async fn perform<C: Send + Sync + 'static>(job: VerifyJob, ctx: Ctx<C>) -> Result<Verified, NodeError> {
    verified(&job, "", &ctx).await
}

/// Runs the commands of a job; `prefix` distinguishes its effects from those of other jobs of the node.
pub(super) async fn verified<C>(job: &VerifyJob, prefix: &str, ctx: &Ctx<C>) -> Result<Verified, NodeError>
where
    C: Send + Sync + 'static,
{
    if let Some(leak) = leak(job, prefix, ctx).await? {
        ctx.emit(leak.line()).await;
        return Ok(Verified { checks: vec![leak], ..Verified::default() });
    }
    if job.commands.is_empty() {
        return Ok(Verified::default());
    }
    let stand = format!("{prefix}stand");
    let Some(arrival) = job.folder.arrive(ctx, &stand, &job.base).await? else {
        return Ok(Verified { is_aborted: true, ..Verified::default() });
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
    let tampered = job.folder.tampered(ctx, &format!("{prefix}checks"), &before).await?;
    let base = Base { at: arrival.turn.clone(), tree: arrival.base.tree.clone() };
    let seen = TamperCheck { tampered, is_shared: job.together.is_some() };
    let mut after = job.folder.after_as(ctx, &format!("{prefix}after"), &base, seen).await?;
    let unfolded = after.is_unfolded().then(|| base.at.clone());
    let mut notices = std::mem::take(&mut after.notices);
    notices.extend(arrival.notices.clone());
    let mut checks = checks;
    if let Some(output) = after.left {
        checks.push(Check { command: "git".into(), code: Some(1), output, stopped: false });
        return Ok(Verified {
            checks,
            tampered: after.tampered,
            tree: judged,
            notices,
            unfolded,
            ..Verified::default()
        });
    }
    // Commits that were made while the commands ran are not theirs, and stay.
    let key = format!("{prefix}after");
    let settled = job.folder.settle(ctx, &key, &arrival, after.at.take()).await?;
    notices.extend(settled.notices.clone());
    let After { tampered, mut tree, .. } = after;
    if let Some(judged) = &mut judged {
        *judged = settled.carry(ctx, &format!("{key}/tree"), &job.folder, judged).await?;
    }
    if let Some(judged) = judged.as_ref().filter(|judged| tree.as_ref().is_some_and(|left| left != *judged)) {
        let undo = format!("{prefix}undo");
        notices.extend(undone(&job.folder.undo(ctx, &undo, (&settled.base.at, judged)).await?));
        tree = Some(judged.clone());
    }
    let base = settled.new_base().or(arrival.new_base());
    Ok(Verified { checks, tampered, tree, notices, base, unfolded, is_aborted: false })
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
async fn leak<C: Send + Sync + 'static>(
    job: &VerifyJob,
    prefix: &str,
    ctx: &Ctx<C>,
) -> Result<Option<Check>, NodeError> {
    let Some(tree) = job.tree.as_ref().filter(|tree| **tree != job.base.tree) else { return Ok(None) };
    let between = [&job.base.tree, tree];
    let leaked = ctx.effect(format!("{prefix}keys"), &between, |_| job.folder.leaked(between[0], between[1])).await?;
    let output = format!("{}\nTake the value out of the file: keys are read from the environment.", leaked.join("\n"));
    let check = Check { command: "look for keys".into(), code: Some(1), output, stopped: false };
    Ok((!leaked.is_empty()).then_some(check))
}

/// Returns the notice about files that were reset.
fn undone(files: &[String]) -> Option<String> {
    let shown = files.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(SHOWN) {
        _ if files.is_empty() => None,
        0 => Some(format!("the checks changed files, which was taken back: {shown}")),
        more => Some(format!("the checks changed files, which was taken back: {shown} and {more} more")),
    }
}
