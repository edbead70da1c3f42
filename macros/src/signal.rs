//! `#[derive(Signal)]`: the stored name of a signal.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{DeriveInput, Error, LitStr, Result};

use crate::case::snake_case;
use crate::problems::Problems;
use crate::stub;

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    problems.no_generics(&input.generics, "a signal");
    let mut name = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("signal")) {
        problems.check(attribute.parse_nested_meta(|meta| read(&meta, &mut name)));
    }
    let name = name.unwrap_or_else(|| snake_case(&input.ident.unraw().to_string()));
    let header = stub::message_header(input, &quote!(::superstep::graph::Signal));
    problems.or_stub(quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #header {
            const NAME: &'static str = #name;
        }
    })
}

fn read(meta: &ParseNestedMeta<'_>, name: &mut Option<String>) -> Result<()> {
    if !meta.path.is_ident("name") {
        return Err(meta.error("unknown word; known is `name = \"…\"`"));
    }
    let literal: LitStr = meta.value()?.parse()?;
    if literal.value().is_empty() {
        return Err(Error::new(literal.span(), "a signal's name is not empty"));
    }
    if name.replace(literal.value()).is_some() { Err(meta.error("given twice")) } else { Ok(()) }
}
