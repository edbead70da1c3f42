//! Code of both enum derives: reading variants, and the impls of `AsRef<str>` and strum's iterator.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, Variant};

use crate::problems::Problems;

/// Returns the variants of an enum; `what` it is meant to be.
pub(crate) fn variants<'a>(input: &'a DeriveInput, what: &str, problems: &mut Problems) -> Vec<&'a Variant> {
    problems.no_generics(&input.generics, what);
    let Data::Enum(data) = &input.data else {
        problems.at(&input.ident, format!("{what} is an enum"));
        return vec![];
    };
    if data.variants.is_empty() {
        problems.at(&input.ident, format!("{what} has at least one variant"));
    }
    data.variants.iter().collect()
}

/// Returns the attributes of this name.
pub(crate) fn attributes<'a>(all: &'a [Attribute], name: &str) -> impl Iterator<Item = &'a Attribute> {
    all.iter().filter(move |attribute| attribute.path().is_ident(name))
}

/// Returns the impl of `AsRef<str>`.
pub(crate) fn as_ref(name: &Ident, variants: &[&Variant], texts: &[String]) -> TokenStream {
    let idents = variants.iter().map(|variant| &variant.ident);
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::core::convert::AsRef<str> for #name {
            fn as_ref(&self) -> &str {
                match self { #(Self::#idents { .. } => #texts,)* }
            }
        }
    }
}

/// Returns the impls of strum's `IntoEnumIterator`, in which fields hold their defaults, and of traits that require it.
///
/// It asks no `Clone` of the enum, as an iterator over a list of them would.
pub(crate) fn iterator(name: &Ident, variants: &[&Variant]) -> TokenStream {
    let count = variants.len();
    let arms = variants.iter().enumerate().map(|(at, variant)| {
        let value = by_default(name, variant);
        if at + 1 == count { quote!(_ => #value) } else { quote!(#at => #value) }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::superstep::__private::strum::IntoEnumIterator for #name {
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
        impl ::superstep::graph::Outcomes for #name {}
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
