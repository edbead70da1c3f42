//! One field as a channel: its types, its rule, and the checks that need both. Makes no code.

use syn::ext::IdentExt;
use syn::{Attribute, Error, Field, Ident, Meta, Type};

use super::attributes::Attributes;
use super::rule::Rule;
use crate::problems::Problems;
use crate::types;

/// Methods of the update type that a setter would hide.
pub(super) const METHODS: [&str; 4] = ["written", "clone", "into", "into_command"];

/// One channel of the state.
pub(super) struct Channel {
    /// The position among the channels.
    pub(super) index: usize,
    /// The field; the setter and the variant of the write enum are named like it.
    pub(super) field: Ident,
    /// The field that is its group, if it is in one.
    pub(super) group: Option<Ident>,
    /// The channel's name: the field's, without `r#`.
    pub(super) name: String,
    /// The type of the value.
    pub(super) value: Type,
    /// The type of one write that does not overwrite.
    pub(super) write: Type,
    pub(super) rule: &'static Rule,
    pub(super) attributes: Attributes,
    /// The doc comments of the field.
    pub(super) docs: Vec<Attribute>,
    /// Set if the field has a problem, so that its rule and types may not be what was meant.
    pub(super) is_broken: bool,
}

impl Channel {
    /// Reads a field that has a name, and the group that it is in.
    pub(super) fn of(
        index: usize,
        (group, field, name): (Option<&Ident>, &Field, &Ident),
        problems: &mut Problems,
    ) -> Self {
        let before = problems.count();
        let attributes = Attributes::of(&field.attrs, problems);
        let rule = attributes.rule();
        let write = attributes.write.as_ref().map(|(write, _)| write.clone());
        let mut channel = Self {
            index,
            field: name.clone(),
            group: group.cloned(),
            name: name.unraw().to_string(),
            value: field.ty.clone(),
            write: write.or_else(|| (rule.write_type)(&field.ty)).unwrap_or_else(|| field.ty.clone()),
            rule,
            attributes,
            docs: field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect(),
            is_broken: false,
        };
        channel.check(problems);
        channel.check_upgrade(problems);
        channel.is_broken = problems.count() > before;
        channel
    }

    /// Returns the type of one item, if writes are lists that any iterator can give.
    ///
    /// Not so for numbers: an iterator of what converts to a `u64` would make `[1, 2]` two `i32`s.
    pub(super) fn item(&self) -> Option<&Type> {
        types::argument(&self.write, "Vec").filter(|item| self.rule.is_list && !types::is_number(item))
    }

    /// Returns the type of one item, if writes are lists of numbers.
    pub(super) fn number(&self) -> Option<&Type> {
        types::argument(&self.write, "Vec").filter(|item| self.rule.is_log() && types::is_number(item))
    }

    /// Returns whether bincode suits both the value and its writes.
    pub(super) fn is_flat(&self) -> bool {
        types::is_flat(&self.stored_type()) && types::is_flat(&self.write)
    }

    fn check(&self, problems: &mut Problems) {
        if let Some(text) = self.name_problem() {
            problems.add(Error::new(self.field.span(), text));
        }
        let is_log = self.rule.is_log() && types::argument(&self.value, "Log").is_some();
        if self.rule.is_list && types::argument(&self.value, "Vec").is_none() && !is_log {
            let word = self.rule.name.trim_end_matches("(accumulate)");
            let text = format!("`{word}` needs a field of type `Vec<…>`, written out and not as an alias");
            problems.add_at(&self.value, text);
        }
    }

    /// Returns the type as which the value is stored: a `Log` is stored as a `Vec`.
    pub(super) fn stored_type(&self) -> Type {
        match types::argument(&self.value, "Log").filter(|_| self.rule.is_log()) {
            Some(item) => syn::parse_quote!(Vec<#item>),
            None => self.value.clone(),
        }
    }

    /// Returns true if writes that do not overwrite are stored as another type than the value.
    pub(super) fn stores_other(&self) -> bool {
        self.takes_other() && !self.rule.is_log()
    }

    /// Returns true if writes that do not overwrite are of another type than the value.
    pub(super) fn takes_other(&self) -> bool {
        types::text(&self.write) != types::text(&self.value)
    }

    fn check_upgrade(&self, problems: &mut Problems) {
        let past = &self.attributes.past;
        match (&past.upgrade, &past.upgrade_write) {
            (Some((_, span)), None) if self.takes_other() => {
                let writes =
                    types::text(&self.write).replace("::std::vec::", "").replace("::superstep::graph::reducers::", "");
                let text = format!("its writes are `{writes}`: add `upgrade_write = <fn>` to upgrade those too");
                problems.add(Error::new(*span, text));
            }
            (Some(_), Some((_, span))) if !self.rule.reduces() => {
                problems.add(Error::new(*span, "each write to it is the value: `upgrade = <fn>` is for both"));
            }
            _ => {}
        }
        if let Some(was) = past.was.first().filter(|_| self.rule.stored == "Never") {
            problems.add_at(was, "an `untracked` channel is never stored, so it cannot have `was`");
        }
    }

    fn name_problem(&self) -> Option<String> {
        let name = &self.name;
        if METHODS.contains(&name.as_str()) {
            return Some(format!("a channel cannot be called `{name}`: the update type has a method of this name"));
        }
        name.starts_with("__").then(|| "names that start with `__` are reserved".into())
    }
}

/// Returns whether a field is `#[channel(group)]`.
pub(super) fn is_group(field: &Field) -> bool {
    field.attrs.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("channel") && list.tokens.to_string() == "group",
        Meta::Path(_) | Meta::NameValue(_) => false,
    })
}
