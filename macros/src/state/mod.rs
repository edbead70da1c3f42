//! `#[derive(State)]`: one write variant per field, one setter per field, one match per question the engine asks.
//!
//! | file | what it knows |
//! |---|---|
//! | `attributes`, `rule`, `channel` | a field: its attributes, the table of rules, both as a channel |
//! | `past` | values of earlier versions |
//! | `words` | the attributes of the struct |
//! | `names` | the types of the expansion |
//! | `arms`, `setter` | what the expansion holds for each channel |
//! | `contract`, `face` | what the engine sees, what users see |
//! | `group` | structs whose fields are channels of a state |
//! | `expand` | all of it |

mod arms;
mod attributes;
mod channel;
mod contract;
mod expand;
mod face;
pub(crate) mod group;
mod names;
mod past;
mod rule;
mod setter;
mod words;

pub(crate) use rule::rules_as_text;
