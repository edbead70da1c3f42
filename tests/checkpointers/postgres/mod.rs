//! The store in PostgreSQL, on a server of its own: the kit, several handles on one store, outages, addresses. Without PostgreSQL on
//! the machine these tests pass and say so. Small because it only lists the files.

mod contract;
mod due;
mod leases;
mod memory;
mod outage;
mod queries;
mod runs;
mod settings;
mod workers;
