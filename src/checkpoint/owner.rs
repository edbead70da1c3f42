//! The owner of a lease: who runs a thread, in which process, and until when. Plain data; knows no store.

use std::fmt;
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use superstep_base::Printable;
use superstep_base::time::{millis, rfc3339};

/// The holder of a thread: a caller in some process. Its JSON is the `owner` of `superstep status --json` and of the error `thread_busy`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseOwner {
    /// The name that the owner has given itself; unless set, the name of its program.
    pub name: String,
    /// The name of its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// When its lease ends unless it is renewed, by the clock of the store; `None` if the lease lasts as long as the
    /// process.
    pub until: Option<SystemTime>,
}

impl LeaseOwner {
    /// Returns this process as an owner without an end.
    pub fn this_process() -> Self {
        Self { name: program_name(), host: host_name(), pid: std::process::id(), until: None }
    }

    /// Sets the name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the end of the lease.
    pub fn until(mut self, until: SystemTime) -> Self {
        self.until = Some(until);
        self
    }

    /// Returns an owner elsewhere, as a store has recorded it.
    pub fn recorded(name: impl Into<String>, host: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), host: host.into(), pid, until: None }
    }

    /// Returns whether two owners are the same caller, whenever its lease ends.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.host, self.pid) == (&other.name, &other.host, other.pid)
    }

    /// Returns whether the owner is this process.
    pub fn is_this_process(&self) -> bool {
        self.pid == std::process::id() && self.host == host_name()
    }
}

impl fmt::Display for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, host) = (Printable(&self.name), Printable(&self.host));
        match self.is_this_process() {
            true => f.write_str("another caller in this process"),
            false => write!(f, "`{name}`, process {} on host `{host}`", self.pid),
        }?;
        self.until.map_or(Ok(()), |until| write!(f, ", until {}", rfc3339(millis(until))))
    }
}

impl Serialize for LeaseOwner {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut owner = out.serialize_struct("LeaseOwner", 4)?;
        owner.serialize_field("name", &self.name)?;
        owner.serialize_field("host", &self.host)?;
        owner.serialize_field("pid", &self.pid)?;
        owner.serialize_field("until", &self.until.map(|until| rfc3339(millis(until))))?;
        owner.end()
    }
}

fn program_name() -> String {
    let program = std::env::args_os().next().map(std::path::PathBuf::from);
    let stem = program.as_deref().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "superstep".into())
}

#[cfg(unix)]
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
pub(super) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".into())
}
