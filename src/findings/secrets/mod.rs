//! Keys and tokens in a diff. This file and its neighbours know unified diffs and what secrets look like; no finding shows one.

mod added;
mod placeholder;
mod rules;
mod scan;

pub use scan::secrets_in;
