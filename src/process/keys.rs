//! The keys that this process knows: values of environment variables that must not be in files or in what is shown.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::environment::{is_secret, password};

/// What is shorter is found in files by chance.
const SHORTEST: usize = 8;

/// Variables that hold keys, whatever their names say.
static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A key in the environment of this process. Shows its variable, and its value to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    variable: String,
    value: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl Key {
    /// Returns the keys of this process's environment: values of variables whose names say so (`KEY`, `TOKEN`, `SECRET`,
    /// `PASSWORD`), of those from which drivers read keys, and the passwords in addresses. Values of fewer than 8 bytes, with
    /// spaces, and paths are none.
    pub fn known() -> Vec<Self> {
        let noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |(variable, value): (std::ffi::OsString, std::ffi::OsString)| {
            let (name, value) = (variable.into_string().ok()?, value.into_string().ok()?);
            let secret = if is_secret(name.as_ref()) || noted.contains(&name) {
                value.trim().to_owned()
            } else {
                password(&value)?.to_owned()
            };
            Self::new(name, secret)
        };
        std::env::vars_os().filter_map(key).collect()
    }

    /// Returns a key, if the value can be one.
    pub fn new(variable: impl Into<String>, value: impl Into<String>) -> Option<Self> {
        let (variable, value) = (variable.into(), value.into());
        let is_key = value.len() >= SHORTEST && !value.contains(char::is_whitespace) && !value.starts_with(['/', '~']);
        is_key.then_some(Self { variable, value })
    }

    /// Notes that a variable holds a key.
    pub(crate) fn note(variable: &str) {
        NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(variable.to_owned());
    }

    /// Returns the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub(super) fn into_value(self) -> String {
        self.value
    }

    /// Returns where a text holds the value, in bytes.
    pub fn place_in(&self, text: &str) -> Option<usize> {
        text.find(&self.value)
    }
}
