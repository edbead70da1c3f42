//! Hooks of the command `runner`: a shell command or a URL that gets questions and stops as JSON.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::failure::Failure;
#[cfg(all(feature = "agents", unix))]
use super::relocation::with_present_paths;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    Command(Arc<str>, Duration),
    Address(Arc<str>),
}

impl Hook {
    /// Parses a hook; `limit` is the time limit of a command.
    pub(crate) fn new(text: &str, limit: Duration) -> Result<Self, Failure> {
        if !cfg!(all(feature = "agents", unix)) {
            return Err(
                Failure::usage("this program is built without hooks").help("build it with the feature `agents`")
            );
        }
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        Ok(if is_address { Self::Address(text.into()) } else { Self::Command(text.into(), limit) })
    }

    /// Calls the hook: a command gets the JSON on standard input and its parts as variables; a URL gets it by POST.
    #[cfg(all(feature = "agents", unix))]
    pub(crate) async fn call(&self, json: &Value) -> Result<(), Failure> {
        let json = with_present_paths(json);
        let json = json.as_ref();
        let failed = |hook: &str, why: String| Failure::new(format!("the hook `{hook}` failed: {why}"));
        match self {
            // The URL may hold a secret.
            Self::Address(url) => {
                crate::drivers::api::post(url, json.to_string()).await.map_err(|why| failed("http..", why))
            }
            Self::Command(line, limit) => command(line, json, *limit).await.map_err(|why| failed(line, why)),
        }
    }

    #[cfg(not(all(feature = "agents", unix)))]
    pub(crate) async fn call(&self, _: &Value) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(all(feature = "agents", unix))]
async fn command(line: &str, json: &Value, time: Duration) -> Result<(), String> {
    use crate::process::{Bounds, How, Program};

    let bounds = Bounds { time, output: 1 << 20, linger: Duration::from_millis(100) };
    let mut program = Program::new("sh").args(["-c", line]).stdin(json.to_string());
    for (name, value) in variables(json) {
        program = program.env(name, value);
    }
    let ran = program.run_within(&bounds).await.map_err(|error| error.to_string())?;
    match ran.how {
        How::Exited(status) if status.success() => Ok(()),
        How::Exited(status) => Err(status.to_string()),
        How::TooMuch => Err("it wrote more than a mebibyte".into()),
        How::TooLong => Err(format!("it took longer than {} s, its `--hook-timeout`", time.as_secs())),
    }
}

/// Returns the parts of a message as environment variables.
#[cfg(all(feature = "agents", unix))]
fn variables(json: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts = [
        ("SUPERSTEP_THREAD", &json["thread"]),
        ("SUPERSTEP_GRAPH", &json["graph"]),
        ("SUPERSTEP_STATUS", &json["status"]),
        ("SUPERSTEP_QUESTION", &json["question"]["id"]),
        ("SUPERSTEP_NAME", &json["question"]["name"]),
        ("SUPERSTEP_PAYLOAD", &json["question"]["payload"]),
        ("SUPERSTEP_ANSWER", &json["question"]["commands"][0]),
    ];
    // A variable cannot hold NUL.
    let set = parts.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name, text(value).replace('\0', ""))).collect()
}
