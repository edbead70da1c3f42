//! The environment variables of a child: an allow list, so that no keys and no variables of an outer agent get in.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use superstep_base::gather;

/// The variables that any program may have. `*` is only valid at the end.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    // Where toolchains are.
    "CARGO_HOME",
    "GOCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "VIRTUAL_ENV",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// The variables of a child program.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::process::Environment;
/// let mine = [("PATH", "/bin"), ("CLAUDECODE", "1"), ("MY_KEY", "x")].map(|(name, value)| (name.into(), value.into()));
/// let environment = Environment::from_variables(mine).set("GREETING", "hello");
/// assert_eq!(environment.names(), ["GREETING", "PATH"]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Environment(BTreeMap<OsString, OsString>);

impl std::fmt::Debug for Environment {
    /// Prints only names: values may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Environment").field(&self.names()).finish()
    }
}

impl Environment {
    /// Returns the variables of this process that any program may have: directories (`PATH`, `HOME`, `TMPDIR`),
    /// toolchains, the language, certificates and proxies. No keys, no addresses that hold a user name or password, and
    /// no variables by which agents recognise each other.
    pub fn from_process() -> Self {
        Self::from_variables(std::env::vars_os())
    }

    /// Returns those of these variables that any program may have.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let is_open = |value: &OsStr| userinfo(&value.to_string_lossy()).is_none();
        Self(gather(variables.into_iter().filter(|(name, value)| is_on(ALLOWED, name) && is_open(value))))
    }

    /// Adds variables of this process, if they are set: `ANTHROPIC_*`, `CODEX_HOME`.
    pub fn keep(mut self, names: &[&str]) -> Self {
        self.0.extend(std::env::vars_os().filter(|(name, _)| is_on(names, name)));
        self
    }

    /// Removes a variable.
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Self {
        self.0.remove(name.as_ref());
        self
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Sets a variable.
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// Returns the names, in order.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// Returns the values of variables with secret names (keys, tokens, passwords), and the passwords in addresses.
    pub fn secrets(&self) -> Vec<String> {
        let secret = |(name, value): (&OsString, &OsString)| {
            let value = value.to_string_lossy();
            if is_secret(name) { Some(value.into_owned()) } else { password(&value).map(str::to_owned) }
        };
        self.0.iter().filter_map(secret).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }
}

fn is_on(list: &[&str], name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    list.iter().any(|allowed| match allowed.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *allowed,
    })
}

pub(super) fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
}

/// Returns the user name and password in an address: `name:password` in `http://name:password@host`.
pub(super) fn userinfo(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once('@').map(|(userinfo, _)| userinfo).filter(|userinfo| !userinfo.is_empty())
}

/// Returns the password in an address, or its user name if it has no password: a token.
pub(super) fn password(value: &str) -> Option<&str> {
    let userinfo = userinfo(value)?;
    Some(userinfo.split_once(':').map_or(userinfo, |(_, password)| password))
}
