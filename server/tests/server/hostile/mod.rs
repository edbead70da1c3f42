//! Clients that a server must survive: very many at once, and ones that do not read.
//!
//! | file | what is claimed |
//! |---|---|
//! | `crowds` | a thousand streams, and readers that do not read |
//!
//! Small because it only lists the folder.

mod crowds;
