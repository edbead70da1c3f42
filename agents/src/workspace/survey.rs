//! Problems that a run would meet in a repository: hooks that do not run, files that a new work tree lacks. Reads only;
//! runs no program of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use git2::Repository;
use superstep_base::gather;

use super::error::WorkspaceError;
use super::guard::{hooks_folder, runs};
use super::place::{Fault, Place, Workspace, lossy_path};

/// Hooks that run at a commit.
const HOOKS: [&str; 4] = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"];

/// Names of files and folders that programs need and repositories ignore. A trailing `*` matches any further letters.
const NEEDED: [&str; 14] = [
    ".env",
    ".env.*",
    ".envrc",
    ".venv",
    "venv",
    "env",
    "node_modules",
    "bower_components",
    "vendor",
    "Pods",
    "deps",
    ".npmrc",
    "local.properties",
    ".bundle",
];

/// The maximum number of ignored files and folders that are looked at.
const LOOKED_AT: usize = 20_000;

/// The peculiarities of a repository that work in it will meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Hooks that git passes over because they are not executable.
    pub idle_hooks: Vec<String>,
    /// The value of `core.hooksPath`, if there is no such folder.
    pub missing_hooks: Option<String>,
    /// Filters that `.gitattributes` names and git's configuration does not have, such as `lfs`.
    pub missing_filters: Vec<String>,
    /// Folders of submodules.
    pub submodules: Vec<String>,
    /// Ignored files and folders that programs are likely to need.
    pub ignored: Vec<String>,
}

impl Workspace {
    /// Looks for what work here, or in a linked work tree, will meet.
    ///
    /// # Errors
    /// [`Git`](WorkspaceError::Git) if the repository cannot be read, [`GitFailed`](WorkspaceError::GitFailed) if git
    /// cannot list ignored files.
    #[boxed]
    pub async fn survey(&self) -> Result<Survey, WorkspaceError> {
        let ignored = self.needed_files().await?;
        self.read("look at the repository", move |repository, place| {
            let hooks = hooks_folder(place);
            let is_default = hooks.starts_with(&place.common_dir);
            Ok(Survey {
                idle_hooks: idle_hooks(place, &hooks),
                missing_hooks: (!is_default && !hooks.is_dir()).then(|| hooks.display().to_string()),
                missing_filters: missing_filters(repository, place)?,
                submodules: submodules(repository),
                ignored,
            })
        })
        .await
    }

    /// Checks that the index can be read here, and that the programs of required filters are installed.
    ///
    /// # Errors
    /// [`IndexForm`](WorkspaceError::IndexForm), [`FilterMissing`](WorkspaceError::FilterMissing).
    #[boxed]
    pub async fn ensure_supported(&self) -> Result<(), WorkspaceError> {
        let own_programs = self.git(&["--exec-path"]).output().await?;
        let own_programs = PathBuf::from(String::from_utf8_lossy(&own_programs).trim());
        self.read("look at the repository", move |repository, place| {
            if let Err(error) = repository.index() {
                tracing::warn!(?error, "libgit2 cannot read the index");
                return Err(WorkspaceError::IndexForm { root: place.root.clone(), cause: error.into() }.into());
            }
            let path = place.options.variable("PATH").unwrap_or_default();
            let folders: Vec<PathBuf> = std::env::split_paths(&path).chain([own_programs]).collect();
            match missing_program(repository, place, &folders)? {
                Some((filter, program)) => Err(WorkspaceError::FilterMissing { filter, program }.into()),
                None => Ok(()),
            }
        })
        .await
    }

    /// Returns the ignored files and folders that programs are likely to need, whole folders as one.
    async fn needed_files(&self) -> Result<Vec<String>, WorkspaceError> {
        let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        let output = self.git(&list).output().await?;
        let names = output.split(|byte| *byte == 0).take(LOOKED_AT).filter(|name| !name.is_empty()).map(lossy_path);
        Ok(names.filter(|name| is_needed(name)).collect())
    }
}

fn is_needed(path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is = |needed: &&str| match needed.strip_suffix('*') {
        Some(start) => name.len() > start.len() && name.starts_with(start),
        None => name == *needed,
    };
    !path.starts_with(".superstep/") && NEEDED.iter().any(is)
}

fn idle_hooks(place: &Place, folder: &Path) -> Vec<String> {
    let files = HOOKS.iter().map(|name| folder.join(name)).filter(|file| file.is_file() && runs(file) == "-");
    files
        .map(|file| file.strip_prefix(&place.root).unwrap_or(&file).display().to_string())
        .filter(|_| cfg!(unix))
        .collect()
}

fn missing_filters(repository: &Repository, place: &Place) -> Result<Vec<String>, Fault> {
    let config = repository.config()?.snapshot()?;
    let has = |filter: &String| COMMANDS.iter().any(|key| config.get_entry(&format!("filter.{filter}.{key}")).is_ok());
    Ok(filters(place).into_iter().filter(|filter| !has(filter)).collect())
}

/// The commands of a filter.
const COMMANDS: [&str; 3] = ["clean", "smudge", "process"];

/// Returns the filters that the attributes at the top of the work tree name.
fn filters(place: &Place) -> BTreeSet<String> {
    let attributes = [place.root.join(".gitattributes"), place.common_dir.join("info/attributes")];
    let texts: Vec<String> = attributes.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| !line.trim_start().starts_with('#'));
    gather(
        lines
            .flat_map(|line| line.split_whitespace().filter_map(|word| word.strip_prefix("filter=")))
            .map(str::to_owned),
    )
}

/// Returns a required filter with a program that is in none of the folders.
fn missing_program(
    repository: &Repository,
    place: &Place,
    folders: &[PathBuf],
) -> Result<Option<(String, String)>, Fault> {
    let config = repository.config()?.snapshot()?;
    for filter in filters(place) {
        if !config.get_bool(&format!("filter.{filter}.required")).unwrap_or(false) {
            continue;
        }
        let commands = COMMANDS.iter().filter_map(|key| config.get_string(&format!("filter.{filter}.{key}")).ok());
        let programs = commands.filter_map(|command| command.split_whitespace().next().map(str::to_owned));
        let is_missing =
            |program: &String| is_plain(program) && !folders.iter().any(|folder| folder.join(program).is_file());
        if let Some(program) = programs.into_iter().find(is_missing) {
            return Ok(Some((filter, program)));
        }
    }
    Ok(None)
}

/// True for the name of a program, which is looked for on the path; a path or a shell's own words are not checked.
fn is_plain(program: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    program.chars().all(is_letter)
        && !matches!(program, "." | "exec" | "eval" | "test" | "cd" | "true" | "set" | "command")
}

fn submodules(repository: &Repository) -> Vec<String> {
    let found = repository.submodules().unwrap_or_default();
    found.iter().map(|module| PathBuf::from(module.path()).display().to_string()).collect()
}
