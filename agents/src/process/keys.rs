//! The keys of this process: values of environment variables that must not appear in files or output.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::environment::{is_secret, password};

/// The minimum length of a key in bytes; shorter values occur in files by chance.
const MIN_LEN: usize = 8;

/// Variables that hold keys although their names do not show it.
static KEY_VARIABLES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A key in the environment of this process. Its `Debug` output shows the variable but not the value.
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
    /// Returns the keys in this process's environment: values of variables with secret names (`KEY`, `TOKEN`, `SECRET`,
    /// `PASSWORD`) or from which drivers read keys, and the passwords in addresses. Values shorter than 8 bytes, values
    /// with spaces and paths do not count.
    pub fn known() -> Vec<Self> {
        let registered = KEY_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let key = |(variable, value): (std::ffi::OsString, std::ffi::OsString)| {
            let (name, value) = (variable.into_string().ok()?, value.into_string().ok()?);
            let secret = if is_secret(name.as_ref()) || registered.contains(&name) {
                value.trim().to_owned()
            } else {
                password(&value)?.to_owned()
            };
            Self::new(name, secret)
        };
        std::env::vars_os().filter_map(key).collect()
    }

    /// Returns a key, or `None` if the value cannot be one.
    pub fn new(variable: impl Into<String>, value: impl Into<String>) -> Option<Self> {
        let (variable, value) = (variable.into(), value.into());
        let is_key = value.len() >= MIN_LEN && !value.contains(char::is_whitespace) && !value.starts_with(['/', '~']);
        is_key.then_some(Self { variable, value })
    }

    /// Registers a variable that holds a key.
    pub(crate) fn note(variable: &str) {
        KEY_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner).insert(variable.to_owned());
    }

    /// Returns the name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub(super) fn into_value(self) -> String {
        self.value
    }

    /// Returns the byte offset of the value in a text.
    pub fn place_in(&self, text: &str) -> Option<usize> {
        text.find(&self.value)
    }
}
