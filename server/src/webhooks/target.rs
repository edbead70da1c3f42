//! Addresses to which nothing is sent, as they are those of the server's own network: checked when a run is created, and again for each
//! connection, since a name may have another address by then.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::lookup_host;
use tokio::time::timeout;
use tower_service::Service;
use url::{Host, Url};

use crate::error::{ApiError, ApiResult};

/// Time limit of a lookup when a run is created.
const LOOKUP: Duration = Duration::from_secs(5);

/// Reads the target of a webhook, without a lookup of its name.
///
/// # Errors
/// 422 if it is no URL of a server, or if its address is not public and only public ones are allowed.
pub(super) fn parse_target(text: &str, allows_private: bool) -> ApiResult<Url> {
    let url = Url::parse(text).map_err(|error| {
        ApiError::invalid(format!("webhook `{text}` is no URL ({error}): give one with a scheme and a host"))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(ApiError::invalid(format!("webhook `{text}` is neither http nor https")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ApiError::invalid("a webhook cannot have a user or a password in its URL"));
    }
    match url.host() {
        Some(host) if allows_private || is_public_host(&host) => Ok(url),
        Some(host) => Err(private(&host.to_string())),
        None => Err(ApiError::invalid(format!("webhook `{text}` names no host"))),
    }
}

/// Checks the addresses that the name of a target has now. A name without any is accepted: it is looked up again when it is used.
///
/// # Errors
/// 422 if one of them is not public.
pub(super) async fn check_addresses(url: &Url) -> ApiResult<()> {
    let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
    let port = url.port_or_known_default().unwrap_or_default();
    let Ok(Ok(mut found)) = timeout(LOOKUP, lookup_host((name, port))).await else { return Ok(()) };
    if found.any(|address| !is_public(address.ip())) { Err(private(name)) } else { Ok(()) }
}

fn private(host: &str) -> ApiError {
    ApiError::invalid(format!(
        "webhook `{host}` has an address that is not public: allow private webhooks in the settings of the server, or name another host"
    ))
}

fn is_public_host(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => is_public((*address).into()),
        Host::Ipv6(address) => is_public((*address).into()),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name != "localhost" && !name.ends_with(".localhost")
        }
    }
}

/// Returns whether an address is one of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or_else(|| is_public_v6(address), is_public_v4),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 127 | 224.., ..) // this host, loopback, multicast and reserved ones
            | (100, 64..=127, _) // shared by carriers
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special && !address.is_private() && !address.is_link_local()
}

/// Only global unicast addresses, without those for documentation and for tunnels, which hold others.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_special = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || a == 0x2002 || a == 0x3fff;
    (0x2000..0x4000).contains(&a) && !is_special
}

/// Looks up names for connections. Returns public addresses only, unless others are allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardedResolver {
    pub allows_private: bool,
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let allows_private = self.allows_private;
        Box::pin(async move {
            let found = lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|address| allows_private || is_public(address.ip())).collect();
            match allowed.is_empty() {
                true => Err(io::Error::other(format!("`{}` has no public address", name.as_str()))),
                false => Ok(allowed.into_iter()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::loopback("http://127.0.0.1/")]
    #[case::short_loopback("http://127.1/")]
    #[case::number("http://2130706433/")]
    #[case::this_host("http://0.0.0.0/")]
    #[case::private("https://10.1.2.3/")]
    #[case::metadata("http://169.254.169.254/latest")]
    #[case::carrier("http://100.64.0.1/")]
    #[case::name("http://localhost:2024/")]
    #[case::name_with_dot("http://LocalHost./")]
    #[case::below_localhost("http://a.localhost/")]
    #[case::loopback_v6("http://[::1]/")]
    #[case::mapped("http://[::ffff:10.0.0.1]/")]
    #[case::unique_local("http://[fd00::1]/")]
    #[case::link_local("http://[fe80::1]/")]
    #[case::tunnel("http://[2002:7f00:1::]/")]
    #[case::translated("http://[64:ff9b::7f00:1]/")]
    fn targets_in_the_own_network_are_refused_unless_allowed(#[case] url: &str) {
        assert!(parse_target(url, false).unwrap_err().detail.contains("not public"), "{url}");
        assert!(parse_target(url, true).is_ok());
    }

    #[rstest]
    #[case::path("/hook", "is no URL")]
    #[case::file("file:///etc/passwd", "neither http nor https")]
    #[case::user("http://a:b@example.org/", "user or a password")]
    fn targets_that_are_none_are_refused(#[case] url: &str, #[case] reason: &str) {
        assert!(parse_target(url, true).unwrap_err().detail.contains(reason), "{url}");
    }

    #[rstest]
    #[case("https://example.org/hook?a=b")]
    #[case("http://93.184.215.14:8080/")]
    #[case("http://[2606:2800:21f::1]/")]
    fn public_targets_are_allowed(#[case] url: &str) {
        assert!(parse_target(url, false).is_ok());
    }

    #[tokio::test]
    async fn a_name_whose_addresses_are_not_public_has_none_for_a_connection() {
        let call = |allows_private| GuardedResolver { allows_private }.call("localhost".parse().unwrap());
        assert!(call(false).await.unwrap_err().to_string().contains("no public address"));
        assert!(call(true).await.unwrap().all(|address| address.ip().is_loopback()));
    }
}
