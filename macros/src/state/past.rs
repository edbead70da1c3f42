//! The names that channels had before, and those of channels that are gone: each name means one thing. Makes no code.

use syn::{Error, LitStr};

use super::channel::Channel;
use crate::problems::Problems;

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
