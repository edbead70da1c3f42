//! One field as a channel: its types, its rule, and the checks that need both. Makes no code.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::{Attribute, Error, Expr, Field, Ident, LitStr, Meta, Path, Type};

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
    /// The place of the field in the state: behind that of its group.
    pub(super) place: TokenStream,
    /// The channel's name: the field's, without `r#`.
    pub(super) name: String,
    /// The type of the value.
    pub(super) value: Type,
    /// The type of one write that does not overwrite.
    pub(super) write: Type,
    pub(super) rule: Rule,
    /// The span of the rule, for errors about its use.
    pub(super) rule_span: Span,
    /// Set if the reducer can refuse.
    pub(super) fallible: bool,
    /// Set if its writes are stored, and the value only now and then.
    pub(super) delta: bool,
    /// The value before the first write, if it is not the default of the type.
    pub(super) default: Option<Expr>,
    pub(super) secret: bool,
    pub(super) version: Option<u32>,
    /// The function that upgrades a value, and a write of another type.
    pub(super) upgrade: Option<Path>,
    pub(super) upgrade_write: Option<Path>,
    /// The names that it had before.
    pub(super) was: Vec<LitStr>,
    /// Set if threads that never stored it continue with its default.
    pub(super) new: bool,
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
        let (rule, rule_span) = attributes.rule();
        let write = attributes.write_type().cloned().or_else(|| rule.write_type(&field.ty));
        let mut channel = Self {
            index,
            field: name.clone(),
            group: group.cloned(),
            place: group.map_or_else(|| quote!(#name), |group| quote!(#group.#name)),
            name: name.unraw().to_string(),
            value: field.ty.clone(),
            write: write.unwrap_or_else(|| field.ty.clone()),
            fallible: attributes.is_fallible() || matches!(rule, Rule::Add | Rule::Messages),
            rule,
            rule_span,
            delta: attributes.is_delta(),
            default: attributes.default_value().cloned(),
            secret: attributes.is_secret(),
            version: attributes.version(),
            upgrade: attributes.upgrade().map(|(path, _)| path.clone()),
            upgrade_write: attributes.upgrade_write().map(|(path, _)| path.clone()),
            was: attributes.was().to_vec(),
            new: attributes.is_new(),
            docs: field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect(),
            is_broken: false,
        };
        channel.check(problems);
        channel.check_upgrade(&attributes, problems);
        channel.is_broken = problems.count() > before;
        channel
    }

    /// Returns the type of one item, if writes are lists that any iterator can give.
    ///
    /// Not so for numbers: an iterator of what converts to a `u64` would make `[1, 2]` two `i32`s.
    pub(super) fn item(&self) -> Option<&Type> {
        let takes_list = matches!(self.rule, Rule::Append | Rule::Messages | Rule::Topic { .. });
        types::argument(&self.write, "Vec").filter(|item| takes_list && !types::is_number(item))
    }

    /// Returns the type of one item, if writes are lists of numbers.
    pub(super) fn number(&self) -> Option<&Type> {
        let appends = matches!(self.rule, Rule::Append);
        types::argument(&self.write, "Vec").filter(|item| appends && types::is_number(item))
    }

    /// Returns whether bincode suits both the value and its writes.
    pub(super) fn is_flat(&self) -> bool {
        types::is_flat(&self.stored_type()) && types::is_flat(&self.write)
    }

    fn check(&self, problems: &mut Problems) {
        if let Some(text) = self.name_problem() {
            problems.add(Error::new(self.field.span(), text));
        }
        let Some(word) = self.rule.asks_for_vec() else { return };
        let is_log = matches!(self.rule, Rule::Append) && types::argument(&self.value, "Log").is_some();
        if types::argument(&self.value, "Vec").is_none() && !is_log {
            problems
                .at(&self.value, format!("`{word}` needs a field of type `Vec<…>`, written out and not as an alias"));
        }
    }

    /// Returns the type as which the value is stored: a `Log` is stored as a `Vec`.
    pub(super) fn stored_type(&self) -> Type {
        match (types::argument(&self.value, "Log"), &self.rule) {
            (Some(item), Rule::Append) => syn::parse_quote!(Vec<#item>),
            _ => self.value.clone(),
        }
    }

    /// Returns true if writes that do not overwrite are stored as another type than the value.
    pub(super) fn stores_other(&self) -> bool {
        self.takes_other() && !matches!(self.rule, Rule::Append)
    }

    /// Returns true if writes that do not overwrite are of another type than the value.
    pub(super) fn takes_other(&self) -> bool {
        types::text(&self.write) != types::text(&self.value)
    }

    fn check_upgrade(&self, attributes: &Attributes, problems: &mut Problems) {
        match (attributes.upgrade(), attributes.upgrade_write()) {
            (Some((_, span)), None) if self.takes_other() => {
                let writes =
                    types::text(&self.write).replace("::std::vec::", "").replace("::superstep::graph::reducers::", "");
                let text =
                    format!("its writes are `{writes}`: say how to upgrade those too, by `upgrade_write = <fn>`");
                problems.add(Error::new(*span, text));
            }
            (Some(_), Some((_, span))) if !self.rule.reduces() => {
                problems.add(Error::new(*span, "each write to it is the value: `upgrade = <fn>` is for both"));
            }
            _ => {}
        }
        if let Some(was) = self.was.first().filter(|_| matches!(self.rule, Rule::Untracked)) {
            problems.at(was, "no checkpoint keeps an `untracked` channel, under any name");
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
