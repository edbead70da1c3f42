//! Names of drivers, in profiles and on the command line. Knows no driver.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superstep_base::near::near;

/// Driver name; [`Display`](fmt::Display) is its inverse.
///
/// ```
/// # use superstep_agents as superstep;
/// use superstep::drivers::DriverName;
/// assert_eq!("cli:codex".parse(), Ok(DriverName::Codex));
/// assert_eq!("scripted:demo.yaml".parse::<DriverName>()?.to_string(), "scripted:demo.yaml");
/// # Ok::<(), superstep::drivers::UnknownDriver>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DriverName {
    /// `api`, `api:PROVIDER`: a chat completions server.
    Api {
        /// Name of the provider, if there are several.
        provider: Option<String>,
    },
    /// `cli:codex`: the program `codex`.
    Codex,
    /// `cli:claude`: the program `claude`.
    Claude,
    /// `scripted:FILE`: a scenario.
    Scripted(PathBuf),
}

/// Error: no driver has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no driver `{name}`; there are `api`, `api:PROVIDER`, `cli:codex`, `cli:claude` and `scripted:FILE`{}",
    meant(name).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
)]
pub struct UnknownDriver {
    /// The name.
    pub name: String,
}

impl FromStr for DriverName {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        match name.split_once(':').map_or((name, None), |(kind, which)| (kind, Some(which))) {
            ("api", None) => Ok(Self::Api { provider: None }),
            ("api", Some(provider)) if is_word(provider) => Ok(Self::Api { provider: Some(provider.to_owned()) }),
            ("cli", Some("codex")) => Ok(Self::Codex),
            ("cli", Some("claude")) => Ok(Self::Claude),
            ("scripted", Some(file)) if !file.trim().is_empty() => Ok(Self::Scripted(file.into())),
            _ => Err(UnknownDriver { name: name.to_owned() }),
        }
    }
}

/// Returns the driver that a person meant: a name without its kind, in capitals, or with a typing mistake.
fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let (kind, which) = name.split_once(':').map_or((name.as_str(), ""), |(kind, which)| (kind, which));
    let is_near = |part: &str, word: &str| part.len() > 2 && !near(part, [word]).is_empty();
    let has = |word: &str| [kind, which].iter().any(|part| is_near(part, word));
    match kind {
        "scripted" => Some("scripted:FILE"),
        "api" if name.contains(':') => Some("api:PROVIDER"),
        "api" => Some("api"),
        _ if has("claude") || has("anthropic") => Some("cli:claude"),
        _ if has("codex") => Some("cli:codex"),
        _ if is_near(kind, "scripted") => Some("scripted:FILE"),
        _ if is_near(kind, "api") => Some("api"),
        _ => None,
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|part| part.is_alphanumeric() || "-_.".contains(part))
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api { provider: None } => f.write_str("api"),
            Self::Api { provider: Some(provider) } => write!(f, "api:{provider}"),
            Self::Codex => f.write_str("cli:codex"),
            Self::Claude => f.write_str("cli:claude"),
            Self::Scripted(file) => write!(f, "scripted:{}", file.display()),
        }
    }
}

impl TryFrom<String> for DriverName {
    type Error = UnknownDriver;

    fn try_from(name: String) -> Result<Self, UnknownDriver> {
        name.parse()
    }
}

impl From<DriverName> for String {
    fn from(name: DriverName) -> Self {
        name.to_string()
    }
}
