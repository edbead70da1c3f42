//! Reads `#[channel(…)]`. Knows the words and which of them go together; not what fields they fit.

use proc_macro2::{Span, TokenTree};
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, LitInt, LitStr, Meta, Path, Result, Token, Type};

use super::rule::Rule;
use crate::problems::Problems;

const KNOWN: &str = "known are append, add, union, merge, max, min, messages, topic, topic(accumulate), ephemeral, \
    any_value, untracked, reduce = <fn> (also with write = <type>, fallible, delta), default = <value>, secret, \
    version = <number> (also with upgrade = <fn>, upgrade_write = <fn>), was = \"<name>\", new";

/// The attributes of one field.
#[derive(Default)]
pub(super) struct Attributes {
    rule: Option<(Rule, Span)>,
    write: Option<(Type, Span)>,
    fallible: Option<Span>,
    delta: Option<Span>,
    default: Option<(Expr, Span)>,
    secret: Option<Span>,
    version: Option<(u32, Span)>,
    upgrade: Option<(Path, Span)>,
    upgrade_write: Option<(Path, Span)>,
    was: Vec<LitStr>,
    new: Option<Span>,
}

impl Attributes {
    /// Reads the attributes of a field.
    pub(super) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        let mut all = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("channel")) {
            if is_empty(attribute) {
                problems.at(attribute, format!("`#[channel]` has no rule: leave it out for a last value; {KNOWN}"));
                continue;
            }
            let read = attribute.parse_nested_meta(|meta| {
                problems.check(all.word(&meta).and_then(|()| ended(&meta)));
                skip_rest(&meta)
            });
            problems.check(read);
        }
        all.together(problems);
        all
    }

    /// Returns the rule, and where errors about it belong.
    pub(super) fn rule(&self) -> (Rule, Span) {
        self.rule.clone().unwrap_or((Rule::LastValue, Span::call_site()))
    }

    /// Returns the type that `write = …` gives.
    pub(super) fn write_type(&self) -> Option<&Type> {
        self.write.as_ref().map(|(ty, _)| ty)
    }

    pub(super) fn is_fallible(&self) -> bool {
        self.fallible.is_some()
    }

    /// Returns whether the writes of a custom reducer are stored, and the value only now and then.
    pub(super) fn is_delta(&self) -> bool {
        self.delta.is_some()
    }

    /// Returns the value that `default = …` gives.
    pub(super) fn default_value(&self) -> Option<&Expr> {
        self.default.as_ref().map(|(value, _)| value)
    }

    pub(super) fn is_secret(&self) -> bool {
        self.secret.is_some()
    }

    pub(super) fn version(&self) -> Option<u32> {
        self.version.map(|(version, _)| version)
    }

    /// Returns the function that `upgrade = …` gives, and where errors about it belong.
    pub(super) fn upgrade(&self) -> Option<&(Path, Span)> {
        self.upgrade.as_ref()
    }

    /// Returns the function that `upgrade_write = …` gives, and where errors about it belong.
    pub(super) fn upgrade_write(&self) -> Option<&(Path, Span)> {
        self.upgrade_write.as_ref()
    }

    /// Returns the names that the field had before.
    pub(super) fn was(&self) -> &[LitStr] {
        &self.was
    }

    /// Returns whether threads that never stored the field go on with its default.
    pub(super) fn is_new(&self) -> bool {
        self.new.is_some()
    }

    fn word(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let (word, span) = (meta.path.to_token_stream().to_string(), meta.path.span());
        match word.as_str() {
            "write" => once(&mut self.write, (meta.value()?.parse()?, span), meta),
            "version" => once(&mut self.version, (version(meta)?, span), meta),
            "fallible" => once(&mut self.fallible, span, meta),
            "default" => once(&mut self.default, (meta.value()?.parse()?, span), meta),
            "delta" => once(&mut self.delta, span, meta),
            "secret" => once(&mut self.secret, span, meta),
            "new" => once(&mut self.new, span, meta),
            "reduce" => self.set_rule(Rule::Custom { with: meta.value()?.parse()? }, meta),
            "upgrade" => once(&mut self.upgrade, (meta.value()?.parse()?, span), meta),
            "upgrade_write" => once(&mut self.upgrade_write, (meta.value()?.parse()?, span), meta),
            "was" => {
                self.was.push(meta.value()?.parse()?);
                Ok(())
            }
            _ => match Rule::named(&word) {
                Some(rule) => self.set_rule(with_parentheses(rule, meta)?, meta),
                None => Err(meta.error(format!("unknown word `{word}`; {KNOWN}"))),
            },
        }
    }

    fn set_rule(&mut self, rule: Rule, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if self.rule.is_some() {
            return Err(meta.error("a channel has one rule, and this is the second"));
        }
        self.rule = Some((rule, meta.path.span()));
        Ok(())
    }

    /// Reports words that only mean something beside others.
    fn together(&self, problems: &mut Problems) {
        let later = self.version().is_some_and(|version| version > 1);
        if let Some((_, span)) = self.upgrade.as_ref().filter(|_| !later) {
            problems.add(Error::new(*span, "`upgrade = <fn>` goes with `version = <number>`, 2 or more"));
        }
        if let Some((_, span)) = self.upgrade_write.as_ref().filter(|_| self.upgrade.is_none()) {
            problems.add(Error::new(*span, "`upgrade_write = <fn>` goes with `upgrade = <fn>`"));
        }
        if let Some(span) = self.new.filter(|_| !self.was.is_empty()) {
            problems.add(Error::new(span, "a field that was called otherwise before is not `new`"));
        }
        if let (Some((rule, _)), Some((_, span))) = (&self.rule, &self.default)
            && rule.is_emptied()
        {
            let text = format!("`{}` empties the channel to the default of its type, and no other", rule.name());
            problems.add(Error::new(*span, text));
        }
        if matches!(self.rule, Some((Rule::Custom { .. }, _))) {
            return;
        }
        if let Some((_, span)) = self.write {
            problems.add(Error::new(span, "`write = <type>` goes with `reduce = <fn>`"));
        }
        if let Some(span) = self.fallible {
            problems.add(Error::new(span, "`fallible` goes with `reduce = <fn>`"));
        }
        if let Some(span) = self.delta {
            problems.add(Error::new(span, "`delta` goes with `reduce = <fn>`"));
        }
    }
}

