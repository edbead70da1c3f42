//! The part of the expansion for the engine: the write enum, and the impl of `State` around the arms of the channels.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Ident, LitStr};

use super::channel::Channel;
use super::names::Names;

/// Returns the write enum and the impl of `State`.
pub(super) fn contract(names: &Names<'_>, channels: &[Channel], removed: &[LitStr]) -> TokenStream {
    let Names { state, write, vis, .. } = names;
    let variants = channels.iter().map(Channel::variant);
    let (table, running, coding) = (table(state, channels), running(names, channels), coding(write, channels));
    let past = past(write, channels, removed);
    quote! {
        #[doc(hidden)]
        #[derive(::core::clone::Clone)]
        #[allow(non_camel_case_types, private_interfaces, missing_debug_implementations, clippy::large_enum_variant)]
        #vis enum #write {
            #(#variants,)*
        }

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #[allow(deprecated)]
        impl ::superstep::graph::State for #state {
            type Schema = ();
            type Write = #write;

            #table
            #running
            #coding
            #past
        }
    }
}

fn table(state: &Ident, channels: &[Channel]) -> TokenStream {
    let (count, rows) = (channels.len(), channels.iter().map(Channel::row));
    let default = quote_spanned!(state.span() => <Self as ::core::default::Default>::default());
    let emptied: Vec<&TokenStream> = channels.iter().filter_map(Channel::emptied).collect();
    let empty = match emptied[..] {
        [] => default,
        _ => quote! {
            let mut empty = #default;
            #(empty.#emptied = ::core::default::Default::default();)*
            empty
        },
    };
    quote! {
        fn channels(_: &()) -> &[::superstep::graph::Channel] {
            static CHANNELS: [::superstep::graph::Channel; #count] = [#(#rows,)*];
            &CHANNELS
        }

        fn empty(_: &()) -> Self {
            #empty
        }
    }
}

fn running(Names { write, .. }: &Names<'_>, channels: &[Channel]) -> TokenStream {
    let applies = channels.iter().map(|channel| channel.apply(write));
    let ends = channels.iter().filter_map(Channel::end_step);
    let indexes = channels.iter().map(|channel| channel.channel_of(write));
    let overwrites = channels.iter().map(|channel| channel.overwrites(write));
    let resets = channels.iter().map(Channel::reset);
    let shortened = channels.iter().filter_map(|channel| channel.reset_without(write));
    let undoing = undoing(channels);
    let presents = channels.iter().map(|channel| channel.write_of(write));
    quote! {
        fn apply(
            &mut self,
            _: &(),
            __write: #write,
            __merge: &mut ::superstep::graph::Merge,
        ) -> ::core::result::Result<(), ::superstep::graph::ApplyError> {
            match __write { #(#applies,)* }
        }

        #[allow(unused_variables, clippy::float_cmp, clippy::bool_comparison)]
        fn end_step(&mut self, _: &(), written: &::superstep::graph::Mask, changed: &mut ::superstep::graph::Mask) {
            #(#ends)*
        }

        fn reset(&mut self, channels: &::superstep::graph::Mask, from: &Self) -> bool {
            for channel in channels.iter() {
                match channel {
                    #(#resets,)*
                    _ => ::superstep::graph::no_channel(channel),
                }
            }
            true
        }

        fn reset_without(&mut self, __channel: usize, __from: &Self, __appended: &[&#write]) -> bool {
            match __channel {
                #(#shortened,)*
                _ => false,
            }
        }

        #undoing

        fn channel_of(write: &#write) -> usize {
            match write { #(#indexes,)* }
        }

        fn overwrites(write: &#write) -> bool {
            match write { #(#overwrites,)* }
        }

        fn write_of(&self, _: &(), channel: usize) -> ::core::option::Option<#write> {
            ::core::option::Option::Some(match channel {
                #(#presents,)*
                _ => ::superstep::graph::no_channel(channel),
            })
        }
    }
}

/// Returns the code that undoes the writes of a subgraph to the state of its parent.
fn undoing(channels: &[Channel]) -> TokenStream {
    let can_undo = channels.iter().all(|channel| channel.emptied().is_none());
    let exchanges = channels.iter().map(Channel::exchange);
    let lengths = channels.iter().filter_map(Channel::list_length);
    let shortens = channels.iter().filter_map(Channel::shorten);
    quote! {
        fn can_undo(_: &()) -> bool {
            #can_undo
        }

        fn exchange(&mut self, __channel: usize, __with: &mut Self) {
            match __channel {
                #(#exchanges,)*
                _ => ::superstep::graph::no_channel(__channel),
            }
        }

        fn list_length(&self, __channel: usize) -> ::core::option::Option<usize> {
            match __channel {
                #(#lengths,)*
                _ => ::core::option::Option::None,
            }
        }

        #[allow(unused_variables)]
        fn shorten(&mut self, __channel: usize, __length: usize) {
            match __channel {
                #(#shortens,)*
                _ => ::superstep::graph::no_channel(__channel),
            }
        }
    }
}

/// Returns the code that reads the values of earlier versions.
fn past(write: &Ident, channels: &[Channel], removed: &[LitStr]) -> TokenStream {
    let upgrades: Vec<_> = channels.iter().filter_map(Channel::upgrade).collect();
    let writes = channels.iter().filter_map(|channel| channel.upgrade_write(write));
    let removed = (!removed.is_empty()).then(|| {
        quote! {
            fn removed(_: &()) -> ::std::vec::Vec<&str> {
                ::std::vec![#(#removed),*]
            }
        }
    });
    let upgrades = (!upgrades.is_empty()).then(|| {
        quote! {
            fn upgrade_channel(
                &mut self,
                _: &(),
                channel: usize,
                __value: ::superstep::__private::serde_json::Value,
                __from: u32,
            ) -> ::core::option::Option<::core::result::Result<(), ::std::string::String>> {
                match channel {
                    #(#upgrades,)*
                    _ => ::core::option::Option::None,
                }
            }

            #[allow(unused_variables)]
            fn upgrade_write(
                _: &(),
                channel: usize,
                __overwrite: bool,
                __value: ::superstep::__private::serde_json::Value,
                __from: u32,
            ) -> ::core::option::Option<::core::result::Result<#write, ::std::string::String>> {
                match channel {
                    #(#writes,)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    });
    quote!(#removed #upgrades)
}

fn coding(write: &Ident, channels: &[Channel]) -> TokenStream {
    let encode_writes = channels.iter().map(|channel| channel.encode_write(write));
    let decode_writes = channels.iter().map(|channel| channel.decode_write(write));
    let (encodes, decodes) = (channels.iter().map(Channel::encode), channels.iter().map(Channel::decode));
    quote! {
        fn encode_write<__S: ::superstep::__private::serde::Serializer>(
            _: &(),
            write: &#write,
            out: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            match write { #(#encode_writes,)* }
        }

        #[allow(unused_variables)]
        fn decode_write<'de, __D: ::superstep::__private::serde::Deserializer<'de>>(
            _: &(),
            channel: usize,
            overwrite: bool,
            from: __D,
        ) -> ::core::result::Result<#write, __D::Error> {
            match channel {
                #(#decode_writes,)*
                _ => ::superstep::graph::no_channel(channel),
            }
        }

        fn encode_channel<__S: ::superstep::__private::serde::Serializer>(
            &self,
            _: &(),
            channel: usize,
            out: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            match channel {
                #(#encodes,)*
                _ => ::superstep::graph::no_channel(channel),
            }
        }

        fn decode_channel<'de, __D: ::superstep::__private::serde::Deserializer<'de>>(
            &mut self,
            _: &(),
            channel: usize,
            from: __D,
        ) -> ::core::result::Result<(), __D::Error> {
            match channel {
                #(#decodes,)*
                _ => ::superstep::graph::no_channel(channel),
            }
            ::core::result::Result::Ok(())
        }
    }
}
