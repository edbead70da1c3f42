//! Reads `#[state(…)]`, the words above the struct. Makes no code.

use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, LitStr, Result, Token};

use crate::problems::Problems;

/// The words above a state.
#[derive(Default)]
pub(super) struct StateWords {
    /// The names of the channels that are gone for good.
    pub(super) removed: Vec<LitStr>,
    /// Set if the types of the channels have JSON Schemas.
    pub(super) has_schema: bool,
}

impl StateWords {
    pub(super) fn of(input: &DeriveInput, problems: &mut Problems) -> Self {
        let mut words = Self::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("state")) {
            problems.check(attribute.parse_nested_meta(|meta| words.read(&meta)));
        }
        words
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("schema") {
            self.has_schema = true;
            return Ok(());
        }
        if !meta.path.is_ident("removed") {
            return Err(meta.error(
                "unknown word; known are `removed(\"…\")`, the names of removed fields, and `schema`, for JSON Schemas",
            ));
        }
        let inner;
        syn::parenthesized!(inner in meta.input);
        let read = Punctuated::<LitStr, Token![,]>::parse_terminated(&inner)?;
        if read.is_empty() {
            return Err(meta.error("`removed` needs at least one field name"));
        }
        self.removed.extend(read);
        Ok(())
    }
}
