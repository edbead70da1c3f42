//! From a struct and its groups to the expansion: their fields are read as channels, what is wrong with them is reported all at
//! once.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Field, Fields, Ident, Token};

use super::channel::{Channel, is_group};
use super::names::Names;
use super::words::StateWords;
use super::{contract, face, past};
use crate::problems::Problems;

/// Expands a state with the structs of its groups, in the order of their fields.
pub(super) fn expand_with(input: &DeriveInput, groups: &[DeriveInput]) -> TokenStream {
    let mut problems = Problems::default();
    problems.no_generics(&input.generics, "a state");
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("channel")) {
        problems.add_at(attribute, "`#[channel(…)]` belongs on a field");
    }
    let mut channels = channels(input, groups, &mut problems);
    let words = StateWords::of(input, &mut problems);
    past::check(&channels, &words.removed, &mut problems);
    if !input.generics.params.is_empty() {
        channels.iter_mut().for_each(|channel| channel.is_broken = true); // the update type cannot name the parameters
    }
    let names = Names::of(input);
    let face = face::face(input, &names, &channels);
    let contract = contract::contract(input, &names, &channels, &words);
    problems.or_stub(quote!(#face #contract))
}

fn channels(input: &DeriveInput, groups: &[DeriveInput], problems: &mut Problems) -> Vec<Channel> {
    let mut groups = groups.iter();
    let mut all: Vec<(Option<&Ident>, &Field, &Ident)> = vec![];
    for field in named_fields(input, "a state", problems).into_iter().flatten() {
        let Some(name) = &field.ident else { continue };
        match is_group(field).then(|| groups.next()).flatten() {
            Some(group) => {
                let fields = named_fields(group, "a group of channels", problems).into_iter().flatten();
                all.extend(fields.filter_map(|field| Some((Some(name), field, field.ident.as_ref()?))));
            }
            None => all.push((None, field, name)),
        }
    }
    all.into_iter().enumerate().map(|(index, field)| Channel::of(index, field, problems)).collect()
}

/// Returns the fields of a struct that have names; `role` is what the struct is for.
pub(super) fn named_fields<'a>(
    input: &'a DeriveInput,
    role: &str,
    problems: &mut Problems,
) -> Option<&'a Punctuated<Field, Token![,]>> {
    let what = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => return Some(&fields.named),
            Fields::Named(_) | Fields::Unit => "has no fields",
            Fields::Unnamed(_) => "has fields without names",
        },
        Data::Enum(_) => "is an enum",
        Data::Union(_) => "is a union",
    };
    problems.add_at(&input.ident, format!("{role} is a struct with named fields; `{}` {what}", input.ident));
    None
}
