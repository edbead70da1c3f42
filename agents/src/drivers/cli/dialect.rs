//! [`AgentProgram`]: what there is to know of an agent's program, and [`Dialect`]: the way to speak with it. Knows no
//! program; each has a file of its own.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::turn::Turn;
use crate::drivers::{AgentEvent, AgentRequest};

/// Agent that is a program.
#[derive(Debug)]
pub struct AgentProgram {
    /// Name of its driver: `cli:codex`.
    pub name: &'static str,
    /// Name of its executable: `codex`.
    pub command: &'static str,
    /// Hint for an executable that is not installed.
    pub install: &'static str,
    /// Set if it reports the cost of a turn and stops at a limit of it; otherwise it reports tokens alone.
    pub reports_cost: bool,
    /// Words by which a person may mean it, in lower case.
    pub(in crate::drivers) words: &'static [&'static str],
    /// Environment variables passed to it.
    pub(super) variables: &'static [&'static str],
    pub(super) dialect: &'static dyn Dialect,
}

/// Arguments and output format of an agent's program. Pure.
pub(super) trait Dialect: fmt::Debug + Sync {
    /// Returns the arguments for a turn: `schema` is the path of the [schema file](Self::schema_file), `more` has the
    /// arguments that the user adds.
    fn args(&self, request: &AgentRequest, schema: Option<&Path>, more: &[OsString]) -> Vec<OsString>;

    /// Reads a message of the program's output into the turn, and returns what it reports. Unknown ones become notices.
    fn events(&self, turn: &mut Turn, message: &Value) -> Vec<AgentEvent>;

    /// Returns the submit tool's schema as the program reads it from a file. Default: it reads none.
    fn schema_file(&self, _schema: &Value) -> Option<Value> {
        None
    }

    /// Converts a result to the form of the submit tool's schema. Default: it has that form.
    fn restore(&self, submitted: Value) -> Value {
        submitted
    }
}
