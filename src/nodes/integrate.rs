//! The node that puts the work of several subtasks together, one commit after the other on a private reference. Knows commits and
//! checks, not what follows from a collision.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::collision::{Collision, undeclared};
use super::folder::{Base, failed, thread};
use super::phase::{KeptPart, keep_one};
use super::step::step;
use super::verify::{Verified, VerifyJob, verified};
use super::worktree::{WorktreeJob, prepared, reopened};
use crate::graph::{Ctx, Node, NodeError, NodeId, State, Writes};
use crate::workspace::{CommitId, CommitKey, CommitRequest, Standing, TreeId, Workspace, WorkspaceError};

/// The work of a subtask that is to be integrated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The subtask's id.
    pub id: String,
    /// The files with which it began.
    pub from: TreeId,
    /// Its files.
    pub tree: TreeId,
    /// The files that it declares: paths and globs; empty: it declares none.
    pub declared: Vec<String>,
    /// The commands that must succeed from this commit on.
    pub verify: Vec<String>,
    /// The message of its commit, subject first.
    pub message: String,
    /// The phase, from 1.
    pub phase: u32,
    /// The attempt of the phase, from 1.
    pub attempt: u32,
    /// The commit at which it began.
    pub at: Option<CommitId>,
    /// Whether it is the work of the run on the integrated tree.
    pub second: bool,
    /// Whether a person accepted it: commands that fail with it do not count any more.
    pub accepted: bool,
}

/// Work to be integrated.
#[derive(Clone, Debug)]
pub struct IntegrateJob {
    /// The worktree for it, at the commit to begin at.
    pub worktree: WorktreeJob,
    /// The private reference that follows the commits.
    pub reference: String,
    /// The files of the commit to begin at.
    pub tree: TreeId,
    /// A change that goes into the first commit besides: the plan, if it belongs into the repository.
    pub besides: Option<[TreeId; 2]>,
    /// The commands of the subtasks that are integrated already.
    pub verify: Vec<String>,
    /// The work, in the order of the plan.
    pub parts: Vec<Part>,
    /// Whether a file that is not declared is a collision.
    pub is_strict: bool,
}

/// A subtask that is integrated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The subtask's id.
    pub id: String,
    /// Its commit; none: it changed nothing.
    pub commit: Option<CommitId>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// Those among them that it does not declare.
    pub undeclared: Vec<String>,
}

/// Work that was integrated.
#[derive(Clone, Debug)]
pub struct Integrated {
    /// The subtasks that are integrated now, in order.
    pub commits: Vec<Commit>,
    /// The newest commit.
    pub tip: CommitId,
    /// Its files.
    pub tree: TreeId,
    /// The subtask at which it ended; none: all are integrated.
    pub collision: Option<(String, Collision)>,
    /// The reference that holds the work of that subtask.
    pub salvage: Option<String>,
    /// The commands that do not count any more in this phase: they fail with work that a person accepted.
    pub waived: Vec<String>,
    /// Notices for people.
    pub notices: Vec<String>,
}

/// Returns a node that commits the work of subtasks one after the other, each on top of those before: `job` reads from the state
/// which, `done` makes the update from the commits. After each, the commands of all so far run, in a worktree that is prepared like
/// those of subtasks. At a conflict or a command that fails it ends; that subtask's commit is taken back.
///
/// The node fails if the worktree cannot be prepared or a hook refuses a commit; run again, it tries again.
pub fn integrate<S, N, C, A, D, E, W>(job: A, done: D) -> impl Node<S, N, C>
where
    S: State,
    N: NodeId,
    C: Send + Sync + 'static,
    A: Fn(&S) -> Result<IntegrateJob, E> + Send + Sync + 'static,
    D: Fn(&S, Integrated) -> W + Send + Sync + 'static,
    E: Into<NodeError> + 'static,
    W: Into<Writes<S>> + 'static,
{
    step(job, perform, done)
}

async fn perform<C: Send + Sync + 'static>(job: IntegrateJob, ctx: Ctx<C>) -> Result<Integrated, NodeError> {
    let mut all = Integrated {
        commits: vec![],
        tip: job.worktree.at.clone(),
        tree: job.tree.clone(),
        collision: None,
        salvage: None,
        waived: vec![],
        notices: vec![],
    };
    if job.parts.is_empty() {
        return Ok(all);
    }
    let arguments = (&job.worktree.path, &job.worktree.at, &job.worktree.furnishings, &job.worktree.setup);
    let ready = ctx.effect("worktree", &arguments, |_| prepared(&job.worktree, &ctx)).await?;
    let mut so_far = SoFar { ready, verify: job.verify.clone() };
    for part in &job.parts {
        if let Some(collision) = job.add(part, &mut all, &mut so_far, &ctx).await? {
            let kept = part.kept();
            let keep = |_| async { keep_one(&kept, &job.worktree.repository, &ctx).await };
            all.salvage = Some(ctx.effect(format!("{}/keep", part.id), &kept, keep).await?);
            all.collision = Some((part.id.clone(), collision));
            break;
        }
    }
    Ok(all)
}

