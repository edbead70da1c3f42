//! Names and sentences: no item is called by a participle that says nothing, and no documentation begins with a question word.

use proc_macro2::{TokenStream, TokenTree};
use rstest::rstest;

use crate::files::source_files;

/// Words that no item may be called, alone or as a part of its name.
const WORDS: [&str; 8] = ["told", "heard", "stood", "whoever", "lent", "owed", "afresh", "foremost"];

/// First words of documentation that leave the reader to find the noun.
const OPENINGS: [&str; 10] = ["What", "Whether", "How", "Where", "Of", "Who", "Whom", "Whose", "Which", "Why"];

/// Files whose documentation is text for people or models: help of the command line, schemas of what a model hands over.
const PRINTED: [&str; 7] = [
    "agents/src/plan/submission.rs",
    "cli/src/",
    "examples/",
    "app/src/args/",
    "app/src/terminal.rs",
    "src/nodes/verify/answers.rs",
    "verify/src/task/proposal.rs",
];

const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union"];

#[test]
fn names_and_documentation_are_plain() {
    let files = source_files();
    let problems: Vec<String> = files.iter().flat_map(|(name, source)| problems_of(name, source)).collect();
    assert!(problems.is_empty(), "{} problem(s):\n{}\n", problems.len(), problems.join("\n"));
}

fn problems_of(name: &str, source: &str) -> Vec<String> {
    let tokens: TokenStream = source.parse().unwrap_or_default();
    let mut items = vec![];
    read_items(tokens, &mut items);
    let named = items.into_iter().filter_map(|(_, item, line)| {
        let word = words_of(&item).into_iter().find(|word| WORDS.contains(&word.as_str()))?;
        Some(format!("{name}:{line}: `{item}` is called `{word}`: name what it is"))
    });
    let is_printed = PRINTED.iter().any(|printed| name.starts_with(printed));
    named.chain(if is_printed { vec![] } else { openings(name, source) }).collect()
}

/// Returns the keyword and the name of each item.
pub(crate) fn items(source: &str) -> Vec<(String, String)> {
    let mut items = vec![];
    read_items(source.parse().unwrap_or_default(), &mut items);
    items.into_iter().map(|(keyword, name, _)| (keyword, name)).collect()
}

/// Collects the keywords and names of items, and the lines they are on.
fn read_items(tokens: TokenStream, items: &mut Vec<(String, String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Group(group), _) => read_items(group.stream(), items),
            (TokenTree::Ident(word), Some(TokenTree::Ident(name)))
                if KEYWORDS.iter().any(|keyword| word == keyword) =>
            {
                items.push((word.to_string(), name.to_string(), name.span().start().line));
            }
            _ => {}
        }
    }
}

/// Splits a name in snake or camel case into words, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        let last = words.last_mut().unwrap();
        last.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    words
}

/// Finds blocks of documentation that open with a question word.
fn openings(name: &str, source: &str) -> Vec<String> {
    let text = |line: &str| line.trim_start().strip_prefix("///").map(str::trim).map(str::to_owned);
    let lines: Vec<Option<String>> = source.lines().map(text).collect();
    let opens = |at: &usize| *at == 0 || lines[at - 1].is_none();
    let found = (0..lines.len()).filter(opens).filter_map(|at| {
        let first = lines[at].as_deref()?.split(|c: char| !c.is_alphanumeric()).next()?.to_owned();
        OPENINGS.contains(&first.as_str()).then(|| format!("{name}:{}: documentation begins with `{first}`", at + 1))
    });
    found.collect()
}

// --- the rule can fail ---

#[rstest]
#[case::a_function("fn told() {}", "src/a.rs:1: `told` is called `told`: name what it is")]
#[case::a_part_of_a_type("struct WhatIsHeard;", "src/a.rs:1: `WhatIsHeard` is called `heard`: name what it is")]
#[case::inside("mod a { fn is_told() {} }", "src/a.rs:1: `is_told` is called `told`: name what it is")]
#[case::a_question("/// What it is.\nstruct A;", "src/a.rs:1: documentation begins with `What`")]
fn a_name_or_a_sentence_is_reported(#[case] source: &str, #[case] problem: &str) {
    assert_eq!(problems_of("src/a.rs", source), [problem]);
}

#[rstest]
#[case::another_word("fn untold() {}")]
#[case::a_local("fn a() { let told = 1; }")]
#[case::a_later_line("/// A thing.\n/// What follows is more.\nstruct A;")]
#[case::of_a_name("/// Often used.\nstruct A;")]
fn a_plain_name_or_sentence_is_not(#[case] source: &str) {
    assert_eq!(problems_of("src/a.rs", source), [""; 0]);
}
