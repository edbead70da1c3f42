//! Placeholders of secrets, and the entropy of values.

/// Words that real secrets do not have.
const WORDS: [&str; 22] = [
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "your-",
    "your_",
    "yourkey",
    "insert",
    "dummy",
    "redacted",
    "notasecret",
    "not-a-secret",
    "not_a_secret",
    "todo",
    "fixme",
    "sample",
    "xxxx",
    "****",
    "....",
    "1234567890",
];
/// Values that name the secret they replace.
const NAMES: [&str; 7] = ["password", "passwd", "passphrase", "secret", "token", "username", "credentials"];
/// Prefixes of patterns and markup.
const CODE: [char; 6] = ['(', '[', '<', '>', '?', '\\'];
/// Prefixes of variables in languages and templates.
const VARIABLES: [&str; 12] =
    ["$", "{", "%", "<", "#{", "process.env", "os.environ", "env.", "env(", "secrets.", "getenv", "args."];

/// Returns whether a value is not a secret: a placeholder, a variable, a mask.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_variable =
        VARIABLES.iter().any(|begin| lower.starts_with(begin)) || value.contains("${") || value.contains("{{");
    let is_named = WORDS.iter().any(|word| lower.contains(word));
    is_variable || is_named || NAMES.contains(&lower.as_str()) || is_uniform(value)
}

/// Returns whether a value has fewer than five different characters after the prefix of its format.
fn is_uniform(value: &str) -> bool {
    let secret = value.rsplit(['_', '-']).next().filter(|tail| tail.len() >= 8).unwrap_or(value);
    let mut seen: Vec<char> = secret.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() < 5
}

/// Returns whether a value looks like code, a word or a path of words, such as the name of a setting or a type.
pub(super) fn is_code(value: &str) -> bool {
    if value.starts_with(CODE) {
        return true;
    }
    let is_plain = value.chars().all(|c| c.is_ascii_alphabetic() || "_-./: ".contains(c));
    let case = value.chars().filter(char::is_ascii_uppercase).count();
    is_plain && (case * 4 <= value.len() || case == value.chars().filter(char::is_ascii_alphabetic).count())
}

/// Returns the entropy per character of the value, in bits.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len().max(1) as f64;
    let bits = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}
