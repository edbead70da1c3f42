//! Options of every command.

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::app::log::Level;
use crate::app::store_location::StoreLocation;

/// The options that every command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// Where threads are kept: a directory, of sled unless `fjall:` stands before it
    #[arg(long, global = true, value_name = "PATH", env = "SUPERSTEP_STORE", default_value = ".superstep/store")]
    #[arg(hide_env_values = true, value_parser = OsStringValueParser::new().map(StoreLocation::from))]
    pub store: StoreLocation,

    /// Only look at the store, and write nothing there
    #[arg(long, global = true)]
    pub read_only: bool,

    /// Print JSON for programs; errors too, on standard error
    #[arg(long, global = true)]
    pub json: bool,

    /// Tell on standard error what begins, ends and goes wrong; LEVEL: error, warn, info
    #[arg(hide_possible_values = true)]
    #[arg(long, global = true, value_name = "LEVEL", env = "SUPERSTEP_LOG", hide_env_values = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "info")]
    pub log: Option<Level>,
}
