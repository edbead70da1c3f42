//! The node that integrates the work of several subtasks, one commit after the other on a private reference. Knows
//! commits and checks, must not know what follows from a collision.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::phase::integration_of;
use super::subtask::{Collision, Part, keep_one, undeclared_files};
use super::worktree::{WorktreeJob, prepare, reopen_worktree};
use crate::graph::{Ctx, NodeError};
use crate::nodes::events::{Activity, PhaseEvent};
use crate::nodes::git::{Base, Stop, catch_tampering, failed, keep_detached, on_top, thread};
use crate::nodes::job::{Context, Job, job};
use crate::nodes::verify::{VerifyJob, VerifyResult, run_verify_job};
use crate::workspace::{BranchPositions, CommitId, CommitKey, CommitRequest, TreeId, Workspace, WorkspaceError};

job! {
    /// Work to integrate: the work of subtasks is committed, one after the other, each on top of the earlier ones. After each
    /// commit, the commands of all subtasks so far run, in a worktree that is prepared like those of subtasks. It ends at a
    /// conflict or a failing command, and undoes that subtask's commit.
    ///
    /// Its node fails if the worktree cannot be prepared or a hook refuses a commit; run again, it tries again.
    #[derive(Clone, Debug)]
    pub struct IntegrateJob {
        /// The worktree for it, at the commit to start at.
        worktree: WorktreeJob,
        /// Files of the commit to start at.
        tree: TreeId,
        /// The work, in the order of the plan.
        parts: Vec<Part>,
        ..
        /// The plan and its path, if the first commit adds it to the repository.
        plan: Option<(PathBuf, String)>,
        /// Commands of the subtasks that are already integrated.
        verify: Vec<String>,
        /// True if a file that is not declared is a collision.
        is_strict: bool,
    }
}

/// An integrated subtask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationCommit {
    /// The subtask's id.
    pub id: String,
    /// Its commit; none: it changed nothing.
    pub commit: Option<CommitId>,
    /// Changed files.
    pub files: Vec<String>,
    /// Undeclared ones among them.
    pub undeclared: Vec<String>,
}

/// Result of the integration.
#[derive(Clone, Debug)]
pub struct IntegrationResult {
    /// The subtasks that are integrated now, in order.
    pub commits: Vec<IntegrationCommit>,
    /// The newest commit.
    pub tip: CommitId,
    /// Its files.
    pub tree: TreeId,
    /// The subtask at which it ended; none: all are integrated.
    pub collision: Option<(String, Collision)>,
    /// The reference that keeps the work of that subtask.
    pub salvage: Option<String>,
    /// Commands that are ignored from now on in this phase: they fail with work that a person accepted.
    pub waived: Vec<String>,
    /// Notices for people.
    pub notices: Vec<String>,
}

impl<C: Context> Job<C> for IntegrateJob {
    type Output = IntegrationResult;

    async fn perform(self, ctx: &Ctx<C>) -> Result<IntegrationResult, NodeError> {
        let mut all = IntegrationResult {
            commits: vec![],
            tip: self.worktree.at.clone(),
            tree: self.tree.clone(),
            collision: None,
            salvage: None,
            waived: vec![],
            notices: vec![],
        };
        if self.parts.is_empty() {
            return Ok(all);
        }
        let collision = match self.add_all(&mut all, ctx).await {
            Ok(None) => return Ok(all),
            Ok(Some(collision)) => collision,
            Err(Stop::Tampered(what)) => Collision::Tampered { what },
            Err(Stop::Failed(error)) => return Err(error),
        };
        let Some(part) = self.parts.get(all.commits.len()) else { return Ok(all) };
        let kept = part.to_kept();
        let keep = |_| async {
            let reference = keep_one(&kept, &self.worktree.repository, ctx).await?;
            PhaseEvent::SubtaskFailed(part.place(&collision)).emit(ctx).await;
            Ok::<_, NodeError>(reference)
        };
        all.salvage = Some(ctx.effect(format!("{}/keep", part.id), &kept, keep).await?);
        all.collision = Some((part.id.clone(), collision));
        Ok(all)
    }
}