impl Part {
    fn kept(&self) -> KeptPart {
        KeptPart {
            id: self.id.clone(),
            phase: self.phase,
            attempt: self.attempt,
            second: self.second,
            at: self.at.clone(),
            tree: self.tree.clone(),
        }
    }
}

/// The worktree and the commands, while parts are added.
struct SoFar {
    /// The files that the setup left there.
    ready: TreeId,
    /// The commands of all parts.
    verify: Vec<String>,
}

/// What a part is on top of the commits before.
#[derive(Serialize, Deserialize)]
enum Carried {
    Tree(TreeId, Vec<String>),
    Conflict(Vec<String>),
}

/// A commit with its files; none if there was nothing to commit.
#[derive(Serialize, Deserialize)]
struct Made {
    commit: Option<CommitId>,
    tree: TreeId,
}

impl IntegrateJob {
    async fn add<C>(
        &self,
        part: &Part,
        all: &mut Integrated,
        so_far: &mut SoFar,
        ctx: &Ctx<C>,
    ) -> Result<Option<Collision>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let id = &part.id;
        let between = [&part.from, &all.tree, &part.tree];
        let carry = |_| async { self.carried(part, &all.tree).await };
        let (tree, files) = match ctx.effect(format!("{id}/carry"), &between, carry).await? {
            Carried::Tree(tree, files) => (tree, files),
            Carried::Conflict(files) => return Ok(Some(Collision::Conflict { files })),
        };
        let undeclared = undeclared(&files, &part.declared);
        if self.is_strict && !part.accepted && !undeclared.is_empty() {
            return Ok(Some(Collision::Undeclared { files: undeclared }));
        }
        let made = self.commit(part, &all.tip, &tree, ctx).await?;
        let tip = made.commit.clone().unwrap_or_else(|| all.tip.clone());
        let new: Vec<String> = part.verify.iter().filter(|line| !so_far.verify.contains(line)).cloned().collect();
        so_far.verify.extend(new);
        if let Some(collision) = self.check(part, (&tip, &made.tree), so_far, all, ctx).await? {
            let back = |_| async { self.back(&all.tip, &all.tree).await };
            ctx.effect(format!("{id}/back"), &all.tip, back).await?;
            return Ok(Some(collision));
        }
        let mark = |_| async { self.mark(&all.tip, &tip).await };
        ctx.effect(format!("{id}/reference"), &tip, mark).await?;
        (all.tip, all.tree) = (tip, made.tree);
        all.commits.push(Commit { id: id.clone(), commit: made.commit, files, undeclared });
        Ok(None)
    }

    /// The files with the part's change, and the names of those that it changed.
    async fn carried(&self, part: &Part, onto: &TreeId) -> Result<Carried, NodeError> {
        let workspace = self.worktree.repository.open().await?;
        let files = workspace.changed_files(&part.from, &part.tree).await.map_err(failed)?;
        let carried = match (&self.besides, *onto == self.tree) {
            (Some([from, to]), true) => workspace.carried(from, onto, to).await.map_err(failed)?,
            _ => onto.clone(),
        };
        match workspace.carried(&part.from, &carried, &part.tree).await {
            Ok(tree) => Ok(Carried::Tree(tree, files)),
            Err(WorkspaceError::Conflict { files }) => Ok(Carried::Conflict(files)),
            Err(error) => Err(failed(error)),
        }
    }

    async fn commit<C>(&self, part: &Part, tip: &CommitId, tree: &TreeId, ctx: &Ctx<C>) -> Result<Made, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let key =
            CommitKey { thread: thread(ctx), task: part.id.clone(), attempt: part.attempt, phase: Some(part.phase) };
        let probe = |_| async {
            let workspace = self.held(tip, ctx).await?;
            match workspace.find_commit(&key, Some(tip)).await.map_err(failed)? {
                Some(_) => self.make(part, &key, (tip, tree), ctx).await.map(Some),
                None => Ok::<_, NodeError>(None),
            }
        };
        let arguments = (&key, tip, tree);
        let make = |_| self.make(part, &key, (tip, tree), ctx);
        ctx.effect(format!("{}/commit", part.id), &arguments, make).probe(probe).await
    }

    async fn make<C>(
        &self,
        part: &Part,
        key: &CommitKey,
        (tip, tree): (&CommitId, &TreeId),
        ctx: &Ctx<C>,
    ) -> Result<Made, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let workspace = self.held(tip, ctx).await?;
        if workspace.find_commit(key, Some(tip)).await.map_err(failed)?.is_none() {
            let leaked = self.worktree.repository.leaked(&part.from, &part.tree).await?;
            if !leaked.is_empty() {
                return Err(NodeError::permanent(format!("subtask {}: not committed: {}", part.id, leaked.join(", "))));
            }
            workspace.reset_to(tree).await.map_err(failed)?;
        }
        let (message, parent) = (part.message.clone(), Some(tip.clone()));
        let request = CommitRequest { branch: None, parent, tree: tree.clone(), message, key: key.clone() };
        let committed = workspace.commit(&request).await.map_err(failed)?;
        let Some(made) = committed.commit() else { return Ok(Made { commit: None, tree: tree.clone() }) };
        let (id, task) = (made.commit.to_string(), part.id.as_str());
        Activity::Commit { id, message: &part.message, task, attempt: part.attempt }.tell(ctx).await;
        Ok(Made { commit: Some(made.commit.clone()), tree: made.tree.clone() })
    }

    /// The worktree for the integration, for this run alone.
    async fn held<C: Send + Sync + 'static>(&self, tip: &CommitId, ctx: &Ctx<C>) -> Result<Workspace, NodeError> {
        reopened(&self.worktree.repository, &self.worktree.path, tip).await?;
        self.worktree.folder().hold(ctx).await
    }

    /// Runs the commands so far. What a person accepted may break those of others, which do not count any more then.
    async fn check<C>(
        &self,
        part: &Part,
        at: (&CommitId, &TreeId),
        so_far: &mut SoFar,
        all: &mut Integrated,
        ctx: &Ctx<C>,
    ) -> Result<Option<Collision>, NodeError>
    where
        C: Send + Sync + 'static,
    {
        for nth in 0.. {
            let key = if nth == 0 { format!("{}/", part.id) } else { format!("{}/without-{nth}/", part.id) };
            let verified = self.verified(&key, at, so_far, ctx).await?;
            all.notices.extend(verified.notices);
            if !verified.tampered.is_empty() {
                return Ok(Some(Collision::Tampered { what: verified.tampered }));
            }
            let Some(failed) = verified.checks.iter().find(|check| !check.passed()) else { break };
            let known = so_far.verify.iter().position(|line| *line == failed.command).filter(|_| part.accepted);
            let Some(known) = known else { return Ok(Some(Collision::Check { report: failed.report() })) };
            all.waived.push(so_far.verify.remove(known));
        }
        Ok(None)
    }

    async fn verified<C>(
        &self,
        key: &str,
        (tip, tree): (&CommitId, &TreeId),
        so_far: &SoFar,
        ctx: &Ctx<C>,
    ) -> Result<Verified, NodeError>
    where
        C: Send + Sync + 'static,
    {
        let commands = so_far.verify.clone();
        let between = (&so_far.ready, tree);
        let set_up = |_| async { self.set_up(tree, &so_far.ready, &commands).await };
        let files = ctx.effect(format!("{key}files"), &between, set_up).await?;
        let job = VerifyJob {
            folder: self.worktree.folder(),
            commands,
            limit: self.worktree.limit,
            base: Base { at: detached(tip), tree: tree.clone() },
            tree: Some(files),
            pass: self.worktree.pass.clone(),
            together: None,
        };
        verified(&job, key, ctx).await
    }

    /// Puts the files that the setup left beside those of a commit, for the commands; returns all of them. Where both have a file,
    /// the commit's stays.
    async fn set_up(&self, tree: &TreeId, ready: &TreeId, commands: &[String]) -> Result<TreeId, NodeError> {
        if commands.is_empty() || *ready == self.tree {
            return Ok(tree.clone());
        }
        let workspace = self.worktree.folder().open().await?;
        let files = match workspace.carried(&self.tree, tree, ready).await {
            Err(WorkspaceError::Conflict { .. }) => tree.clone(),
            carried => carried.map_err(failed)?,
        };
        workspace.reset_to(&files).await.map_err(failed)?;
        Ok(files)
    }

    /// Takes a commit back: HEAD and the files are those of the commits before.
    async fn back(&self, tip: &CommitId, tree: &TreeId) -> Result<(), NodeError> {
        let workspace = self.worktree.folder().open().await?;
        let at = detached(tip);
        workspace.fold(&at).await.map_err(failed)?;
        workspace.reset_to(tree).await.map_err(failed)?;
        Ok(())
    }

    /// Lets the private reference follow; where it was before, an attempt that was given up may have left it.
    async fn mark(&self, from: &CommitId, to: &CommitId) -> Result<(), NodeError> {
        let workspace = self.worktree.repository.open().await?;
        let now = workspace.reference(&self.reference).await.map_err(failed)?;
        if now.as_ref() != Some(from) {
            tracing::debug!(reference = self.reference, "the reference was elsewhere");
        }
        workspace.set_reference(&self.reference, now.as_ref(), to).await.map_err(failed)
    }
}

/// A detached HEAD, and nothing known of branches.
fn detached(tip: &CommitId) -> Standing {
    Standing { branch: None, commit: Some(tip.clone()), others: BTreeMap::new(), known: BTreeSet::new() }
}
