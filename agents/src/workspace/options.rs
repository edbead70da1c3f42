//! Options of a workspace: git program, environment, limits, and excluded files.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Key of git's configuration with the time limit of a call of git.
pub(super) const TIMEOUT: &str = "superstep.timeout";
/// Key of git's configuration with the time limit of a commit with its hooks.
pub(super) const COMMIT_TIMEOUT: &str = "superstep.commitTimeout";
/// Time limit of a call of git, unless another is set.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// Time limit of a commit with its hooks, unless another is set.
pub(super) const COMMIT_LIMIT: Duration = Duration::from_secs(600);

use crate::process::Environment;

/// Variables passed to git beside the generally allowed ones. No keys, and no `GIT_DIR` or `GIT_INDEX_FILE` of a
/// surrounding hook.
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

/// Options of a [`Workspace`](super::Workspace).
///
/// ```
/// # use superstep_agents as superstep;
/// # use superstep::workspace::WorkspaceOptions;
/// let options = WorkspaceOptions::new().exclude("PLAN.md").env("DATABASE_URL", "sqlite::memory:");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct WorkspaceOptions {
    pub(super) program: PathBuf,
    pub(super) apart: Vec<PathBuf>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) without: Vec<OsString>,
    pub(super) largest: u64,
    pub(super) limit: Option<Duration>,
    pub(super) commit_limit: Option<Duration>,
    pub(super) lock_wait: Duration,
    pub(super) thread: Option<String>,
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            apart: vec![],
            env: vec![],
            without: vec![],
            largest: 10 * 1024 * 1024,
            limit: None,
            commit_limit: None,
            lock_wait: Duration::from_secs(10),
            thread: None,
        }
    }
}

impl WorkspaceOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Excludes a file or folder, such as the plan: it does not count as a change, snapshots and commits have it as
    /// HEAD has it (or not at all), and no reset touches it. Paths are relative to the top of the work tree.
    pub fn exclude(mut self, file: impl Into<PathBuf>) -> Self {
        self.apart.push(file.into());
        self
    }

    /// Sets an environment variable of git and its hooks. They get few variables of this process: locations of
    /// programs, homes and agents, the identity of the committer, and the language.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Does not pass a variable of this process to git.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.without.push(name.into());
        self
    }

    /// Sets the git program. Default: `git`.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Sets the maximum size in bytes of a file in snapshots. Default: 10 MiB.
    pub fn largest_file(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    /// Sets the time limit of a call of git. Default: `superstep.timeout` of git's configuration, or else 2 minutes.
    pub fn limit(mut self, time: Duration) -> Self {
        self.limit = Some(time);
        self
    }

    /// Sets the time limit of a commit with its hooks. Default: `superstep.commitTimeout` of git's configuration, or else
    /// 10 minutes.
    pub fn commit_limit(mut self, time: Duration) -> Self {
        self.commit_limit = Some(time);
        self
    }

    /// Sets the time to wait for a lock of another git program. Default: 10 s.
    pub fn lock_wait(mut self, time: Duration) -> Self {
        self.lock_wait = time;
        self
    }

    /// Keeps every tree and commit that is made for a thread, under `refs/superstep/THREAD/objects`: git's garbage
    /// collection would remove them, because no branch has them.
    pub fn thread(mut self, name: impl Into<String>) -> Self {
        self.thread = Some(name.into());
        self
    }

    /// Returns the configurable part of git's environment.
    pub(super) fn environment(&self) -> Environment {
        let passed = Environment::from_process().keep(&PASSED);
        let mut environment = self.without.iter().fold(passed, Environment::without);
        // Messages are parsed, so they must be English; the encoding is kept.
        if let Some(all) = environment.get("LC_ALL").filter(|all| !all.is_empty()).map(OsStr::to_owned) {
            environment = environment.set("LC_CTYPE", all);
        }
        let environment = environment.without("LC_ALL").without("LANGUAGE").set("LC_MESSAGES", "C");
        self.env.iter().fold(environment, |environment, (name, value)| environment.set(name, value))
    }

    /// Returns a variable as git would see it.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.environment().get(name).map(OsStr::to_owned)
    }
}
