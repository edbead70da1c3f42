//! The names that each crate promises, and the share of names that are one bare participle. Both may only fall.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use rstest::rstest;

use crate::files::{SHIPPED, is_shipped, source_files};
use crate::words::items;

/// The largest number of exported names: of the library alone, and of all crates.
const EXPORTED: (usize, usize) = (477, 797);
/// The largest number of functions and types in a thousand whose name is one participle.
const PARTICIPLES: (usize, usize) = (12, 6);

/// Participles that do not end in -ed.
const IRREGULAR: [&str; 42] = [
    "begun",
    "bound",
    "broken",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "driven",
    "fallen",
    "forgotten",
    "found",
    "frozen",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "owed",
    "said",
    "seen",
    "sent",
    "shown",
    "spent",
    "split",
    "stood",
    "sworn",
    "taken",
    "thrown",
    "told",
    "torn",
    "woken",
    "written",
];

/// Words that end in -ed and are no participle.
const WORDS_IN_ED: [&str; 8] = ["bed", "embed", "exceed", "feed", "need", "proceed", "seed", "speed"];

fn is_participle(name: &str) -> bool {
    let word = name.to_lowercase();
    let is_one_word = !name.contains('_') && name.chars().skip(1).all(char::is_lowercase);
    let is_regular = word.ends_with("ed") && word.len() > 3 && !WORDS_IN_ED.contains(&word.as_str());
    is_one_word && (is_regular || IRREGULAR.contains(&word.as_str()))
}

/// Returns how many of the named items are one participle, in a thousand.
fn share(items: &[(String, String)], keywords: &[&str]) -> usize {
    let names: Vec<&String> =
        items.iter().filter(|(keyword, _)| keywords.contains(&keyword.as_str())).map(|(_, name)| name).collect();
    names.iter().filter(|name| is_participle(name)).count() * 1000 / names.len().max(1)
}

#[test]
fn few_names_are_one_participle() {
    let files = source_files();
    let shipped = files.iter().filter(|(name, _)| is_shipped(name));
    let items: Vec<(String, String)> = shipped.flat_map(|(_, source)| items(source)).collect();
    let shares = (share(&items, &["fn"]), share(&items, &["struct", "enum", "trait", "type", "union"]));
    assert!(items.len() > 5_000, "looked in the wrong place");
    assert!(
        shares.0 <= PARTICIPLES.0 && shares.1 <= PARTICIPLES.1,
        "{shares:?} in a thousand; name what it does or is"
    );
}

/// The exported items of a crate: path of the module, and name.
type Exported = BTreeSet<(String, String)>;

