//! The servers of the `api` drivers, and the environment variables that hold their keys. Never the keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A server, and the name of the environment variable with its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// The base address, without a trailing slash; `/chat/completions` is appended.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
}

/// The tables `[api]` and `[api.PROVIDER]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Api {
    /// For the driver `api`.
    pub default: Endpoint,
    /// For the drivers `api:PROVIDER`, by provider.
    pub providers: BTreeMap<String, Endpoint>,
}

impl Api {
    /// The environment variable with the address if `[api]` sets none.
    pub const BASE_URL_ENV: &'static str = "OPENAI_BASE_URL";

    /// The environment variable with the key if `[api]` sets no other.
    pub const KEY_ENV: &'static str = "OPENAI_API_KEY";

    /// Returns the server of `api`, or of `api:PROVIDER`. A provider never uses the key [of the
    /// default](Self::KEY_ENV), which would be sent to a third party.
    pub fn endpoint(&self, provider: Option<&str>) -> Option<Endpoint> {
        let Some(provider) = provider else {
            let key = self.default.api_key_env.clone().unwrap_or_else(|| Self::KEY_ENV.to_owned());
            return Some(Endpoint { base_url: self.default.base_url.clone(), api_key_env: Some(key) });
        };
        self.providers.get(provider).cloned()
    }
}

/// Returns an address without trailing slashes.
///
/// # Errors
///
/// The problem, without the address, which may hold a password.
pub(super) fn base_url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else { return Err("is no address that begins with `http://` or `https://`") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Err(
            "holds a name or password; write the address alone, and name the variable with the key in `api_key_env`",
        );
    }
    if host.is_empty() || !has_port(host) || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("is no address of a server");
    }
    if text.contains(['?', '#']) {
        return Err("has a `?` or `#`; `/chat/completions` is appended to it");
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// True for a host without a port or with a numeric one.
fn has_port(host: &str) -> bool {
    let after_address = host.rsplit_once(']').map_or(host, |(_, after)| after);
    let is_bracketed = host.starts_with('[') == host.contains(']');
    let port = after_address.split_once(':');
    let is_named = host.starts_with('[') || !port.map_or(host, |(name, _)| name).is_empty();
    is_bracketed && is_named && port.is_none_or(|(_, port)| port.parse::<u16>().is_ok())
}

/// True if a text may be the name of an environment variable.
pub(super) fn is_env_name(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_word)
}
