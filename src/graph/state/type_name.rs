//! Names of Rust types for messages.

/// Returns two type names without their modules, unless they differ only in those.
pub(crate) fn distinct_names(first: &str, second: &str) -> (String, String) {
    let (brief, other) = (short(first), short(second));
    if brief == other { (first.to_owned(), second.to_owned()) } else { (brief, other) }
}

/// Returns a type's name without modules: `Vec<String>` for `alloc::vec::Vec<alloc::string::String>`.
pub(crate) fn short(type_name: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for letter in type_name.chars() {
        match letter {
            ':' => word.clear(),
            letter if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            other => {
                out.push_str(&std::mem::take(&mut word));
                out.push(other);
            }
        }
    }
    out + &word
}
