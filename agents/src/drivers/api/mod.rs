//! Driver `api`: a model behind OpenAI's chat completions, with tools of our own. Knows HTTP, messages and session
//! files; must not know states, plans or git.
//! [`Client`] is the server without all that: one completion for a conversation that the caller keeps.
//!
//! Every message is on disk before the next request: a process that was killed resumes where it was, repeats at most
//! the one request that was not answered, and may repeat the one tool call whose result was not stored (the model gets
//! a note about it).
//!
//! | file | what it knows |
//! |---|---|
//! | `config` | where a server is, and its key |
//! | `driver`, `turn` | the driver, and the loop of a turn |
//! | `completion`, `message` | one completion, for a conversation of the caller |
//! | `piece` | pieces of an answer as they arrive |
//! | `http`, `refusal` | requests and streamed responses; errors of servers |
//! | `sse`, `wire`, `reply` | the protocol: events, JSON, the assembled reply. Pure |
//! | `client`, `tls` | connections |
//!
//! Small because it only lists the folder.

mod client;
mod completion;
mod config;
mod driver;
mod http;
mod message;
mod piece;
mod refusal;
mod reply;
mod sse;
mod tls;
mod turn;
mod wire;

#[doc(hidden)]
pub use client::post;
pub use completion::{Client, Completion, CompletionRequest};
pub use config::{ApiConfig, ApiKey};
pub use driver::ApiDriver;
pub use message::{Message, MessageRole, Tool, ToolCall};
pub use piece::Piece;
