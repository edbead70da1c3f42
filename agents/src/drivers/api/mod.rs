//! Driver `api`: a model behind OpenAI's chat completions, with tools of our own. Knows HTTP, messages and session
//! files; must not know states, plans or git.
//! [`Client`] is the server without all that: one completion for a conversation that the caller keeps.
//!
//! Every message is on disk before the next request: a process that was killed resumes where it was, repeats at most
//! the one request that was not answered, and may repeat the one tool call whose result was not stored (the model gets
//! a note about it).

mod blocking;
mod client;
mod completion;
mod config;
mod connect;
mod driver;
mod http;
mod key;
mod message;
mod parts;
mod piece;
mod refusal;
mod reply;
mod sse;
mod surrogate;
mod tls;
mod transcript;
mod turn;
mod usage;
mod webhook;
mod wire;

pub use completion::{Client, Completion, CompletionRequest};
pub use config::ApiConfig;
pub use driver::Api;
pub use key::ApiKey;
pub use message::{Message, Role, Tool, ToolCall};
pub use piece::Piece;
#[doc(hidden)]
pub use webhook::post;

pub use super::price::Price;
