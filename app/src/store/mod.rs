//! Stores as a command line names them.
//!
//! | file | what it knows |
//! |---|---|
//! | `location` | a directory or a database |
//! | `database` | the address of a database, shown without its password |
//!
//! Small because it only lists the folder.

mod database;
mod location;

pub(crate) use database::OwnerSettings;
pub(crate) use location::{StoreDirectory, StoreLocation};
