//! `#[derive(Route)]`: the outcomes of a router, each with the targets that its `#[to(…)]` names.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{DeriveInput, Expr, Fields, Path, Token, Type, TypePath, Variant};

use crate::problems::Problems;
use crate::{enums, labels};

const TO: &str = "`#[to(Step::Pay)]`, `#[to(Step::Pay, Step::Ship)]` or `#[to(END)]`";

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    let variants = enums::variants(input, "the outcome of a router", &mut problems);
    for attribute in enums::attributes(&input.attrs, "to") {
        problems.add_at(attribute, "`#[to(…)]` belongs on a variant");
    }
    let arms: Vec<Arm<'_>> = variants.iter().map(|variant| Arm::of(variant, &mut problems)).collect();
    let node = node(input, &arms, &mut problems);
    // Beside an error the outcomes lead to nodes of any graph.
    let node = node.filter(|_| problems.count() == 0);
    let (labels, route) = (labels::impls(input, &variants), route(input, &arms, node));
    problems.or_stub(quote!(#labels #route))
}

/// An outcome and its targets.
struct Arm<'a> {
    variant: &'a Variant,
    targets: Vec<Expr>,
}

impl<'a> Arm<'a> {
    fn of(variant: &'a Variant, problems: &mut Problems) -> Self {
        let mut targets = vec![];
        let mut has_attribute = false;
        for attribute in enums::attributes(&variant.attrs, "to") {
            has_attribute = true;
            let read = attribute.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated);
            let read = problems.check(read);
            if read.as_ref().is_some_and(Punctuated::is_empty) {
                problems.add_at(attribute, format!("`#[to()]` names no target: write {TO}"));
            }
            targets.extend(read.into_iter().flatten());
        }
        if !has_attribute {
            problems.add_at(&variant.ident, format!("`{}` has no target: write {TO} above it", variant.ident));
        }
        Self { variant, targets }
    }

    /// Returns the pattern, which binds the fields: named ones by their names, others as `_0`, `_1`, …
    fn pattern(&self) -> TokenStream {
        let ident = &self.variant.ident;
        match &self.variant.fields {
            Fields::Unit => quote!(Self::#ident),
            Fields::Named(fields) => {
                let names = fields.named.iter().map(|field| &field.ident);
                quote!(Self::#ident { #(#names),* })
            }
            Fields::Unnamed(fields) => {
                let names = (0..fields.unnamed.len()).map(|at| format_ident!("_{at}"));
                quote!(Self::#ident(#(#names),*))
            }
        }
    }

    fn target(&self, node: &Type) -> TokenStream {
        let into = |target: &Expr| {
            let into = quote_spanned! { target.span() =>
                <::superstep::graph::Target<#node> as ::core::convert::From<_>>::from
            };
            quote!(#into(#target))
        };
        match self.targets.as_slice() {
            [one] => into(one),
            several => {
                let several = several.iter().map(into);
                quote!(::superstep::graph::Target::Many(::std::vec![#(#several),*]))
            }
        }
    }
}

/// Returns the type of the node ids: from `#[route(Step)]`, or from the first target that is written `Step::Name`.
fn node(input: &DeriveInput, arms: &[Arm<'_>], problems: &mut Problems) -> Option<Type> {
    if let Some(attribute) = enums::attributes(&input.attrs, "route").next() {
        return problems.check(attribute.parse_args());
    }
    let mut targets = arms.iter().flat_map(|arm| &arm.targets);
    let found = targets.find_map(owner);
    if found.is_none() && arms.iter().any(|arm| !arm.targets.is_empty()) {
        let text = "no target shows the type of the node ids: write `#[route(Step)]` above the enum";
        problems.add_at(&input.ident, text);
    }
    found
}

/// Returns `Step` of `Step::Pay`, also within lists and `.empty(Step::Pay)`.
fn owner(target: &Expr) -> Option<Type> {
    let target = match target {
        Expr::Path(target) => target,
        Expr::Array(list) => return list.elems.iter().find_map(owner),
        Expr::Tuple(list) => return list.elems.iter().find_map(owner),
        Expr::MethodCall(call) if call.method == "empty" => return call.args.iter().find_map(owner),
        _ => return None,
    };
    if target.qself.is_some() || target.path.segments.len() < 2 {
        return None;
    }
    let Path { leading_colon, segments } = &target.path;
    let segments = segments.iter().take(segments.len() - 1).cloned().collect();
    Some(Type::Path(TypePath { qself: None, path: Path { leading_colon: *leading_colon, segments } }))
}

fn route(input: &DeriveInput, arms: &[Arm<'_>], node: Option<Type>) -> TokenStream {
    let mut generics = input.generics.clone();
    if node.is_none() {
        generics.params.push(syn::parse_quote!(__N));
    }
    let node = node.unwrap_or_else(|| syn::parse_quote!(__N));
    let (with, ty) = (generics.split_for_impl().0, input.generics.split_for_impl().1);
    let name = input.ident.to_token_stream();
    let patterns = arms.iter().map(Arm::pattern);
    let targets = arms.iter().map(|arm| arm.target(&node));
    quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #with ::superstep::graph::Route<#node> for #name #ty
        where
            #name #ty: ::superstep::__private::Outcomes,
        {
            #[allow(unused_variables, deprecated)]
            fn target(self) -> ::superstep::graph::Target<#node> {
                match self { #(#patterns => #targets,)* }
            }
        }
    }
}
