//! The derive macros of superstep: `State` for states, `NodeId` for node ids, `Route` and `Labels` for a router's outcomes,
//! `Interrupt` for questions.
//!
//! The expansions name only `::superstep::graph` and `::superstep::__private`. What they mean is decided there; here is
//! known how the contract of a channel is filled from a field, and nothing of the engine.

mod case;
mod enums;
mod interrupt;
mod labels;
mod node_id;
mod problems;
mod route;
mod signal;
mod state;
mod stub;
mod types;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

type Expand = fn(&DeriveInput) -> proc_macro2::TokenStream;

/// Makes a struct with named fields a state: each field is a channel, and each channel has a rule for its writes.
///
/// The struct also needs `Clone` and `Default`; every field needs `Clone`, `Serialize` and `Deserialize`. A channel holds
/// its field's value in `Default` until the first write. Next to the struct appears its update type, named `…Update`, with
/// one setter per field:
///
/// ```ignore
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Draft {
///     topic: String,
///     #[channel(append)]
///     notes: Vec<String>,
///     #[channel(add)]
///     rounds: u32,
/// }
/// let update = Draft::update().topic("tides").notes(["salt"]).rounds(1);
/// let update = Draft::update().notes(overwrite(vec![]));
/// ```
///
/// | `#[channel(…)]` | field | what a write does |
/// |---|---|---|
/// | (none) | any | sets it; one writer per superstep |
#[doc = state::rules_as_text!()]
/// | `reduce = path` | `V` | calls `fn(&mut V, V)` |
/// | `reduce = path, write = W` | `V` | calls `fn(&mut V, W)` |
/// | `reduce = path, fallible` | `V` | the function returns `Result<(), impl Into<String>>` |
/// | `reduce = path, delta` | `V` | as above; its writes are stored, and the value when they outgrow it |
///
/// `default = expression`, with any rule that keeps the value, sets the value before the first write. `Default` is then
/// implemented here, with the defaults of their types for all other fields, so the struct does not derive it:
///
/// ```ignore
/// #[derive(State, Clone, Debug, Serialize, Deserialize)]
/// struct Draft {
///     topic: String,
///     #[channel(default = 5)]
///     attempts_left: u32,
/// }
/// assert_eq!(Draft::default().attempts_left, 5);
/// ```
///
/// A channel that is set for one superstep only has the default value of its type in every other, even if the state's own
/// `Default` has another value for it.
///
/// A setter takes what one write is, of exactly that type: the field's, `W` with `write = W`, the inner type for `max` and
/// `min` of an `Option`. A text field's takes anything `Into<String>`; that of an `Option<T>` also takes a `T`, and that of an
/// `Option<String>` a `&str`; for `append`, `topic` and `messages` anything that yields items; for channels that reduce also
/// `overwrite(value)`. No setter needs `.into()` on what it is given.
///
/// With any rule or none: `secret` (left out of the JSON and the `Debug` of events, outcomes and snapshots, and of errors;
/// it is stored all the same, and `Debug` of the struct prints it), and what tells of earlier versions of the field, so that
/// stored threads stay readable:
///
/// | when the field changes | write | then |
/// |---|---|---|
/// | it is new | nothing | it begins with its default |
/// | it has another name | `was = "old"`, several allowed | what is stored under the old name is its own |
/// | it has another type, and some value stored before does not fit it | `version = 2, upgrade = path` | the function makes the new value of the old one |
/// | it is new, and another field is gone | `new` | as above; unmarked, a stored thread needs a migration, for one may be the other renamed |
/// | it is gone | nothing | what is stored is carried along, so that the old code finds it again, and listed in snapshots |
/// | it is gone for good | `#[state(removed("old"))]` on the struct | what is stored is dropped |
///
/// An upgrade is `fn(serde_json::Value, u32) -> Result<V, impl Display>`: it is given the value as JSON (bytes as a list of
/// numbers) and the version that stored it, and is called each time an old value is read, entries of `append` included. Where
/// a write is not what the field is (`write = W`, `messages`, `max` and `min` of an `Option`), `upgrade_write = path` does the
/// same for writes that are stored and not yet reduced: `fn(serde_json::Value, u32) -> Result<W, impl Display>`. A value that
/// cannot be read is [`RunError::Unreadable`](../superstep/graph/enum.RunError.html), and never guessed at: without a new
/// version, another type reads it only if all of it is kept.
///
/// ```ignore
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// #[state(removed("mood"))]
/// struct Draft {
///     #[channel(was = "subject")]
///     topic: String,
///     #[channel(append, version = 2, upgrade = notes_of)]
///     notes: Vec<Note>,
/// }
/// fn notes_of(old: Value, _from: u32) -> Result<Vec<Note>, serde_json::Error> {
///     let texts: Vec<String> = serde_json::from_value(old)?;
///     Ok(texts.into_iter().map(Note::new).collect())
/// }
/// ```
///
/// `#[state(schema)]` above the struct gives the graph a JSON Schema of its input and of its state
/// ([`CompiledGraph::schemas`](../superstep/graph/struct.CompiledGraph.html)). It needs the feature `schema` of superstep, and
/// `schemars::JsonSchema` of the types of the fields. The doc comment of a field is its description.
///
/// A value is read back as serde reads it: `Some(None)`, `Some(())` and `Some(Value::Null)` come back as `None`.
///
/// A channel that lives for one superstep is emptied after a superstep that did not write it. It counts as changed then
/// if it held something: a list, text or map that is not empty, an `Option` that is `Some`, a number or `bool` that is
/// not its default; of any other type nothing is known, so it always counts.
///
/// `group`, alone, makes the fields of a struct with `#[derive(Channels)]` channels of the state, each named like its field, as
/// if they were its own: a state of many channels is then a few structs. The struct is above the state in its file, and setters
/// are those of the state:
///
/// ```ignore
/// #[derive(Channels, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Costs {
///     #[channel(add)]
///     tokens: u64,
/// }
/// #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
/// struct Draft {
///     topic: String,
///     #[channel(group)]
///     costs: Costs,
/// }
/// let update = Draft::update().topic("tides").tokens(12); // `draft.costs.tokens` grows by 12
/// ```
///
/// Rules that ask for a `Vec`, and the encoding (bincode for numbers and vectors of numbers, otherwise MessagePack), go
/// by the type as it is written: an alias is not seen through.
#[proc_macro_derive(State, attributes(channel, state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    expand_by(|input| state::group::collect(input, &[]), &parse_macro_input!(input))
}

