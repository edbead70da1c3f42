//! The public part of the expansion: the update type, its setters, and what it converts into; and `Default`, where a field
//! has a value of its own.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

use super::channel::{Channel, METHODS};
use super::names::Names;
use super::setter;
use crate::stub::header;

/// Returns the update type, and the impl of `Default` if a field has a value of its own.
pub(super) fn face(input: &DeriveInput, names: &Names<'_>, channels: &[Channel]) -> TokenStream {
    let Names { state, update, write, vis } = names;
    let (with, ty, clause) = input.generics.split_for_impl();
    let says = format!("What a task changes in a [`{state}`]: setters in any order, applied in that order.");
    let starts = format!("Returns an update of a [`{state}`] that changes nothing yet.");
    let named = channels.iter().filter(|channel| !METHODS.contains(&&*channel.name));
    let setters = named.map(|channel| setter::setter(channel, write, vis));
    let (conversions, default) = (conversions(input, names), default(input, channels));
    quote! {
        #[doc = #says]
        #[derive(::core::clone::Clone, ::core::default::Default)]
        #[must_use]
        #vis struct #update(::superstep::graph::Writes<#state>);

        #[automatically_derived]
        #[allow(dead_code)]
        impl #with #state #ty #clause {
            #[doc = #starts]
            #vis fn update() -> #update {
                <#update as ::core::default::Default>::default()
            }
        }

        #[automatically_derived]
        #[allow(dead_code, private_interfaces)]
        impl #update {
            #(#setters)*

            /// Returns the names of the written channels, in the order of the writes.
            #vis fn written(&self) -> ::std::vec::Vec<&'static str> {
                let channels = <#state as ::superstep::graph::State>::channels(&());
                let indexes = self.0.0.iter().map(<#state as ::superstep::graph::State>::channel_of);
                indexes.map(|index| channels[index].name()).collect()
            }
        }

        #conversions
        #default
    }
}

/// Returns the impl of `Default` if a field of the struct has a value of its own. Groups have theirs.
pub(super) fn default(input: &DeriveInput, channels: &[Channel]) -> Option<TokenStream> {
    let own = || channels.iter().filter(|channel| channel.group.is_none());
    own().find(|channel| channel.attributes.default.is_some())?;
    let values = own().map(|Channel { field, value, attributes, .. }| match &attributes.default {
        Some((default, _)) => quote!(#field: #default),
        None => quote_spanned!(value.span() => #field: <#value as ::core::default::Default>::default()),
    });
    let groups: BTreeSet<_> = channels.iter().filter_map(|channel| channel.group.as_ref()).collect();
    let values = values.chain(groups.into_iter().map(|group| quote!(#group: ::core::default::Default::default())));
    let header = header(input, &quote!(::core::default::Default), &quote!(::core::marker::Sized));
    Some(quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        #header {
            fn default() -> Self {
                Self { #(#values,)* }
            }
        }
    })
}

fn conversions(input: &DeriveInput, Names { state, update, .. }: &Names<'_>) -> TokenStream {
    let shown = update.to_string();
    let (with, ty, clause) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics.params.push(syn::parse_quote!(__N));
    let with_node = generics.split_for_impl().0;
    let clause = clause.map_or_else(|| quote!(where), ToTokens::to_token_stream);
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #update {
            /// Shows names only: a value may be secret.
            fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                out.debug_tuple(#shown).field(&self.written()).finish()
            }
        }

        #[automatically_derived]
        impl #with ::core::convert::From<#update> for ::superstep::graph::Writes<#state #ty>
        #clause #state #ty: ::superstep::graph::State,
        {
            fn from(update: #update) -> Self {
                update.0
            }
        }

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #with_node ::superstep::graph::node::IntoCommand<#state #ty, __N> for #update
        #clause #state #ty: ::superstep::graph::State,
        {
            fn into_command(self) -> ::superstep::graph::Command<#state #ty, __N> {
                ::superstep::graph::Command::update(self.0)
            }
        }
    }
}
