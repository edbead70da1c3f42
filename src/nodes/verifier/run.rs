//! One verifier on one attempt: it runs, its changes are taken back, its words become an output.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::job::{RanVerifier, RunVerifier};
use super::said::{Said, failure};
use super::{code, model, outcome, shell, undone};
use crate::graph::{Ctx, NodeError};
use crate::nodes::{
    agents::Agents,
    folder::{After, Base, Seen, tampering_message},
};
use crate::spec::Mode;

/// Runs a verifier. A verifier that crashes, takes too long, answers nonsense or changes files has an error among its findings.
///
/// # Errors
/// If the repository cannot be read, or the store fails.
pub async fn run_verifier<C: Agents>(job: &RunVerifier, ctx: &Ctx<C>) -> Result<RanVerifier, NodeError> {
    let look = job.look(ctx).await?;
    let at = {
        let _alone = look.lock().await;
        job.folder.stand(ctx, &job.key("stand"), &job.base).await?
    };
    let mut said = match job.entry.mode {
        Mode::Model => model::asked(job, ctx).await?,
        mode @ (Mode::Shell | Mode::Code) => guarded(job, mode, ctx).await?,
    };
    let base = Base { at, ..job.base.clone() };
    let _alone = look.lock().await;
    let seen = Seen { tampered: std::mem::take(&mut said.tampered), is_shared: true };
    let After { tampered, tree, notices } = job.folder.after_as(ctx, &job.key("left"), &base, seen).await?;
    if let Some(left) = tree.filter(|left| *left != job.tree) {
        said.report.push(undone::put_back(job, &left, said.has_found, ctx).await?);
    }
    if !tampered.is_empty() {
        said.report.push(failure(tampering_message("the verifier", &tampered)));
    }
    let Said { usage, raised, is_spent, .. } = said;
    Ok(RanVerifier { output: outcome::output(job, said), usage, raised, notices, tampered, is_spent })
}

/// Runs a command or code, and looks whether git was tampered with meanwhile.
async fn guarded<C: Agents>(job: &RunVerifier, mode: Mode, ctx: &Ctx<C>) -> Result<Said, NodeError> {
    let before = job.folder.guard(ctx, &job.key("guard")).await?;
    let said = match mode {
        Mode::Shell => shell::ran(job, ctx).await?,
        Mode::Model | Mode::Code => code::ran(job, ctx).await?,
    };
    let tampered = job.folder.tampered(ctx, &job.key("guard"), &before).await?;
    Ok(Said { tampered, ..said })
}

impl RunVerifier {
    /// Returns what is held while the files of the folder are looked at and put back: several verifiers of an attempt may run at a
    /// time.
    async fn look<C: Agents>(&self, ctx: &Ctx<C>) -> Result<Arc<Mutex<()>>, NodeError> {
        let name = format!("verifiers of {}", self.folder.directory.display());
        let look = ctx.kept(&name, || Arc::new(Mutex::new(()))).await;
        look.ok_or_else(|| NodeError::permanent(format!("`{name}` is the name of something else")))
    }
}
