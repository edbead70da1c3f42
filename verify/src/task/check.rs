//! Checks merged verifiers for missing settings and contradictions.

use superstep_base::near::meant_or_all;

use super::config::Stakeholder;
use super::draft::Draft;
use super::entry::{Mode, VerifierEntry};
use super::patch::unknown_setting;
use super::problem::SpecProblem;
use super::standard::FINDS_COMMAND;

/// The built-in verifiers with a built-in prompt.
const HAS_PROMPT: [&str; 3] = ["alignment", "bigpicture", "style"];

/// Returns the problems of the enabled verifiers, in their order.
pub(super) fn drafts(drafts: &[Draft<'_>], stakeholders: &[Stakeholder]) -> Vec<SpecProblem> {
    let on = drafts.iter().filter(|draft| draft.is_on());
    let problems = |draft| {
        let own = [unowned(draft, stakeholders), without_command(draft), idle_command(draft), without_prompt(draft)];
        own.into_iter().flatten().chain(unknown_settings(draft)).chain(after(draft, drafts)).collect::<Vec<_>>()
    };
    on.flat_map(problems).collect()
}

fn unowned(draft: &Draft<'_>, stakeholders: &[Stakeholder]) -> Option<SpecProblem> {
    let id = &draft.entry.stakeholder;
    let known: Vec<&str> = stakeholders.iter().map(|stakeholder| stakeholder.id.as_str()).collect();
    let problem = || format!("`{id}` is not in `stakeholders`{}", meant_or_all(id, &known));
    (!known.contains(&id.as_str())).then(|| draft.problem("stakeholder", problem()))
}

fn without_command(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { id, mode, config, .. } = &draft.entry;
    let is_bare = *mode == Mode::Shell && config.command.is_none() && !FINDS_COMMAND.contains(&id.as_str());
    is_bare.then(|| draft.problem("config.command", "is missing; a verifier of mode `shell` needs one".to_owned()))
}

fn idle_command(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { mode, config, .. } = &draft.entry;
    let is_idle = *mode != Mode::Shell && config.command.is_some();
    let problem = || format!("is for verifiers of mode `shell`, and this one has mode `{mode}`");
    is_idle.then(|| draft.problem("config.command", problem()))
}

fn without_prompt(draft: &Draft<'_>) -> Option<SpecProblem> {
    let VerifierEntry { id, mode, config, .. } = &draft.entry;
    let is_mute = *mode == Mode::Model && config.model.prompt.is_none() && !HAS_PROMPT.contains(&id.as_str());
    is_mute.then(|| draft.problem("config.prompt", "is missing; a verifier of mode `model` needs one".to_owned()))
}

/// Returns a problem for each unknown setting; verifiers in code may have their own.
fn unknown_settings(draft: &Draft<'_>) -> Vec<SpecProblem> {
    let keys = draft.entry.config.other.keys().filter(|_| draft.entry.mode != Mode::Code);
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
