//! The address of a store: `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`, read by us, as the client knows neither
//! our parameters nor all modes of TLS. Knows text only; must not know how a connection is made. Nothing here shows the password.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::checkpoint::CheckpointError;

type Result<T> = std::result::Result<T, CheckpointError>;

/// The starts of addresses of stores in PostgreSQL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// The parameters that an address may have.
const PARAMETERS: &str = "`schema`, `sslmode`, `sslrootcert`, `pool`, `lease`, `host`, `unsafe`";
/// The shortest lease; below it, a busy machine loses leases without reason.
const SHORTEST_LEASE: Duration = Duration::from_millis(500);

/// The place of a store, and its settings.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) database: Option<String>,
    pub(super) schema: Schema,
    pub(super) tls: TlsMode,
    pub(super) root_certificates: Option<PathBuf>,
    /// The maximum number of connections that read and write.
    pub(super) pool: usize,
    pub(super) lease: Duration,
    /// Accepts a server that loses acknowledged commits in a crash.
    pub(super) is_unsafe: bool,
}

/// A password, which is never shown.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The server's machine, or the folder of its socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Socket(PathBuf),
}

/// The modes of libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum TlsMode {
    Disable,
    /// TLS if the server has it; nothing is verified.
    Prefer,
    /// TLS; nothing is verified.
    Require,
    /// The server's certificate is verified.
    VerifyCa,
    /// The server's certificate is verified, and its name.
    VerifyFull,
}

/// The name of a schema: a word that needs no escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schema(String);

impl Schema {
    /// Checks the name of a schema.
    pub(super) fn new(name: &str) -> Result<Self> {
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_name = (1..=63).contains(&name.len()) && is_word && !name.starts_with(|c: char| c.is_ascii_digit());
        match is_name {
            true => Ok(Self(name.into())),
            false => invalid(format!("the schema `{name}` is not a word of up to 63 letters, digits and `_`")),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Returns the channel on which the store's processes wake each other.
    pub(super) fn channel(&self) -> String {
        format!("superstep {}", self.0)
    }

    /// Replaces `{schema}` in a statement.
    pub(super) fn fill(&self, sql: &str) -> String {
        sql.replace("{schema}", &format!("\"{}\"", self.0))
    }
}

impl Address {
    /// Reads an address.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let Some(rest) = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
            return invalid("it does not start with `postgres://` or `postgresql://`");
        };
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
        let (host, port) = host_and_port(server)?;
        let mut address = Self {
            user: non_empty(decode(user)?),
            password: password.map(decode).transpose()?.map(Secret),
            host,
            port,
            database: non_empty(decode(database)?),
            schema: Schema("superstep".into()),
            tls: TlsMode::Prefer,
            root_certificates: None,
            pool: 16,
            lease: Duration::from_secs(15),
            is_unsafe: false,
        };
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            address.set(name, &decode(value)?)?;
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "schema" => self.schema = Schema::new(value)?,
            "sslmode" => self.tls = tls_mode(value)?,
            "sslrootcert" => self.root_certificates = Some(value.into()),
            "pool" => self.pool = pool(value)?,
            "lease" => self.lease = lease(value)?,
            "host" => self.host = host(value.into()),
            "unsafe" => self.is_unsafe = switch(value)?,
            _ => return invalid(format!("it has the parameter `{name}`; the known ones are {PARAMETERS}")),
        }
        Ok(())
    }

    /// Checks a time of leases.
    pub(super) fn check_lease(lease: Duration) -> Result<Duration> {
        match (SHORTEST_LEASE..=Duration::from_secs(86_400)).contains(&lease) {
            true => Ok(lease),
            false => invalid("`lease` is a time from 500ms to 24h, such as `15s`"),
        }
    }
}

/// The address without its password and without parameters other than the schema.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        self.user.as_ref().map_or(Ok(()), |user| write!(f, "{user}@"))?;
        match &self.host {
            Host::Name(name) if name.contains(':') => write!(f, "[{name}]")?,
            Host::Name(name) => f.write_str(name)?,
            Host::Socket(path) => f.write_str(&path.display().to_string().replace('/', "%2F"))?,
        }
        if self.port != 5432 {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "/{}?schema={}", self.database.as_deref().unwrap_or_default(), self.schema.name())
    }
}

