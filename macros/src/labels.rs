//! `#[derive(Labels)]`: names and a list for the outcomes of a router.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DeriveInput, Result};

use crate::enums;
use crate::problems::Problems;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let mut problems = Problems::default();
    let variants = enums::variants(input, "the outcome of a router", &mut problems);
    let texts: Vec<_> = variants.iter().map(|variant| variant.ident.unraw().to_string()).collect();
    let as_ref = enums::as_ref(&input.ident, &variants, &texts);
    let iterator = enums::iterator(&input.ident, &variants);
    problems.or(quote!(#as_ref #iterator))
}
