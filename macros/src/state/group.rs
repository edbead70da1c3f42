//! Groups of channels: structs whose fields are channels of the state that holds them. A derive sees one item, so that of a group
//! leaves a macro which adds the group to what it is given, and that of a state calls those of its groups one after the other.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, Error, Field, Fields, Path, Result, Type, parse2};

use super::channel::{Channel, is_group};
use super::expand::{expand_with, named_fields};
use super::face;
use crate::problems::Problems;

/// Expands `derive(Channels)`.
pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    problems.no_generics(&input.generics, "a group of channels");
    let fields = named_fields(input, "a group of channels", &mut problems).into_iter().flatten();
    let fields = fields.filter_map(|field| Some((None, field, field.ident.as_ref()?))).enumerate();
    // Problems of the fields are those of the state that has them.
    let channels: Vec<_> = fields.map(|(at, field)| Channel::of(at, field, &mut Problems::default())).collect();
    let (name, default) = (format_ident!("__channels_of_{}", input.ident), face::default(input, &channels));
    let expansion = quote! {
        #[doc(hidden)]
        #[allow(unused_macros)]
        macro_rules! #name {
            ($($state:tt)*) => { ::superstep::__private::state_with_groups! { $($state)* { #input } } };
        }
        #default
    };
    problems.or_stub(expansion)
}

/// Continues with a state and those of its groups that were added, each in braces.
pub(crate) fn expand_state(tokens: TokenStream) -> TokenStream {
    let item = |tree: TokenTree| match tree {
        TokenTree::Group(braces) => parse2(braces.stream()),
        other => Err(Error::new(other.span(), "expected a struct in braces")),
    };
    match tokens.into_iter().map(item).collect::<Result<Vec<DeriveInput>>>() {
        Ok(items) => items.split_first().map_or_else(TokenStream::new, |(state, groups)| collect(state, groups)),
        Err(error) => error.into_compile_error(),
    }
}

/// Expands a state once it has all its groups.
pub(crate) fn collect(state: &DeriveInput, groups: &[DeriveInput]) -> TokenStream {
    let fields = if let syn::Data::Struct(data) = &state.data { &data.fields } else { &Fields::Unit };
    match fields.iter().filter(|field| is_group(field)).filter_map(macro_of).nth(groups.len()) {
        Some(next) => quote!(#next! { { #state } #({ #groups })* }),
        None => expand_with(state, groups),
    }
}

/// Returns the macro of a group.
fn macro_of(field: &Field) -> Option<Path> {
    let Type::Path(ty) = &field.ty else { return None };
    let mut path = ty.path.clone();
    let last = path.segments.last_mut()?;
    last.ident =
        format_ident!("__channels_of_{}", last.ident, span = field.ty.to_token_stream().into_iter().next()?.span());
    Some(path)
}