/// State of the worktree and the commands while parts are added.
struct IntegrationState {
    /// Files after the setup.
    ready: TreeId,
    /// Commands of all parts.
    verify: Vec<String>,
    /// True if the files of the newest commit are there: without commands nobody needs them before the end.
    has_files: bool,
    /// Parts whose commits of people could not be added.
    conflicts: BTreeMap<String, Collision>,
}

/// The changes of a part on top of the commits before.
#[derive(Serialize, Deserialize)]
enum RebasedPart {
    Tree(TreeId),
    Conflict(Vec<String>),
}

/// The commits of people on top of the commits before, with the files.
#[derive(Serialize, Deserialize)]
enum JoinedCommits {
    At(CommitId, TreeId),
    Conflict { files: Vec<String>, kept: String },
}

/// A commit with its files; none if there was nothing to commit.
#[derive(Serialize, Deserialize)]
struct PartCommit {
    commit: Option<CommitId>,
    tree: TreeId,
}

impl IntegrateJob {
    /// Adds the parts until one collides: the one after the last commit.
    async fn add_all<C: Context>(&self, all: &mut IntegrationResult, ctx: &Ctx<C>) -> Result<Option<Collision>, Stop> {
        let WorktreeJob { path, at, furnishings, setup, .. } = &self.worktree;
        let make = |_| catch_tampering(prepare(&self.worktree, ctx));
        let ready = ctx.effect("worktree", &(path, at, furnishings, setup), make).await?.into_result()?;
        let (verify, conflicts) = (self.verify.clone(), BTreeMap::new());
        let mut so_far = IntegrationState { ready, verify, has_files: false, conflicts };
        // Those of people come first: the work of an agent that collides with them is done again.
        for part in &self.parts {
            self.add_commits(part, all, &mut so_far, ctx).await?;
        }
        for part in &self.parts {
            if let Some(collision) = self.add_part(part, all, &mut so_far, ctx).await? {
                self.checkout_files(&all.tree, &so_far, ctx).await?;
                return Ok(Some(collision));
            }
        }
        Ok(None)
    }

    async fn add_part<C: Context>(
        &self,
        part: &Part,
        all: &mut IntegrationResult,
        so_far: &mut IntegrationState,
        ctx: &Ctx<C>,
    ) -> Result<Option<Collision>, Stop> {
        let id = &part.id;
        // Commits of people in its worktree did not fit, which `add_commits` found before any part was added.
        if let Some(collision) = so_far.conflicts.remove(id) {
            return Ok(Some(collision));
        }
        let between = [&part.from, &all.tree, &part.tree];
        // The first commit also adds the file of the plan, if the repository does not have it yet.
        let is_first = all.commits.iter().all(|made| made.commit.is_none());
        let carry = |_| async { self.rebase_part(part, &all.tree, is_first, ctx).await };
        let (carried, files) = ctx.effect(format!("{id}/carry"), &between, carry).await?;
        let undeclared = undeclared_files(&files, &part.declared);
        if self.is_strict && !part.accepted && !undeclared.is_empty() {
            return Ok(Some(Collision::Undeclared { files: undeclared }));
        }
        let tree = match carried {
            RebasedPart::Tree(tree) => tree,
            RebasedPart::Conflict(files) => {
                // Nothing was added since the part started, so it conflicts with files of the worktree's setup.
                let is_with_setup = part.at.as_ref() == Some(&all.tip);
                return Ok(Some(Collision::Conflict { files, undeclared, is_with_setup }));
            }
        };
        let made = self.commit(part, &all.tip, &tree, ctx).await?;
        let tip = made.commit.clone().unwrap_or_else(|| all.tip.clone());
        // Its commands must also succeed after each later part.
        let new: Vec<String> = part.verify.iter().filter(|line| !so_far.verify.contains(line)).cloned().collect();
        so_far.verify.extend(new);
        let (own, mut tip, mut tree) = (tip.clone(), tip, made.tree);
        if let Some(collision) = self.check(part, (&mut tip, &mut tree), so_far, all, ctx).await? {
            let back = |_| catch_tampering(self.undo_commit((&own, &all.tip), &all.tree, ctx));
            ctx.effect(format!("{id}/back"), &all.tip, back).await?.into_result()?;
            // The undo has checked out the files of the previous commit.
            so_far.has_files = true;
            return Ok(Some(collision));
        }
        so_far.has_files = !so_far.verify.is_empty();
        // Without commands, nothing needs the files before the last part.
        if all.commits.len() + 1 == self.parts.len() {
            self.checkout_files(&tree, so_far, ctx).await?;
        }
        let mark = |_| async { self.move_reference(&all.tip, &tip, ctx).await };
        ctx.effect(format!("{id}/reference"), &tip, mark).await?;
        // The part counts only now: a collision leaves the tip and the reference as they were.
        (all.tip, all.tree) = (tip, tree);
        all.commits.push(IntegrationCommit { id: id.clone(), commit: made.commit, files, undeclared });
        Ok(None)
    }

