//! The records of a run while an agent works: the files of those that are complete are put back if it changes them.
//! Programs of agents can write where their tools cannot. Knows files, and not what they mean.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::drivers::tools::marked_records;

/// Names of the files of a record. `transcript`s grow while an agent works.
const FILES: [&str; 3] = ["decision.json", "verifier_outputs.json", "spec.md"];
/// Depth of the folders below that of the records: attempts of children of children.
const DEEPEST: usize = 12;

/// The content of complete records.
#[derive(Debug, Default)]
pub(super) struct RecordCopy(BTreeMap<PathBuf, Vec<u8>>);

impl RecordCopy {
    /// Reads the records in the folders of agents.
    pub(super) fn of(roots: &[&Path]) -> Self {
        let mut copy = Self::default();
        for folder in roots.iter().flat_map(|root| marked_records(root)) {
            copy.add(&folder, 0);
        }
        copy
    }

    fn add(&mut self, folder: &Path, depth: usize) {
        if folder.join(FILES[0]).is_file() {
            let files = FILES.iter().map(|name| folder.join(name));
            self.0.extend(files.filter_map(|file| Some((file.clone(), fs::read(file).ok()?))));
        }
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if depth < DEEPEST {
            folders.for_each(|entry| self.add(&entry.path(), depth + 1));
        }
    }

    /// Puts back what was changed or removed; returns a notice for each file.
    pub(super) fn put_back(&self) -> Vec<String> {
        let changed = self.0.iter().filter(|(file, content)| fs::read(file).ok().as_ref() != Some(content));
        changed.map(|(file, content)| notice(file, &write(file, content))).collect()
    }
}

/// Writes a new file in its place: an agent may have put a link there.
fn write(file: &Path, content: &[u8]) -> std::io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    let _ = fs::remove_file(file);
    fs::write(file, content)
}

fn notice(file: &Path, written: &std::io::Result<()>) -> String {
    let file = file.display();
    match written {
        Ok(()) => format!("the record {file} was changed while an agent worked, and was put back"),
        Err(error) => format!("the record {file} was changed while an agent worked, and cannot be put back: {error}"),
    }
}
