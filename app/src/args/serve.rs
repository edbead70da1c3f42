//! Arguments of `serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::time::span;

/// Serve the graphs over HTTP: LangGraph's API, for its SDKs and front ends
///
/// Clients create threads and runs, wait for them, stream them and answer their questions. A run is stored before it is
/// acknowledged; if the process is killed, the next start resumes it. Threads that were answered by other commands, or left by
/// another process, are resumed too, as `runner` does. Webhooks are signed with the secret in SUPERSTEP_WEBHOOK_SECRET. Runs
/// until Ctrl-C: then runs stop after their superstep.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} serve
  {bin} serve --listen 127.0.0.1:0 --store memory: --json
  {bin} serve --listen 0.0.0.0:2024 --api-keys keys.json --allow-origin https://chat.example.com")]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct ServeArgs {
    /// The address to listen at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2024")]
    pub listen: String,

    /// Maximum number of runs that are executed at once
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub jobs: usize,

    /// The time for which the events of a run that has ended are kept, for readers that come back: 90s, 15m, 8h, 30d
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1h")]
    pub keep_events_for: Duration,

    /// Send webhooks to addresses that are not public too, such as those of this machine
    #[arg(long)]
    pub allow_private_webhooks: bool,

    /// Accept only requests with a key of this file, made by `keys add`; needed to listen at more than a loopback address
    #[arg(long, value_name = "FILE")]
    pub api_keys: Option<PathBuf>,

    /// Let pages of this origin use the server in a browser, beside those of this machine; `*` for all; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub allow_origin: Vec<String>,

    /// Leave out the pages for people: /ui/ and /docs
    #[arg(long, conflicts_with = "open")]
    pub no_page: bool,

    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
}

/// Reads an origin as browsers send it.
fn origin(text: &str) -> Result<String, String> {
    let (_, name) = text.split_once("://").unwrap_or_default();
    match text == "*" || (!name.is_empty() && !name.trim_end_matches('/').contains('/')) {
        true => Ok(text.to_owned()),
        false => Err("write it as https://chat.example.com, with a port if it has one, or * for all".into()),
    }
}
