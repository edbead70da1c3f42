//! Merges the settings of a task: built-in verifiers, then `verifiers.yml`, then the task's front matter, then flags; and the order in
//! which the verifiers run.

use serde::{Deserialize, Serialize};
use superstep_base::near::meant_or_all;

use super::config::{Stakeholder, VerifierConfig};
use super::draft::{Draft, Layer, of_flag, problems_of};
use super::entry::{Stage, VerifierEntry};
use super::policy::Policy;
use super::problem::{SpecError, SpecProblem};
use super::spec::TaskSpec;
use super::standard;

/// The command-line flags that change policy and verifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flags {
    /// `--strict`: warnings count as errors.
    pub strict: bool,
    /// `--skip-verifiers`: ids of verifiers.
    pub skip: Vec<String>,
    /// `--override-policy`: each `KEY=VALUE`.
    pub policy: Vec<String>,
}

/// The effective limits and verifiers of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The limits.
    pub policy: Policy,
    /// The verifiers.
    pub verifiers: Verifiers,
}

/// The effective verifiers of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verifiers {
    /// The owners of verifiers.
    pub stakeholders: Vec<Stakeholder>,
    /// The verifiers, in execution order.
    pub entries: Vec<VerifierEntry>,
    /// Set if warnings count as errors.
    #[serde(default)]
    pub strict: bool,
}

/// Verifiers of one stage that can run in parallel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MergeStep<'v> {
    /// The stage.
    pub stage: Stage,
    /// The verifiers.
    pub verifiers: Vec<&'v VerifierEntry>,
}

impl Verifiers {
    /// Returns the verifier with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&VerifierEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// Returns the ids, in execution order.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.id.as_str()).collect()
    }

    /// Returns the verifiers in sequential steps: the stages in order, split where one comes `after` another.
    #[must_use]
    pub fn steps(&self) -> Vec<MergeStep<'_>> {
        let mut steps: Vec<MergeStep<'_>> = Vec::new();
        for entry in &self.entries {
            match steps.last_mut() {
                Some(step) if step.stage == entry.place.stage && !waits_for(entry, &step.verifiers) => {
                    step.verifiers.push(entry);
                }
                _ => steps.push(MergeStep { stage: entry.place.stage, verifiers: vec![entry] }),
            }
        }
        steps
    }
}

impl RunSettings {
    /// Merges the settings of a task. `file` is the file of the task.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with every problem at once: unknown ids of verifiers, incomplete or contradictory entries, invalid
    /// flags.
    pub fn merge(config: &VerifierConfig, task: &TaskSpec, file: &str, flags: &Flags) -> Result<Self, SpecError> {
        let mut merger = Merger::new(config);
        merger.config(config);
        merger.task(task, file);
        let policy = merger.policy(task.policy.clone(), &flags.policy);
        merger.drafts.iter_mut().for_each(Draft::place);
        let Merger { stakeholders, drafts, mut problems } = merger;
        problems.extend(problems_of(&drafts, &stakeholders));
        problems.extend(unknown_skips(&drafts, &flags.skip));
        problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        let entries = in_order(drafts.into_iter().filter(Draft::is_on).map(|draft| mark_skipped(draft, flags)));
        let verifiers = Verifiers { stakeholders, entries, strict: flags.strict };
        if problems.is_empty() { Ok(Self { policy, verifiers }) } else { Err(SpecError { problems }) }
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        let is_on = |entry: &VerifierEntry| entry.id != standard::OFF;
        let entries = in_order(standard::verifiers().into_iter().filter(is_on));
        let verifiers = Verifiers { stakeholders: standard::stakeholders(), entries, strict: false };
        Self { policy: Policy::default(), verifiers }
    }
}

const OVERRIDES: &str = "verifier_overrides";

struct Merger<'p> {
    stakeholders: Vec<Stakeholder>,
    drafts: Vec<Draft<'p>>,
    problems: Vec<SpecProblem>,
}

impl<'p> Merger<'p> {
    fn new(config: &VerifierConfig) -> Self {
        let own = |stakeholder: &Stakeholder| config.stakeholders.iter().all(|own| own.id != stakeholder.id);
        let mut stakeholders: Vec<Stakeholder> = standard::stakeholders().into_iter().filter(own).collect();
        stakeholders.extend(config.stakeholders.iter().cloned());
        let drafts = standard::verifiers().into_iter().map(Draft::built_in).collect();
        Self { stakeholders, drafts, problems: Vec::new() }
    }

