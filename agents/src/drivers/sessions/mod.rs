//! What was said in sessions, kept in files for drivers whose models remember nothing: one folder for a session, one file of JSON
//! lines for a turn. Knows messages as JSON with a role; must not know what they mean or who carries them.
//!
//! A turn's file names the turn it follows, so two turns that follow the same one do not see each other. Each line is on disk
//! before anything depends on it; the last one may be cut by a crash and is then as if it had never been written.

mod file;
mod line;
mod name;
mod read;
mod said;
mod store;
mod turn;
mod unusable;

pub(super) use said::Said;
pub use store::SessionStore;
pub(super) use turn::{OpenTurn, Opening};
