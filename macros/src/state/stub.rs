//! The expansion beside an error: an update type with the setters, and an impl of `State`, all without bodies.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::DeriveInput;

use super::channel::{Channel, METHODS};
use super::names::Names;
use super::setter;
use crate::stub::header;

/// Returns the stub of a state.
pub(super) fn stub(input: &DeriveInput, names: &Names<'_>, channels: &[Channel]) -> TokenStream {
    let Names { state, update, write, vis } = names;
    let (with, ty, clause) = input.generics.split_for_impl();
    let is_generic = !input.generics.params.is_empty();
    let named = channels.iter().filter(|channel| !METHODS.contains(&&*channel.name));
    let setters = named.map(|channel| setter::stub(channel, is_generic, vis));
    let (conversions, contract, default) =
        (conversions(input, names), contract(input, write), default(input, channels));
    quote! {
        #[derive(::core::clone::Clone, ::core::default::Default, ::core::fmt::Debug)]
        #[must_use]
        #vis struct #update;

        #[doc(hidden)]
        #[derive(::core::clone::Clone)]
        #vis enum #write {}

        #[allow(dead_code)]
        impl #with #state #ty #clause {
            #vis fn update() -> #update {
                #update
            }
        }

        #[allow(dead_code)]
        impl #update {
            #(#setters)*

            #vis fn written(&self) -> ::std::vec::Vec<&'static str> {
                ::core::unimplemented!()
            }
        }

        #conversions
        #contract
        #default
    }
}

fn default(input: &DeriveInput, channels: &[Channel]) -> Option<TokenStream> {
    channels.iter().find(|channel| channel.group.is_none() && channel.default.is_some())?;
    let header = header(input, &quote!(::core::default::Default), &quote!(::core::marker::Sized));
    Some(quote! {
        #[automatically_derived]
        #header {
            fn default() -> Self {
                ::core::unimplemented!()
            }
        }
    })
}

fn conversions(input: &DeriveInput, Names { state, update, .. }: &Names<'_>) -> TokenStream {
    let mut generics = input.generics.clone();
    let (with, ty, clause) = input.generics.split_for_impl();
    generics.params.push(syn::parse_quote!(__N));
    let with_node = generics.split_for_impl().0;
    let clause = clause.map_or_else(|| quote!(where), ToTokens::to_token_stream);
    quote! {
        #[automatically_derived]
        impl #with ::core::convert::From<#update> for ::superstep::graph::Writes<#state #ty>
        #clause #state #ty: ::superstep::graph::State,
        {
            fn from(_: #update) -> Self {
                ::core::unimplemented!()
            }
        }

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #with_node ::superstep::graph::IntoCommand<#state #ty, __N> for #update
        #clause #state #ty: ::superstep::graph::State,
        {
            fn into_command(self) -> ::superstep::graph::Command<#state #ty, __N> {
                ::core::unimplemented!()
            }
        }
    }
}

fn contract(input: &DeriveInput, write: &syn::Ident) -> TokenStream {
    let markers = quote!(::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static);
    let header = header(input, &quote!(::superstep::graph::State), &markers);
    let (serde, graph) = (quote!(::superstep::__private::serde), quote!(::superstep::graph));
    let (result, body) = (quote!(::core::result::Result), quote!({ ::core::unimplemented!() }));
    quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #header {
            type Schema = ();
            type Write = #write;

            fn channels(_: &()) -> &[#graph::Channel] #body
            fn empty(_: &()) -> Self #body
            fn apply(&mut self, _: &(), _: #write, _: &mut #graph::Merge) -> #result<(), #graph::ApplyError> #body
            fn end_step(&mut self, _: &(), _: &#graph::Mask, _: &mut #graph::Mask) #body
            fn channel_of(_: &#write) -> usize #body
            fn overwrites(_: &#write) -> bool #body
            fn write_of(&self, _: &(), _: usize) -> ::core::option::Option<#write> #body
            fn encode_write<__S: #serde::Serializer>(_: &(), _: &#write, _: __S) -> #result<__S::Ok, __S::Error> #body
            fn decode_write<'de, __D: #serde::Deserializer<'de>>(
                _: &(),
                _: usize,
                _: bool,
                _: __D,
            ) -> #result<#write, __D::Error> #body
            fn encode_channel<__S: #serde::Serializer>(
                &self,
                _: &(),
                _: usize,
                _: __S,
            ) -> #result<__S::Ok, __S::Error> #body
            fn decode_channel<'de, __D: #serde::Deserializer<'de>>(
                &mut self,
                _: &(),
                _: usize,
                _: __D,
            ) -> #result<(), __D::Error> #body
        }
    }
}
