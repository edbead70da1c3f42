//! The driver `api`: a model behind OpenAI's chat completions, with tools of ours. Knows HTTP, the messages and sessions in
//! files; must not know states, plans or git.
//!
//! What was said is on disk before the next request: a process that is killed goes on where it was, repeats at most the one
//! request that was not answered, and may repeat the one tool call whose result was not stored (the model is told).

mod blocking;
mod config;
mod driver;
mod heard;
mod http;
mod key;
mod parts;
mod refusal;
mod reply;
mod sse;
mod surrogate;
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
