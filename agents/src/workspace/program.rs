//! Calls of the git program. Must not know their purpose.
//!
//! Arguments are a vector, input is passed on stdin, the environment is an allow-list, and the process leads its own
//! group, which is ended at its time limit or when the future is dropped. Except for commits, no program from a
//! repository's configuration is run, apart from filters (`filter.*`), without which a snapshot would differ from a
//! commit.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::error::WorkspaceError;
use super::git_locks::{Locks, locked_error, named_in};
use super::guard::{borrowed_hooks, ensure_trusted, renew_trust};
use super::lock_note::{LockNote, VARIABLE};
use super::options::{COMMIT_LIMIT, COMMIT_TIMEOUT, LIMIT, TIMEOUT};
use super::place::{Place, join};
use crate::process::run_blocking;
use crate::process::{BoundedRun, Bounds, Environment, Program, ProgramEnd, Redactor};

/// Number of bytes kept of the error output of git or a hook.
const STDERR_BYTES: usize = 8 * 1024;
/// Maximum output of git in bytes: far more than the names of a million files.
const STDOUT_BYTES: u64 = 256 * 1024 * 1024;
/// Time the outputs may stay open after git has ended: a hook may have left a process running.
const LINGER: Duration = Duration::from_millis(500);

/// Settings of every call: no configured monitor, no background work, and retries while another git is finishing.
const ALWAYS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.filesRefLockTimeout=10000",
    "core.packedRefsTimeout=10000",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "core.editor=:",
];
/// Settings of calls without hooks.
const PLAIN: [&str; 5] =
    ["core.hooksPath=/dev/null", "core.safecrlf=false", "core.pager=cat", "diff.external=", "credential.helper="];

#[must_use]
pub(super) struct Call<'a> {
    place: &'a Arc<Place>,
    args: Vec<OsString>,
    input: Vec<u8>,
    index: Option<&'a Path>,
    hooks: bool,
    locks: Option<Locks>,
    /// Variables for this call alone.
    variables: Vec<(&'static str, String)>,
}

/// Result of a call.
pub(super) struct CallOutput {
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    /// End of the error output.
    pub(super) stderr: String,
}

impl<'a> Call<'a> {
    pub(super) fn new(place: &'a Arc<Place>, args: &[&str]) -> Self {
        Self {
            place,
            args: args.iter().map(OsString::from).collect(),
            input: vec![],
            index: None,
            hooks: false,
            locks: None,
            variables: vec![],
        }
    }

    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(super) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Uses another index than the user's.
    pub(super) fn with_index(mut self, index: &'a Path) -> Self {
        self.index = Some(index);
        self
    }

