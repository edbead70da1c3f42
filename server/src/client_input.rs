//! Inputs in a form of the program's own, such as the options of its command line: of the programs that give one. Must not know the
//! server.
//!
//! Small because each program reads its own.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

/// Reader of the inputs that clients give to a graph, if they are not the graph's channels.
pub trait InputReader: Send + Sync + 'static {
    /// Returns the JSON Schema of the inputs, an object.
    fn schema(&self) -> Value;

    /// Returns true if a thread takes no second input.
    fn takes_one_input(&self) -> bool {
        false
    }

    /// Returns the channels that an input writes, as an object, for a thread if it has a name already. May block.
    ///
    /// # Errors
    /// The reason why the input is refused, which the client sees.
    fn read(&self, thread: Option<&str>, input: &Map<String, Value>) -> Result<Value, String>;
}

/// The readers of inputs, by the names of their graphs.
pub(crate) type InputReaders = HashMap<String, Arc<dyn InputReader>>;
