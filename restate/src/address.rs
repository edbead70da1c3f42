//! [`Address`]: a server of Restate or a worker, reached over plain HTTP. Pure.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::RestateError;

/// The name of the service, unless set.
pub(crate) const SERVICE: &str = "superstep";

/// Characters of a name that stay as they are in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a server: `http://HOST:PORT`, and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    host: String,
    port: u16,
    /// Without slashes around it.
    path: String,
}

impl Address {
    /// Reads `http://HOST:PORT`, with a path or without; `port` is used where none is given.
    pub(crate) fn parse(text: &str, port: u16) -> Result<Self, RestateError> {
        let wrong = |reason| RestateError::Address { address: text.to_owned(), reason };
        let Some(rest) = text.strip_prefix("http://") else {
            return Err(wrong("only `http://` is supported; use a proxy for TLS"));
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, given) = match authority.rsplit_once(':') {
            Some((host, given)) if !given.ends_with(']') => (host, Some(given)),
            _ => (authority, None),
        };
        let port = given.map_or(Ok(port), str::parse).map_err(|_| wrong("its port is not a number"))?;
        if host.is_empty() || host.contains(['@', '?', '#']) || host.contains(char::is_whitespace) {
            return Err(wrong("it has no host, or more than a host and a port"));
        }
        Ok(Self { host: host.to_owned(), port, path: path.trim_matches('/').to_owned() })
    }

    /// Returns the path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the address without a path.
    pub(crate) fn without_path(&self) -> Self {
        Self { path: String::new(), ..self.clone() }
    }

    /// Returns host and port, as sockets and the header `host` name them.
    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/{}", self.authority(), self.path)
    }
}

/// Returns a name as a part of a path.
pub(crate) fn encode(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// Checks that Restate accepts the name of a service.
pub(crate) fn check_service(name: &str) -> Result<(), RestateError> {
    let mut letters = name.chars();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    if letters.next().is_some_and(|first| first.is_ascii_alphabetic()) && letters.all(is_plain) {
        return Ok(());
    }
    let reason = "the name of a service is a letter, then letters, digits, `_` and `.`";
    Err(RestateError::Address { address: name.to_owned(), reason })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_meant() {
        let read = |text: &str| Address::parse(text, 8080).map(|address| address.to_string());
        assert_eq!(read("http://restate").unwrap(), "http://restate:8080/");
        assert_eq!(read("http://restate:9/essays/").unwrap(), "http://restate:9/essays");
        assert_eq!(read("http://[::1]").unwrap(), "http://[::1]:8080/");
        assert_eq!(read("http://[::1]:9/").unwrap(), "http://[::1]:9/");
        for wrong in ["restate:8080", "https://restate", "http://", "http://a:b", "http://ada@host", "http://:9"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn any_name_is_a_part_of_a_path() {
        assert_eq!(encode("essay-1/2 \0ä"), "essay-1%2F2%20%00%C3%A4");
    }

    #[test]
    fn a_service_has_a_name_that_restate_accepts() {
        assert!(check_service("superstep").is_ok() && check_service("team.flows_2").is_ok());
        assert!(["", "1a", "a-b", "a/b"].iter().all(|name| check_service(name).is_err()));
    }
}
