//! Reads a user's value from the MessagePack that `rmp-serde` writes, and from JSON in that form. Must not know what is in the value.
//!
//! `rmp-serde` reads it too, but generates all ways to read a value once more for each type, those from bytes and from
//! extensions among them, and `serde_json` the same again for JSON. Here a [`Token`](token::Token) is read by code that no type
//! repeats, so programs with many types are built sooner, and are smaller.
//!
//! Small because it only lists the folder.

mod deserializer;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use deserializer::ValueDeserializer;
