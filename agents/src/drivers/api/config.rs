//! Where a model's server is, and with which key it is asked.

use super::key::ApiKey;
use crate::drivers::Price;

/// OpenAI's own server.
const OPENAI: &str = "https://api.openai.com/v1";
/// The variables that are read where nothing else is said.
const BASE_URL: &str = "OPENAI_BASE_URL";
const KEY: &str = "OPENAI_API_KEY";

/// A server of OpenAI's chat completions.
#[derive(Clone, Debug)]
#[must_use = "it says where a server is and does nothing"]
pub struct ApiConfig {
    pub(super) provider: Option<String>,
    pub(super) base_url: String,
    pub(super) key: Option<ApiKey>,
    pub(super) key_env: String,
    pub(super) price: Option<Price>,
}

impl ApiConfig {
    /// Returns the server at a base URL, like `https://api.openai.com/v1`: `/chat/completions` is appended. Without a key.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { provider: None, base_url: base_url.into(), key: None, key_env: KEY.to_owned(), price: None }
    }

    /// Returns the server that the environment names: `OPENAI_BASE_URL` (OpenAI's own if unset), `OPENAI_API_KEY`.
    pub fn from_env() -> Self {
        let url = std::env::var(BASE_URL).ok().filter(|url| !url.trim().is_empty());
        Self::new(url.unwrap_or_else(|| OPENAI.to_owned())).key_from_env(KEY)
    }

    /// Sets the key; `variable` is where it comes from, for messages.
    pub fn key(self, key: ApiKey, variable: impl Into<String>) -> Self {
        Self { key: Some(key), key_env: variable.into(), ..self }
    }

    /// Takes the key from a variable of the environment. If it is not set, requests go without: some servers need none.
    pub fn key_from_env(self, variable: impl Into<String>) -> Self {
        let variable = variable.into();
        crate::process::Key::note(&variable);
        Self { key: ApiKey::from_env(&variable), key_env: variable, ..self }
    }

    /// Sets the provider's name: the driver is then `api:NAME`.
    pub fn provider(self, name: impl Into<String>) -> Self {
        Self { provider: Some(name.into()), ..self }
    }

    /// Sets what tokens cost, for servers that do not say what an answer did.
    pub fn price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }
}
