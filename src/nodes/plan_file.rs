//! The file of a plan, which a person may change while the plan is executed. The plan to use is asked for, never
//! guessed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_base::moved::here;

use super::questions::{PlanChanged, WhichPlan};
use crate::graph::{Ctx, NodeError};
use crate::plan::Plan;

/// A plan's file, as it was when the plan was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Its path.
    pub path: PathBuf,
    /// Hash of the text that was read, or that was seen later and not adopted.
    pub hash: String,
    /// The plan in use.
    pub plan: String,
}

/// A plan to use from now on, and the file's hash at that decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The hash of the file's text.
    pub hash: String,
    /// The plan.
    pub plan: String,
}

/// A changed file, and the decision on it.
pub(super) struct FileChange {
    pub hash: String,
    /// The plan, if it was adopted.
    pub adopted: Option<Plan>,
}

impl PlanFile {
    /// Writes the plan below a folder.
    pub(super) async fn write<C: Send + Sync + 'static>(&self, ctx: &Ctx<C>, root: &Path) -> Result<(), NodeError> {
        let write = |_| async { write(root, &self.path, &self.plan).map_err(NodeError::permanent) };
        ctx.effect("draft", self, write).await
    }

    /// Asks which plan to use, if the file has changed. A missing file has not, nor one with the same plan.
    pub(super) async fn changed<C: Send + Sync + 'static>(
        &self,
        ctx: &Ctx<C>,
        key: &str,
    ) -> Result<Option<FileChange>, NodeError> {
        let read = |_| async { Ok::<_, NodeError>(superstep_base::files::text(&here(&self.path)).ok()) };
        let text: Option<String> = ctx.effect(key, &self.path, read).await?;
        let is_changed = |text: &String| crate::plan::hash(text) != self.hash && *text != self.plan;
        let Some(text) = text.filter(is_changed) else { return Ok(None) };
        let hash = crate::plan::hash(&text);
        let parsed = Plan::parse(text.as_str());
        let mut question = self.question(parsed.as_ref().ok());
        loop {
            let problem = match (ctx.interrupt(question.clone())?, &parsed) {
                (WhichPlan::Keep, _) => return Ok(Some(FileChange { hash, adopted: None })),
                (WhichPlan::Adopt, Ok(plan)) => return Ok(Some(FileChange { hash, adopted: Some(plan.clone()) })),
                (WhichPlan::Adopt, Err(error)) => Some(error.to_string()),
                (WhichPlan::Diff, _) => None,
            };
            question = PlanChanged { problem, diff: Some(differences(&self.plan, &text)), ..question };
        }
    }

    fn question(&self, plan: Option<&Plan>) -> PlanChanged {
        let commands = |task: crate::plan::Task<'_>| {
            let commands = task.verify.iter().map(|command| format!("{}: {command}", task.id));
            commands.collect::<Vec<_>>()
        };
        PlanChanged {
            path: self.path.display().to_string(),
            diff: None,
            problem: None,
            verify: plan.map(|plan| plan.tasks().flat_map(commands).collect()).unwrap_or_default(),
        }
    }
}

/// Writes a plan below a folder, without following links.
pub(super) fn write(root: &Path, path: &Path, text: &str) -> Result<(), String> {
    let (root, path) = (&here(root), &here(path));
    let message = |error: String| format!("{}: the plan cannot be written: {error}", path.display());
    let mut folders = path.ancestors().skip(1).take_while(|folder| *folder != root.as_path());
    if let Some(link) = folders.find(|folder| folder.is_symlink()) {
        return Err(message(format!("{} is a link", link.display())));
    }
    anew(path, text).map_err(|error| message(error.to_string()))
}

fn anew(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::create_new(path)?.write_all(text.as_bytes())
}

fn differences(before: &str, now: &str) -> String {
    similar::TextDiff::from_lines(before, now).unified_diff().header("the plan that holds", "the file").to_string()
}