pub(super) fn invalid<T>(reason: impl Into<String>) -> Result<T> {
    Err(CheckpointError::InvalidAddress { reason: reason.into() })
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn host_and_port(server: &str) -> Result<(Host, u16)> {
    if server.contains(',') {
        return invalid("it names several hosts; name one, such as that of a proxy that follows the primary");
    }
    let (name, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => server.rsplit_once(':').map_or((server, None), |(name, port)| (name, Some(port))),
    };
    let port = match port {
        Some(port) => port.parse().or_else(|_| invalid("its port is not a number up to 65535"))?,
        None => 5432,
    };
    Ok((host(decode(name)?), port))
}

fn host(name: String) -> Host {
    match name.as_str() {
        "" => Host::Name("localhost".into()),
        path if path.starts_with('/') => Host::Socket(path.into()),
        _ => Host::Name(name),
    }
}

fn tls_mode(value: &str) -> Result<TlsMode> {
    let modes = "`disable`, `prefer`, `require`, `verify-ca` or `verify-full`";
    value.parse().or_else(|_| invalid(format!("`sslmode` is {modes}")))
}

fn pool(value: &str) -> Result<usize> {
    let number = value.parse().ok().filter(|number| (1..=1000).contains(number));
    number.map_or_else(|| invalid("`pool` is a number of connections from 1 to 1000"), Ok)
}

fn switch(value: &str) -> Result<bool> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => invalid("`unsafe` is 1 or 0"),
    }
}

/// Reads a time such as `15s`, `500ms`, `2m`.
fn lease(value: &str) -> Result<Duration> {
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let unit = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let number = number.parse::<u64>().unwrap_or(0);
    Address::check_lease(Duration::from_millis(number.saturating_mul(unit)))
}

/// Decodes `%2F` and the like.
fn decode(text: &str) -> Result<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return invalid("a `%` in it is not followed by two digits; write `%25` for the character itself");
        };
        bytes.push(byte);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).or_else(|_| invalid("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn an_address_is_read_and_shown_without_its_password() {
        let text =
            "postgresql://ann:p%40ss%2Fword@db.example:6432/team?schema=flows&sslmode=verify-full&pool=4&lease=2m";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.password.as_ref().unwrap().0, "p@ss/word");
        assert_eq!((address.host.clone(), address.port), (Host::Name("db.example".into()), 6432));
        assert_eq!((address.tls, address.pool, address.lease.as_secs()), (TlsMode::VerifyFull, 4, 120));
        assert_eq!(address.to_string(), "postgres://ann@db.example:6432/team?schema=flows");
        assert!(!format!("{address:?}").contains("p@ss"));
    }

    #[rstest]
    #[case::encoded("postgres://%2Fvar%2Frun/db")]
    #[case::parameter("postgres:///db?host=/var/run")]
    fn a_socket_is_a_host(#[case] text: &str) {
        let address = Address::parse(text).unwrap();
        assert_eq!((address.host, address.database), (Host::Socket("/var/run".into()), Some("db".into())));
    }

    #[rstest]
    #[case::scheme("mysql://h/d", "`postgres://`")]
    #[case::parameter("postgres://a:hidden@h/d?colour=red", "the parameter `colour`; the known ones are `schema`")]
    #[case::schema("postgres://a:hidden@h/d?schema=a-b", "the schema `a-b`")]
    #[case::mode("postgres://a:hidden@h/d?sslmode=on", "`verify-ca`")]
    #[case::lease("postgres://a:hidden@h/d?lease=1ms", "`15s`")]
    #[case::port("postgres://a:hidden@h:99999/d", "65535")]
    #[case::hosts("postgres://a:hidden@h,i/d", "several hosts")]
    #[case::escape("postgres://a:hidden%2@h/d", "`%25`")]
    fn a_wrong_address_is_explained_without_its_password(#[case] text: &str, #[case] reason: &str) {
        let error = Address::parse(text).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!format!("{error:?}").contains("hidden"));
    }
}