    /// Adds the commits that people made in the worktree of a part, as they are.
    async fn add_commits<C: Context>(
        &self,
        part: &Part,
        all: &mut IntegrationResult,
        so_far: &mut IntegrationState,
        ctx: &Ctx<C>,
    ) -> Result<(), Stop> {
        let Some(commits) = &part.commits else { return Ok(()) };
        let join = |_| catch_tampering(self.join_commits(part, &all.tip, commits, ctx));
        match ctx.effect(format!("{}/commits", part.id), &(&all.tip, commits), join).await?.into_result()? {
            JoinedCommits::At(tip, tree) => (all.tip, all.tree) = (tip, tree),
            JoinedCommits::Conflict { files, kept } => {
                so_far.conflicts.insert(part.id.clone(), Collision::Commits { files, kept });
            }
        }
        Ok(())
    }

    async fn join_commits<C: Context>(
        &self,
        part: &Part,
        tip: &CommitId,
        commits: &CommitId,
        ctx: &Ctx<C>,
    ) -> Result<JoinedCommits, NodeError> {
        let workspace = self.hold_workspace(tip, ctx).await?;
        let message = format!("Merge the commits made meanwhile in the worktree of task {}\n", part.id);
        let joined = match workspace.merge_commits(tip, commits, &message).await {
            Err(WorkspaceError::Conflict { files }) => {
                let kept = workspace.keep_commits(&thread(ctx), commits).await.map_err(failed)?;
                return Ok(JoinedCommits::Conflict { files, kept });
            }
            joined => joined.map_err(failed)?,
        };
        workspace.detach_at(&joined).await.map_err(failed)?;
        self.move_reference(tip, &joined, ctx).await?;
        let tree = workspace.tree_of(&joined).await.map_err(failed)?;
        Ok(JoinedCommits::At(joined, tree))
    }

    /// Rebases a part. Returns the files with its change, and the names of the files that it changed.
    async fn rebase_part<C>(
        &self,
        part: &Part,
        onto: &TreeId,
        is_first: bool,
        ctx: &Ctx<C>,
    ) -> Result<(RebasedPart, Vec<String>), NodeError> {
        let workspace = self.worktree.repository.open_for(ctx).await.map_err(failed)?;
        let files = workspace.changed_files(&part.from, &part.tree).await.map_err(failed)?;
        let carried = match (&self.plan, is_first) {
            (Some((path, text)), true) => workspace.with_file(onto, path, text).await.map_err(failed)?,
            _ => onto.clone(),
        };
        match workspace.apply_change(&part.from, &carried, &part.tree).await {
            Ok(tree) => Ok((RebasedPart::Tree(tree), files)),
            Err(WorkspaceError::Conflict { files: touched }) => Ok((RebasedPart::Conflict(touched), files)),
            Err(error) => Err(failed(error)),
        }
    }

