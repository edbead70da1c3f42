//! The programs of agents that are known. Data only.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Codex,
    Claude,
}
