//! How a workspace treats git: its program, environment, limits, and the files that are left alone.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// What git's environment may hold, if this process has it. No keys, and no `GIT_DIR` or `GIT_INDEX_FILE` of a hook that
/// happens to be around.
const PASSED: [&str; 42] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "EMAIL",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
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
    // What hooks find their tools by.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "VIRTUAL_ENV",
    "PRE_COMMIT_HOME",
    // Windows.
    "SYSTEMROOT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "TEMP",
    "PATHEXT",
];

/// How a [`Workspace`](super::Workspace) treats git.
///
/// ```
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

    /// Keeps a file apart, such as the plan: it is no dirt, snapshots and commits have it as HEAD has it (not at all, if it
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
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_passed = |name: &OsStr| !self.without.iter().any(|without| without == name);
        let passed = PASSED.iter().filter(|name| is_passed(OsStr::new(name)));
        let mut env: Vec<_> = passed.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        // Messages are read, so they are in English; the encoding stays the user's.
        if let Some(all) = std::env::var_os("LC_ALL").filter(|all| !all.is_empty()) {
            env.push(("LC_CTYPE".into(), all));
        }
        env.push(("LC_MESSAGES".into(), "C".into()));
        env.extend(self.env.iter().cloned());
        env
    }

    /// Looks a variable up as git would see it.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.environment().into_iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}
