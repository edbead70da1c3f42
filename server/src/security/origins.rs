//! Host and Origin of requests: what a page that a browser has loaded from elsewhere may send. Must not know keys' values.
//!
//! A page whose name resolves to this machine (DNS rebinding) sends its own name as Host. Addresses and `localhost` cannot be rebound,
//! so that they are accepted; other names only if they are allowed, or if there are keys: the page knows none.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::error::{ApiError, ApiResult};

/// The origins that are allowed without a setting.
const DEFAULT: [&str; 2] = ["http://localhost:*", "http://127.0.0.1:*"];

/// Hosts and origins from which requests are accepted.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    /// `scheme://host[:port]` in lower case, with the port `*` for any; `*` alone for all.
    patterns: Vec<String>,
    hosts: Vec<String>,
    has_keys: bool,
}

impl Default for Origins {
    fn default() -> Self {
        Self { patterns: DEFAULT.map(str::to_owned).into(), hosts: vec![], has_keys: false }
    }
}

impl Origins {
    pub(crate) fn allow_origin(&mut self, origin: &str) {
        if origin != "*" && !origin.contains("://") {
            tracing::error!(
                origin,
                "this is no origin of pages, so none is allowed: write it as https://chat.example.com"
            );
        }
        self.patterns.push(normal(origin));
    }

    /// Allows the name of an address, which may have a scheme and a port: they do not matter.
    pub(crate) fn allow_host(&mut self, host: &str) {
        let name = host.split_once("://").map_or(host, |(_, rest)| rest).trim_end_matches('/');
        let authority = name.parse::<Authority>();
        let name = authority.as_ref().map_or(name, Authority::host);
        self.hosts.push(name.trim_end_matches('.').to_ascii_lowercase());
    }

    pub(super) fn allow_any_host(&mut self) {
        self.has_keys = true;
    }

    /// Refuses a request that a page of an origin that is not allowed may have sent.
    pub(super) fn check(&self, method: &Method, host: Option<&str>, headers: &HeaderMap) -> ApiResult<()> {
        if let Some(host) = host.filter(|host| !self.is_host(host)) {
            let host = host.escape_debug();
            let detail =
                format!("the host `{host}` is not this server's: allow it (`Options::allow_host`), or set keys");
            return Err(ApiError::new(StatusCode::FORBIDDEN, detail));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        if is_safe(method) && !headers.contains_key(header::UPGRADE) || self.is_origin(origin, host) {
            return Ok(());
        }
        let origin = String::from_utf8_lossy(origin.as_bytes());
        let origin = origin.escape_debug();
        let detail = format!("pages of {origin} may not send this: allow the origin (`Options::allow_origin`)");
        Err(ApiError::new(StatusCode::FORBIDDEN, detail))
    }

    /// Returns whether pages of an origin may use the server: those of allowed origins, and its own.
    pub(super) fn is_origin(&self, origin: &HeaderValue, host: Option<&str>) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let origin = normal(origin);
        let is_own = host.is_some_and(|host| {
            self.is_host(host) && origin.split_once("://").is_some_and(|(_, own)| own.eq_ignore_ascii_case(host))
        });
        is_own || self.patterns.iter().any(|pattern| is_match(pattern, &origin))
    }

    fn is_host(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        self.has_keys
            || address.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.contains(&name)
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Returns an origin as browsers write it: in lower case, without the port that its scheme has anyway.
fn normal(origin: &str) -> String {
    let origin = origin.trim_end_matches('/').to_ascii_lowercase();
    let port = if origin.starts_with("https:") { ":443" } else { ":80" };
    origin.strip_suffix(port).map_or(origin.clone(), str::to_owned)
}

fn is_match(pattern: &str, origin: &str) -> bool {
    if pattern == "*" || pattern == origin {
        return true;
    }
    let Some(rest) = pattern.strip_suffix(":*").and_then(|name| origin.strip_prefix(name)) else { return false };
    let port = rest.strip_prefix(':');
    rest.is_empty() || port.is_some_and(|port| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("localhost:2024", true)]
    #[case("LOCALHOST", true)]
    #[case("app.localhost:1", true)]
    #[case("127.0.0.1:2024", true)]
    #[case("[::1]:2024", true)]
    #[case("192.168.1.7:2024", true)]
    #[case("agents.example.com", true)]
    #[case("example.com", false)]
    #[case("localhost.example.com:2024", false)]
    #[case("127.0.0.1.example.com", false)]
    #[case("", false)]
    #[case("a b", false)]
    fn only_names_that_cannot_be_rebound_are_hosts(#[case] host: &str, #[case] expected: bool) {
        let mut origins = Origins::default();
        origins.allow_host("agents.example.com");
        assert_eq!(origins.is_host(host), expected);
    }

    #[rstest]
    #[case("http://localhost:3000", true)]
    #[case("http://localhost", true)]
    #[case("http://127.0.0.1:5173", true)]
    #[case("https://app.example.com", true)]
    #[case("https://app.example.com:443", true)]
    #[case("https://app.example.com:444", false)]
    #[case("http://app.example.com", false)]
    #[case("https://localhost:3000", false)]
    #[case("http://localhost.example.com", false)]
    #[case("http://localhost:3000.example.com", false)]
    #[case("http://localhost:", false)]
    #[case("null", false)]
    #[case("http://own.localhost:2024", true)]
    fn origins_are_compared_whole(#[case] origin: &str, #[case] expected: bool) {
        let mut origins = Origins::default();
        origins.allow_origin("https://APP.example.com/");
        let origin = HeaderValue::from_str(origin).unwrap();
        assert_eq!(origins.is_origin(&origin, Some("own.localhost:2024")), expected);
    }

    #[test]
    fn a_page_is_not_this_servers_own_because_its_name_is_the_host() {
        let (origin, host) = (HeaderValue::from_static("http://evil.example"), Some("evil.example"));
        assert!(!Origins::default().is_origin(&origin, host));
        let mut with_keys = Origins::default();
        with_keys.allow_any_host();
        assert!(with_keys.is_origin(&origin, host));
        let mut open = Origins::default();
        open.allow_origin("*");
        assert!(open.is_origin(&HeaderValue::from_static("null"), None));
    }
}
