//! One verifier on one attempt: runs it, undoes its changes, returns its output.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::job::{RanVerifier, RunVerifier};
use super::result::{VerifierResult, failure};
use super::{code, model, outcome, shell, undone};
use crate::graph::{Ctx, NodeError};
use crate::nodes::agents::Agents;
use crate::nodes::folder::{After, Base, TamperCheck, tampering_message};
use crate::spec::Mode;

/// Runs a verifier. A verifier that crashes, times out, returns nonsense or changes files has an error among its
/// findings.
///
/// # Errors
/// If the repository cannot be read, or the store fails.
pub async fn run_verifier<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<RanVerifier, NodeError> {
    let look = job.look(ctx).await?;
    let alone = look.lock().await;
    let arrival = job.folder.arrive_without_asking(ctx, &job.key("stand"), &job.base).await?;
    let tree = arrival.carry(ctx, &job.key("stand/tree"), &job.folder, &job.tree).await?;
    let job = &RunVerifier { base: arrival.base.clone(), tree, ..job.clone() };
    drop(alone);
    let mut result = match job.entry.mode {
        Mode::Model => model::asked(job, ctx).await?,
        mode @ (Mode::Shell | Mode::Code) => guarded(job, mode, ctx).await?,
    };
    let base = Base { at: arrival.turn.clone(), ..job.base.clone() };
    let _alone = look.lock().await;
    let seen = TamperCheck { tampered: std::mem::take(&mut result.tampered), is_shared: true };
    let After { tampered, tree, mut notices, at, .. } = job.folder.after_as(ctx, &job.key("left"), &base, seen).await?;
    // Commits that were made while a command ran are not its own, and stay.
    let settled = job.folder.settle(ctx, &job.key("left"), &arrival, at).await?;
    let verified = settled.carry(ctx, &job.key("left/tree"), &job.folder, &job.tree).await?;
    let job = &RunVerifier { base: settled.base.clone(), tree: verified, ..job.clone() };
    notices.extend(settled.notices);
    if let Some(left) = tree.filter(|left| *left != job.tree) {
        result.report.push(undone::put_back(job, &left, result.has_found, ctx).await?);
    }
    if !tampered.is_empty() {
        result.report.push(failure(tampering_message("the verifier", &tampered)));
    }
    notices.extend(arrival.notices);
    let VerifierResult { usage, raised, is_spent, .. } = result;
    Ok(RanVerifier { output: outcome::output(job, result), usage, raised, notices, tampered, is_spent })
}

/// Runs a command or code, and checks whether git was tampered with during it.
async fn guarded<C: Agents>(job: &RunVerifier, mode: Mode, ctx: &Ctx<C>) -> Result<VerifierResult, NodeError> {
    let before = job.folder.guard(ctx, &job.key("guard")).await?;
    let result = match mode {
        Mode::Shell => shell::ran(job, ctx).await?,
        Mode::Model | Mode::Code => code::ran(job, ctx).await?,
    };
    let tampered = job.folder.tampered(ctx, &job.key("guard"), &before).await?;
    Ok(VerifierResult { tampered, ..result })
}

impl RunVerifier {
    /// Returns the lock for reading and resetting the files of the folder: several verifiers of an attempt may run at a
    /// time.
    async fn look<C: Agents>(&self, ctx: &Ctx<C>) -> Result<Arc<Mutex<()>>, NodeError> {
        let name = format!("verifiers of {}", self.folder.directory.display());
        let look = ctx.kept(&name, || Arc::new(Mutex::new(()))).await;
        look.ok_or_else(|| NodeError::permanent(format!("`{name}` is the name of something else")))
    }
}