    fn draft(&mut self, id: &str) -> Option<&mut Draft<'p>> {
        self.drafts.iter_mut().find(|draft| draft.entry.id == id)
    }

    fn config(&mut self, config: &'p VerifierConfig) {
        for (id, patch) in &config.verifiers {
            if self.draft(id).is_none() {
                self.drafts.push(Draft::new(id));
            }
            if let Some(draft) = self.draft(id) {
                draft.apply(Layer { file: &config.file, section: "verifiers", patch });
            }
        }
    }

    fn task(&mut self, task: &'p TaskSpec, file: &'p str) {
        for (id, patch) in &task.verifier_overrides {
            let Some(draft) = self.draft(id) else {
                let problem = format!("no verifier has this id{}", meant_or_all(id, &ids(&self.drafts)));
                let (line, key) = (patch.line_of("id"), format!("{OVERRIDES}.{id}"));
                self.problems.push(SpecProblem { file: file.to_owned(), line, key, problem });
                continue;
            };
            draft.apply(Layer { file, section: OVERRIDES, patch });
        }
    }

    fn policy(&mut self, mut policy: Policy, changes: &[String]) -> Policy {
        for change in changes {
            if let Err(problem) = apply_change(&mut policy, change) {
                self.problems.push(of_flag("--override-policy", "", problem));
            }
        }
        policy
    }
}

/// Applies a change `KEY=VALUE` to a policy.
fn apply_change(policy: &mut Policy, change: &str) -> Result<(), String> {
    let (key, value) = change.split_once('=').ok_or_else(|| format!("`{change}` is not KEY=VALUE"))?;
    policy.set(key.trim(), value.trim()).map_err(|error| error.to_string())
}

fn mark_skipped(draft: Draft<'_>, flags: &Flags) -> VerifierEntry {
    VerifierEntry { skipped: flags.skip.contains(&draft.entry.id), ..draft.entry }
}

fn unknown_skips(drafts: &[Draft<'_>], skips: &[String]) -> Vec<SpecProblem> {
    let ids = ids(drafts);
    let unknown = skips.iter().filter(|skip| !ids.contains(skip));
    let problem = |skip: &String| {
        of_flag("--skip-verifiers", skip, format!("no verifier has this id{}", meant_or_all(skip, &ids)))
    };
    unknown.map(problem).collect()
}

fn ids(drafts: &[Draft<'_>]) -> Vec<String> {
    drafts.iter().map(|draft| draft.entry.id.clone()).collect()
}

fn waits_for(entry: &VerifierEntry, for_one_of: &[&VerifierEntry]) -> bool {
    for_one_of.iter().any(|other| entry.place.after.contains(&other.id))
}

/// Sorts entries by stage and, within a stage, by the length of the `after` chain before them.
fn in_order(entries: impl Iterator<Item = VerifierEntry>) -> Vec<VerifierEntry> {
    let entries: Vec<VerifierEntry> = entries.collect();
    let mut ranks = vec![0; entries.len()];
    // A chain is at most as long as the list; this bound also ends the loop for a cycle.
    for _ in 0..entries.len() {
        ranks = (0..entries.len()).map(|at| rank(&entries, &ranks, at)).collect();
    }
    let mut ranked: Vec<(Stage, usize, VerifierEntry)> =
        entries.into_iter().zip(ranks).map(|(entry, rank)| (entry.place.stage, rank, entry)).collect();
    ranked.sort_by_key(|(stage, rank, _)| (*stage, *rank));
    ranked.into_iter().map(|(_, _, entry)| entry).collect()
}

fn rank(entries: &[VerifierEntry], ranks: &[usize], at: usize) -> usize {
    let Some(entry) = entries.get(at) else { return 0 };
    let is_before =
        |other: &VerifierEntry| other.place.stage == entry.place.stage && entry.place.after.contains(&other.id);
    let before = entries.iter().zip(ranks).filter(|(other, _)| is_before(other));
    before.map(|(_, rank)| rank + 1).max().unwrap_or_default()
}
