//! A shell command that checks or prepares work: the one way in which the workflows run the commands of plans, profiles
//! and verifiers. Knows processes, must not know what the result means.

use std::io;
use std::path::Path;

use crate::process::{Environment, Program, Redactor, RunEnd};

/// A command line for `sh`, with the folder of the work and the variables that it gets.
pub(super) struct CheckCommand<'a> {
    pub(super) line: &'a str,
    pub(super) directory: &'a Path,
    pub(super) environment: Environment,
    /// The number of bytes that are kept of the beginning and of the end of each output.
    pub(super) kept: [usize; 2],
}

impl CheckCommand<'_> {
    /// Returns the variables of this process that a command gets: no keys but those that the profile passes.
    pub(super) fn environment(pass: &[String]) -> Environment {
        Environment::allowed().keep(&pass.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns what hides the secrets of its environment.
    pub(super) fn redactor(&self) -> Redactor {
        Redactor::new(self.environment.secrets())
    }

    /// Runs the command until its shell has exited, and calls `alive` on each write. What it left running in the
    /// background is killed then: its result is the exit code, however long others hold its outputs open. Once `stop`
    /// is ready, it is asked to end, and killed if it does not.
    pub(super) async fn run<T>(self, stop: impl Future<Output = T>, alive: impl Fn()) -> io::Result<RunEnd<T>> {
        let Self { line, directory, environment, kept: [head, tail] } = self;
        let program = Program::new("sh")
            .args(["-c", line])
            .environment(environment)
            .directory(superstep_base::moved::here(directory));
        program.keep(tail).keep_head(head).run_until(stop, alive).await
    }
}
