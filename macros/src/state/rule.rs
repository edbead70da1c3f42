//! The rules a channel can have: a row of one table each, which holds all that the derive knows of it, and what its
//! documentation says. Knows no attribute and no field.
//!
//! A rule that reduces calls the function of its name in `graph::reducers`; for a value that is an `Option` while a write is
//! not, the one with `_of_any` behind the name.

use syn::Type;

use crate::types;

/// A rule by which writes change a channel.
pub(super) struct Rule {
    /// The word in `#[channel(…)]`, by which stored threads know the rule too.
    pub(super) name: &'static str,
    pub(super) apply: Apply,
    /// The variant of `Storage`.
    pub(super) stored: &'static str,
    /// Returns the type of one write to a value of this type, where it is another one.
    pub(super) write_type: fn(&Type) -> Option<Type>,
    /// Set if only a `Vec` can have it.
    pub(super) is_list: bool,
    /// Set if its reducer can refuse a write.
    pub(super) is_fallible: bool,
    /// Set if the channel is emptied after a superstep that did not write it.
    pub(super) is_emptied: bool,
    /// The verb of a setter's documentation.
    setter: &'static str,
}

/// The way by which a write gets into the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Apply {
    /// It replaces the value; a second one in a superstep is an error.
    Once,
    /// It replaces the value.
    Last,
    /// Its items are added to a list.
    Topic,
    /// A reducer merges it into the value, or it overwrites.
    Reducer,
}

/// The rule of a field without any.
pub(super) static LAST_VALUE: Rule = SET;
/// The rule of `reduce = <fn>`.
pub(super) static CUSTOM: Rule = REDUCE;

const SET: Rule = Rule {
    name: "last_value",
    apply: Apply::Once,
    stored: "Value",
    write_type: |_| None,
    is_list: false,
    is_fallible: false,
    is_emptied: false,
    setter: "Sets",
};
const FOR_ONE_STEP: Rule = Rule { is_emptied: true, setter: "Sets, for the next superstep only,", ..SET };
const REDUCE: Rule =
    Rule { name: "reduce", apply: Apply::Reducer, stored: "Full", setter: "Reduces a value into", ..SET };
const TOPIC: Rule = Rule { apply: Apply::Topic, stored: "Full", is_list: true, setter: "Adds to the list", ..SET };

/// Makes the table of the rules with a word: word, field, what a write does, and the rule; and its documentation.
macro_rules! rules {
    ($($name:literal | $field:literal | $does:literal => $rule:expr;)+) => {
        static RULES: &[Rule] = &[$(Rule { name: $name, ..$rule }),+];

        macro_rules! rules_as_text {
            () => {
                concat!($("| `", $name, "` | ", $field, " | ", $does, " |\n"),+)
            };
        }
        pub(crate) use rules_as_text;
    };
}

rules! {
    "append" | "`Vec<T>` or `Log<T>`" | "appends; stored as a log, never rewritten" =>
        Rule { stored: "Log", write_type: items, is_list: true, setter: "Appends to", ..REDUCE };
    "add" | "`AddAssign`" | "adds" =>
        Rule { is_fallible: true, setter: "Adds to", ..REDUCE };
    "union" | "sets" | "adds members; stored as a value and the writes since" =>
        Rule { stored: "Delta", setter: "Adds members to", ..REDUCE };
    "merge" | "maps" | "adds or replaces entries; stored as a value and the writes since" =>
        Rule { stored: "Delta", setter: "Adds or replaces entries of", ..REDUCE };
    "max" | "`PartialOrd`, or `Option` of it" | "keeps the greater value" =>
        Rule { write_type: inner, setter: "Raises", ..REDUCE };
    "min" | "`PartialOrd`, or `Option` of it" | "keeps the smaller value" =>
        Rule { write_type: inner, setter: "Lowers", ..REDUCE };
    "messages" | "`Vec<T: Keyed>`" | "merges changes by id" => Rule {
        stored: "Delta",
        write_type: changes,
        is_list: true,
        is_fallible: true,
        setter: "Merges changes by id into",
        ..REDUCE
    };
    "topic" | "`Vec<T>`" | "collects the writes of one superstep" =>
        Rule { is_emptied: true, setter: "Adds to the list of this superstep,", ..TOPIC };
    "topic(accumulate)" | "`Vec<T>`" | "collects the writes of all supersteps" => TOPIC;
    "ephemeral" | "any" | "sets it for the next superstep only; one writer" => FOR_ONE_STEP;
    "any_value" | "any" | "sets it for the next superstep only; the last writer wins" =>
        Rule { apply: Apply::Last, ..FOR_ONE_STEP };
    "untracked" | "any" | "sets it; no checkpoint keeps it" =>
        Rule { stored: "Never", setter: "Sets, in no checkpoint,", ..SET };
}

fn inner(value: &Type) -> Option<Type> {
    types::argument(value, "Option").cloned()
}

fn items(value: &Type) -> Option<Type> {
    types::argument(value, "Log").map(|item| syn::parse_quote!(::std::vec::Vec<#item>))
}

fn changes(value: &Type) -> Option<Type> {
    let item = types::argument(value, "Vec")?;
    Some(syn::parse_quote!(::std::vec::Vec<::superstep::graph::reducers::Change<#item>>))
}

impl Rule {
    /// Returns the rule with this name.
    pub(super) fn from_name(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    /// Lists the words of all rules.
    pub(super) fn known() -> String {
        RULES.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether writes go through a reducer, and so can also overwrite.
    pub(super) fn reduces(&self) -> bool {
        self.apply == Apply::Reducer
    }

    /// Returns whether all writes are kept, as entries of a log.
    pub(super) fn is_log(&self) -> bool {
        self.stored == "Log"
    }

    /// Returns the documentation of the setter of a channel.
    pub(super) fn describe_setter(&self, channel: &str) -> String {
        let then = match self.apply {
            Apply::Once => ". One task may write it in a superstep.",
            Apply::Last => ". The last writer wins.",
            Apply::Topic => ".",
            Apply::Reducer => "; `overwrite(…)` replaces the whole value.",
        };
        format!("{} `{channel}`{then}", self.setter)
    }
}
