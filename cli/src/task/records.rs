//! The records of attempts on disk: `RUN/attempt-N/decision.json` and `verifier_outputs.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use superstep::app::{Exit, Refusal};
use superstep::decide::Recorded;
use superstep::workflows::code_task::{AttemptLine, CodeTaskState, finding_lines, run_folder};

/// Number of findings that the state has of an attempt: the last line may count others.
const MOST: usize = 49;

/// Digests in the store of the records below a folder.
pub(super) struct Known<'a> {
    pub(super) digests: &'a BTreeMap<String, String>,
    /// Path of the folder, with a slash at its end, or empty.
    pub(super) path: String,
}

impl Known<'_> {
    pub(super) fn child(&self, id: &str) -> Self {
        Self { digests: self.digests, path: format!("{}children/{id}/", self.path) }
    }
}

/// Returns the recorded attempts of a task, in order, as the store knows them: files of other attempts are not read.
///
/// # Errors
/// A record that cannot be read, or that was changed after it was written.
pub(super) fn of_task(state: &CodeTaskState) -> Result<Vec<Recorded>, Refusal> {
    let run = run_folder(state);
    let folder = |line: &AttemptLine| run.join(format!("attempt-{}", line.past.number));
    // A rewound task has the earlier attempts elsewhere.
    let here = state.attempts.iter().filter(|line| folder(line).is_dir());
    here.map(|line| of_line(&folder(line), line)).collect()
}

fn of_line(folder: &Path, line: &AttemptLine) -> Result<Recorded, Refusal> {
    let recorded = read(folder)?;
    let record = &recorded.record;
    let is_known = match &line.record {
        Some(digest) => recorded.digest() == *digest,
        // An earlier version stored no digest.
        None => {
            let commit = line.commit.as_ref().map(ToString::to_string);
            (record.decision.kind.to_string(), &record.decision.rule, &record.decision.reason, &record.commit)
                == (line.decision.clone(), &line.rule, &line.reason, &commit)
                && finding_lines(&recorded.outputs)
                    .iter()
                    .zip(&line.findings)
                    .take(MOST)
                    .all(|(one, other)| one == other)
        }
    };
    if is_known { Ok(recorded) } else { Err(changed(folder)) }
}

/// Returns the attempts that are recorded in a folder, in order; none if it is not there. `known` is
/// what the store has of them; `None` while the task is not over.
pub(super) fn attempts(folder: &Path, known: Option<&Known<'_>>) -> Result<Vec<Recorded>, Refusal> {
    let checked = |(number, folder): &(u32, PathBuf)| {
        let recorded = read(folder)?;
        let digest = known.and_then(|known| known.digests.get(&format!("{}attempt-{number}", known.path)));
        let is_known = digest.is_none_or(|digest| recorded.digest() == *digest);
        if is_known { Ok(recorded) } else { Err(changed(folder)) }
    };
    folders(folder).iter().map(checked).collect()
}

fn read(folder: &Path) -> Result<Recorded, Refusal> {
    Ok(Recorded { outputs: json(&folder.join("verifier_outputs.json"))?, record: json(&folder.join("decision.json"))? })
}

fn changed(folder: &Path) -> Refusal {
    let error = format!("{}: this record was changed after it was written: the store has another", folder.display());
    Refusal::new(error).help("an agent or a program wrote there; `log` tells what was recorded").exit(Exit::Failed)
}

/// Returns the ids and folders of the children of a task, in the order of their ids.
pub(super) fn children(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder.join("children")).into_iter().flatten().filter_map(Result::ok);
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    let mut children: Vec<_> = named.collect();
    children.sort();
    children
}

/// Returns the task file of the last attempt.
pub(super) fn spec(folder: &Path) -> Option<String> {
    fs::read_to_string(folders(folder).pop()?.1.join("spec.md")).ok()
}

/// The folders of attempts that were recorded to the end, with their numbers.
fn folders(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let numbered = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("attempt-")?.parse().ok()?;
        entry.path().join("decision.json").is_file().then(|| (number, entry.path()))
    };
    let mut folders: Vec<_> = entries.filter_map(numbered).collect();
    folders.sort();
    folders
}

fn json<T: DeserializeOwned>(file: &Path) -> Result<T, Refusal> {
    let unread = |error: &dyn std::fmt::Display| {
        Refusal::new(format!("{}: this record cannot be read: {error}", file.display())).exit(Exit::Failed)
    };
    let text = fs::read_to_string(file).map_err(|error| unread(&error))?;
    serde_json::from_str(&text).map_err(|error| unread(&error))
}
