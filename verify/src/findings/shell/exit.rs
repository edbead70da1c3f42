//! The end of a command, and its output.

use std::time::Duration;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With an exit code.
    Code(i32),
    /// By a signal, whose number may not be known.
    Signal(Option<i32>),
    /// By its time limit.
    TimedOut(Duration),
}

impl Exit {
    /// Returns whether the exit code is 0.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Describes the exit of `command` in words.
    #[must_use]
    pub fn describe(self, command: &str) -> String {
        match self {
            Self::Code(code) => format!("`{command}` ended with {code}"),
            Self::Signal(None) => format!("`{command}` was killed by a signal"),
            Self::Signal(Some(signal)) => format!("`{command}` was killed by signal {signal}"),
            Self::TimedOut(limit) => format!("`{command}` took longer than {} s and was killed", limit.as_secs_f64()),
        }
    }

    /// Describes an exit without an exit code. Used in the fingerprint, which ignores numbers.
    pub(super) fn code(self) -> Option<String> {
        match self {
            Self::Code(_) => None,
            Self::Signal(signal) => Some(signal.map_or("signal".to_owned(), |signal| format!("signal {signal}"))),
            Self::TimedOut(_) => Some("timeout".to_owned()),
        }
    }

    /// Returns whether the command never ran: the shell did not find it, or could not execute it.
    pub(super) fn is_missing(self) -> bool {
        matches!(self, Self::Code(126 | 127))
    }
}

/// The output and exit of a command.
#[derive(Clone, Copy, Debug)]
pub struct ShellOutput<'a> {
    /// Its standard output.
    pub stdout: &'a [u8],
    /// Its standard error.
    pub stderr: &'a [u8],
    /// Its end.
    pub exit: Exit,
}
