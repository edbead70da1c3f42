//! Names in another case: the stored names of questions and signals, and those of nodes by `rename_all`.

use syn::{Error, LitStr, Result};

type Join = fn(&[&str]) -> String;

/// The cases, by the words that serde has for them. Each makes a name of words in lowercase.
const CASES: [(&str, Join); 8] = [
    ("lowercase", |words| words.concat()),
    ("UPPERCASE", |words| words.concat().to_uppercase()),
    ("PascalCase", pascal_case),
    ("camelCase", camel_case),
    ("snake_case", |words| words.join("_")),
    ("SCREAMING_SNAKE_CASE", |words| words.join("_").to_uppercase()),
    ("kebab-case", |words| words.join("-")),
    ("SCREAMING-KEBAB-CASE", |words| words.join("-").to_uppercase()),
];

/// A case of names.
#[derive(Clone, Copy)]
pub(crate) struct Case(Join);

impl Case {
    /// Returns the case with this name.
    pub(crate) fn from_name(name: &LitStr) -> Result<Self> {
        let found = CASES.iter().find(|(known, _)| *known == name.value());
        found.map(|(_, join)| Self(*join)).ok_or_else(|| {
            let known = CASES.map(|(known, _)| known).join(", ");
            Error::new(name.span(), format!("unknown case; known are {known}"))
        })
    }

    /// Returns the identifier in this case.
    pub(crate) fn rename(self, ident: &str) -> String {
        let snake = snake_case(ident);
        let words: Vec<&str> = snake.split('_').filter(|word| !word.is_empty()).collect();
        (self.0)(&words)
    }
}

fn pascal_case(words: &[&str]) -> String {
    let capitalized = words.iter().flat_map(|word| {
        let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        [first.to_uppercase(), rest.to_owned()]
    });
    capitalized.collect()
}

fn camel_case(words: &[&str]) -> String {
    words.split_first().map_or_else(String::new, |(first, rest)| format!("{first}{}", pascal_case(rest)))
}

/// Returns `may_publish` for `MayPublish`.
pub(crate) fn snake_case(ident: &str) -> String {
    let letters: Vec<char> = ident.chars().collect();
    let mut name = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        let after_lower = at > 0 && !letters[at - 1].is_uppercase();
        let before_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && at > 0 && (after_lower || before_lower) && !name.ends_with('_') {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{CASES, Case, snake_case};

    #[test]
    fn names_are_in_snake_case() {
        let names = ["Approve", "MayPublish", "AskURL", "URLOf", "Step2Done", "already_so"].map(snake_case);
        assert_eq!(names, ["approve", "may_publish", "ask_url", "url_of", "step2_done", "already_so"]);
    }

    #[test]
    fn each_case_is_named_as_it_looks() {
        let names = CASES.map(|(_, join)| Case(join).rename("AskURL"));
        let expected = ["askurl", "ASKURL", "AskUrl", "askUrl", "ask_url", "ASK_URL", "ask-url", "ASK-URL"];
        assert_eq!(names, expected);
    }
}
