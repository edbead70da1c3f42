//! The part of a file that was written, where its end was only allocated.

/// Returns the length without the zeros at the end.
pub(crate) fn written_length(bytes: &[u8]) -> u64 {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut written = bytes;
    while let Some(rest) = written.strip_suffix(&ZEROS) {
        written = rest;
    }
    written.iter().rposition(|&byte| byte != 0).map_or(0, |at| at as u64 + 1)
}