    async fn commit<C: Context>(
        &self,
        part: &Part,
        tip: &CommitId,
        tree: &TreeId,
        ctx: &Ctx<C>,
    ) -> Result<PartCommit, Stop> {
        let key =
            CommitKey { thread: thread(ctx), task: part.id.clone(), attempt: part.attempt, phase: Some(part.phase) };
        let made = || catch_tampering(self.make(part, &key, (tip, tree), ctx));
        let probe = |_| async {
            let workspace = self.hold_workspace(tip, ctx).await?;
            match workspace.find_commit(&key, Some(tip)).await.map_err(failed)? {
                Some(_) => made().await.map(Some),
                None => Ok::<_, NodeError>(None),
            }
        };
        ctx.effect(format!("{}/commit", part.id), &(&key, tip, tree), |_| made()).probe(probe).await?.into_result()
    }

    async fn make<C: Context>(
        &self,
        part: &Part,
        key: &CommitKey,
        (tip, tree): (&CommitId, &TreeId),
        ctx: &Ctx<C>,
    ) -> Result<PartCommit, NodeError> {
        let workspace = self.hold_workspace(tip, ctx).await?;
        let is_made = workspace.find_commit(key, Some(tip)).await.map_err(failed)?.is_some();
        let (tip, tree) = &match is_made {
            true => (tip.clone(), tree.clone()),
            false => self.on_commits(&workspace, (tip, tree), ctx).await.map_err(failed)?,
        };
        if !is_made {
            let leaked = self.worktree.repository.leaked_keys(&part.from, &part.tree).await?;
            if !leaked.is_empty() {
                return Err(NodeError::permanent(format!("subtask {}: not committed: {}", part.id, leaked.join(", "))));
            }
            if workspace.has_hooks().await.map_err(failed)? {
                workspace.reset_files(tree).await.map_err(failed)?;
            }
        }
        let (message, parent) = (part.message.clone(), Some(tip.clone()));
        let request = CommitRequest { branch: None, parent, tree: tree.clone(), message, key: key.clone() };
        let (committed, output) = workspace.commit_with_output(&request).await.map_err(failed)?;
        let Some(made) = committed.commit() else { return Ok(PartCommit { commit: None, tree: tree.clone() }) };
        let (id, task) = (made.commit.to_string(), part.id.as_str());
        Activity::Commit { id, message: &part.message, task, attempt: part.attempt, output }.emit(ctx).await;
        Ok(PartCommit { commit: Some(made.commit.clone()), tree: made.tree.clone() })
    }

    /// Returns commit and files of the work, on top of the commits that people made in the worktree meanwhile.
    async fn on_commits<C: Context>(
        &self,
        workspace: &Workspace,
        (tip, tree): (&CommitId, &TreeId),
        ctx: &Ctx<C>,
    ) -> Result<(CommitId, TreeId), WorkspaceError> {
        let now = on_top(&thread(ctx), workspace, &detached_head(tip)).await?.and_then(|at| at.commit);
        match now.filter(|now| now != tip) {
            Some(now) => Ok((now.clone(), workspace.with_commits(tree, Some(tip), &now).await?)),
            None => Ok((tip.clone(), tree.clone())),
        }
    }

    /// Opens and locks the worktree of the integration.
    async fn hold_workspace<C: Context>(&self, tip: &CommitId, ctx: &Ctx<C>) -> Result<Workspace, NodeError> {
        reopen_worktree(&self.worktree.repository, &self.worktree.path, tip).await?;
        self.worktree.folder().hold(ctx).await
    }

    /// Runs the commands so far. Accepted work may break those of others, which are ignored then. Commits that people make
    /// in the worktree meanwhile come after that of the part.
    async fn check<C: Context>(
        &self,
        part: &Part,
        (tip, tree): (&mut CommitId, &mut TreeId),
        so_far: &mut IntegrationState,
        all: &mut IntegrationResult,
        ctx: &Ctx<C>,
    ) -> Result<Option<Collision>, Stop> {
        for nth in 0.. {
            let key = if nth == 0 { format!("{}/", part.id) } else { format!("{}/without-{nth}/", part.id) };
            let verified = self.run_commands(&key, (tip, tree), so_far, ctx).await?;
            all.notices.extend(verified.notices);
            if let Some(Base { at: BranchPositions { commit: Some(commit), .. }, tree: files }) = verified.base {
                (*tip, *tree) = (commit, files);
            }
            if !verified.tampered.is_empty() {
                return Err(Stop::Tampered(verified.tampered));
            }
            let Some(failed) = verified.checks.iter().find(|check| !check.has_passed()) else { break };
            let known = so_far.verify.iter().position(|line| *line == failed.command).filter(|_| part.accepted);
            let Some(known) = known else { return Ok(Some(Collision::Check { report: failed.report() })) };
            all.waived.push(so_far.verify.remove(known));
        }
        Ok(None)
    }

