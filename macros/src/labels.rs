//! `#[derive(Labels)]`: names and a list for the outcomes of a router.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DeriveInput, Ident, Variant};

use crate::problems::Problems;
use crate::{enums, stub};

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    let variants = enums::variants(input, "the outcome of a router", &mut problems);
    problems.or_stub(impls(&input.ident, &variants), || stub::outcomes(input))
}

/// Returns the impls that name and list the variants.
pub(crate) fn impls(name: &Ident, variants: &[&Variant]) -> TokenStream {
    let texts: Vec<_> = variants.iter().map(|variant| variant.ident.unraw().to_string()).collect();
    let as_ref = enums::as_ref(name, variants, &texts);
    let iterator = enums::iterator(name, variants);
    quote!(#as_ref #iterator)
}
