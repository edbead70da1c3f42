//! Git for workflows that drive coding agents: a [`Workspace`] is a work tree in which agents change files and
//! workflows process the changes. This room knows git; it knows no graph, no agent and no plan.
//!
//! - **State.** [`Workspace::open`], [`head`](Workspace::head), [`ensure_ready`](Workspace::ensure_ready),
//!   [`ensure_clean`](Workspace::ensure_clean).
//! - **Branches of a run.** [`own_branch`](Workspace::own_branch) in place, [`own_worktree`](Workspace::own_worktree)
//!   in a linked work tree; [`lock`](Workspace::lock) excludes other runs and removes the locks of
//!   git that killed runs have left, as [`removed_locks`](Workspace::removed_locks) reports.
//! - **Work trees without a branch.** [`detached_worktree`](Workspace::detached_worktree) creates one,
//!   [`furnish`](Workspace::furnish) copies and links files into it, [`remove_worktree`](Workspace::remove_worktree)
//!   removes it, [`remove_branches_of`](Workspace::remove_branches_of) the branches that an agent created in it; those of
//!   people remain, and [`keep_head_of`](Workspace::keep_head_of) keeps their commits that are on none.
//! - **Moved repositories.** [`RecordedRun::find`] finds the repository of a run again, and [`mend_worktrees`] mends the links
//!   of its work trees.
//! - **Changes.** [`snapshot`](Workspace::snapshot) makes a [`TreeId`] of all files, [`diff`](Workspace::diff) compares
//!   two of them, [`text_of`](Workspace::text_of) reads a file of one.
//! - **Commits.** [`commit`](Workspace::commit) commits exactly one tree, once: [`find_commit`](Workspace::find_commit)
//!   finds it by its trailers. [`onto_head`](Workspace::onto_head) leaves the user's own changes out of it;
//!   [`fold`](Workspace::fold) undoes commits that agents made during their turns, which
//!   [`watch_turn`](Workspace::watch_turn) notes; [`apply_change`](Workspace::apply_change) combines
//!   changes; [`advance`](Workspace::advance) fast-forwards the branch of the user's checkout, with its files.
//! - **Garbage collection.** A work tree that is opened [for a thread](WorkspaceOptions::thread) keeps the trees and
//!   commits that are made in it under a reference, until [`keep_only`](Workspace::keep_only)
//!   removes it.
//! - **Discarding.** [`salvage`](Workspace::salvage) stores the files, [`reset_to`](Workspace::reset_to) resets them to
//!   a tree, [`restore`](Workspace::restore) brings salvaged work back.
//! - **Trust.** [`fingerprint`](Workspace::fingerprint) detects changes of hooks and configuration. Compare it after an
//!   agent has worked, before any other call. While a work tree is [locked](Workspace::lock), they are also compared
//!   right before each call of git with their state at that time. [`leaked_keys`](Workspace::leaked_keys) finds keys.
//!   [`open_guarded`](Workspace::open_guarded) allows storing work after they were changed.
//!
//! | file | what it knows |
//! |---|---|
//! | `error`, `cause` | errors, and their causes in words for people |
//! | `id` | ids and keys, as text in references and messages |
//! | `place`, `options` | folders, paths and objects of a workspace, and its options |
//! | `lock_note`, `git_locks` | locks of git, and notes of those that a call takes |
//! | `worktree`, `furnish`, `relocation` | linked work trees, their files, and repositories that were moved |
//! | `guard` | what git executes, and whether it was changed |
//! | `program`, `open` | calls of the git program, and access to the repository |
//! | `lock`, `survey` | the lock of a work tree, and what a run will meet in it |
//! | `references`, `gc`, `salvage` | private references, and the objects and the work that they keep |
//! | `branches` | HEAD and the branches |
//! | `trees` | snapshots, differences, merges, resets |
//! | `commit`, `unfinished_commit` | commits of exactly one tree |
//!
//! Secrets and large files are left out of snapshots, and so of diffs and commits ([`OmittedFile`]). Operations on the work
//! tree (ignore rules, filters, line endings, hooks, keys) use the git program, operations on objects and references
//! use libgit2. Except for commits, no program from the repository's configuration is run, apart from its filters.
//!
//! ```
//! # use superstep_agents as superstep;
//! # use std::process::Command;
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! use superstep::workspace::{CommitKey, CommitRequest, Workspace, WorkspaceOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # Command::new("git").arg("init").arg("-q").arg(folder.path()).status()?;
//! # let options = WorkspaceOptions::new().env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_AUTHOR_NAME", "A")
//! #     .env("GIT_AUTHOR_EMAIL", "a@b").env("GIT_COMMITTER_NAME", "A").env("GIT_COMMITTER_EMAIL", "a@b");
//! let workspace = Workspace::open_with(folder.path(), options).await?;
//! workspace.ensure_clean().await?;
//! let branch = workspace.own_branch("superstep/tides", None).await?;
//! let base = workspace.snapshot().await?;
//! std::fs::write(folder.path().join("tides.txt"), "twice a day\n")?;
//!
//! let now = workspace.snapshot().await?;
//! let diff = workspace.diff(&base.tree, &now.tree, 64 * 1024).await?;
//! assert_eq!(diff.to_string(), "1 file(s), +1 -0");
//! let key = CommitKey { thread: "tides".into(), task: "1".into(), phase: None, attempt: 1 };
//! let tree = workspace.onto_head(&base.tree, &now.tree).await?;
//! let request = CommitRequest { branch: Some(branch.name), parent: branch.commit, tree, message: "feat: tides".into(), key };
//! assert!(workspace.commit(&request).await?.commit().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod branches;
mod cause;
mod commit;
mod error;
mod furnish;
mod gc;
mod git_locks;
mod guard;
mod id;
mod lock;
mod lock_note;
mod open;
mod options;
mod place;
mod program;
mod references;
mod relocation;
mod salvage;
mod survey;
mod trees;
mod unfinished_commit;
mod worktree;

pub use branches::Head;
#[doc(hidden)]
pub use branches::{BranchMove, BranchPositions, FoldResult, HeadMove};
pub use cause::{GitCause, Holder, OngoingOperation};
pub use commit::{CommitRequest, CommitResult, MadeCommit};
pub use error::WorkspaceError;
#[doc(hidden)]
pub use furnish::Furnishings;
pub use guard::{GitFingerprint, Tampering};
pub use id::{CommitId, CommitKey, SalvageKey, SalvagePhase, TreeId};
#[doc(hidden)]
pub use id::{branch_name, escape_id, reference_name};
pub use options::WorkspaceOptions;
pub use place::Workspace;
#[doc(hidden)]
pub use references::StoredTree;
pub use relocation::RepositoryOrigin;
#[doc(hidden)]
pub use relocation::{RecordedRun, RepositoryLocation, mend_outside, mend_worktrees};
#[doc(hidden)]
pub use salvage::SalvagedWork;
#[doc(hidden)]
pub use survey::Survey;
pub use trees::{FileDiff, FileStatus, OmissionReason, OmittedFile, WorktreeSnapshot};
#[doc(hidden)]
pub use trees::{LeakedKey, ResetResult};
#[doc(hidden)]
pub use worktree::git_folder;
