//! Driver `api`: a model behind OpenAI's chat completions, with tools of our own. Knows HTTP, messages and session
//! files; must not know states, plans or git.
//!
//! Every message is on disk before the next request: a process that was killed resumes where it was, repeats at most
//! the one request that was not answered, and may repeat the one tool call whose result was not stored (the model gets
//! a note about it).

mod blocking;
mod client;
mod config;
mod connect;
mod driver;
mod http;
mod key;
mod parts;
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

pub use config::ApiConfig;
pub use driver::Api;
pub use key::ApiKey;
#[doc(hidden)]
pub use webhook::post;

pub use super::price::Price;
