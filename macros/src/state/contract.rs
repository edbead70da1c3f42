//! The part of the expansion for the engine: the write enum, and the impl of `State` around the code of the channels.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Ident, LitStr};

use super::channel::Channel;
use super::names::Names;
use super::words::StateWords;
use crate::stub::header;

/// Returns the write enum and the impl of `State`.
pub(super) fn contract(
    input: &DeriveInput,
    names: &Names<'_>,
    channels: &[Channel],
    words: &StateWords,
) -> TokenStream {
    let Names { state, write, vis, .. } = names;
    let variants = channels.iter().map(Channel::variant);
    let markers = quote!(::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static);
    let header = header(input, &quote!(::superstep::graph::State), &markers);
    let methods = [
        channel_methods(state, channels),
        apply_methods(write, channels),
        undo_methods(write, channels),
        codec_methods(write, channels),
    ];
    let past = upgrade_methods(write, channels, &words.removed);
    let schema = words.has_schema.then(|| schema_method(channels));
    quote! {
        #[doc(hidden)]
        #[derive(::core::clone::Clone)]
        #[allow(non_camel_case_types, private_interfaces, missing_debug_implementations, clippy::large_enum_variant)]
        #vis enum #write {
            #(#variants,)*
        }

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #[allow(deprecated, unused_variables)]
        #header {
            type Schema = ();
            type Write = #write;

            #(#methods)*
            #past
            #schema
        }
    }
}

