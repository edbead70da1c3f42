//! Address, key and price of a model server.

use super::key::ApiKey;
use crate::drivers::Price;

const OPENAI: &str = "https://api.openai.com/v1";
/// Environment variables that are read by default.
const BASE_URL: &str = "OPENAI_BASE_URL";
const KEY: &str = "OPENAI_API_KEY";

/// Connection settings of a chat completions server.
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
    /// Returns the settings for a base URL like `https://api.openai.com/v1`, to which `/chat/completions` is appended,
    /// without a key.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { provider: None, base_url: base_url.into(), key: None, key_env: KEY.to_owned(), price: None }
    }

    /// Returns the settings from `OPENAI_BASE_URL` (OpenAI's own server if unset) and `OPENAI_API_KEY`.
    pub fn from_env() -> Self {
        let url = std::env::var(BASE_URL).ok().filter(|url| !url.trim().is_empty());
        Self::new(url.unwrap_or_else(|| OPENAI.to_owned())).key_from_env(KEY)
    }

    /// Sets the key; `variable` names its origin in messages.
    pub fn key(self, key: ApiKey, variable: impl Into<String>) -> Self {
        Self { key: Some(key), key_env: variable.into(), ..self }
    }

    /// Reads the key from an environment variable. If it is not set, requests carry no key: some servers need none.
    pub fn key_from_env(self, variable: impl Into<String>) -> Self {
        let variable = variable.into();
        crate::process::Key::note(&variable);
        Self { key: ApiKey::from_env(&variable), key_env: variable, ..self }
    }

    /// Sets the provider's name; the driver is then called `api:NAME`.
    pub fn provider(self, name: impl Into<String>) -> Self {
        Self { provider: Some(name.into()), ..self }
    }

    /// Sets the price of tokens, for servers that do not report costs.
    pub fn price(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }
}
