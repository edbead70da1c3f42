//! Values of any serializable type behind one trait.

use std::any::{Any, type_name};
use std::future::Future;
use std::pin::Pin;

use serde::Serialize;

use super::type_name::short;
use super::value;
use super::value_error::ValueError;

/// The payload of a send: any serializable value.
pub trait Payload: Any + Send + Sync {
    /// Encodes the payload for a store: with the name of its type, as named MessagePack.
    ///
    /// # Errors
    /// If the value cannot be serialized, nests deeper than 128, or is larger than 64 MiB.
    fn encode(&self) -> Result<Vec<u8>, ValueError>;

    /// Returns the payload as JSON; null if it cannot be converted.
    fn json(&self) -> serde_json::Value;
}

impl<T: Any + Send + Sync + Serialize> Payload for T {
    fn encode(&self) -> Result<Vec<u8>, ValueError> {
        value::encode(|| format!("payload `{}`", short(type_name::<T>())), type_name::<T>(), self)
    }

    fn json(&self) -> serde_json::Value {
        value::json_of(self)
    }
}

/// A boxed future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
