//! The records of attempts on disk: `RUN/attempt-N/decision.json` and `verifier_outputs.json`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use superstep::app::{Exit, Refusal};
use superstep::decide::Recorded;

/// Returns the recorded attempts of a task, in order; none if its folder is not there.
pub(super) fn attempts(folder: &Path) -> Result<Vec<Recorded>, Refusal> {
    let read = |(_, folder): &(u32, PathBuf)| {
        Ok(Recorded {
            outputs: json(&folder.join("verifier_outputs.json"))?,
            record: json(&folder.join("decision.json"))?,
        })
    };
    folders(folder).iter().map(read).collect()
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
