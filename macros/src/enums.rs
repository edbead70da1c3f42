//! Code of the enum derives: reading variants, and the impls that name and list them.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, Variant};

use crate::problems::Problems;
use crate::stub::plain_header;

/// Returns the variants of an enum; `what` it is meant to be.
pub(crate) fn variants<'a>(input: &'a DeriveInput, what: &str, problems: &mut Problems) -> Vec<&'a Variant> {
    problems.no_generics(&input.generics, what);
    let Data::Enum(data) = &input.data else {
        problems.add_at(&input.ident, format!("{what} is an enum"));
        return vec![];
    };
    if data.variants.is_empty() {
        problems.add_at(&input.ident, format!("{what} has at least one variant"));
    }
    data.variants.iter().collect()
}

/// Returns the attributes of this name.
pub(crate) fn attributes<'a>(all: &'a [Attribute], name: &str) -> impl Iterator<Item = &'a Attribute> {
    all.iter().filter(move |attribute| attribute.path().is_ident(name))
}

/// Returns the impls that name and list the variants: `AsRef<str>`, and strum's `IntoEnumIterator`, in which fields hold their
/// defaults, with the trait that requires both.
///
/// The iterator asks no `Clone` of the enum, as one over a list of them would.
pub(crate) fn outcomes(input: &DeriveInput, variants: &[&Variant], texts: &[String]) -> TokenStream {
    let (name, count) = (&input.ident, variants.len());
    let idents = variants.iter().map(|variant| &variant.ident);
    let arms = variants.iter().enumerate().map(|(at, variant)| {
        let value = by_default(name, variant);
        if at + 1 == count { quote!(_ => #value) } else { quote!(#at => #value) }
    });
    let as_ref = plain_header(input, &quote!(::core::convert::AsRef<str>));
    let iterator = plain_header(input, &quote!(::superstep::__private::strum::IntoEnumIterator));
    let outcomes = plain_header(input, &quote!(::superstep::__private::Outcomes));
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        #as_ref {
            fn as_ref(&self) -> &str {
                match self { #(Self::#idents { .. } => #texts,)* }
            }
        }
        #[automatically_derived]
        #[allow(deprecated)]
        #iterator {
            type Iterator = ::core::iter::Map<::core::ops::Range<usize>, fn(usize) -> Self>;

            fn iter() -> Self::Iterator {
                fn at(index: usize) -> #name {
                    match index { #(#arms,)* }
                }
                (0..#count).map(at as fn(usize) -> Self)
            }
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #outcomes {}
    }
}

fn by_default(name: &Ident, variant: &Variant) -> TokenStream {
    let ident = &variant.ident;
    let default = quote!(::core::default::Default::default());
    match &variant.fields {
        Fields::Unit => quote!(#name::#ident),
        Fields::Unnamed(fields) => {
            let defaults = fields.unnamed.iter().map(|_| &default);
            quote!(#name::#ident(#(#defaults),*))
        }
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!(#name::#ident { #(#names: #default),* })
        }
    }
}