/// Makes a struct with named fields a group of channels, for a field `#[channel(group)]` of a state. Its fields take the same
/// attributes as the fields of a state, `default = …` included.
#[proc_macro_derive(Channels, attributes(channel))]
pub fn derive_channels(input: TokenStream) -> TokenStream {
    expand_by(state::group::expand, &parse_macro_input!(input))
}

#[doc(hidden)]
#[proc_macro]
pub fn state_with_groups(input: TokenStream) -> TokenStream {
    state::group::expand_state(input.into()).into()
}

/// Makes a fieldless enum a set of node ids; everything such an enum needs is derived with it.
///
/// These are `Clone`, `Copy`, `Debug`, `PartialEq`, `Eq`, `Hash`, `AsRef<str>`, strum's `IntoEnumIterator`, and the trait
/// itself. A node is named like its variant, in checkpoints too; `#[node(name = "…")]` sets another name, and
/// `#[node(rename_all = "…")]` on the enum another case for all others: `lowercase`, `UPPERCASE`, `PascalCase`, `camelCase`,
/// `snake_case`, `SCREAMING_SNAKE_CASE`, `kebab-case` or `SCREAMING-KEBAB-CASE`. `AskURL` is two words.
///
/// ```ignore
/// #[derive(NodeId)]
/// #[node(rename_all = "snake_case")]
/// enum Step {
///     CheckPlan, // check_plan
///     #[node(name = "write-up")]
///     Write,
/// }
/// ```
#[proc_macro_derive(NodeId, attributes(node))]
pub fn derive_node_id(input: TokenStream) -> TokenStream {
    expand_by(node_id::expand, &parse_macro_input!(input))
}

/// Lets the engine name and list the outcomes of a router: `AsRef<str>` and strum's `IntoEnumIterator`.
///
/// The outcomes may have fields; where they are listed, the fields hold their defaults.
///
/// ```ignore
/// #[derive(Labels)]
/// enum AfterReview {
///     Revise { why: String },
///     Publish,
/// }
/// ```
#[proc_macro_derive(Labels)]
pub fn derive_labels(input: TokenStream) -> TokenStream {
    expand_by(labels::expand, &parse_macro_input!(input))
}

/// Makes an enum the outcomes of a router: each variant names its targets. It brings what `Labels` derives.
///
/// `#[to(…)]` takes node ids, `END`, a worker's sends, or several of these separated by commas; expressions may use the
/// fields of their variant, those without names as `_0`, `_1` and so on. The type of the node ids is read from the first
/// target of the form `Step::Name`; where there is none, `#[route(Step)]` above the enum gives it.
///
/// ```ignore
/// #[derive(Route)]
/// enum AfterReview {
///     #[to(Step::Write)]
///     Revise,
///     #[to(Step::Print, Step::Announce)]
///     Publish,
///     #[to(SEARCH.each(queries))]
///     Research { queries: Vec<String> },
///     #[to(END)]
///     GiveUp,
/// }
/// ```
#[proc_macro_derive(Route, attributes(to, route))]
pub fn derive_route(input: TokenStream) -> TokenStream {
    expand_by(route::expand, &parse_macro_input!(input))
}

/// Makes a type a question: `resume` is the type of its answer, `name` its name in stored threads.
///
/// Without `name` it is the type's name in snake case, so renaming the type then leaves pending questions behind. The type
/// also needs `Serialize` and `Deserialize`.
///
/// `schema` gives the question and its answer JSON Schemas, of which forms are made. It needs the feature `schema` of superstep,
/// and `schemars::JsonSchema` of both types.
///
/// ```ignore
/// #[derive(Interrupt, Serialize, Deserialize)]
/// #[interrupt(resume = bool, name = "approve")]
/// struct Approve {
///     text: String,
/// }
/// ```
#[proc_macro_derive(Interrupt, attributes(interrupt))]
pub fn derive_interrupt(input: TokenStream) -> TokenStream {
    expand_by(interrupt::expand, &parse_macro_input!(input))
}

/// Makes a type a signal: `name` is its name in stored threads.
///
/// Without `name` it is the type's name in snake case. The type also needs `Serialize` and `Deserialize`.
///
/// ```ignore
/// #[derive(Signal, Serialize, Deserialize)]
/// #[signal(name = "paid")]
/// struct Paid {
///     cents: u64,
/// }
/// ```
#[proc_macro_derive(Signal, attributes(signal))]
pub fn derive_signal(input: TokenStream) -> TokenStream {
    expand_by(signal::expand, &parse_macro_input!(input))
}

fn expand_by(expand: Expand, input: &DeriveInput) -> TokenStream {
    expand(input).into()
}
