//! Checks of a type by its tokens. An alias is not resolved.

use quote::ToTokens;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

const NUMBERS: [&str; 14] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
const COLLECTIONS: [&str; 7] = ["String", "Vec", "VecDeque", "HashMap", "HashSet", "BTreeMap", "BTreeSet"];

/// Returns `T` if the type is `name<T>`.
pub(crate) fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let segment = last(ty).filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) if arguments.args.len() == 1 => Some(inner),
        _ => None,
    }
}

/// Returns whether the type is text.
pub(crate) fn is_string(ty: &Type) -> bool {
    is_one_of(ty, &["String"])
}

/// Returns whether the type is an integer or float.
pub(crate) fn is_number(ty: &Type) -> bool {
    is_one_of(ty, &NUMBERS)
}

/// Returns whether the type is a number, a `bool` or a `char`.
pub(crate) fn is_primitive(ty: &Type) -> bool {
    is_number(ty) || is_one_of(ty, &["bool", "char"])
}

/// Returns whether the type is a primitive or a vector of one.
pub(crate) fn is_flat(ty: &Type) -> bool {
    is_primitive(ty) || argument(ty, "Vec").is_some_and(is_primitive)
}

/// Returns whether the type is one of std's with `is_empty`, and empty by default.
pub(crate) fn is_collection(ty: &Type) -> bool {
    is_one_of(ty, &COLLECTIONS)
}

/// Returns the type as text, with no space but between words: `Vec<String>`, `Box<dyn Any>`.
pub(crate) fn text(ty: &Type) -> String {
    let spaced = strip_groups(ty).to_token_stream().to_string();
    let mut text = String::new();
    for word in spaced.split_whitespace() {
        if text.ends_with(is_word) && word.starts_with(is_word) {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn is_one_of(ty: &Type, names: &[&str]) -> bool {
    last(ty).is_some_and(|segment| names.iter().any(|name| segment.ident == name))
}

fn last(ty: &Type) -> Option<&PathSegment> {
    match strip_groups(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// Strips the invisible groups that `macro_rules` leaves around a type.
fn strip_groups(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => strip_groups(&group.elem),
        Type::Paren(paren) => strip_groups(&paren.elem),
        _ => ty,
    }
}
