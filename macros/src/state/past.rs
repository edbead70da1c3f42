//! The names that channels had before, and `#[state(removed("…"))]`: each name means one thing. Makes no code.

use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, LitStr, Token};

use super::channel::Channel;
use crate::problems::Problems;

/// Reads the names of the channels that are gone for good.
pub(super) fn removed_names(input: &DeriveInput, problems: &mut Problems) -> Vec<LitStr> {
    let mut names = vec![];
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("state")) {
        let read = attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("removed") {
                return Err(meta.error("unknown word; known is `removed(\"…\")`, the names of removed fields"));
            }
            let inner;
            syn::parenthesized!(inner in meta.input);
            let read = Punctuated::<LitStr, Token![,]>::parse_terminated(&inner)?;
            if read.is_empty() {
                return Err(meta.error("`removed` needs at least one field name"));
            }
            names.extend(read);
            Ok(())
        });
        problems.check(read);
    }
    names
}

/// Reports names that mean two things.
pub(super) fn check(channels: &[Channel], removed: &[LitStr], problems: &mut Problems) {
    let was = channels.iter().flat_map(|channel| channel.attributes.past.was.iter());
    let all: Vec<(&LitStr, &str)> =
        was.map(|name| (name, "was")).chain(removed.iter().map(|name| (name, "removed"))).collect();
    for (at, (name, word)) in all.iter().enumerate() {
        let text = name.value();
        let problem = if text.is_empty() {
            "a name is not empty".to_owned()
        } else if channels.iter().any(|channel| channel.name == text) {
            format!("`{text}` is still a field, so it cannot be in `{word}`")
        } else if all[..at].iter().any(|(earlier, _)| earlier.value() == text) {
            format!("`{text}` is listed twice: a stored name belongs to only one field")
        } else {
            continue;
        };
        problems.add(Error::new(name.span(), problem));
    }
}
