//! `#[derive(Labels)]`: names and a list for the outcomes of a router.

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::{DeriveInput, Variant};

use crate::enums;
use crate::problems::Problems;

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    let variants = enums::variants(input, "the outcome of a router", &mut problems);
    problems.or_stub(impls(input, &variants))
}

/// Returns the impls that name and list the variants.
pub(crate) fn impls(input: &DeriveInput, variants: &[&Variant]) -> TokenStream {
    let texts: Vec<_> = variants.iter().map(|variant| variant.ident.unraw().to_string()).collect();
    enums::outcomes(input, variants, &texts)
}