/// Adds what the module in `file` exports, and its public modules.
fn add_exported(files: &BTreeMap<String, String>, file: &str, module: &str, found: &mut Exported) {
    let Some(source) = files.get(file) else { return };
    let folder = match file.rsplit_once('/') {
        Some((folder, "lib.rs" | "mod.rs")) => folder.to_owned(),
        _ => file.trim_end_matches(".rs").to_owned(),
    };
    for item in public_items(source.parse().unwrap()) {
        match item {
            Item::Module(name) if name == "prelude" => {} // the same names again
            Item::Name(name) => _ = found.insert((module.to_owned(), name)),
            Item::Module(name) => {
                let inside = format!("{module}::{name}");
                add_exported(files, &format!("{folder}/{name}.rs"), &inside, found);
                add_exported(files, &format!("{folder}/{name}/mod.rs"), &inside, found);
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Item {
    Name(String),
    Module(String),
}

/// Reads the public items of a module, without those that are hidden from its documentation.
fn public_items(tokens: TokenStream) -> Vec<Item> {
    let (mut items, mut is_hidden) = (vec![], false);
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for at in 0..tokens.len() {
        match (&tokens[at], tokens.get(at + 1)) {
            (TokenTree::Punct(mark), Some(TokenTree::Group(attribute))) if mark.as_char() == '#' => {
                let text = attribute.to_string().replace(' ', "");
                is_hidden |= text.contains("doc(hidden)") || text.contains("cfg(test)");
            }
            (TokenTree::Ident(word), Some(TokenTree::Ident(_))) if word == "pub" && !is_hidden => {
                items.extend(public_item(&tokens[at + 1..]));
            }
            (TokenTree::Punct(mark), _) if mark.as_char() == ';' => is_hidden = false,
            (TokenTree::Group(body), _) if body.delimiter() == Delimiter::Brace => is_hidden = false,
            _ => {}
        }
    }
    items
}

fn public_item(tokens: &[TokenTree]) -> Vec<Item> {
    let words: Vec<String> = tokens.iter().take(4).map(ToString::to_string).collect();
    let name = |at: usize| words.get(at).cloned().map(Item::Name).into_iter().collect();
    match words[0].as_str() {
        "use" => {
            let end = tokens.iter().position(|token| token.to_string() == ";").unwrap_or(tokens.len());
            leaves(&tokens[1..end]).into_iter().map(Item::Name).collect()
        }
        "mod" if words.get(2).is_some_and(|after| after == ";") => vec![Item::Module(words[1].clone())],
        "mod" => vec![],
        "async" | "unsafe" => name(2),
        "const" if words[1] == "fn" => name(2),
        "extern" => vec![],
        _ => name(1),
    }
}

/// Returns the names that a tree of imports brings in.
fn leaves(tokens: &[TokenTree]) -> Vec<String> {
    let parts = tokens.split(|token| token.to_string() == ",");
    parts
        .flat_map(|part| match part.last() {
            Some(TokenTree::Group(inner)) => leaves(&inner.stream().into_iter().collect::<Vec<_>>()),
            Some(last) => vec![last.to_string()],
            None => vec![],
        })
        .collect()
}

#[rstest]
#[case::items("pub struct A; pub(crate) struct B; pub async fn c() {} pub const D: u8 = 1; fn e() {}", &["A", "c", "D"])]
#[case::imports("pub use a::{B, c::{D, E as F}}; pub use g::H; use i::J;", &["B", "D", "F", "H"])]
#[case::hidden("#[doc(hidden)] pub use a::B; pub use c::D; #[cfg(test)] pub fn e() {} pub fn f() {}", &["D", "f"])]
fn public_names_are_read(#[case] source: &str, #[case] names: &[&str]) {
    let expected: Vec<Item> = names.iter().map(|name| Item::Name((*name).to_owned())).collect();
    assert_eq!(public_items(source.parse().unwrap()), expected);
}

fn exported() -> BTreeMap<&'static str, Exported> {
    let files: BTreeMap<String, String> = source_files().into_iter().collect();
    let of_crate = |root: &'static str| {
        let mut found = Exported::new();
        add_exported(&files, &format!("{root}/lib.rs"), root, &mut found);
        (root, found)
    };
    SHIPPED.into_iter().map(of_crate).collect()
}

#[test]
fn no_more_names_are_exported() {
    let exported = exported();
    let counts: BTreeMap<_, _> = exported.iter().map(|(root, names)| (root, names.len())).collect();
    let (library, all) = (counts[&"src"], counts.values().sum::<usize>());
    assert!(library > 100, "looked in the wrong place: {counts:?}");
    assert!(
        (library, all) <= EXPORTED && all <= EXPORTED.1,
        "{counts:?}, {all} in all; a name that is exported is promised"
    );
}

#[test]
fn no_public_types_share_a_name() {
    let mut meanings = BTreeMap::<String, BTreeSet<String>>::new();
    for (module, name) in exported().into_values().flatten() {
        if name.starts_with(char::is_uppercase) && name.chars().any(char::is_lowercase) {
            meanings.entry(name).or_default().insert(module);
        }
    }
    let doubled: Vec<_> = meanings.iter().filter(|(_, modules)| modules.len() > 1).collect();
    let list: Vec<String> = doubled.iter().map(|(name, modules)| format!("{name}: {modules:?}")).collect();
    assert!(doubled.is_empty(), "public names that mean two things:\n{}", list.join("\n"));
}
