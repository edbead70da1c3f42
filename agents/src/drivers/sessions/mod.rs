//! Conversations stored in files, for drivers whose models are stateless: one folder per session, one file of JSON
//! lines per turn. Knows messages as JSON with a role; must not know their meaning or transport.
//!
//! A turn's file names the previous turn, so two turns that follow the same one do not see each other. Each line is on
//! disk before anything depends on it; if a crash truncates the last one, it is ignored.

mod file;
mod line;
mod messages;
mod name;
mod read;
mod store;
mod turn;
mod unusable;

pub(super) use messages::Messages;
pub use store::SessionStore;
pub(super) use turn::{OpenTurn, TurnRequest};