    /// Sets variables of its environment.
    pub(super) fn variables(mut self, variables: Vec<(&'static str, String)>) -> Self {
        self.variables = variables;
        self
    }

    /// Runs hooks and uses signing keys, with the longer time limit.
    pub(super) fn with_hooks(mut self) -> Self {
        self.hooks = true;
        self
    }

    /// Waits for the locks of these files, and notes them and all others that git may leave behind if it is killed.
    pub(super) fn with_locks(mut self, files: &[&str]) -> Self {
        self.locks = Some(Locks::of(self.place, files).with_all(self.place));
        self
    }

    /// Runs it and returns its output; a nonzero exit code is an error.
    pub(super) async fn output(self) -> Result<Vec<u8>, WorkspaceError> {
        let command = self.command_line();
        let answer = self.run().await?;
        match answer.code {
            Some(0) => Ok(answer.stdout),
            code => Err(WorkspaceError::GitFailed { command, code, output: answer.stderr.trim().to_owned() }),
        }
    }

    /// Runs it to its end, whatever the exit code.
    pub(super) async fn run(self) -> Result<CallOutput, WorkspaceError> {
        let options = &self.place.options;
        // Git executes hooks and configuration: refuse the call if they are no longer trusted.
        self.ensure_allowed().await?;
        let limit = match self.hooks {
            true => options.commit_limit.unwrap_or(COMMIT_LIMIT),
            false => options.limit.unwrap_or(LIMIT),
        };
        let bounds = Bounds { time: limit, output: STDOUT_BYTES, linger: LINGER };
        // The note survives a kill of this process: a later run removes the locks that it names.
        let note = self.note_locks(limit).await?;
        let ran = self.program(note.as_ref()).run_watched_within(&bounds).await;
        // The program has ended; its note goes too, unless one of its locks still exists.
        if let Some(note) = note {
            self.run_blocking(move |place| {
                note.end(place);
                Ok(())
            })
            .await?;
        }
        if self.hooks {
            // Changes by trusted hooks are trusted.
            self.run_blocking(|place| {
                renew_trust(place);
                Ok(())
            })
            .await?;
        }
        let unusable = |source| WorkspaceError::GitMissing { program: options.program.clone(), source };
        let (BoundedRun { how, out, err }, children) = ran.map_err(unusable)?;
        match how {
            ProgramEnd::Exited(status) => {
                let answer = CallOutput { code: status.code(), stdout: out.take(), stderr: err.text() };
                // 128 is git's code for fatal errors, such as a lock that another program holds.
                match named_in(&answer.stderr).filter(|_| answer.code == Some(128)) {
                    Some(lock) => Err(locked_error(self.place.root.join(lock))),
                    None => Ok(answer),
                }
            }
            ProgramEnd::TooMuch => Err(unusable(io::Error::other("its answer is too long"))),
            ProgramEnd::TooLong => {
                let setting = if self.hooks { COMMIT_TIMEOUT } else { TIMEOUT };
                // Command lines may contain keys.
                let waited_for = (!children.is_empty()).then(|| Redactor::keys().redact(&children.join("`, `")));
                Err(WorkspaceError::TimedOut { command: self.command_line(), limit, waited_for, setting })
            }
        }
    }

    /// Notes the locks that it takes.
    async fn note_locks(&self, limit: Duration) -> Result<Option<LockNote>, WorkspaceError> {
        let Some(locks) = self.locks.clone() else { return Ok(None) };
        let place = Arc::clone(self.place);
        let noted = run_blocking(move || locks.wait_and_note(&place, limit)).await;
        join(noted, &self.place.root).map(Some)
    }

    /// Runs work on files, on a blocking thread.
    async fn run_blocking(
        &self,
        work: impl FnOnce(&Place) -> Result<(), WorkspaceError> + Send + 'static,
    ) -> Result<(), WorkspaceError> {
        let place = Arc::clone(self.place);
        join(run_blocking(move || work(&place)).await, &self.place.root)
    }

    async fn ensure_allowed(&self) -> Result<(), WorkspaceError> {
        const WITH_FILES_ALONE: [&str; 6] =
            ["status", "update-index", "read-tree", "write-tree", "checkout-index", "version"];
        if self.place.separate_git_dir.is_none() {
            return self.run_blocking(ensure_trusted).await;
        }
        let is_allowed = self.args.first().is_some_and(|first| WITH_FILES_ALONE.iter().any(|name| first == *name));
        if is_allowed && !self.hooks { Ok(()) } else { Err(WorkspaceError::Guarded { command: self.command_line() }) }
    }

    fn command_line(&self) -> String {
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        args.join(" ")
    }

    fn program(&self, note: Option<&LockNote>) -> Program {
        let settings = ALWAYS.iter().chain(if self.hooks { &[][..] } else { &PLAIN[..] });
        let hooks = if self.hooks { borrowed_hooks(self.place) } else { None };
        let settings: Vec<&str> =
            settings.copied().chain(hooks.as_deref()).flat_map(|setting| ["-c", setting]).collect();
        let environment = self.environment();
        let environment = note.iter().fold(environment, |environment, note| environment.set(VARIABLE, note.id()));
        let program = Program::new(&self.place.options.program).args(settings).args(&self.args);
        let program = program.directory(&self.place.root).environment(environment).stdin(self.input.as_slice());
        // Git leaves nothing half done, and a hook may be in the middle of something.
        program.keep(STDERR_BYTES).keep_output(usize::try_from(STDOUT_BYTES).unwrap_or(usize::MAX)).outlive_parent()
    }

    /// Uses a separate folder for git without configuration.
    fn without_config(&self, environment: Environment) -> Environment {
        let nothing = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1")];
        let environment = nothing.iter().fold(environment, |environment, (name, value)| environment.set(name, value));
        environment
            .without("GIT_CONFIG_SYSTEM")
            .set("GIT_DIR", &self.place.git_dir)
            .set("GIT_WORK_TREE", &self.place.root)
            .set("GIT_OBJECT_DIRECTORY", self.place.common_dir.join("objects"))
    }

    fn environment(&self) -> Environment {
        let all = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", ":"), ("GIT_PAGER", "cat")];
        let plain = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_LITERAL_PATHSPECS", "1")];
        let set = all.iter().chain(if self.hooks { &[][..] } else { &plain[..] });
        let environment = self.place.options.environment();
        let mut environment = set.fold(environment, |environment, (name, value)| environment.set(name, value));
        if let Some(above) = self.place.root.parent() {
            environment = environment.set("GIT_CEILING_DIRECTORIES", above);
        }
        if self.place.separate_git_dir.is_some() {
            environment = self.without_config(environment);
        }
        let own = self.variables.iter();
        environment = own.fold(environment, |environment, (name, value)| environment.set(name, value));
        self.index.into_iter().fold(environment, |environment, index| environment.set("GIT_INDEX_FILE", index))
    }
}
