//! The setters of the update type. What they take is as wide as inference allows; what they give is one write.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Type, Visibility};

use super::channel::Channel;
use super::rule::Apply;
use crate::types;

/// Returns the setter of a channel; `write` is the write enum. One of a broken channel takes anything.
pub(super) fn setter(channel: &Channel, write: &Ident, vis: &Visibility) -> TokenStream {
    let Channel { field, docs, .. } = channel;
    let says = channel.rule.describe_setter(&channel.name);
    let Argument { generics, takes, gives } = Argument::of(channel);
    quote! {
        #[doc = #says]
        #[doc = ""]
        #(#docs)*
        #vis fn #field #generics (self, value: #takes) -> Self {
            Self(self.0.with(#write::#field(#gives)))
        }
    }
}

/// The argument of a setter, and its conversion.
struct Argument {
    generics: TokenStream,
    takes: TokenStream,
    gives: TokenStream,
}

impl Argument {
    fn of(channel: &Channel) -> Self {
        if channel.is_broken {
            return Self { generics: quote!(<__T>), takes: quote!(__T), gives: quote!(value) };
        }
        match channel.rule.apply {
            Apply::Topic => Self::items(channel),
            Apply::Reducer => Self::for_put(channel),
            Apply::Once | Apply::Last => Self::for_value(channel),
        }
    }

    fn for_value(Channel { value, .. }: &Channel) -> Self {
        let is_text = |ty: &Type| types::is_string(ty);
        let (takes, gives) = if types::argument(value, "Option").is_some_and(is_text) {
            (quote!(impl ::superstep::__private::IntoText), quote!(::superstep::__private::IntoText::into_text(value)))
        } else if is_text(value) || types::argument(value, "Option").is_some() {
            (quote!(impl ::core::convert::Into<#value>), quote!(::core::convert::Into::into(value)))
        } else {
            (quote!(#value), quote!(value))
        };
        Self { generics: TokenStream::new(), takes, gives }
    }

    fn items(channel: &Channel) -> Self {
        let iterator = quote!(::core::iter::IntoIterator);
        let (takes, gives) = match (channel.item(), types::argument(&channel.value, "Vec")) {
            (Some(item), _) => (
                quote!(impl #iterator<Item = impl ::core::convert::Into<#item>>),
                quote!(#iterator::into_iter(value).map(::core::convert::Into::into).collect()),
            ),
            (None, Some(number)) => {
                (quote!(impl #iterator<Item = #number>), quote!(#iterator::into_iter(value).collect()))
            }
            (None, None) => return Self::for_value(channel),
        };
        Self { generics: TokenStream::new(), takes, gives }
    }

    fn for_put(channel: &Channel) -> Self {
        let Channel { value, write, .. } = channel;
        if let Some(number) = channel.number() {
            return Self {
                generics: TokenStream::new(),
                takes: quote!(impl ::superstep::__private::IntoItems<#value, #number>),
                gives: quote!(::superstep::__private::IntoItems::into_items(value)),
            };
        }
        match channel.item() {
            Some(item) => Self {
                generics: TokenStream::new(),
                takes: quote!(impl ::superstep::__private::IntoList<#value, #item>),
                gives: quote!(::superstep::__private::IntoList::into_list(value)),
            },
            None => Self {
                generics: quote!(<__Way>),
                takes: quote!(impl ::superstep::__private::IntoPut<#value, #write, __Way>),
                gives: quote!(::superstep::__private::IntoPut::into_put(value)),
            },
        }
    }
}
