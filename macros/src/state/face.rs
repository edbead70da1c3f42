//! The public part of the expansion: the update type, its setters, and what it converts into; and `Default`, where a field
//! has a value of its own.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned;

use super::channel::Channel;
use super::names::Names;
use super::setter;

/// Returns the update type, and the impl of `Default` if a field has a value of its own.
pub(super) fn face(names: &Names<'_>, channels: &[Channel]) -> TokenStream {
    let Names { state, update, write, vis } = names;
    let says = format!("What a task changes in a [`{state}`]: setters in any order, applied in that order.");
    let starts = format!("Returns an update of a [`{state}`] that changes nothing yet.");
    let setters = channels.iter().map(|channel| setter::setter(channel, write, vis));
    let (conversions, default) = (conversions(names), default(state, channels));
    quote! {
        #[doc = #says]
        #[derive(::core::clone::Clone, ::core::default::Default)]
        #[must_use]
        #vis struct #update(::superstep::graph::Writes<#state>);

        #[automatically_derived]
        #[allow(dead_code)]
        impl #state {
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
pub(super) fn default(state: &Ident, channels: &[Channel]) -> Option<TokenStream> {
    channels.iter().find(|channel| channel.group.is_none() && channel.default.is_some())?;
    let own = channels.iter().filter(|channel| channel.group.is_none());
    let values = own.map(|Channel { field, value, default, .. }| match default {
        Some(default) => quote!(#field: #default),
        None => quote_spanned!(value.span() => #field: <#value as ::core::default::Default>::default()),
    });
    let groups: std::collections::BTreeSet<&Ident> =
        channels.iter().filter_map(|channel| channel.group.as_ref()).collect();
    let groups = groups.into_iter().map(|group| quote!(#group: ::core::default::Default::default()));
    let values = values.chain(groups);
    Some(quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl ::core::default::Default for #state {
            fn default() -> Self {
                Self { #(#values,)* }
            }
        }
    })
}

fn conversions(Names { state, update, .. }: &Names<'_>) -> TokenStream {
    let shown = update.to_string();
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #update {
            /// Shows names only: a value may be secret.
            fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                out.debug_tuple(#shown).field(&self.written()).finish()
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#update> for ::superstep::graph::Writes<#state> {
            fn from(update: #update) -> Self {
                update.0
            }
        }

        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl<__N> ::superstep::graph::IntoCommand<#state, __N> for #update {
            fn into_command(self) -> ::superstep::graph::Command<#state, __N> {
                ::superstep::graph::Command::update(self.0)
            }
        }
    }
}