fn is_empty(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(_) => true,
        Meta::List(list) => list.tokens.is_empty(),
        Meta::NameValue(_) => false,
    }
}

fn once<T>(slot: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("given twice")),
    }
}

fn version(meta: &ParseNestedMeta<'_>) -> Result<u32> {
    let number: LitInt = meta.value()?.parse()?;
    match number.base10_parse()? {
        0 => Err(Error::new_spanned(number, "versions count from 1")),
        version => Ok(version),
    }
}

/// Reads the `(accumulate)` of `topic(accumulate)`.
fn with_parentheses(rule: Rule, meta: &ParseNestedMeta<'_>) -> Result<Rule> {
    if !matches!(rule, Rule::Topic { .. }) || !meta.input.peek(syn::token::Paren) {
        return Ok(rule);
    }
    let inner;
    syn::parenthesized!(inner in meta.input);
    let word: Path = inner.parse()?;
    if !word.is_ident("accumulate") || !inner.is_empty() {
        return Err(Error::new_spanned(word, "`topic` takes nothing but `accumulate`"));
    }
    Ok(Rule::Topic { accumulate: true })
}

fn ended(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) { Ok(()) } else { Err(meta.input.error("expected `,`")) }
}

/// Skips to the next comma, so that one bad word does not hide the problems after it.
fn skip_rest(meta: &ParseNestedMeta<'_>) -> Result<()> {
    while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
        meta.input.parse::<TokenTree>()?;
    }
    Ok(())
}
