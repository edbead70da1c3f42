//! Discovery of the command that builds or tests a repository, from its top-level files. Pure.

use serde_json::Value;

/// Folders with Python files that are not the repository's.
const FOREIGN: &str = r"(^|/)(\.git|\.tox|\.venv|venv|node_modules)/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Build,
    Test,
}

/// The top level of a repository.
#[derive(Clone, Debug, Default)]
pub(super) struct Top {
    /// Names of its files and folders.
    pub(super) names: Vec<String>,
    /// The text of `package.json`.
    pub(super) package: Option<String>,
    /// The text of the makefile.
    pub(super) makefile: Option<String>,
    /// The text of `.gitignore`.
    pub(super) ignored: Option<String>,
}

impl Purpose {
    /// Returns the purpose of the built-in verifiers that discover a command.
    pub(super) fn of(verifier: &str) -> Option<Self> {
        match verifier {
            "build" => Some(Self::Build),
            "test" => Some(Self::Test),
            _ => None,
        }
    }
}

pub(super) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the command for a repository, from the first of cargo, npm, go, python and make that has one.
pub(super) fn discovered(purpose: Purpose, top: &Top) -> Option<String> {
    [cargo, npm, go, python, make].into_iter().find_map(|tool| tool(purpose, top))
}

impl Top {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }
}

/// Builds outside of a work tree whose `.gitignore` does not list `target`.
fn cargo(purpose: Purpose, top: &Top) -> Option<String> {
    let verb = match purpose {
        Purpose::Build => "build",
        Purpose::Test => "test",
    };
    let is_target = |line: &str| line.trim().trim_matches('/').trim_start_matches("**/") == "target";
    let is_ignored = top.ignored.as_deref().is_some_and(|text| text.lines().any(is_target));
    let place = if is_ignored { "" } else { r#"CARGO_TARGET_DIR="${TMPDIR:-/tmp}/superstep-target" "# };
    top.has("Cargo.toml").then(|| format!("{place}cargo {verb}"))
}

fn npm(purpose: Purpose, top: &Top) -> Option<String> {
    let package: Value = serde_json::from_str(top.package.as_deref()?).ok()?;
    let (script, command) = match purpose {
        Purpose::Build => ("build", "npm run build"),
        Purpose::Test => ("test", "npm test"),
    };
    let line = package["scripts"][script].as_str()?;
    // The placeholder that `npm init` writes.
    (!line.contains("no test specified")).then(|| command.to_owned())
}

fn go(purpose: Purpose, top: &Top) -> Option<String> {
    let verb = match purpose {
        Purpose::Build => "build",
        Purpose::Test => "test",
    };
    top.has("go.mod").then(|| format!("go {verb} ./..."))
}

/// Neither command leaves files in the work tree.
fn python(purpose: Purpose, top: &Top) -> Option<String> {
    let is_python = top.has_any(&["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"])
        || top.names.iter().any(|name| name.ends_with(".py"));
    let is_test = |name: &String| name.starts_with("test_") && name.ends_with(".py") || name.ends_with("_test.py");
    let has_tests = top.has_any(&["tests", "test", "pytest.ini", "conftest.py"]) || top.names.iter().any(is_test);
    match purpose {
        Purpose::Build => is_python.then(|| {
            let cache = r#"PYTHONPYCACHEPREFIX="${TMPDIR:-/tmp}/superstep-pycache""#;
            format!("{cache} python3 -m compileall -q -f -x '{FOREIGN}' .")
        }),
        Purpose::Test => (is_python && has_tests).then(|| {
            let with = "python3 -m pytest -q -p no:cacheprovider";
            let check = "python3 -c 'import pytest' 2>/dev/null";
            format!("export PYTHONDONTWRITEBYTECODE=1; if {check}; then {with}; else python3 -m unittest discover; fi")
        }),
    }
}

fn make(purpose: Purpose, top: &Top) -> Option<String> {
    let text = top.makefile.as_deref()?;
    let has = |target: &str| text.lines().any(|line| is_target(line, target));
    match purpose {
        Purpose::Build if has("build") => Some("make build".into()),
        Purpose::Build => Some("make".into()),
        Purpose::Test => {
            ["test", "check"].into_iter().find(|target| has(target)).map(|target| format!("make {target}"))
        }
    }
}

/// Returns true if a line of a makefile starts the rule of a target.
fn is_target(line: &str, target: &str) -> bool {
    let Some((names, rest)) = line.split_once(':') else { return false };
    !line.starts_with([' ', '\t']) && !rest.starts_with('=') && names.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SCRIPTS: &str = r#"{"scripts": {"build": "tsc", "test": "vitest run"}}"#;
    const NEW: &str = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;

    #[rstest]
    #[case::nothing(&["README.md"], "", "", [None, None])]
    #[case::cargo(&["Cargo.toml", "Makefile"], "", "build:\n", [Some("cargo build"), Some("cargo test")])]
    #[case::npm(&["package.json"], SCRIPTS, "", [Some("npm run build"), Some("npm test")])]
    #[case::npm_without_scripts(&["package.json"], "{}", "", [None, None])]
    #[case::npm_as_new(&["package.json"], NEW, "", [None, None])]
    #[case::npm_that_is_no_json(&["package.json"], "{", "", [None, None])]
    #[case::npm_without_scripts_and_make(&["package.json", "Makefile"], "{}", "all:\n", [Some("make"), None])]
    #[case::go(&["go.mod", "main.go"], "", "", [Some("go build ./..."), Some("go test ./...")])]
    #[case::make(&["Makefile"], "", "all: a\n\tcc a.c\n", [Some("make"), None])]
    #[case::make_build_and_check(&["makefile"], "", ".PHONY: x\nbuild check:\n", [Some("make build"), Some("make check")])]
    #[case::make_variables(&["Makefile"], "", "test := 1\nbuild:=2\n\ttest:\n", [Some("make"), None])]
    #[case::python_without_tests(&["main.py"], "", "", [Some("compileall"), None])]
    #[case::python(&["pyproject.toml", "tests"], "", "", [Some("compileall"), Some("pytest")])]
    #[case::python_with_a_test(&["a.py", "test_a.py"], "", "", [Some("compileall"), Some("pytest")])]
    #[case::tests_of_something_else(&["tests", "README.md"], "", "", [None, None])]
    fn a_command_is_found_by_the_files_at_the_top(
        #[case] names: &[&str],
        #[case] package: &str,
        #[case] makefile: &str,
        #[case] expected: [Option<&str>; 2],
    ) {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let ignored = Some("*.log\n/target/\n".to_owned());
        let top = Top { names, package: text(package), makefile: text(makefile), ignored };
        for (purpose, expected) in [Purpose::Build, Purpose::Test].into_iter().zip(expected) {
            let found = discovered(purpose, &top);
            let is_expected = match (&found, expected) {
                (Some(found), Some(part @ ("compileall" | "pytest"))) => found.contains(part),
                (found, expected) => found.as_deref() == expected,
            };
            assert!(is_expected, "{found:?}, not {expected:?}");
        }
    }

    #[rstest]
    #[case::not_there(None)]
    #[case::something_else(Some("targets\n"))]
    fn what_cargo_builds_is_outside_where_it_is_not_ignored(#[case] ignored: Option<&str>) {
        let top = Top { names: vec!["Cargo.toml".into()], ignored: ignored.map(str::to_owned), ..Top::default() };
        let found = discovered(Purpose::Build, &top).unwrap();
        assert_eq!(found, r#"CARGO_TARGET_DIR="${TMPDIR:-/tmp}/superstep-target" cargo build"#);
    }
}
