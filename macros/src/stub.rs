//! Stubs of the expansions: the same items, with bodies that are never run. They stand beside an error of a derive, so that
//! what uses the item is no error too.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields};

/// Returns `impl Trait for Item`; an item with parameters, which it should not have, also gets `bounds`.
pub(crate) fn header(input: &DeriveInput, of: &TokenStream, bounds: &TokenStream) -> TokenStream {
    let (with, ty, clause) = input.generics.split_for_impl();
    let name = &input.ident;
    if input.generics.params.is_empty() {
        return quote!(impl #of for #name);
    }
    let clause = clause.map_or_else(|| quote!(where), |clause| quote!(#clause,));
    quote!(impl #with #of for #name #ty #clause #name #ty: #bounds)
}

fn plain(input: &DeriveInput, of: &TokenStream) -> TokenStream {
    header(input, of, &quote!(::core::marker::Sized))
}

/// Returns the header for a question or a signal.
pub(crate) fn message(input: &DeriveInput, of: &TokenStream) -> TokenStream {
    let serde = quote!(::superstep::__private::serde);
    let bounds = quote!(#serde::Serialize + #serde::de::DeserializeOwned + ::core::marker::Send + 'static);
    header(input, of, &bounds)
}

/// Returns the traits that all sets of names share.
pub(crate) fn outcomes(input: &DeriveInput) -> TokenStream {
    let as_ref = plain(input, &quote!(::core::convert::AsRef<str>));
    let iterator = plain(input, &quote!(::superstep::__private::strum::IntoEnumIterator));
    let outcomes = plain(input, &quote!(::superstep::graph::Outcomes));
    quote! {
        #[automatically_derived]
        #as_ref {
            fn as_ref(&self) -> &str {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #iterator {
            type Iterator = ::core::iter::Map<::core::ops::Range<usize>, fn(usize) -> Self>;

            fn iter() -> Self::Iterator {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #outcomes {}
    }
}

/// Returns the outcomes of a router that lead to nodes of any graph.
pub(crate) fn route(input: &DeriveInput) -> TokenStream {
    let outcomes = outcomes(input);
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__N));
    let (with, ty) = (generics.split_for_impl().0, input.generics.split_for_impl().1);
    let name = &input.ident;
    quote! {
        #outcomes
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #with ::superstep::graph::Route<__N> for #name #ty
        where
            #name #ty: ::superstep::graph::Outcomes,
        {
            fn target(self) -> ::superstep::graph::Target<__N> {
                ::core::unimplemented!()
            }
        }
    }
}

/// Returns the traits of a node id.
pub(crate) fn node_id(input: &DeriveInput) -> TokenStream {
    let outcomes = outcomes(input);
    let of = |of: TokenStream| plain(input, &of);
    let (clone, debug) = (of(quote!(::core::clone::Clone)), of(quote!(::core::fmt::Debug)));
    let (partial, eq) = (of(quote!(::core::cmp::PartialEq)), of(quote!(::core::cmp::Eq)));
    let hash = of(quote!(::core::hash::Hash));
    let id = header(
        input,
        &quote!(::superstep::graph::NodeId),
        &quote!(::core::marker::Send + ::core::marker::Sync + 'static),
    );
    let copy = has_no_fields(input).then(|| of(quote!(::core::marker::Copy))).map(|copy| quote!(#copy {}));
    quote! {
        #outcomes
        #copy
        #[automatically_derived]
        #clone {
            fn clone(&self) -> Self {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #debug {
            fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #partial {
            fn eq(&self, _: &Self) -> bool {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #eq {}
        #[automatically_derived]
        #hash {
            fn hash<__H: ::core::hash::Hasher>(&self, _: &mut __H) {
                ::core::unimplemented!()
            }
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #id {
            fn name(&self) -> &str {
                ::core::unimplemented!()
            }

            fn all() -> ::std::vec::Vec<Self> {
                ::core::unimplemented!()
            }

            fn to_name(&self) -> ::superstep::graph::Name {
                ::core::unimplemented!()
            }
        }
    }
}

fn has_no_fields(input: &DeriveInput) -> bool {
    let is_unit = |fields: &Fields| matches!(fields, Fields::Unit);
    match &input.data {
        Data::Enum(data) => data.variants.iter().all(|variant| is_unit(&variant.fields)),
        Data::Struct(data) => is_unit(&data.fields),
        Data::Union(_) => false,
    }
}
