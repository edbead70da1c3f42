//! The lines `cargo add` of the pages work, and those of the README are all that its first program needs.

use std::path::Path;
use std::process::Command;

use super::{README, files, read, root};

/// Returns the lines `cargo add ...` of a page, without their comments.
fn lines(page: &str) -> Vec<String> {
    let starts = page.match_indices("cargo add ").map(|(at, _)| &page[at..]);
    let ended = starts.map(|rest| rest.split(['\n', '`', '#']).next().unwrap_or_default().trim().to_owned());
    ended.collect()
}

/// Runs one line in a package; paths beside a clone lead to this repository.
fn add(line: &str, package: &Path) -> Result<(), String> {
    let beside = root().display().to_string();
    let words =
        line.split(' ').skip(2).filter(|word| !word.is_empty()).map(|word| word.replace("../superstep", &beside));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["add", "--offline", "--quiet"]).args(words).current_dir(package).env_remove("CARGO_MANIFEST_DIR");
    let output = cargo.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{line}:\n{text}")) }
}

fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[package]\nname = \"own\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), "").unwrap();
    folder
}

#[test]
fn each_line_that_adds_a_dependency_works() {
    let mut pages = files("docs", ".md");
    pages.push("README.md".to_owned());
    let mut tried = 0;
    for page in pages {
        let package = package();
        for line in lines(&read(&page)) {
            add(&line, package.path()).unwrap_or_else(|error| panic!("{page}: {error}"));
            tried += 1;
        }
    }
    assert!(tried >= 8, "{tried} lines");
}

#[test]
fn a_line_with_an_unknown_feature_fails() {
    let error = add("cargo add superstep --path ../superstep --features app", package().path()).unwrap_err();
    assert!(error.contains("app"), "{error}");
}

/// Returns the dependencies of a manifest, and their features.
fn dependencies(manifest: &str) -> toml::Table {
    let manifest: toml::Table = manifest.parse().unwrap();
    let dependency = |(name, value): (&String, &toml::Value)| {
        let features = value.get("features").cloned().unwrap_or_else(|| toml::Value::Array(vec![]));
        (name.clone(), features)
    };
    manifest["dependencies"].as_table().unwrap().iter().map(dependency).collect()
}

#[test]
fn first_program_needs_what_the_readme_adds() {
    let package = package();
    lines(README).iter().for_each(|line| add(line, package.path()).unwrap());
    let added = std::fs::read_to_string(package.path().join("Cargo.toml")).unwrap();
    assert_eq!(dependencies(&added), dependencies(&read("tests/features/first/Cargo.toml")));
}
