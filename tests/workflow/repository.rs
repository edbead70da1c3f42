//! A git repository in a temporary folder, independent of the machine's configuration.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Repository {
    pub(crate) folder: tempfile::TempDir,
}

impl Repository {
    /// Creates a repository with one commit on `main`.
    pub(crate) fn new() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        this.git(&["init", "-q", "-b", "main"]);
        this.git(&["config", "user.name", "Ada"]);
        this.git(&["config", "user.email", "ada@example.org"]);
        this.write("README.md", "# Clock\n");
        this.git(&["add", "."]);
        this.git(&["commit", "-q", "-m", "begin"]);
        this
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(self.folder.path(), name, text);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args)
            .current_dir(self.folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "git {args:?}: {text}");
        text
    }

    /// Returns the subjects of a branch, oldest first.
    pub(crate) fn subjects(&self, branch: &str) -> Vec<String> {
        let log = self.git(&["log", "--reverse", "--format=%s", branch]);
        log.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
