//! Clients that a server must survive: very many at once, ones that do not read, and ones that send what no client sends.
//!
//! | file | what is claimed |
//! |---|---|
//! | `crowds` | a thousand streams, and readers that do not read |
//! | `requests` | requests that no client sends |
//! | `past_secrets` | secrets that were cleared since nodes have copied them, and those that comparisons make |
//! | `secrets` | nodes that copy a secret to all that they can write to |
//! | `sockets` | WebSockets that carry no commands |
//!
//! Small because it only lists the folder.

mod crowds;
mod past_secrets;
mod requests;
mod secrets;
mod sockets;
