//! The fuzz body of the case format, on recorded cases with random changes; the same in every run.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/bodies/cases.rs"]
mod body;
#[path = "../crash/rng.rs"]
#[allow(dead_code, reason = "the crash tests draw in more ways")]
mod rng;

pub(crate) use rng::Rng;

/// Reads cases with words exchanged, removed or damaged.
pub(crate) fn read_changed(cases: &Path) -> Result<(), String> {
    let text = fs::read(cases).map_err(|error| error.to_string())?;
    let serde_json::Value::Array(seeds) = serde_json::from_slice(&text).map_err(|error| error.to_string())? else {
        return Err("no cases".into());
    };
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|case| case.to_string().into_bytes()).collect();
    let mut rng = Rng::new(9);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..6_000 {
        let mut bytes = seeds[rng.index(seeds.len())].clone();
        for _ in 0..=rng.index(3) {
            change(&mut bytes, &seeds, &mut rng);
        }
        if body::body(&bytes) > 0 { read += 1 } else { refused += 1 }
    }
    if read > 100 && refused > 100 { Ok(()) } else { Err(format!("{read} read, {refused} refused")) }
}

/// Changes bytes: mostly replaces one word by another, so that the text stays JSON.
fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.index(bytes.len());
    if bytes.is_empty() {
        return;
    }
    match rng.index(8) {
        0 => bytes.truncate(at),
        1 => bytes[at] = bytes[at].wrapping_add(1),
        2 => bytes[at] ^= 1 << rng.index(8),
        _ => {
            let other = &seeds[rng.index(seeds.len())];
            let from = rng.index(other.len());
            let (old, new) = (word(bytes, at), word(other, from));
            bytes.splice(old, other[new].iter().copied());
        }
    }
}

/// Returns the text between quotes, brackets, commas and colons around a position.
fn word(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    let ends = |byte: &u8| b"\"[]{},:".contains(byte);
    let start = bytes[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |end| at + end);
    start..end.max(start)
}
