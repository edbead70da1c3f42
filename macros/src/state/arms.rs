//! The code of each channel in the methods of the `State` impl: a row of the table, or the value of a match arm. The arms bind
//! `__value`, the value of a write.
//!
//! Names in this code begin with `__` where a path of the user's is in reach: a reducer may well be called `merge`.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, Meta, MetaNameValue, Path, Type};

use super::channel::Channel;
use super::rule::Apply;
use crate::types;

impl Channel {
    /// Returns the channel's row in the table.
    pub(super) fn row(&self) -> TokenStream {
        let (name, type_name, rule) = (&self.name, types::text(&self.stored_type()), self.rule.name);
        let stored = format_ident!("{}", if self.attributes.delta.is_some() { "Delta" } else { self.rule.stored });
        let past = &self.attributes.past;
        let codec = self.is_flat().then(|| quote!(.codec(::superstep::graph::state::Codec::Bincode)));
        let version = past.version.map(|(version, _)| quote!(.version(#version)));
        let secret = self.attributes.secret.map(|_| quote!(.secret()));
        let takes = types::text(&self.write);
        let takes = self.stores_other().then(|| quote!(.takes(#takes)));
        let names = &past.was;
        let was = (!names.is_empty()).then(|| quote!(.was(&[#(#names),*])));
        let added = past.new.map(|_| quote!(.added()));
        quote! {
            ::superstep::graph::state::Channel::fixed(#name, #type_name, ::superstep::graph::state::Storage::#stored)
                .rule(#rule) #takes #was #added #codec #version #secret
        }
    }

    /// Returns the variant of the write enum.
    pub(super) fn variant(&self) -> TokenStream {
        let (field, held) = (&self.field, self.held_by_write());
        quote!(#field(#held))
    }

    /// Returns the type of what the write enum holds.
    fn held_by_write(&self) -> TokenStream {
        let (value, write) = (&self.value, &self.write);
        if self.rule.reduces() { quote!(::superstep::__private::Put<#value, #write>) } else { quote!(#value) }
    }

    /// Applies a write.
    pub(super) fn apply(&self) -> TokenStream {
        let (place, at) = (self.place(), self.at());
        let accumulates = !self.rule.is_emptied;
        match (self.rule.apply, &self.attributes.reducer) {
            (Apply::Once, _) => quote!(__merge.last_value(#at, &mut self.#place, __value)),
            (Apply::Last, _) => {
                quote!(::core::result::Result::Ok(__merge.any_value(#at, &mut self.#place, __value)))
            }
            (Apply::Topic, _) => {
                quote!(::core::result::Result::Ok(__merge.topic(#at, &mut self.#place, __value, #accumulates)))
            }
            (Apply::Reducer, Some(reducer)) => self.reduce(reducer),
            (Apply::Reducer, None) => self.reduce(&self.reducer()),
        }
    }

    /// Returns the path of the rule's own reducer.
    fn reducer(&self) -> TokenStream {
        let starts_empty = self.takes_other() && types::argument(&self.value, "Option").is_some();
        let end = if starts_empty { "_of_any" } else { "" };
        let name = Ident::new(&format!("{}{end}", self.rule.name), self.use_span());
        quote_spanned!(self.use_span() => ::superstep::graph::reducers::#name)
    }

    fn reduce(&self, with: &impl ToTokens) -> TokenStream {
        let (place, at, span) = (self.place(), self.at(), self.use_span());
        if !self.rule.is_fallible && self.attributes.fallible.is_none() {
            return quote_spanned!(span => __merge.reduce(#at, &mut self.#place, __value, #with));
        }
        quote_spanned! {
            span => __merge.try_reduce(#at, &mut self.#place, __value, |__slot, __write| {
                #with(__slot, __write).map_err(::core::convert::Into::into)
            })
        }
    }

    /// Returns the place of a channel that lives for one superstep.
    pub(super) fn ephemeral_field(&self) -> Option<TokenStream> {
        self.rule.is_emptied.then(|| self.place())
    }

    /// Empties such a channel after a superstep that did not write it.
    pub(super) fn end_step(&self) -> Option<TokenStream> {
        let (at, is_set) = (self.at(), self.is_set());
        self.ephemeral_field().map(|place| {
            quote! {
                if !written.contains(#at) {
                    if #is_set {
                        changed.insert(#at);
                    }
                    self.#place = ::core::default::Default::default();
                }
            }
        })
    }

    /// Returns whether a write overwrites.
    pub(super) fn overwrites(&self) -> TokenStream {
        if self.rule.reduces() { quote!(__value.overwrites()) } else { quote!(false) }
    }

    /// Copies a list without the items that writes appended.
    pub(super) fn reset_without(&self, write: &Ident) -> Option<TokenStream> {
        let (field, place) = (&self.field, self.place());
        self.rule.is_log().then(|| {
            quote! {{
                let __items = |__write: &&#write| match __write {
                    #write::#field(::superstep::__private::Put::Reduce(__more)) => ::core::option::Option::Some(__more.len()),
                    _ => ::core::option::Option::None,
                };
                let __count: ::core::option::Option<usize> = __appended.iter().map(__items).sum();
                let __kept = __count.and_then(|__count| {
                    ::superstep::__private::Prefix::without_last(&__from.#place, __count)
                });
                match __kept {
                    ::core::option::Option::Some(__kept) => {
                        self.#place = __kept;
                        true
                    }
                    ::core::option::Option::None => false,
                }
            }}
        })
    }

    /// Returns the length of a list that writes append to.
    pub(super) fn list_length(&self) -> Option<TokenStream> {
        let place = self.place();
        let length = quote!(::superstep::__private::Prefix::length(&self.#place));
        self.rule.is_log().then(|| quote!(::core::option::Option::Some(#length)))
    }

    /// Shortens such a list.
    pub(super) fn shorten(&self) -> Option<TokenStream> {
        let place = self.place();
        self.rule.is_log().then(|| quote!(::superstep::__private::Prefix::shorten(&mut self.#place, __length)))
    }

    /// Makes a write of the present value.
    pub(super) fn write_of(&self, write: &Ident) -> TokenStream {
        let (field, place) = (&self.field, self.place());
        let value = quote!(::core::clone::Clone::clone(&self.#place));
        let value = if self.rule.reduces() { quote!(::superstep::__private::Put::Overwrite(#value)) } else { value };
        quote!(#write::#field(#value))
    }

    /// Encodes a write.
    pub(super) fn encode_write(&self) -> TokenStream {
        let value = &self.value;
        if self.rule.reduces() {
            quote!(__value.encode(__out))
        } else {
            quote!(<#value as ::superstep::__private::serde::Serialize>::serialize(__value, __out))
        }
    }

    /// Decodes a write.
    pub(super) fn decode_write(&self, write: &Ident) -> TokenStream {
        let (field, value) = (&self.field, &self.value);
        let decoded = if self.rule.reduces() {
            quote!(::superstep::__private::Put::decode(__overwrite, __from))
        } else {
            quote!(<#value as ::superstep::__private::serde::Deserialize<'de>>::deserialize(__from))
        };
        quote!(#decoded.map(#write::#field))
    }

    /// Encodes the value.
    pub(super) fn encode(&self) -> TokenStream {
        let (place, value) = (self.place(), &self.value);
        quote!(<#value as ::superstep::__private::serde::Serialize>::serialize(&self.#place, __out))
    }

    /// Decodes the value in place.
    pub(super) fn decode(&self) -> TokenStream {
        let (place, value) = (self.place(), &self.value);
        quote!(self.#place = <#value as ::superstep::__private::serde::Deserialize<'de>>::deserialize(__from)?)
    }

    /// Describes the types of the value and of a write.
    pub(super) fn schema(&self) -> TokenStream {
        let (value, write, docs) = (&self.value, &self.write, self.description());
        let span = value.span().resolved_at(Span::call_site());
        quote_spanned!(span => __to.channel::<#value, #write>(#docs))
    }

    /// Returns the doc comments of the field as one text.
    fn description(&self) -> String {
        let line = |attribute: &Attribute| match &attribute.meta {
            Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(text), .. }), .. }) => {
                Some(text.value().trim().to_owned())
            }
            _ => None,
        };
        self.docs.iter().filter_map(line).collect::<Vec<_>>().join("\n")
    }

    /// Sets the value to what an earlier version stored.
    pub(super) fn upgrade(&self) -> Option<TokenStream> {
        let (place, (with, _)) = (self.place(), self.attributes.past.upgrade.as_ref()?);
        let upgraded = upgraded(with, &self.value);
        Some(quote!(::core::option::Option::Some(#upgraded.map(|__value| self.#place = __value))))
    }

    /// Makes a write of what an earlier version stored.
    pub(super) fn upgrade_write(&self, write: &Ident) -> Option<TokenStream> {
        let past = &self.attributes.past;
        let (field, (with, _)) = (&self.field, past.upgrade.as_ref()?);
        let part = upgraded(past.upgrade_write.as_ref().map_or(with, |(with, _)| with), &self.write);
        let whole = upgraded(with, &self.value);
        if !self.rule.reduces() {
            return Some(quote!(::core::option::Option::Some(#whole.map(#write::#field))));
        }
        Some(quote! {
            ::core::option::Option::Some(if __overwrite {
                #whole.map(|__value| #write::#field(::superstep::__private::Put::Overwrite(__value)))
            } else {
                #part.map(|__value| #write::#field(::superstep::__private::Put::Reduce(__value)))
            })
        })
    }

    /// Returns the place of the field in the state: behind that of its group.
    pub(super) fn place(&self) -> TokenStream {
        let (field, group) = (&self.field, self.group.iter());
        quote!(#(#group.)* #field)
    }

    /// Returns the channel's index.
    pub(super) fn at(&self) -> Literal {
        Literal::usize_unsuffixed(self.index)
    }

    /// Returns the span of the rule for generated code: errors point at it, names resolve as everywhere else here.
    fn use_span(&self) -> Span {
        self.attributes.rule_span().resolved_at(Span::call_site())
    }

    /// Returns the condition under which emptying the channel is a change; true where the type tells nothing.
    fn is_set(&self) -> TokenStream {
        let (place, value) = (self.place(), &self.value);
        if types::is_collection(value) {
            quote!(!self.#place.is_empty())
        } else if types::argument(value, "Option").is_some() {
            quote!(self.#place.is_some())
        } else if types::is_primitive(value) {
            quote!(self.#place != <#value as ::core::default::Default>::default())
        } else {
            quote!(true)
        }
    }
}

fn upgraded(with: &Path, made: &Type) -> TokenStream {
    quote_spanned!(with.span() => ::superstep::__private::upgraded::<#made, _>(#with(__value, __from)))
}
