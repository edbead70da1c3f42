//! Reads a folder of cases. An unreadable case is a failure under its name, never skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::deviations::Deviations;
use crate::model::Case;

/// Environment variable: another folder of cases.
const FOLDER: &str = "SUPERSTEP_CONFORMANCE_DIR";

#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) cases: Vec<NamedCase>,
    pub(crate) deviations: Deviations,
    /// Errors of the folder as a whole.
    pub(crate) faults: Vec<String>,
    /// Set if the cases are not ours: their table cannot list ways that differ from LangGraph.
    pub(crate) is_foreign: bool,
}

/// A case under a unique name.
#[derive(Debug, Clone)]
pub(crate) struct NamedCase {
    pub(crate) name: String,
    pub(crate) case: Result<Arc<Case>, String>,
}

impl Suite {
    /// Loads the folder named by the environment, or the recorded cases with those found later.
    pub(crate) fn load() -> Self {
        let own = home();
        match std::env::var_os(FOLDER) {
            Some(folder) => Self::of(&[PathBuf::from(folder)], &own),
            None => Self::of(&[own.join("cases"), own.join("more")], &own),
        }
    }

    /// Reads cases from folders, with the first one's own table of deviations or ours.
    fn of(folders: &[PathBuf], own: &Path) -> Self {
        let mut suite =
            Self { cases: Vec::new(), deviations: Deviations::default(), faults: Vec::new(), is_foreign: false };
        folders.iter().for_each(|folder| suite.read_folder(folder));
        suite.number_duplicates();
        suite.read_deviations(&folders[0], own);
        suite
    }

    fn read_folder(&mut self, folder: &Path) {
        let before = self.cases.len();
        match files(folder) {
            Ok(files) => files.iter().for_each(|file| self.read(file)),
            Err(error) => self.faults.push(format!("{}: {error}", folder.display())),
        }
        if self.cases.len() == before {
            self.faults.push(format!("{}: no cases", folder.display()));
        }
    }

    fn read(&mut self, file: &Path) {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        match values(file) {
            Ok(values) => self.cases.extend(values.into_iter().enumerate().map(|(i, value)| loaded(value, &stem, i))),
            Err(error) => self.faults.push(format!("{}: {error}", file.display())),
        }
    }

    /// Numbers the cases with equal names.
    fn number_duplicates(&mut self) {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for loaded in &mut self.cases {
            let count = seen.entry(loaded.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                loaded.name = format!("{}#{count}", loaded.name);
            }
        }
    }

    fn read_deviations(&mut self, folder: &Path, own: &Path) {
        let beside = [folder.join("deviations.toml")].into_iter().find(|file| file.is_file());
        self.is_foreign = !same(folder, &own.join("cases"));
        let has_table = beside.is_some();
        match Deviations::read(&beside.unwrap_or_else(|| own.join("deviations.toml"))) {
            Ok(deviations) => self.deviations = deviations,
            Err(error) => self.faults.push(error),
        }
        if !self.is_foreign || has_table {
            let stale = self.deviations.cases().filter(|name| !self.cases.iter().any(|loaded| loaded.name == *name));
            self.faults.extend(stale.map(|name| format!("a deviation names no case: {name}")));
        }
    }
}

/// This folder of the package, wherever the test runs.
fn home() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("tests").join("conformance")
}

fn same(left: &Path, right: &Path) -> bool {
    left.canonicalize().ok() == right.canonicalize().ok()
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths: std::io::Result<Vec<PathBuf>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut files: Vec<PathBuf> = paths?.into_iter().filter(|path| is_json(path)).collect();
    files.sort();
    Ok(files)
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
}

fn values(file: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    if file.extension().is_some_and(|extension| extension == "jsonl") {
        return text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect();
    }
    match parse(&text)? {
        Value::Array(cases) => Ok(cases),
        single => Ok(vec![single]),
    }
}

fn loaded(value: Value, stem: &str, index: usize) -> NamedCase {
    let name = value.get("name").and_then(Value::as_str).map_or_else(|| format!("{stem}[{index}]"), str::to_owned);
    let case = serde_json::from_value::<Case>(value).map(Arc::new).map_err(|error| format!("not expressible: {error}"));
    NamedCase { name, case }
}
