//! How a workspace treats git: its program, environment, limits, and the files that are left alone.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use crate::process::Environment;

/// What git's environment may hold beside what any program may see, if this process has it. No keys, and no `GIT_DIR` or
/// `GIT_INDEX_FILE` of a hook that happens to be around.
const PASSED: [&str; 20] = [
    "EMAIL",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "GPG_TTY",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "PRE_COMMIT_HOME",
    // Windows.
    "SYSTEMROOT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "PATHEXT",
];

/// How a [`Workspace`](super::Workspace) treats git.
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::WorkspaceOptions;
/// let options = WorkspaceOptions::new().apart("PLAN.md").env("DATABASE_URL", "sqlite::memory:");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct WorkspaceOptions {
    pub(super) program: PathBuf,
    pub(super) apart: Vec<PathBuf>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) without: Vec<OsString>,
    pub(super) largest: u64,
    pub(super) limit: Duration,
    pub(super) commit_limit: Duration,
    pub(super) lock_wait: Duration,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            apart: vec![],
            env: vec![],
            without: vec![],
            largest: 10 * 1024 * 1024,
            limit: Duration::from_secs(120),
            commit_limit: Duration::from_secs(600),
            lock_wait: Duration::from_secs(2),
        }
    }
}

impl WorkspaceOptions {
    /// Returns the usual ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a file or folder apart, such as the plan: it is no dirt, snapshots and commits have it as HEAD has it (not at all, if it
    /// is not in HEAD), and nothing resets it. Paths count from the top of the work tree.
    pub fn apart(mut self, file: impl Into<PathBuf>) -> Self {
        self.apart.push(file.into());
        self
    }

    /// Sets a variable in the environment of git and its hooks. They get few of this process's own: where programs, homes
    /// and agents are, who commits, and the language.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Withholds a variable of this process that git would get.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.without.push(name.into());
        self
    }

    /// Sets the git program; `git` unless set.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Sets the largest size in bytes of a file that snapshots take in; 10 MiB unless set.
    pub fn largest_file(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    /// Sets how long a call of git may take; 2 minutes unless set.
    pub fn limit(mut self, time: Duration) -> Self {
        self.limit = time;
        self
    }

    /// Sets how long a commit with its hooks may take; 10 minutes unless set.
    pub fn commit_limit(mut self, time: Duration) -> Self {
        self.commit_limit = time;
        self
    }

    /// Sets how long to wait for another git program that has the index locked; 2 s unless set.
    pub fn lock_wait(mut self, time: Duration) -> Self {
        self.lock_wait = time;
        self
    }

    /// The environment of git, as far as the user decides it.
    pub(super) fn environment(&self) -> Environment {
        let passed = Environment::allowed().keep(&PASSED);
        let mut environment = self.without.iter().fold(passed, Environment::without);
        // Messages are read, so they are in English; the encoding stays the user's.
        if let Some(all) = environment.get("LC_ALL").filter(|all| !all.is_empty()).map(OsStr::to_owned) {
            environment = environment.set("LC_CTYPE", all);
        }
        let environment = environment.without("LC_ALL").without("LANGUAGE").set("LC_MESSAGES", "C");
        self.env.iter().fold(environment, |environment, (name, value)| environment.set(name, value))
    }

    /// Looks a variable up as git would see it.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.environment().get(name).map(OsStr::to_owned)
    }
}
