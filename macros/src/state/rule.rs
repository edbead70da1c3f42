//! The rules a channel can have, and what each means for its values. Knows no attribute and no field.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Path, Type};

use crate::types;

/// The rule by which writes change a channel.
#[derive(Clone)]
pub(super) enum Rule {
    LastValue,
    AnyValue,
    Ephemeral,
    Untracked,
    Topic { accumulate: bool },
    Append,
    Add,
    Union,
    Merge,
    Max,
    Min,
    Messages,
    Custom { with: Path },
}

/// The words of the rules that take nothing.
const WORDS: [(&str, Rule); 11] = [
    ("append", Rule::Append),
    ("add", Rule::Add),
    ("union", Rule::Union),
    ("merge", Rule::Merge),
    ("max", Rule::Max),
    ("min", Rule::Min),
    ("messages", Rule::Messages),
    ("topic", Rule::Topic { accumulate: false }),
    ("ephemeral", Rule::Ephemeral),
    ("any_value", Rule::AnyValue),
    ("untracked", Rule::Untracked),
];

impl Rule {
    /// Returns the rule with this name.
    pub(super) fn named(word: &str) -> Option<Self> {
        WORDS.into_iter().find(|(known, _)| *known == word).map(|(_, rule)| rule)
    }

    /// Returns the name that stored threads know the rule by.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::LastValue => "last_value",
            Self::AnyValue => "any_value",
            Self::Ephemeral => "ephemeral",
            Self::Untracked => "untracked",
            Self::Topic { accumulate: false } => "topic",
            Self::Topic { accumulate: true } => "topic(accumulate)",
            Self::Append => "append",
            Self::Add => "add",
            Self::Union => "union",
            Self::Merge => "merge",
            Self::Max => "max",
            Self::Min => "min",
            Self::Messages => "messages",
            Self::Custom { .. } => "reduce",
        }
    }

    /// Returns whether writes go through a reducer, and so can also overwrite.
    pub(super) fn reduces(&self) -> bool {
        match self {
            Self::Append | Self::Add | Self::Union | Self::Merge => true,
            Self::Max | Self::Min | Self::Messages | Self::Custom { .. } => true,
            Self::LastValue | Self::AnyValue | Self::Ephemeral | Self::Untracked | Self::Topic { .. } => false,
        }
    }

    /// Returns whether the channel is emptied after a superstep that did not write it.
    pub(super) fn is_emptied(&self) -> bool {
        matches!(self, Self::AnyValue | Self::Ephemeral | Self::Topic { accumulate: false })
    }

    /// Returns the word of a rule that only a `Vec` can have.
    pub(super) fn asks_for_vec(&self) -> Option<&'static str> {
        match self {
            Self::Append => Some("append"),
            Self::Topic { .. } => Some("topic"),
            Self::Messages => Some("messages"),
            _ => None,
        }
    }

    /// Returns the variant of `Stored`.
    pub(super) fn stored(&self) -> TokenStream {
        match self {
            Self::LastValue | Self::AnyValue | Self::Ephemeral => quote!(Value),
            Self::Untracked => quote!(Never),
            Self::Append => quote!(Log),
            Self::Messages | Self::Union | Self::Merge => quote!(Delta),
            Self::Topic { .. } | Self::Add => quote!(Full),
            Self::Max | Self::Min | Self::Custom { .. } => quote!(Full),
        }
    }

    /// Returns the type of one write to a channel of type `value`, where that is not `value` itself.
    pub(super) fn write_type(&self, value: &Type) -> Option<Type> {
        match self {
            Self::Max | Self::Min => types::argument(value, "Option").cloned(),
            Self::Append => types::argument(value, "Log").map(|item| syn::parse_quote!(::std::vec::Vec<#item>)),
            Self::Messages => {
                let item = types::argument(value, "Vec")?;
                Some(syn::parse_quote!(::std::vec::Vec<::superstep::graph::reducers::Change<#item>>))
            }
            _ => None,
        }
    }

    /// Returns what a setter does, for its documentation.
    pub(super) fn says(&self, name: &str) -> String {
        const ONE: &str = ". One task may write it in a superstep.";
        const OR: &str = "; `overwrite(…)` replaces the whole value.";
        let (what, then) = match self {
            Self::LastValue => ("Sets", ONE),
            Self::AnyValue => ("Sets, for the next superstep only,", ". The last writer wins."),
            Self::Ephemeral => ("Sets, for the next superstep only,", ONE),
            Self::Untracked => ("Sets, in no checkpoint,", ONE),
            Self::Topic { accumulate: false } => ("Adds to the list of this superstep,", "."),
            Self::Topic { accumulate: true } => ("Adds to the list", "."),
            Self::Append => ("Appends to", OR),
            Self::Add => ("Adds to", OR),
            Self::Union => ("Adds members to", OR),
            Self::Merge => ("Adds or replaces entries of", OR),
            Self::Max => ("Raises", OR),
            Self::Min => ("Lowers", OR),
            Self::Messages => ("Merges changes by id into", OR),
            Self::Custom { .. } => ("Reduces a value into", OR),
        };
        format!("{what} `{name}`{then}")
    }
}
