//! The code of each channel in the methods of the `State` impl: a row of the table, or the arm of a match.
//!
//! Names in these arms begin with `__` where a path of the user's is in reach: a reducer may well be called `merge`.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Path, Type};

use super::channel::Channel;
use super::rule::Rule;
use crate::types;

impl Channel {
    /// Returns the channel's row in the table.
    pub(super) fn row(&self) -> TokenStream {
        let (name, type_name, stored) = (&self.name, types::text(&self.stored_type()), self.stored());
        let codec = self.is_flat().then(|| quote!(.codec(::superstep::graph::Codec::Bincode)));
        let version = self.version.map(|version| quote!(.version(#version)));
        let secret = self.secret.then(|| quote!(.secret()));
        let rule = self.rule.name();
        let takes = types::text(&self.write);
        let takes = self.stores_other().then(|| quote!(.takes(#takes)));
        let was = (!self.was.is_empty()).then(|| {
            let names = &self.was;
            quote!(.was(&[#(#names),*]))
        });
        let added = self.new.then(|| quote!(.added()));
        quote! {
            ::superstep::graph::Channel::fixed(#name, #type_name, ::superstep::graph::Stored::#stored)
                .rule(#rule) #takes #was #added #codec #version #secret
        }
    }

    /// Returns the variant of the write enum.
    pub(super) fn variant(&self) -> TokenStream {
        let (field, value, write) = (&self.field, &self.value, &self.write);
        if self.rule.reduces() {
            quote!(#field(::superstep::graph::Put<#value, #write>))
        } else {
            quote!(#field(#value))
        }
    }

    /// Returns the arm that applies a write.
    pub(super) fn apply(&self, write: &Ident) -> TokenStream {
        let (field, place, at) = (&self.field, &self.place, self.at());
        let call = match &self.rule {
            Rule::LastValue | Rule::Ephemeral | Rule::Untracked => {
                quote!(__merge.last_value(#at, &mut self.#place, __value))
            }
            Rule::AnyValue => quote!(::core::result::Result::Ok(__merge.any_value(#at, &mut self.#place, __value))),
            Rule::Topic { accumulate } => {
                quote!(::core::result::Result::Ok(__merge.topic(#at, &mut self.#place, __value, #accumulate)))
            }
            Rule::Append => self.reduce_by("append"),
            Rule::Add => self.reduce_by("add"),
            Rule::Union => self.reduce_by("union"),
            Rule::Merge => self.reduce_by("merge"),
            Rule::Max => self.reduce_by(if self.starts_from_any() { "max_of_any" } else { "max" }),
            Rule::Min => self.reduce_by(if self.starts_from_any() { "min_of_any" } else { "min" }),
            Rule::Messages => self.reduce_by("messages"),
            Rule::Custom { with } => self.reduce(with),
        };
        quote!(#write::#field(__value) => #call)
    }

    /// Returns the place of a channel that lives for one superstep.
    pub(super) fn emptied(&self) -> Option<&TokenStream> {
        self.rule.is_emptied().then_some(&self.place)
    }

    /// Returns the statement that empties such a channel after a superstep that did not write it.
    pub(super) fn end_step(&self) -> Option<TokenStream> {
        let (at, held) = (self.at(), self.held());
        self.emptied().map(|place| {
            quote! {
                if !written.contains(#at) {
                    if #held {
                        changed.insert(#at);
                    }
                    self.#place = ::core::default::Default::default();
                }
            }
        })
    }

    /// Returns the arm from a write to its channel.
    pub(super) fn channel_of(&self, write: &Ident) -> TokenStream {
        let (field, at) = (&self.field, self.at());
        quote!(#write::#field(_) => #at)
    }

    /// Returns the arm that tells whether a write overwrites.
    pub(super) fn overwrites(&self, write: &Ident) -> TokenStream {
        let field = &self.field;
        if self.rule.reduces() {
            quote!(#write::#field(put) => put.overwrites())
        } else {
            quote!(#write::#field(_) => false)
        }
    }

    /// Returns the arm that copies the value of another state.
    pub(super) fn reset(&self) -> TokenStream {
        let (place, at) = (&self.place, self.at());
        quote!(#at => ::core::clone::Clone::clone_from(&mut self.#place, &from.#place))
    }

    /// Returns the arm that copies a list without the items that writes appended.
    pub(super) fn reset_without(&self, write: &Ident) -> Option<TokenStream> {
        let (field, place, at) = (&self.field, &self.place, self.at());
        matches!(self.rule, Rule::Append).then(|| {
            quote! {
                #at => {
                    let __items = |__write: &&#write| match __write {
                        #write::#field(::superstep::graph::Put::Reduce(__more)) => ::core::option::Option::Some(__more.len()),
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
                }
            }
        })
    }

    /// Returns the arm that exchanges the value with that of another state.
    pub(super) fn exchange(&self) -> TokenStream {
        let (place, at) = (&self.place, self.at());
        quote!(#at => ::core::mem::swap(&mut self.#place, &mut __with.#place))
    }

    /// Returns the arm with the length of a list that writes append to.
    pub(super) fn list_length(&self) -> Option<TokenStream> {
        let (place, at) = (&self.place, self.at());
        let length = quote!(::superstep::__private::Prefix::length(&self.#place));
        matches!(self.rule, Rule::Append).then(|| quote!(#at => ::core::option::Option::Some(#length)))
    }

    /// Returns the arm that shortens such a list.
    pub(super) fn shorten(&self) -> Option<TokenStream> {
        let (place, at) = (&self.place, self.at());
        let shorten = quote!(::superstep::__private::Prefix::shorten(&mut self.#place, __length));
        matches!(self.rule, Rule::Append).then(|| quote!(#at => #shorten))
    }

    /// Returns the arm that makes a write of the present value.
    pub(super) fn write_of(&self, write: &Ident) -> TokenStream {
        let (field, place, at) = (&self.field, &self.place, self.at());
        let value = quote!(::core::clone::Clone::clone(&self.#place));
        if self.rule.reduces() {
            quote!(#at => #write::#field(::superstep::graph::Put::Overwrite(#value)))
        } else {
            quote!(#at => #write::#field(#value))
        }
    }

    /// Returns the arm that encodes a write.
    pub(super) fn encode_write(&self, write: &Ident) -> TokenStream {
        let (field, value) = (&self.field, &self.value);
        if self.rule.reduces() {
            quote!(#write::#field(put) => put.encode(out))
        } else {
            quote!(#write::#field(value) => <#value as ::superstep::__private::serde::Serialize>::serialize(value, out))
        }
    }

    /// Returns the arm that decodes a write.
    pub(super) fn decode_write(&self, write: &Ident) -> TokenStream {
        let (field, value, at) = (&self.field, &self.value, self.at());
        if self.rule.reduces() {
            quote!(#at => ::superstep::graph::Put::decode(overwrite, from).map(#write::#field))
        } else {
            quote! {
                #at => <#value as ::superstep::__private::serde::Deserialize<'de>>::deserialize(from)
                    .map(#write::#field)
            }
        }
    }

    /// Returns the arm that encodes the value.
    pub(super) fn encode(&self) -> TokenStream {
        let (place, value, at) = (&self.place, &self.value, self.at());
        quote!(#at => <#value as ::superstep::__private::serde::Serialize>::serialize(&self.#place, out))
    }

    /// Returns the arm that decodes the value in place.
    pub(super) fn decode(&self) -> TokenStream {
        let (place, value, at) = (&self.place, &self.value, self.at());
        quote! {
            #at => self.#place = <#value as ::superstep::__private::serde::Deserialize<'de>>::deserialize(from)?
        }
    }

    /// Returns the arm that sets the value to what an earlier version stored.
    pub(super) fn upgrade(&self) -> Option<TokenStream> {
        let (place, value, at, with) = (&self.place, &self.value, self.at(), self.upgrade.as_ref()?);
        let upgraded = quote_spanned! {
            with.span() => ::superstep::__private::upgraded::<#value, _>(#with(__value, __from))
        };
        Some(quote! {
            #at => ::core::option::Option::Some(#upgraded.map(|__value| self.#place = __value))
        })
    }

    /// Returns the arm that makes a write of what an earlier version stored.
    pub(super) fn upgrade_write(&self, write: &Ident) -> Option<TokenStream> {
        let (field, at, with) = (&self.field, self.at(), self.upgrade.as_ref()?);
        let upgraded = |with: &Path, made: &Type| quote_spanned!(with.span() => ::superstep::__private::upgraded::<#made, _>(#with(__value, __from)));
        let part = upgraded(self.upgrade_write.as_ref().unwrap_or(with), &self.write);
        let whole = upgraded(with, &self.value);
        if !self.rule.reduces() {
            return Some(quote!(#at => ::core::option::Option::Some(#whole.map(#write::#field))));
        }
        Some(quote! {
            #at => ::core::option::Option::Some(if __overwrite {
                #whole.map(|__value| #write::#field(::superstep::graph::Put::Overwrite(__value)))
            } else {
                #part.map(|__value| #write::#field(::superstep::graph::Put::Reduce(__value)))
            })
        })
    }

    /// Returns the variant of `Stored`.
    fn stored(&self) -> TokenStream {
        if self.delta { quote!(Delta) } else { self.rule.stored() }
    }

    fn at(&self) -> Literal {
        Literal::usize_unsuffixed(self.index)
    }

    fn starts_from_any(&self) -> bool {
        types::argument(&self.value, "Option").is_some()
    }

    fn reduce_by(&self, reducer: &str) -> TokenStream {
        let name = Ident::new(reducer, self.use_span());
        let with = quote_spanned!(self.use_span() => ::superstep::graph::reducers::#name);
        self.reduce(&with)
    }

    fn reduce(&self, with: &impl ToTokens) -> TokenStream {
        let (place, at, span) = (&self.place, self.at(), self.use_span());
        if !self.fallible {
            return quote_spanned!(span => __merge.reduce(#at, &mut self.#place, __value, #with));
        }
        quote_spanned! {
            span => __merge.try_reduce(#at, &mut self.#place, __value, |__slot, __write| {
                #with(__slot, __write).map_err(::core::convert::Into::into)
            })
        }
    }

    /// Returns the span of the rule for generated code: errors point at it, names resolve as everywhere else here.
    fn use_span(&self) -> Span {
        self.rule_span.resolved_at(Span::call_site())
    }

    /// Returns the condition under which emptying the channel is a change; true where the type tells nothing.
    fn held(&self) -> TokenStream {
        let (place, value) = (&self.place, &self.value);
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
