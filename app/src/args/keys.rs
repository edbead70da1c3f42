//! Arguments of `keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Add, list and revoke the keys of a server
///
/// A key is a secret that a client sends with each request to `serve --api-keys FILE`. The file holds hashes only, and is readable by
/// its owner only. What is changed in it holds from the next request on.
#[derive(Args, Clone, Debug)]
#[command(subcommand_value_name = "COMMAND", disable_help_subcommand = true)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    pub verb: KeysVerb,
}

/// Commands about the keys of a server.
#[derive(Subcommand, Clone, Debug)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) enum KeysVerb {
    Add(AddKeyArgs),
    List(ListKeysArgs),
    Revoke(RevokeKeyArgs),
}

/// Make a new key, and print it: the only time that it is shown
///
/// Roles: read sees threads and runs; answer also answers questions, under the key's name; run also creates, cancels and changes
/// runs and threads; admin also deletes, and changes assistants.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  {bin} keys add ann --role answer --api-keys keys.json
  KEY=$({bin} keys add ci --role run --api-keys keys.json | tail -n 1)")]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct AddKeyArgs {
    /// The name: who or what the key is for
    pub name: String,

    /// The role of the key: read, answer, run or admin
    #[arg(long, value_name = "ROLE", value_parser = ["read", "answer", "run", "admin"], hide_possible_values = true)]
    pub role: String,

    /// The file of keys; it is made if it does not exist
    #[arg(long, value_name = "FILE")]
    pub api_keys: PathBuf,
}

/// List the keys: names, roles and times
#[derive(Args, Clone, Debug)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct ListKeysArgs {
    /// The file of keys
    #[arg(long, value_name = "FILE")]
    pub api_keys: PathBuf,
}

/// Revoke a key: it is refused from the next request on
#[derive(Args, Clone, Debug)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "the program has no server"))]
pub(crate) struct RevokeKeyArgs {
    /// The name of the key
    pub name: String,

    /// The file of keys
    #[arg(long, value_name = "FILE")]
    pub api_keys: PathBuf,
}
