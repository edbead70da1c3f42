//! The files that the rules hold for.

use std::fs;
use std::path::Path;

/// The source folders of all crates.
pub(crate) const SHIPPED: [&str; 11] = [
    "src",
    "agents/src",
    "verify/src",
    "base/src",
    "macros/src",
    "workflows/src",
    "metrics/src",
    "restate/src",
    "server/src",
    "app/src",
    "cli/src",
];

/// Returns whether a file is of a crate, and no test.
pub(crate) fn is_shipped(name: &str) -> bool {
    SHIPPED.iter().any(|root| name.strip_prefix(root).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns every file that a rule holds for, by its path from the repository's root.
pub(crate) fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in SHIPPED {
        collect(root, folder, true, &mut files);
    }
    for folder in ["macros/tests", "examples", "benches"] {
        collect(root, folder, false, &mut files);
    }
    files.sort();
    files
}

fn collect(root: &Path, folder: &str, below: bool, files: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries.map(Result::unwrap) {
        let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if below {
                collect(root, &name, below, files);
            }
        } else if name.ends_with(".rs") {
            files.push((name.clone(), fs::read_to_string(root.join(&name)).unwrap()));
        }
    }
}
