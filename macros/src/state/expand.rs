//! From a struct to the expansion: its fields are read as channels, what is wrong with them is reported all at once.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Field, Fields, Token};

use super::channel::Channel;
use super::names::Names;
use super::{contract, face, past, stub};
use crate::problems::Problems;

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
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
    problems.or_stub(quote!(#face #contract), || stub::stub(input, &names, &channels))
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
