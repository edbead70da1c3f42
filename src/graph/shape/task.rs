//! A task of a snapshot as JSON.
