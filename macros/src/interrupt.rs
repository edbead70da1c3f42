//! `#[derive(Interrupt)]`: the type of the answer and the stored name of a question.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{DeriveInput, Error, LitStr, Result, Type};

use crate::case::snake_case;
use crate::problems::Problems;
use crate::stub;

pub(crate) fn expand(input: &DeriveInput) -> TokenStream {
    let mut problems = Problems::default();
    problems.no_generics(&input.generics, "a question");
    let mut words = Words::default();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("interrupt")) {
        problems.check(attribute.parse_nested_meta(|meta| words.read(&meta)));
    }
    let (ident, name) = (&input.ident, words.name.unwrap_or_else(|| snake_case(&input.ident.unraw().to_string())));
    if words.resume.is_none() && problems.count() == 0 {
        problems.add_at(ident, "the type of its answer is missing: write `#[interrupt(resume = bool)]` above it");
    }
    // A stub needs some type: most questions are answered by yes or no.
    let resume = words.resume.unwrap_or_else(|| syn::parse_quote!(bool));
    let schemas = words.schema.then(|| schemas_method(&resume));
    let header = stub::message_header(input, &quote!(::superstep::graph::Interrupt));
    problems.or_stub(quote! {
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        #header {
            type Resume = #resume;
            const NAME: &'static str = #name;
            #schemas
        }
    })
}

/// Returns the code that describes the types of the question and its answer.
fn schemas_method(resume: &Type) -> TokenStream {
    quote! {
        fn schemas() -> ::superstep::graph::QuestionSchemas {
            ::superstep::__private::question_schemas::<Self, #resume>()
        }
    }
}

#[derive(Default)]
struct Words {
    resume: Option<Type>,
    name: Option<String>,
    schema: bool,
}

impl Words {
    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let is_second = if meta.path.is_ident("resume") {
            self.resume.replace(meta.value()?.parse()?).is_some()
        } else if meta.path.is_ident("name") {
            self.name.replace(name(&meta.value()?.parse()?)?).is_some()
        } else if meta.path.is_ident("schema") {
            std::mem::replace(&mut self.schema, true)
        } else {
            return Err(meta.error("unknown word; known are `resume = <type>`, `name = \"…\"` and `schema`"));
        };
        if is_second { Err(meta.error("given twice")) } else { Ok(()) }
    }
}

fn name(literal: &LitStr) -> Result<String> {
    let name = literal.value();
    if name.is_empty() { Err(Error::new(literal.span(), "a question's name is not empty")) } else { Ok(name) }
}
