//! The records of attempts on disk: `RUN/attempt-N/decision.json` and `verifier_outputs.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use superstep::decide::RecordedDecision;
use superstep_app::{Exit, Refusal};
use superstep_base::gather;
use superstep_workflows::code_task::{AttemptLine, CodeTaskState, finding_lines, run_folder};

/// Number of findings that the state has of an attempt: the last line may count others.
const MOST: usize = 49;

/// The records below a folder that the store has.
pub(super) struct FolderRecords<'a> {
    /// Digests, by paths.
    pub(super) digests: &'a BTreeMap<String, String>,
    /// Path of the folder, with a slash at its end, or empty.
    pub(super) path: String,
    /// True if every record has a digest there: earlier versions stored none.
    pub(super) is_whole: bool,
}

impl FolderRecords<'_> {
    pub(super) fn child(&self, id: &str) -> Self {
        Self { digests: self.digests, path: format!("{}children/{id}/", self.path), is_whole: self.is_whole }
    }

    fn digest(&self, number: u32) -> Option<&String> {
        self.digests.get(&format!("{}attempt-{number}", self.path))
    }

    /// Returns the paths of its records, below its folder.
    fn below(&self) -> impl Iterator<Item = &str> {
        self.digests.keys().filter_map(|path| path.strip_prefix(&self.path))
    }

    fn numbers(&self) -> BTreeSet<u32> {
        self.below().filter_map(|path| path.strip_prefix("attempt-")?.parse().ok()).collect()
    }

    fn children(&self) -> BTreeSet<&str> {
        self.below().filter_map(|path| path.strip_prefix("children/")?.split('/').next()).collect()
    }
}

/// Records of a task, in order.
#[derive(Default)]
pub(super) struct Records {
    pub(super) found: Vec<RecordedDecision>,
    /// Folders of records that the store has and the disk does not.
    pub(super) missing: Vec<PathBuf>,
}

/// Returns the recorded attempts of a task, as the store knows them.
///
/// # Errors
/// A record that cannot be read, that was changed after it was written, or of which the store knows nothing.
pub(super) fn of_task(state: &CodeTaskState) -> Result<Records, Refusal> {
    let run = run_folder(state);
    let numbers: BTreeSet<u32> = gather(state.attempts.iter().map(|line| line.past.number));
    let written = folders(&run)?;
    // The record of the current attempt is written before the store has it.
    let current = numbers.last().copied().unwrap_or(0) + 1;
    let is_current = |number: u32| state.outcome.is_none() && number == current;
    if let Some((_, extra)) = written.iter().find(|(number, _)| !numbers.contains(number) && !is_current(**number)) {
        return Err(unknown_error(extra));
    }
    let first = written.keys().next().copied();
    let mut records = Records::default();
    for line in &state.attempts {
        let number = line.past.number;
        match written.get(&number) {
            Some(folder) => records.found.push(of_line(folder, line)?),
            None if is_of_original(state, number, first) => {}
            None => records.missing.push(run.join(format!("attempt-{number}"))),
        }
    }
    Ok(records)
}

/// Returns whether an attempt was made before the task was rewound, and so is recorded elsewhere: the run of a rewound task
/// has the number of its last one at its end.
fn is_of_original(state: &CodeTaskState, number: u32, first: Option<u32>) -> bool {
    let run = state.start.as_ref().map_or("", |start| start.run.as_str());
    let last: Option<u32> = run.rsplit_once('-').and_then(|(_, last)| last.parse().ok());
    last.is_some_and(|last| number <= last && first.is_none_or(|first| first > last))
}

fn of_line(folder: &Path, line: &AttemptLine) -> Result<RecordedDecision, Refusal> {
    let recorded = read_record(folder)?;
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
    if is_known { Ok(recorded) } else { Err(changed_error(folder)) }
}

