//! Reads `#[channel(…)]`. Knows the words and which of them go together; not what fields they fit.

use proc_macro2::{Span, TokenTree};
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, LitInt, LitStr, Meta, Path, Result, Token, Type};

use super::rule::{CUSTOM, LAST_VALUE, Rule};
use crate::problems::Problems;

/// The attributes of one field, each with the place for errors about it.
#[derive(Default)]
pub(super) struct Attributes {
    rule: Option<(&'static Rule, Span)>,
    /// The function that `reduce = …` gives.
    pub(super) reducer: Option<Path>,
    /// The type of one write.
    pub(super) write: Option<(Type, Span)>,
    pub(super) fallible: Option<Span>,
    /// Set if the writes of a custom reducer are stored, and the value only now and then.
    pub(super) delta: Option<Span>,
    /// The value before the first write, if it is not the default of the type.
    pub(super) default: Option<(Expr, Span)>,
    pub(super) secret: Option<Span>,
    pub(super) past: Past,
}

/// Attributes about earlier versions of a field.
#[derive(Default)]
pub(super) struct Past {
    pub(super) version: Option<(u32, Span)>,
    /// The function that upgrades a value, and a write of another type.
    pub(super) upgrade: Option<(Path, Span)>,
    pub(super) upgrade_write: Option<(Path, Span)>,
    /// The names that it had before.
    pub(super) was: Vec<LitStr>,
    /// Set if threads that never stored it continue with its default.
    pub(super) new: Option<Span>,
}

impl Attributes {
    /// Reads the attributes of a field.
    pub(super) fn of(attributes: &[Attribute], problems: &mut Problems) -> Self {
        let mut all = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("channel")) {
            if is_empty(attribute) {
                let text = format!("`#[channel]` has no rule: leave it out for a last value; {}", known());
                problems.add_at(attribute, text);
                continue;
            }
            let read = attribute.parse_nested_meta(|meta| {
                problems.check(all.word(&meta).and_then(|()| expect_end(&meta)));
                skip_rest(&meta)
            });
            problems.check(read);
        }
        all.together(problems);
        all
    }

    /// Returns the rule.
    pub(super) fn rule(&self) -> &'static Rule {
        self.rule.map_or(&LAST_VALUE, |(rule, _)| rule)
    }

    /// Returns the place of the rule, for errors about its use.
    pub(super) fn rule_span(&self) -> Span {
        self.rule.map_or_else(Span::call_site, |(_, span)| span)
    }

    fn word(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let (word, span) = (meta.path.to_token_stream().to_string(), meta.path.span());
        let past = &mut self.past;
        match word.as_str() {
            "write" => set_once(&mut self.write, (meta.value()?.parse()?, span), meta),
            "fallible" => set_once(&mut self.fallible, span, meta),
            "default" => set_once(&mut self.default, (meta.value()?.parse()?, span), meta),
            "delta" => set_once(&mut self.delta, span, meta),
            "secret" => set_once(&mut self.secret, span, meta),
            "new" => set_once(&mut past.new, span, meta),
            "version" => set_once(&mut past.version, (version(meta)?, span), meta),
            "upgrade" => set_once(&mut past.upgrade, (meta.value()?.parse()?, span), meta),
            "upgrade_write" => set_once(&mut past.upgrade_write, (meta.value()?.parse()?, span), meta),
            "was" => {
                past.was.push(meta.value()?.parse()?);
                Ok(())
            }
            "reduce" => {
                let reducer = meta.value()?.parse()?;
                self.set_rule(&CUSTOM, meta)?;
                self.reducer = Some(reducer);
                Ok(())
            }
            _ => match Rule::from_name(&word) {
                Some(rule) => self.set_rule(with_parentheses(rule, meta)?, meta),
                None => Err(meta.error(format!("unknown word `{word}`; {}", known()))),
            },
        }
    }

    fn set_rule(&mut self, rule: &'static Rule, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if self.rule.is_some() {
            return Err(meta.error("a channel can have only one rule"));
        }
        self.rule = Some((rule, meta.path.span()));
        Ok(())
    }

    /// Reports words that only mean something beside others.
    fn together(&self, problems: &mut Problems) {
        self.past.check_combinations(problems);
        let rule = self.rule();
        if let (true, Some((_, span))) = (rule.is_emptied, &self.default) {
            let text = format!(
                "`{}` resets the channel to the default of its type, so it cannot have another default",
                rule.name
            );
            problems.add(Error::new(*span, text));
        }
        if self.reducer.is_some() {
            return;
        }
        let write = self.write.as_ref().map(|(_, span)| *span);
        for (word, span) in [("write = <type>", write), ("fallible", self.fallible), ("delta", self.delta)] {
            if let Some(span) = span {
                problems.add(Error::new(span, format!("`{word}` goes with `reduce = <fn>`")));
            }
        }
    }
}

impl Past {
    fn check_combinations(&self, problems: &mut Problems) {
        let later = self.version.is_some_and(|(version, _)| version > 1);
        if let Some((_, span)) = self.upgrade.as_ref().filter(|_| !later) {
            problems.add(Error::new(*span, "`upgrade = <fn>` goes with `version = <number>`, 2 or more"));
        }
        if let Some((_, span)) = self.upgrade_write.as_ref().filter(|_| self.upgrade.is_none()) {
            problems.add(Error::new(*span, "`upgrade_write = <fn>` goes with `upgrade = <fn>`"));
        }
        if let Some(span) = self.new.filter(|_| !self.was.is_empty()) {
            problems.add(Error::new(span, "a field with `was` cannot be `new`"));
        }
    }
}

/// Lists all words.
fn known() -> String {
    format!(
        "known are {}, reduce = <fn> (also with write = <type>, fallible, delta), default = <value>, secret, version = \
         <number> (also with upgrade = <fn>, upgrade_write = <fn>), was = \"<name>\", new",
        Rule::known()
    )
}

fn is_empty(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(_) => true,
        Meta::List(list) => list.tokens.is_empty(),
        Meta::NameValue(_) => false,
    }
}

fn set_once<T>(slot: &mut Option<T>, value: T, meta: &ParseNestedMeta<'_>) -> Result<()> {
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
fn with_parentheses(rule: &'static Rule, meta: &ParseNestedMeta<'_>) -> Result<&'static Rule> {
    if rule.name != "topic" || !meta.input.peek(syn::token::Paren) {
        return Ok(rule);
    }
    let inner;
    syn::parenthesized!(inner in meta.input);
    let word: Path = inner.parse()?;
    let refused = Error::new_spanned(&word, "`topic` takes only `accumulate`");
    match word.is_ident("accumulate") && inner.is_empty() {
        true => Rule::from_name("topic(accumulate)").ok_or(refused),
        false => Err(refused),
    }
}

fn expect_end(meta: &ParseNestedMeta<'_>) -> Result<()> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) { Ok(()) } else { Err(meta.input.error("expected `,`")) }
}

/// Skips to the next comma, so that one bad word does not hide the problems after it.
fn skip_rest(meta: &ParseNestedMeta<'_>) -> Result<()> {
    while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
        meta.input.parse::<TokenTree>()?;
    }
    Ok(())
}
