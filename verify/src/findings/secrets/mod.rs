//! Finds keys and tokens in a diff. This folder knows unified diffs and formats of secrets; findings never show one.

mod added;
mod placeholder;
mod rules;
mod scan;

pub use scan::secrets_in;
