//! A verifier while files are merged: the patches so far, and the checks for missing settings and contradictions.

use superstep_base::near::meant_or_all;

use super::config::{Stakeholder, VerifierPatch, unknown_setting};
use super::entry::{Stage, VerifierEntry, VerifierMode};
use super::problem::SpecProblem;
use super::standard::{self, FINDS_COMMAND};

/// A patch of an entry, with its file and section.
#[derive(Clone, Copy)]
pub(super) struct Layer<'p> {
    pub(super) file: &'p str,
    pub(super) section: &'static str,
    pub(super) patch: &'p VerifierPatch,
}

impl Layer<'_> {
    fn problem(&self, id: &str, key: &str, problem: String) -> SpecProblem {
        let (file, line) = (self.file.to_owned(), self.patch.line_of(key));
        SpecProblem { file, line, key: format!("{}.{id}.{key}", self.section), problem }
    }
}

/// A verifier while it is merged.
pub(super) struct Draft<'p> {
    pub(super) entry: VerifierEntry,
    enabled: Option<bool>,
    /// False for a built-in verifier.
    is_new: bool,
    /// The applied patches, in order.
    patches: Vec<Layer<'p>>,
}

impl<'p> Draft<'p> {
    pub(super) fn built_in(entry: VerifierEntry) -> Self {
        Self { entry, enabled: None, is_new: false, patches: Vec::new() }
    }

    pub(super) fn new(id: &str) -> Self {
        Self { is_new: true, ..Self::built_in(standard::new(id)) }
    }

    /// Returns `true` if the verifier is enabled. One that is off by default is enabled by any patch.
    pub(super) fn is_on(&self) -> bool {
        self.enabled.unwrap_or(self.entry.id != standard::OFF || !self.patches.is_empty())
    }

    /// Moves a new verifier of mode `model` without a stage behind the build.
    pub(super) fn place(&mut self) {
        let is_free = self.is_new && self.entry.mode == VerifierMode::Model && !self.has("stage");
        if is_free {
            self.entry.place.stage = Stage::ALIGNMENT;
        }
    }

    fn has(&self, key: &str) -> bool {
        self.patches.iter().any(|layer| layer.patch.has(key))
    }

    pub(super) fn apply(&mut self, layer: Layer<'p>) {
        self.enabled = layer.patch.is_enabled().or(self.enabled);
        self.patches.push(layer);
        if let Ok(entry) = layer.patch.apply_to(&self.entry) {
            self.entry = entry;
        }
    }

    /// Returns a problem of the entry, located where the setting `key` was last written.
    fn problem(&self, key: &str, problem: String) -> SpecProblem {
        let layer = self.patches.iter().rev().find(|layer| layer.patch.has(key)).or(self.patches.last());
        match layer {
            Some(layer) => layer.problem(&self.entry.id, key, problem),
            None => of_flag("verifiers", &self.entry.id, problem),
        }
    }
}

pub(super) fn of_flag(flag: &str, key: &str, problem: String) -> SpecProblem {
    SpecProblem { file: flag.to_owned(), line: 0, key: key.to_owned(), problem }
}

/// The built-in verifiers with a built-in prompt.
const HAS_PROMPT: [&str; 3] = ["alignment", "bigpicture", "style"];

/// Returns the problems of the enabled verifiers, in their order.
pub(super) fn problems_of(drafts: &[Draft<'_>], stakeholders: &[Stakeholder]) -> Vec<SpecProblem> {
    let on = drafts.iter().filter(|draft| draft.is_on());
    let problems = |draft| {
        let own = [
            unknown_stakeholder(draft, stakeholders),
            without_command(draft),
            idle_command(draft),
            without_prompt(draft),
        ];
        own.into_iter().flatten().chain(unknown_settings(draft)).chain(after(draft, drafts)).collect::<Vec<_>>()
    };
    on.flat_map(problems).collect()
}

fn unknown_stakeholder(draft: &Draft<'_>, stakeholders: &[Stakeholder]) -> Option<SpecProblem> {
    let id = &draft.entry.stakeholder;
    let known: Vec<&str> = stakeholders.iter().map(|stakeholder| stakeholder.id.as_str()).collect();
    let problem = || format!("`{id}` is not in `stakeholders`{}", meant_or_all(id, &known));
    (!known.contains(&id.as_str())).then(|| draft.problem("stakeholder", problem()))
}

fn without_command(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { id, mode, config, .. } = &draft.entry;
    let is_bare = *mode == VerifierMode::Shell && config.command.is_none() && !FINDS_COMMAND.contains(&id.as_str());
    is_bare.then(|| draft.problem("config.command", "is missing; a verifier of mode `shell` needs one".to_owned()))
}

fn idle_command(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { mode, config, .. } = &draft.entry;
    let is_idle = *mode != VerifierMode::Shell && config.command.is_some();
    let problem = || format!("is for verifiers of mode `shell`, and this one has mode `{mode}`");
    is_idle.then(|| draft.problem("config.command", problem()))
}

fn without_prompt(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { id, mode, config, .. } = &draft.entry;
    let is_mute = *mode == VerifierMode::Model && config.model.prompt.is_none() && !HAS_PROMPT.contains(&id.as_str());
    is_mute.then(|| draft.problem("config.prompt", "is missing; a verifier of mode `model` needs one".to_owned()))
}

/// Returns a problem for each unknown setting; verifiers in code may have their own.
fn unknown_settings(draft: &Draft<'_>) -> Vec<SpecProblem> {
    let keys = draft.entry.config.other.keys().filter(|_| draft.entry.mode != VerifierMode::Code);
    keys.map(|key| draft.problem(&format!("config.{key}"), unknown_setting(key))).collect()
}

/// Returns a problem for each invalid `after`.
fn after(draft: &Draft<'_>, drafts: &[Draft<'_>]) -> Vec<SpecProblem> {
    let find = |id: &str| drafts.iter().find(|other| other.entry.id == id).map(|other| &other.entry);
    let problem = |id: &String| match find(id) {
        None => Some(format!("no verifier has the id `{id}`")),
        Some(other) if other.place.stage > draft.entry.place.stage => {
            Some(format!("`{id}` runs in the later stage `{}`", other.place.stage))
        }
        Some(other) if comes_after(other, &draft.entry.id, find) => {
            Some(format!("`{id}` itself comes after `{}`", draft.entry.id))
        }
        Some(_) => None,
    };
    draft.entry.place.after.iter().filter_map(problem).map(|problem| draft.problem("after", problem)).collect()
}

/// Returns `true` if `entry` is `target`, or comes after it directly or indirectly.
fn comes_after<'e>(entry: &'e VerifierEntry, target: &str, find: impl Fn(&str) -> Option<&'e VerifierEntry>) -> bool {
    let mut seen = vec![entry];
    let mut next = 0;
    while let Some(entry) = seen.get(next) {
        let before: Vec<_> = entry.place.after.iter().filter_map(|id| find(id)).collect();
        seen.extend(before.into_iter().filter(|one| !seen.contains(one)).collect::<Vec<_>>());
        next += 1;
    }
    seen.iter().any(|entry| entry.id == target)
}
