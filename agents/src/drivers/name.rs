//! Names of drivers, in profiles and on the command line, and the table of the agents that are programs. Runs none.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use superstep_base::near::{near, quote_list};

use super::cli::{AgentProgram, CLAUDE, CODEX};

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

/// The agents that are programs, in the order of messages.
static PROGRAMS: [(DriverName, &AgentProgram); 2] = [(DriverName::Codex, &CODEX), (DriverName::Claude, &CLAUDE)];

/// Kind of driver that a name selects. All agents that are programs are one kind.
#[derive(Clone, Copy, Debug)]
pub enum DriverKind<'a> {
    /// A chat completions server, by the name of its provider if there are several.
    Api(Option<&'a str>),
    /// An agent that is a program.
    Program(&'static AgentProgram),
    /// The file of a scenario.
    Scripted(&'a Path),
}

impl DriverName {
    /// Returns the kind of driver.
    pub fn kind(&self) -> DriverKind<'_> {
        match self {
            Self::Api { provider } => DriverKind::Api(provider.as_deref()),
            Self::Codex => DriverKind::Program(&CODEX),
            Self::Claude => DriverKind::Program(&CLAUDE),
            Self::Scripted(file) => DriverKind::Scripted(file),
        }
    }

    /// Returns the agents that are programs.
    pub fn programs() -> impl Iterator<Item = &'static AgentProgram> {
        PROGRAMS.iter().map(|(_, program)| *program)
    }

    /// Returns the forms of names, for messages: `api`, `cli:codex`, `scripted:FILE`.
    pub fn forms() -> Vec<&'static str> {
        let programs = Self::programs().map(|program| program.name);
        ["api", "api:PROVIDER"].into_iter().chain(programs).chain(["scripted:FILE"]).collect()
    }

    /// Returns whether a text can be the name of a provider: letters, digits, `-`, `_` and `.`.
    pub fn is_provider(name: &str) -> bool {
        !name.is_empty() && name.chars().all(|part| part.is_alphanumeric() || "-_.".contains(part))
    }
}

/// Error: no driver has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no driver `{name}`; there are `api`, `api:PROVIDER`, {} and `scripted:FILE`{}",
    quote_list(&DriverName::programs().map(|program| program.name).collect::<Vec<_>>()),
    suggestion(name).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
)]
#[non_exhaustive]
pub struct UnknownDriver {
    /// The name.
    pub name: String,
}

impl FromStr for DriverName {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        if let Some((driver, _)) = PROGRAMS.iter().find(|(_, program)| program.name == name) {
            return Ok(driver.clone());
        }
        match name.split_once(':').map_or((name, None), |(kind, which)| (kind, Some(which))) {
            ("api", None) => Ok(Self::Api { provider: None }),
            ("api", Some(provider)) if Self::is_provider(provider) => {
                Ok(Self::Api { provider: Some(provider.to_owned()) })
            }
            ("scripted", Some(file)) if !file.trim().is_empty() => Ok(Self::Scripted(file.into())),
            _ => Err(UnknownDriver { name: name.to_owned() }),
        }
    }
}

/// Returns the driver that a person meant: a name without its kind, in capitals, or with a typing mistake.
fn suggestion(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let (kind, which) = name.split_once(':').map_or((name.as_str(), ""), |(kind, which)| (kind, which));
    let is_near = |part: &str, word: &str| part.len() > 2 && !near(part, [word]).is_empty();
    let is_meant =
        |program: &AgentProgram| program.words.iter().any(|word| is_near(kind, word) || is_near(which, word));
    let program = PROGRAMS.iter().rfind(|(_, program)| is_meant(program));
    match (kind, program) {
        ("scripted", _) => Some("scripted:FILE"),
        ("api", _) if name.contains(':') => Some("api:PROVIDER"),
        ("api", _) => Some("api"),
        (_, Some((_, program))) => Some(program.name),
        _ if is_near(kind, "scripted") => Some("scripted:FILE"),
        _ if is_near(kind, "api") => Some("api"),
        _ => None,
    }
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            DriverKind::Api(None) => f.write_str("api"),
            DriverKind::Api(Some(provider)) => write!(f, "api:{provider}"),
            DriverKind::Program(program) => f.write_str(program.name),
            DriverKind::Scripted(file) => write!(f, "scripted:{}", file.display()),
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
