//! Bytes: of files, of the process's memory, and some that cannot be compressed.

use std::path::Path;

/// Returns the bytes in a folder and its subfolders.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let bytes = |entry: std::fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() { disk_bytes(&entry.path()) } else { metadata.len() }
    };
    entries.map(bytes).sum()
}

/// Returns a line of `/proc/self/status` in KB; 0 where there is none.
pub(crate) fn memory_kb(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Returns incompressible bytes.
pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word as u8
    };
    (0..bytes).map(|_| next()).collect()
}
