//! The problems of one item, so that all are reported at once. Knows no derive.

use quote::ToTokens;
use syn::{Error, Generics, Result};

/// The problems of an item so far.
#[derive(Default)]
pub(crate) struct Problems(Option<Error>);

impl Problems {
    /// Adds a problem.
    pub(crate) fn add(&mut self, problem: Error) {
        match &mut self.0 {
            Some(all) => all.combine(problem),
            None => self.0 = Some(problem),
        }
    }

    /// Adds a problem at some tokens.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, text: impl std::fmt::Display) {
        self.add(Error::new_spanned(tokens, text));
    }

    /// Returns the value of a result, and keeps its problem.
    pub(crate) fn check<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Adds a problem if the item has generic parameters; `what` it is.
    pub(crate) fn no_generics(&mut self, generics: &Generics, what: &str) {
        if !generics.params.is_empty() {
            self.at(&generics.params, format!("{what} has no generic parameters: write out the types it is used with"));
        }
    }

    /// Returns the value if there is no problem.
    pub(crate) fn or<T>(self, value: T) -> Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
