//! The store of several machines: threads in PostgreSQL.
//!
//! Knows tables, sessions and leases that end with a time. Only this folder names the client of the database.
//!
//! | file | what it knows |
//! |---|---|
//! | `address`, `password` | where a store is, and the login where the address leaves it out |
//! | `tls` | what of a server's certificate is verified |
//! | `cut` | names and keys as they are indexed |
//! | `query`, `schema`, `schema_1.sql` | statements, tables, and how these are made |
//! | `fault` | failures, by what to do about them |
//! | `session`, `pool` | one connection, and all of them |
//! | `leases` | leases of this handle, by the clock of this process; the clock of the server |
//! | `requests`, `put`, `writer` | what is to be written, in what parameters, and in which order |
//! | `renewal` | renewal of leases in the background |
//! | `workers` | the list of workers |
//! | `columns` | columns of rows as values |
//! | `reads`, `items` | records, heads and names; values beside threads |
//! | `summaries`, `listing`, `hints` | summaries of threads; lists of threads and threads that are due; hints that there may be some |
//! | `handle`, `store` | the thread on which it is all done, and the contract |
//!
//! Small because it only lists the folder.

mod address;
mod columns;
mod cut;
mod fault;
mod handle;
mod hints;
mod items;
mod leases;
mod listing;
mod password;
mod pool;
mod put;
mod query;
mod reads;
mod renewal;
mod requests;
mod schema;
mod session;
mod store;
mod summaries;
mod tls;
mod workers;
mod writer;

pub use store::{PostgresBuilder, PostgresCheckpointer};
