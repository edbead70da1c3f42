//! Transport of threads between stores: backups of stores, and single threads as files.
//!
//! Knows records and their bytes. Must not know states, nodes, or the type of a user's value.
//!
//! | file | what it knows |
//! |---|---|
//! | `copy` | stores copied into others |
//! | `file` | the layout of one thread as a file |
//! | `export`, `structure` | a thread written to a file, and its records read in pages |
//! | `import` | a file checked, then stored |
//! | `checks`, `facts`, `check_msgpack` | what makes a thread valid |
//! | `hostile` | tests: manipulated files |
//!
//! Small because it only lists the folder.

mod check_msgpack;
mod checks;
pub(super) mod copy;
pub(super) mod export;
mod facts;
mod file;
#[cfg(test)]
mod hostile;
pub(super) mod import;
mod structure;