    async fn run_commands<C: Context>(
        &self,
        key: &str,
        (tip, tree): (&CommitId, &TreeId),
        so_far: &IntegrationState,
        ctx: &Ctx<C>,
    ) -> Result<VerifyResult, Stop> {
        let commands = so_far.verify.clone();
        let between = (&so_far.ready, tree);
        let set_up = |_| catch_tampering(self.set_up(tree, &so_far.ready, &commands, ctx));
        let files = ctx.effect(format!("{key}files"), &between, set_up).await?.into_result()?;
        let base = Base { at: detached_head(tip), tree: tree.clone() };
        let job = VerifyJob::new(self.worktree.folder(), base, commands, self.worktree.limit)
            .tree(Some(files))
            .pass(self.worktree.pass.clone());
        Ok(run_verify_job(&job, key, ctx).await?)
    }

    /// Checks out the files of a commit for the commands, with the files of the setup; returns all of them. On a
    /// conflict, the commit's files win.
    async fn set_up<C>(
        &self,
        tree: &TreeId,
        ready: &TreeId,
        commands: &[String],
        ctx: &Ctx<C>,
    ) -> Result<TreeId, NodeError> {
        if commands.is_empty() {
            return Ok(tree.clone());
        }
        let workspace = self.worktree.folder().open_for(ctx).await.map_err(failed)?;
        let files = match workspace.apply_change(&self.tree, tree, ready).await {
            Err(WorkspaceError::Conflict { .. }) => tree.clone(),
            carried => carried.map_err(failed)?,
        };
        workspace.reset_files(&files).await.map_err(failed)?;
        Ok(files)
    }

    /// Checks out the files of a commit, unless they are.
    async fn checkout_files<C: Context>(
        &self,
        tree: &TreeId,
        so_far: &IntegrationState,
        ctx: &Ctx<C>,
    ) -> Result<(), Stop> {
        if so_far.has_files {
            return Ok(());
        }
        let bring = async { self.worktree.folder().open().await?.reset_to(tree).await.map_err(failed).map(drop) };
        ctx.effect("files", tree, |_| catch_tampering(bring)).await?.into_result()
    }

    /// Undoes a commit: resets HEAD and the files to the earlier commits. What a person committed on top is kept.
    async fn undo_commit<C: Context>(
        &self,
        (own, to): (&CommitId, &CommitId),
        tree: &TreeId,
        ctx: &Ctx<C>,
    ) -> Result<(), NodeError> {
        let workspace = self.worktree.folder().open().await?;
        let head = workspace.head().await.map_err(failed)?.commit().cloned();
        if let Some(commit) = head.filter(|head| ![own, to].contains(&head)) {
            keep_detached(&thread(ctx), &workspace, &detached_head(to), &detached_head(&commit))
                .await
                .map_err(failed)?;
        }
        workspace.detach_at(to).await.map_err(failed)?;
        workspace.reset_to(tree).await.map_err(failed)?;
        Ok(())
    }

    /// Moves the private reference; an abandoned attempt may have left it elsewhere.
    async fn move_reference<C>(&self, from: &CommitId, to: &CommitId, ctx: &Ctx<C>) -> Result<(), NodeError> {
        let reference = integration_of(ctx);
        let workspace = self.worktree.repository.open().await?;
        let now = workspace.reference(&reference).await.map_err(failed)?;
        if now.as_ref() != Some(from) {
            tracing::debug!(reference, "the reference was elsewhere");
        }
        workspace.set_reference(&reference, now.as_ref(), to).await.map_err(failed)
    }
}

/// Returns a detached HEAD without branches.
fn detached_head(tip: &CommitId) -> BranchPositions {
    BranchPositions { commit: Some(tip.clone()), ..BranchPositions::default() }
}
