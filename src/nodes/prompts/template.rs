//! Text with named slots. Pure.

use super::parts::Parts;

/// A template file: text in which `{{name}}` is a slot.
pub(super) struct Template {
    pub name: &'static str,
    pub text: &'static str,
}

/// Includes a template file of this folder.
macro_rules! template {
    ($file:literal) => {
        Template { name: $file, text: include_str!(concat!($file, ".md")) }
    };
}

pub(super) use template;

impl Template {
    /// Fills the slots in one pass: values are never searched for slots. A slot without a value is kept.
    pub(super) fn fill(&self, slots: &[(&str, Parts)]) -> Parts {
        let mut rest = self.text;
        let mut filled = Parts::default();
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((slot, end)) = after.split_once("}}") else { break };
            filled.push_literal(before);
            match slots.iter().find(|(name, _)| *name == slot) {
                Some((_, value)) => filled.push(value.clone()),
                None => filled.push_literal(&format!("{{{{{slot}}}}}")),
            }
            rest = end;
        }
        filled.push_literal(rest);
        filled
    }
}

/// Formats texts as a list; empty if there are none. Further lines of a text are indented, so that they stay in its
/// item.
pub(super) fn listed(heading: &str, lines: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let list: String =
        lines.into_iter().map(|line| format!("- {}\n", line.to_string().replace('\n', "\n  "))).collect();
    if list.is_empty() { list } else { format!("{heading}\n\n{list}\n") }
}