/// Returns a match on the index of a channel, with an arm for each channel that has code.
fn by_index<T: quote::ToTokens>(
    channels: &[Channel],
    code: impl Fn(&Channel) -> T,
    otherwise: &TokenStream,
) -> TokenStream {
    let arms = channels.iter().map(|channel| (channel.at(), code(channel).into_token_stream()));
    let arms = arms.filter(|(_, code)| !code.is_empty()).map(|(at, code)| quote!(#at => #code));
    quote! {
        match __channel {
            #(#arms,)*
            _ => #otherwise,
        }
    }
}

fn unknown() -> TokenStream {
    quote!(::superstep::__private::no_channel(__channel))
}

/// Returns a match on a write, with an arm for each channel.
fn by_write<T: quote::ToTokens>(write: &Ident, channels: &[Channel], code: impl Fn(&Channel) -> T) -> TokenStream {
    let (fields, codes) = (channels.iter().map(|channel| &channel.field), channels.iter().map(code));
    quote!(match __write { #(#write::#fields(__value) => #codes,)* })
}

fn channel_methods(state: &Ident, channels: &[Channel]) -> TokenStream {
    let (count, rows) = (channels.len(), channels.iter().map(Channel::row));
    let default = quote_spanned!(state.span() => <Self as ::core::default::Default>::default());
    let emptied: Vec<TokenStream> = channels.iter().filter_map(Channel::ephemeral_field).collect();
    let empty = match emptied.as_slice() {
        [] => default,
        _ => quote! {
            let mut empty = #default;
            #(empty.#emptied = ::core::default::Default::default();)*
            empty
        },
    };
    quote! {
        fn channels(_: &()) -> &[::superstep::graph::state::Channel] {
            static CHANNELS: [::superstep::graph::state::Channel; #count] = [#(#rows,)*];
            &CHANNELS
        }

        fn empty(_: &()) -> Self {
            #empty
        }
    }
}

fn apply_methods(write: &Ident, channels: &[Channel]) -> TokenStream {
    let apply = by_write(write, channels, Channel::apply);
    // Only channels that live for one superstep change at its end.
    let ends = channels.iter().filter_map(Channel::end_step);
    let channel_of = by_write(write, channels, Channel::at);
    let overwrites = by_write(write, channels, Channel::overwrites);
    let write_of = by_index(channels, |channel| channel.write_of(write), &unknown());
    // Indexes come from the engine, so an unknown one is a bug of the caller and panics.
    quote! {
        fn apply(
            &mut self,
            _: &(),
            __write: #write,
            __merge: &mut ::superstep::__private::Merge,
        ) -> ::core::result::Result<(), ::superstep::graph::state::ApplyError> {
            #apply
        }

        #[allow(clippy::float_cmp, clippy::bool_comparison)]
        fn end_step(&mut self, _: &(), written: &::superstep::__private::Mask, changed: &mut ::superstep::__private::Mask) {
            #(#ends)*
        }

        fn channel_of(__write: &#write) -> usize {
            #channel_of
        }

        fn overwrites(__write: &#write) -> bool {
            #overwrites
        }

        fn write_of(&self, _: &(), __channel: usize) -> ::core::option::Option<#write> {
            ::core::option::Option::Some(#write_of)
        }
    }
}

/// Returns the code that undoes writes: those of an attempt, and those of a subgraph to the state of its parent.
fn undo_methods(write: &Ident, channels: &[Channel]) -> TokenStream {
    let can_undo = channels.iter().all(|channel| channel.ephemeral_field().is_none());
    let copied = |channel: &Channel| {
        let place = channel.place();
        quote!(::core::clone::Clone::clone_from(&mut self.#place, &__from.#place))
    };
    let exchanged = |channel: &Channel| {
        let place = channel.place();
        quote!(::core::mem::swap(&mut self.#place, &mut __with.#place))
    };
    let (reset, exchange) = (by_index(channels, copied, &unknown()), by_index(channels, exchanged, &unknown()));
    let reset_without = by_index(channels, |channel| channel.reset_without(write), &quote!(false));
    let list_length = by_index(channels, Channel::list_length, &quote!(::core::option::Option::None));
    let shorten = by_index(channels, Channel::shorten, &unknown());
    quote! {
        fn reset(&mut self, __channels: &::superstep::__private::Mask, __from: &Self) -> bool {
            for __channel in __channels.iter() {
                #reset
            }
            true
        }

        fn reset_without(&mut self, __channel: usize, __from: &Self, __appended: &[&#write]) -> bool {
            #reset_without
        }

        fn can_undo(_: &()) -> bool {
            #can_undo
        }

        fn exchange(&mut self, __channel: usize, __with: &mut Self) {
            #exchange
        }

        fn list_length(&self, __channel: usize) -> ::core::option::Option<usize> {
            #list_length
        }

        fn shorten(&mut self, __channel: usize, __length: usize) {
            #shorten
        }
    }
}

/// Returns the code that reads the values of earlier versions.
fn upgrade_methods(write: &Ident, channels: &[Channel], removed: &[LitStr]) -> TokenStream {
    let none = quote!(::core::option::Option::None);
    let values = by_index(channels, Channel::upgrade, &none);
    let writes = by_index(channels, |channel| channel.upgrade_write(write), &none);
    let has_upgrade = channels.iter().any(|channel| channel.attributes.past.upgrade.is_some());
    let removed = (!removed.is_empty()).then(|| {
        quote! {
            fn removed(_: &()) -> ::std::vec::Vec<&str> {
                ::std::vec![#(#removed),*]
            }
        }
    });
    let upgrades = has_upgrade.then(|| {
        quote! {
            fn upgrade_channel(
                &mut self,
                _: &(),
                __channel: usize,
                __value: ::superstep::__private::serde_json::Value,
                __from: u32,
            ) -> ::core::option::Option<::core::result::Result<(), ::std::string::String>> {
                #values
            }

            fn upgrade_write(
                _: &(),
                __channel: usize,
                __overwrite: bool,
                __value: ::superstep::__private::serde_json::Value,
                __from: u32,
            ) -> ::core::option::Option<::core::result::Result<#write, ::std::string::String>> {
                #writes
            }
        }
    });
    quote!(#removed #upgrades)
}

/// Returns the code that describes the types of the channels.
fn schema_method(channels: &[Channel]) -> TokenStream {
    let schemas = by_index(channels, Channel::schema, &unknown());
    quote! {
        fn channel_schema(
            _: &(),
            __channel: usize,
            __to: &mut ::superstep::__private::SchemaWriter,
        ) -> ::core::option::Option<::superstep::__private::serde_json::Value> {
            ::core::option::Option::Some(#schemas)
        }
    }
}

fn codec_methods(write: &Ident, channels: &[Channel]) -> TokenStream {
    let encode_write = by_write(write, channels, Channel::encode_write);
    let decode_write = by_index(channels, |channel| channel.decode_write(write), &unknown());
    let encode = by_index(channels, Channel::encode, &unknown());
    let decode = by_index(channels, Channel::decode, &unknown());
    // Indexes come from the engine, so an unknown one is a bug of the caller and panics.
    quote! {
        fn encode_write<__S: ::superstep::__private::serde::Serializer>(
            _: &(),
            __write: &#write,
            __out: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            #encode_write
        }

        fn decode_write<'de, __D: ::superstep::__private::serde::Deserializer<'de>>(
            _: &(),
            __channel: usize,
            __overwrite: bool,
            __from: __D,
        ) -> ::core::result::Result<#write, __D::Error> {
            #decode_write
        }

        fn encode_channel<__S: ::superstep::__private::serde::Serializer>(
            &self,
            _: &(),
            __channel: usize,
            __out: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            #encode
        }

        fn decode_channel<'de, __D: ::superstep::__private::serde::Deserializer<'de>>(
            &mut self,
            _: &(),
            __channel: usize,
            __from: __D,
        ) -> ::core::result::Result<(), __D::Error> {
            #decode
            ::core::result::Result::Ok(())
        }
    }
}
