//! File names for arbitrary keys. Pure.

use superstep_base::Fnv;

/// Length of the longest name that contains its key unchanged.
const LONGEST: usize = 120;

/// Returns a file name for a key: unique, also on case-insensitive file systems.
pub(super) fn name_of(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for (nth, byte) in key.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if nth > 0 => name.push('.'),
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    match name.len() {
        0 => "%".to_owned(),
        1..=LONGEST => name,
        _ => {
            let hash = |seed| {
                let mut hash = Fnv::seeded(seed);
                hash.mix(key.as_bytes());
                hash.finish()
            };
            format!("{}%{:016x}{:016x}", &name[..LONGEST - 40], hash(0), hash(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("essay-1", "essay-1")]
    #[case("", "%")]
    #[case("..", "%2e.")]
    #[case("a/../b", "a%2f..%2fb")]
    #[case("A", "%41")]
    #[case("ü\0", "%c3%bc%00")]
    fn a_name_is_safe(#[case] key: &str, #[case] name: &str) {
        assert_eq!(name_of(key), name);
    }

    #[test]
    fn long_keys_have_names_of_their_own() {
        let (one, other) = (name_of(&"ä/".repeat(500)), name_of(&"ä/".repeat(501)));
        assert!(one.len() < 200 && one != other, "{one} {other}");
    }
}
