//! `#[derive(NodeId)]`: a fieldless enum as node ids, with everything an id must be able to do.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

use crate::case::Case;
use crate::enums;
use crate::problems::Problems;
use crate::stub::{header, plain_header};

/// The names of the virtual nodes before the first node and after the last.
const VIRTUAL: [&str; 2] = ["__start__", "__end__"];

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    let variants = enums::variants(input, "a node id", &mut problems);
    let case = rename_all(input, &mut problems);
    for variant in &variants {
        no_fields(variant, &mut problems);
    }
    let names: Vec<_> = variants.iter().map(|variant| Name::of(variant, case, &mut problems)).collect();
    check(&names, &mut problems);
    let texts: Vec<_> = names.into_iter().map(|name| name.text).collect();
    let (outcomes, value) = (enums::outcomes(input, &variants, &texts), value_impls(input, &variants, &texts));
    problems.or_stub(quote!(#outcomes #value))
}

/// A node's name, and where it is given.
struct Name {
    text: String,
    span: Span,
}

impl Name {
    fn of(variant: &Variant, case: Option<Case>, problems: &mut Problems) -> Self {
        let ident = variant.ident.unraw().to_string();
        let text = case.map(|case| case.rename(&ident)).unwrap_or(ident);
        let mut name = Self { text, span: variant.ident.span() };
        for attribute in enums::attributes(&variant.attrs, "node") {
            problems.check(attribute.parse_nested_meta(|meta| name.read(&meta)));
        }
        name
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if !meta.path.is_ident("name") {
            return Err(meta.error("unknown word; known on a variant is `name = \"…\"`"));
        }
        let name: LitStr = meta.value()?.parse()?;
        *self = Self { text: name.value(), span: name.span() };
        Ok(())
    }

    fn problem(&self) -> Option<String> {
        let text = &self.text;
        match text.as_str() {
            "" => Some("the name of a node cannot be empty".into()),
            _ if VIRTUAL.contains(&text.as_str()) => Some(format!("`{text}` is a reserved name")),
            _ => text.contains(['|', ':']).then(|| "the name of a node cannot contain `|` or `:`".into()),
        }
    }
}

fn check(names: &[Name], problems: &mut Problems) {
    for (at, name) in names.iter().enumerate() {
        if names.iter().take(at).any(|earlier| earlier.text == name.text) {
            problems.add(Error::new(name.span, format!("another node is named `{}`", name.text)));
        }
        if let Some(text) = name.problem() {
            problems.add(Error::new(name.span, text));
        }
    }
}

/// Returns the case of the names of all variants that have none of their own.
fn rename_all(input: &DeriveInput, problems: &mut Problems) -> Option<Case> {
    let mut case = None;
    for attribute in enums::attributes(&input.attrs, "node") {
        let read = attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename_all") {
                return Err(meta.error("unknown word; known on the enum is `rename_all = \"…\"`"));
            }
            let named = Case::from_name(&meta.value()?.parse()?)?;
            if case.replace(named).is_some() { Err(meta.error("given twice")) } else { Ok(()) }
        });
        problems.check(read);
    }
    case
}

fn no_fields(variant: &Variant, problems: &mut Problems) {
    match &variant.fields {
        Fields::Unit => {}
        fields @ (Fields::Named(_) | Fields::Unnamed(_)) => {
            problems
                .add_at(fields.to_token_stream(), "a node id cannot have fields: a node gets its data from the state");
        }
    }
}

/// Returns the impls of the traits that make it a plain value. They stand here so that one derive is enough.
fn value_impls(input: &DeriveInput, variants: &[&Variant], names: &[String]) -> TokenStream {
    let of = |of: TokenStream| plain_header(input, &of);
    let (clone, debug) = (of(quote!(::core::clone::Clone)), of(quote!(::core::fmt::Debug)));
    let (partial, eq) = (of(quote!(::core::cmp::PartialEq)), of(quote!(::core::cmp::Eq)));
    let hash = of(quote!(::core::hash::Hash));
    let copy = has_no_fields(input)
        .then(|| of(quote!(::core::marker::Copy)))
        .map(|copy| quote!(#[automatically_derived] #copy {}));
    let bounds = quote!(::core::marker::Send + ::core::marker::Sync + 'static);
    let id = header(input, &quote!(::superstep::graph::NodeId), &bounds);
    let idents: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
    let texts = variants.iter().map(|variant| variant.ident.unraw().to_string());
    let number = quote!(::core::mem::discriminant(self));
    quote! {
        #[automatically_derived]
        #clone {
            fn clone(&self) -> Self {
                *self
            }
        }
        #copy
        #[automatically_derived]
        #[allow(deprecated)]
        #debug {
            fn fmt(&self, out: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                out.write_str(match self { #(Self::#idents => #texts,)* })
            }
        }
        #[automatically_derived]
        #partial {
            fn eq(&self, other: &Self) -> bool {
                #number == ::core::mem::discriminant(other)
            }
        }
        #[automatically_derived]
        #eq {}
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #id {
            fn name(&self) -> &str {
                ::core::convert::AsRef::as_ref(self)
            }

            fn all() -> ::std::vec::Vec<Self> {
                ::core::iter::Iterator::collect(<Self as ::superstep::__private::strum::IntoEnumIterator>::iter())
            }

            fn to_name(&self) -> ::superstep::graph::Name {
                ::superstep::graph::Name::constant(match self { #(Self::#idents => #names,)* })
            }
        }
        #[automatically_derived]
        #hash {
            fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                ::core::hash::Hash::hash(&#number, state);
            }
        }
    }
}

fn has_no_fields(input: &DeriveInput) -> bool {
    let is_unit = |fields: &Fields| matches!(fields, Fields::Unit);
    match &input.data {
        Data::Enum(data) => data.variants.iter().all(|variant| is_unit(&variant.fields)),
        Data::Struct(data) => is_unit(&data.fields),
        Data::Union(_) => false,
    }
}