/// Returns the attempts that are recorded in a folder; none if it is not there. `known` is what the store has of them;
/// `None` while the task is not over.
///
/// # Errors
/// As [`of_task`].
pub(super) fn attempts(folder: &Path, known: Option<&FolderRecords<'_>>) -> Result<Records, Refusal> {
    let (written, mut records) = (folders(folder)?, Records::default());
    for (number, folder) in &written {
        let digest = known.and_then(|known| known.digest(*number));
        if digest.is_none() && known.is_some_and(|known| known.is_whole) {
            return Err(unknown_error(folder));
        }
        let recorded = read_record(folder)?;
        if digest.is_some_and(|digest| recorded.digest() != *digest) {
            return Err(changed_error(folder));
        }
        records.found.push(recorded);
    }
    let numbers = known.map(FolderRecords::numbers).unwrap_or_default();
    let missing = numbers.iter().filter(|number| !written.contains_key(number));
    records.missing = missing.map(|number| folder.join(format!("attempt-{number}"))).collect();
    Ok(records)
}

fn read_record(folder: &Path) -> Result<RecordedDecision, Refusal> {
    Ok(RecordedDecision {
        outputs: json(&folder.join("verifier_outputs.json"))?,
        record: json(&folder.join("decision.json"))?,
    })
}

fn changed_error(folder: &Path) -> Refusal {
    let error =
        format!("{}: this record was changed after it was written: its digest in the store differs", folder.display());
    Refusal::new(error).help("an agent or a program changed it; `log` prints what was recorded").exit(Exit::Failed)
}

/// Returns the error about a folder that looks like a record.
pub(super) fn unknown_error(folder: &Path) -> Refusal {
    let error = format!("{}: this is not a record of the run: the store has no such attempt", folder.display());
    Refusal::new(error).help("an agent or a program created it; move it away").exit(Exit::Failed)
}

/// Returns the error about records that are not there.
pub(super) fn missing_error(missing: &[PathBuf]) -> Refusal {
    let names: Vec<String> = missing.iter().map(|folder| folder.display().to_string()).collect();
    let error = format!("{}: the record of the attempt is missing", names.join(", "));
    Refusal::new(error).help("`log` prints what was recorded; restore the files from a backup").exit(Exit::Failed)
}

/// Returns the ids and folders of the children of a task, in the order of their ids, also of those whose folders are
/// missing.
///
/// # Errors
/// A child of which the store knows nothing.
pub(super) fn children(folder: &Path, known: Option<&FolderRecords<'_>>) -> Result<Vec<(String, PathBuf)>, Refusal> {
    let place = folder.join("children");
    let entries = fs::read_dir(&place).into_iter().flatten().filter_map(Result::ok);
    let mut ids: BTreeSet<String> = gather(entries.filter_map(|entry| entry.file_name().into_string().ok()));
    if let Some(known) = known {
        let children = known.children();
        // A child that was never recorded may have a folder, and no attempt in it.
        let has_record = |id: &&String| folders(&place.join(id)).is_ok_and(|folders| !folders.is_empty());
        let extra = ids.iter().filter(|id| !children.contains(id.as_str())).find(has_record);
        if let Some(id) = extra.filter(|_| known.is_whole) {
            return Err(unknown_error(&place.join(id)));
        }
        ids.extend(children.into_iter().map(str::to_owned));
    }
    Ok(ids.into_iter().map(|id| (id.clone(), place.join(id))).collect())
}

/// Returns the task file of the last attempt.
pub(super) fn spec(folder: &Path) -> Option<String> {
    fs::read_to_string(folders(folder).ok()?.pop_last()?.1.join("spec.md")).ok()
}

/// Returns the folders of attempts that were recorded to the end, by their numbers.
///
/// # Errors
/// A folder whose name is another spelling of a number: it is no record.
fn folders(folder: &Path) -> Result<BTreeMap<u32, PathBuf>, Refusal> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("attempt-"));
        let Some(number) = number.filter(|_| entry.path().join("decision.json").is_file()) else { continue };
        match number.parse::<u32>() {
            Ok(parsed) if parsed.to_string() == number => folders.insert(parsed, entry.path()),
            Ok(_) | Err(_) => return Err(unknown_error(&entry.path())),
        };
    }
    Ok(folders)
}

fn json<T: DeserializeOwned>(file: &Path) -> Result<T, Refusal> {
    let unread = |error: &dyn std::fmt::Display| {
        Refusal::new(format!("{}: this record cannot be read: {error}", file.display())).exit(Exit::Failed)
    };
    let text = fs::read_to_string(file).map_err(|error| unread(&error))?;
    serde_json::from_str(&text).map_err(|error| unread(&error))
}
