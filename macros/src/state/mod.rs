//! `#[derive(State)]`: one write variant per field, one setter per field, one match per question the engine asks.

mod arms;
mod attributes;
mod channel;
mod contract;
mod face;
mod past;
mod rule;
mod setter;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Field, Fields, Ident, Result, Token, Visibility};

use crate::problems::Problems;
use channel::Channel;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let mut problems = Problems::default();
    problems.no_generics(&input.generics, "a state");
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("channel")) {
        problems.at(attribute, "`#[channel(…)]` belongs on a field");
    }
    let channels = channels(input, &mut problems);
    let removed = past::removed(input, &mut problems);
    past::check(&channels, &removed, &mut problems);
    let names = Names::of(input);
    let (face, contract) = (face::face(&names, &channels), contract::contract(&names, &channels, &removed));
    problems.or(quote!(#face #contract))
}

/// The types of the expansion.
struct Names<'a> {
    state: &'a Ident,
    update: Ident,
    write: Ident,
    vis: &'a Visibility,
}

impl<'a> Names<'a> {
    fn of(input: &'a DeriveInput) -> Self {
        let (update, write) = (format_ident!("{}Update", input.ident), format_ident!("{}Write", input.ident));
        Self { state: &input.ident, update, write, vis: &input.vis }
    }
}

fn channels(input: &DeriveInput, problems: &mut Problems) -> Vec<Channel> {
    let named = named(input, problems).into_iter().flatten().enumerate();
    let named = named.filter_map(|(index, field)| Some((index, field, field.ident.as_ref()?)));
    named.map(|(index, field, name)| Channel::of(index, field, name, problems)).collect()
}

fn named<'a>(input: &'a DeriveInput, problems: &mut Problems) -> Option<&'a Punctuated<Field, Token![,]>> {
    let what = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => return Some(&fields.named),
            Fields::Named(_) | Fields::Unit => "has no fields",
            Fields::Unnamed(_) => "has fields without names",
        },
        Data::Enum(_) => "is an enum",
        Data::Union(_) => "is a union",
    };
    problems.at(&input.ident, format!("a state is a struct with named fields; `{}` {what}", input.ident));
    None
}
