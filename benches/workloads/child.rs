//! stub
pub(crate) fn run() -> bool {
    false
}
