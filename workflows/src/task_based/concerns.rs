//! What a person should know of the repository before the approval of a run. Reads it, changes nothing.

use crate::Profile;
use superstep::workspace::{Survey, Workspace, WorkspaceError};

/// The maximum number of names in a sentence.
const NAMED: usize = 5;

/// Returns what work in the repository will meet; `in_phases` for subtasks with work trees of their own.
pub(crate) async fn of(
    workspace: &Workspace,
    profile: &Profile,
    in_phases: bool,
) -> Result<Vec<String>, WorkspaceError> {
    let survey = workspace.survey().await?;
    let mut concerns = everywhere(&survey);
    concerns.extend(unset(profile));
    if in_phases {
        concerns.extend(in_worktrees(&survey, profile));
    }
    Ok(concerns)
}

fn everywhere(survey: &Survey) -> Vec<String> {
    let idle = survey.idle_hooks.iter().map(|hook| {
        format!("the hook `{hook}` is not executable, so git ignores it; run `chmod +x {hook}` to enable it")
    });
    let missing = survey.missing_hooks.iter().map(|folder| {
        format!("`core.hooksPath` is `{folder}`, which does not exist, so commits run no hook; install the hooks first")
    });
    let filters = survey.missing_filters.iter().map(|filter| match filter.as_str() {
        "lfs" => "`.gitattributes` names the filter `lfs`, but git is not set up for it, so agents see pointers in place of \
                  files; `git lfs install && git lfs pull` gets them"
            .to_owned(),
        filter => format!(
            "`.gitattributes` names the filter `{filter}`, which git's configuration does not have, so files are read and \
             written as they are"
        ),
    });
    idle.chain(missing).chain(filters).collect()
}

/// Returns a sentence for each variable that the profile passes on and that is not set.
fn unset(profile: &Profile) -> Vec<String> {
    let names = profile.tools.pass.iter().filter(|name| !name.contains('*'));
    let unset = names.filter(|name| std::env::var_os(name).is_none());
    unset
        .map(|name| format!("the profile passes the variable `{name}` to agents and checks, but it is not set"))
        .collect()
}

fn in_worktrees(survey: &Survey, profile: &Profile) -> Vec<String> {
    let worktree = &profile.phased.worktree;
    let mut concerns = vec![];
    if worktree.setup.is_empty() && !survey.submodules.is_empty() {
        concerns.push(format!(
            "the work trees of subtasks have empty folders for the submodules {}; `setup = [\"git submodule update --init\"]` in \
             `[worktree]` of the profile fills them",
            list_names(&survey.submodules)
        ));
    }
    let furnished: Vec<String> = worktree.furnishings.paths().map(|path| path.display().to_string()).collect();
    let is_furnished =
        |name: &String| furnished.iter().any(|path| path.trim_end_matches('/') == name.trim_end_matches('/'));
    // A command that sets up the work tree is expected to make what is not a secret.
    let is_made = |name: &String| !worktree.setup.is_empty() && !name.contains(".env");
    let lacking: Vec<String> =
        survey.ignored.iter().filter(|name| !is_furnished(name) && !is_made(name)).cloned().collect();
    if !lacking.is_empty() {
        concerns.push(format!(
            "the work trees of subtasks do not have the files that git ignores: {}; add them with `copy` or `link` in `[worktree]` of the profile, or with a \
             command in `setup`",
            list_names(&lacking)
        ));
    }
    concerns
}

fn list_names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
