//! Expansions without bodies. They stand beside an error of a derive, so that what uses the item is no error too.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{DeriveInput, Fields, File, ImplItem, Item};

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

/// Returns the header of a trait that asks nothing of the item.
pub(crate) fn plain_header(input: &DeriveInput, of: &TokenStream) -> TokenStream {
    header(input, of, &quote!(::core::marker::Sized))
}

/// Returns the header for a question or a signal.
pub(crate) fn message_header(input: &DeriveInput, of: &TokenStream) -> TokenStream {
    let serde = quote!(::superstep::__private::serde);
    let bounds = quote!(#serde::Serialize + #serde::de::DeserializeOwned + ::core::marker::Send + 'static);
    header(input, of, &bounds)
}

/// Returns the items of an expansion with bodies that are never run, and types without content, as both may be wrong.
pub(crate) fn of(expansion: TokenStream) -> TokenStream {
    let Ok(mut items) = syn::parse2::<File>(expansion) else { return TokenStream::new() };
    items.items.iter_mut().for_each(empty);
    items.into_token_stream()
}

fn empty(item: &mut Item) {
    match item {
        Item::Struct(item) => {
            item.fields = Fields::Unit;
            item.semi_token = Some(Default::default());
        }
        Item::Enum(item) => item.variants.clear(),
        Item::Impl(item) => {
            item.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            for method in &mut item.items {
                if let ImplItem::Fn(method) = method {
                    method.block = syn::parse_quote!({ ::core::unimplemented!() });
                }
            }
        }
        _ => {}
    }
}
