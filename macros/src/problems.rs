//! The problems of one item, so that all are reported at once. Knows no derive.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Generics, Result};

use crate::stub;

/// The problems of an item so far.
#[derive(Default)]
pub(crate) struct Problems {
    all: Option<Error>,
    count: usize,
}

impl Problems {
    /// Adds a problem.
    pub(crate) fn add(&mut self, problem: Error) {
        self.count += 1;
        match &mut self.all {
            Some(all) => all.combine(problem),
            None => self.all = Some(problem),
        }
    }

    /// Adds a problem at some tokens.
    pub(crate) fn add_at(&mut self, tokens: impl ToTokens, text: impl std::fmt::Display) {
        self.add(Error::new_spanned(tokens, text));
    }

    /// Returns the value of a result, and keeps its problem.
    pub(crate) fn check<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|problem| self.add(problem)).ok()
    }

    /// Adds a problem if the item has generic parameters; `what` it is.
    pub(crate) fn no_generics(&mut self, generics: &Generics, what: &str) {
        if !generics.params.is_empty() {
            self.add_at(
                &generics.params,
                format!("{what} has no generic parameters: write out the types it is used with"),
            );
        }
    }

    /// Returns the number of problems so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the expansion if there is no problem. Otherwise returns the problems, with the expansion without bodies, so
    /// that code that uses the item compiles and the mistake is the only error.
    pub(crate) fn or_stub(self, expansion: TokenStream) -> TokenStream {
        let Some(problems) = self.all.map(Error::into_compile_error) else { return expansion };
        let stub = stub::of(expansion);
        quote!(#problems #stub)
    }
}
