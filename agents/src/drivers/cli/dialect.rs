//! Supported agent programs. Data only.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Codex,
    Claude,
}
