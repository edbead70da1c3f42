//! The rules of the house, read off the source: who may import whom, who may name the store, how files begin and how
//! long they get. All problems are reported at once, each with file and line.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use rstest::rstest;

/// Each room under `src/` and what it may import beside itself: only rooms nearer to the checkpoint.
const ROOMS: [(&str, &[&str]); 15] = [
    ("checkpoint", &[]),
    ("graph", &["checkpoint"]),
    ("process", &[]),
    ("files", &[]),
    ("findings", &[]),
    ("spec", &["findings"]),
    ("decide", &["findings", "spec"]),
    ("verifiers", &["findings", "spec"]),
    ("drivers", &["files", "process", "graph", "checkpoint"]),
    ("plan", &["files"]),
    ("workspace", &["process"]),
    (
        "nodes",
        &[
            "files",
            "findings",
            "spec",
            "decide",
            "verifiers",
            "drivers",
            "plan",
            "workspace",
            "process",
            "graph",
            "checkpoint",
        ],
    ),
    ("routes", &["drivers", "plan", "workspace", "graph", "checkpoint"]),
    (
        "workflows",
        &[
            "files",
            "findings",
            "spec",
            "decide",
            "verifiers",
            "nodes",
            "routes",
            "drivers",
            "plan",
            "workspace",
            "graph",
            "checkpoint",
        ],
    ),
    (
        "app",
        &["files", "workflows", "nodes", "routes", "drivers", "plan", "workspace", "process", "graph", "checkpoint"],
    ),
];

/// Where the crate `sled` may be named.
const STORE: [&str; 2] = ["src/checkpoint/sled.rs", "src/checkpoint/sled/"];

const MAX_LINES: usize = 400;

#[test]
fn the_house_is_in_order() {
    let files = source_files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"src/lib.rs") && names.contains(&"tests/house.rs"), "looked in the wrong place: {names:?}");
    let mut problems = folders_without_a_face(&names);
    problems.extend(files.iter().flat_map(|(name, source)| problems_of(name, source)));
    assert!(problems.is_empty(), "{} problem(s):\n{}\n", problems.len(), problems.join("\n"));
}

// --- the rules ---

/// Applies every rule that holds for the file `name`.
fn problems_of(name: &str, source: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if !source.starts_with("//!") {
        problems.push(format!("{name}:1: does not open with `//!`: what it knows, what it must not know"));
    }
    if !is_shipped(name) {
        return problems;
    }
    problems.extend(unknown_room(name));
    problems.extend(too_long(name, source));
    problems.extend(nameless_todos(name, source));
    match source.parse::<TokenStream>() {
        Ok(tokens) => problems.extend(problems_of_tokens(name, tokens)),
        Err(error) => problems.push(format!("{name}:{}: {error}", error.span().start().line)),
    }
    problems
}

fn is_shipped(name: &str) -> bool {
    ["src/", "macros/src/", "cli/src/"].iter().any(|root| name.starts_with(root))
}

fn unknown_room(name: &str) -> Option<String> {
    let (room, _) = name.strip_prefix("src/")?.split_once('/')?;
    let is_known = ROOMS.iter().any(|(known, _)| *known == room);
    (!is_known).then(|| format!("{name}:1: room `{room}` is missing from the table of rooms"))
}

fn too_long(name: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    (lines > MAX_LINES).then(|| format!("{name}:{lines}: more than {MAX_LINES} lines; a noun is missing"))
}

fn nameless_todos(name: &str, source: &str) -> Vec<String> {
    let is_nameless = |line: &str| {
        ["TODO", "FIXME"].iter().flat_map(|word| line.split(word).skip(1)).any(|after| {
            let issue = after.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            issue.is_none_or(|(issue, _)| issue.trim().is_empty())
        })
    };
    let lines = source.lines().enumerate().filter(|(_, line)| is_nameless(line));
    lines.map(|(nth, _)| format!("{name}:{}: a TODO without its issue; write `TODO(issue)`", nth + 1)).collect()
}

fn problems_of_tokens(name: &str, tokens: TokenStream) -> Vec<String> {
    let mut reader = Reader::default();
    reader.read(tokens, &[], 0);
    let paths = reader.paths.iter();
    let found = paths.filter_map(|path| Some((path.line, problem_of_path(name, path)?))).collect::<BTreeSet<_>>();
    found.into_iter().map(|(line, problem)| format!("{name}:{line}: {problem}")).collect()
}

fn problem_of_path(name: &str, path: &Named) -> Option<String> {
    if path.segments == ["unsafe"] {
        return Some("`unsafe` is not written here".to_owned());
    }
    if path.names_crate("sled") && !STORE.iter().any(|store| name.starts_with(store)) {
        return Some("names the crate `sled`; only `checkpoint::sled` may".to_owned());
    }
    wrong_room(name, path)
}

/// Judges a path that leads through the crate's root out of its room.
fn wrong_room(name: &str, path: &Named) -> Option<String> {
    let (room, inside) = name.strip_prefix("src/")?.split_once('/')?;
    let (_, may_import) = ROOMS.iter().find(|(known, _)| *known == room)?;
    let target = path.beyond_root(module_depth(inside) + path.inline_modules)?;
    if target == room || may_import.contains(&target) {
        return None;
    }
    let is_room = ROOMS.iter().any(|(known, _)| *known == target);
    Some(match is_room {
        true => format!("room `{room}` must not know `{target}`; it may import {may_import:?}"),
        false => format!("`{target}` is no room; import it from the room it lives in, not through the crate's root"),
    })
}

/// Returns how many modules deep the file `inside` a room is: 1 for its `mod.rs`.
fn module_depth(inside: &str) -> usize {
    inside.split('/').count() + usize::from(!inside.ends_with("mod.rs"))
}

/// Finds folders of the library without a `mod.rs`.
fn folders_without_a_face(names: &[&str]) -> Vec<String> {
    let folders: BTreeSet<&str> =
        names.iter().filter_map(|name| name.strip_prefix("src/")?.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let faceless =
        folders.iter().map(|folder| format!("src/{folder}/mod.rs")).filter(|face| !names.contains(&face.as_str()));
    faceless.map(|face| format!("{face}:1: missing; each folder opens with one")).collect()
}

// --- reading ---

/// A path as the source names it, use groups spelt out.
#[derive(Debug)]
struct Named {
    segments: Vec<String>,
    line: usize,
    /// Written with `::` in front, or directly after `use` or `crate`.
    is_global: bool,
    /// The inline modules around it.
    inline_modules: usize,
}

impl Named {
    fn names_crate(&self, name: &str) -> bool {
        self.segments[0] == name && (self.segments.len() > 1 || self.is_global)
    }

    /// Returns the first segment after the crate's root, if the path leads there from `depth` modules down.
    fn beyond_root(&self, depth: usize) -> Option<&str> {
        let mut segments = self.segments.iter().map(String::as_str).peekable();
        if segments.next_if(|first| ["crate", "superstep"].contains(first)).is_some() {
            return segments.next();
        }
        while segments.next_if_eq(&"self").is_some() {}
        let mut climbed = 0;
        while segments.next_if_eq(&"super").is_some() {
            climbed += 1;
        }
        segments.next().filter(|_| climbed >= depth)
    }
}

/// Collects the paths of a token stream; comments and strings are no tokens.
#[derive(Default)]
struct Reader {
    paths: Vec<Named>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream, prefix: &[String], inline_modules: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at..] {
                [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(body), ..]
                    if word == "mod" && body.delimiter() == Delimiter::Brace =>
                {
                    self.read(body.stream(), &[], inline_modules + 1);
                    at + 3
                }
                [TokenTree::Ident(word), TokenTree::Ident(_), ..] if word == "as" => at + 2,
                [TokenTree::Ident(_), ..] => self.read_path(&tokens, at, prefix, inline_modules),
                [TokenTree::Group(group), ..] => {
                    self.read(group.stream(), &[], inline_modules);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// Reads the path that starts at `at` and returns where it ends.
    fn read_path(&mut self, tokens: &[TokenTree], start: usize, prefix: &[String], inline_modules: usize) -> usize {
        let mut segments = [prefix, &[tokens[start].to_string()]].concat();
        let mut at = start + 1;
        while is_separator(&tokens[at..]) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(next)) => segments.push(next.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => segments.push("*".to_owned()),
                Some(TokenTree::Group(group)) => {
                    self.read(group.stream(), &segments, inline_modules);
                    return at + 3;
                }
                _ => break,
            }
            at += 3;
        }
        let line = tokens[start].span().start().line;
        self.paths.push(Named { segments, line, is_global: is_global(&tokens[..start]), inline_modules });
        at
    }
}

fn is_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    tokens.len() >= 2 && tokens[..2].iter().all(is_colon)
}

fn is_global(before: &[TokenTree]) -> bool {
    let rest = before.len().saturating_sub(2);
    match before.last() {
        Some(TokenTree::Ident(word)) => word == "use" || (word == "crate" && before.len() > 1),
        Some(TokenTree::Punct(_)) if is_separator(&before[rest..]) => {
            !matches!(before[..rest].last(), Some(TokenTree::Punct(punct)) if punct.as_char() == '>')
        }
        _ => false,
    }
}

/// Returns every file that a rule holds for, by its path from the repository's root.
fn source_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "macros/src", "cli/src"] {
        collect(root, folder, true, &mut files);
    }
    for folder in ["tests", "macros/tests", "cli/tests", "examples", "benches"] {
        collect(root, folder, false, &mut files);
    }
    files.sort();
    files
}

fn collect(root: &Path, folder: &str, below: bool, files: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries.map(Result::unwrap) {
        let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if below {
                collect(root, &name, below, files);
            }
        } else if name.ends_with(".rs") {
            files.push((name.clone(), fs::read_to_string(root.join(&name)).unwrap()));
        }
    }
}

// --- the rules can fail ---

#[rstest]
#[case::upwards(
    "src/checkpoint/key.rs",
    "use crate::graph::State;",
    "room `checkpoint` must not know `graph`; it may import []"
)]
#[case::in_a_nested_group(
    "src/graph/mod.rs",
    "use crate::{checkpoint::{Key, Lease}, nodes::{a, b}};",
    "room `graph` must not know `nodes`; it may import [\"checkpoint\"]"
)]
#[case::in_an_expression(
    "src/plan/id.rs",
    "fn f() { crate::graph::f(); }",
    "room `plan` must not know `graph`; it may import [\"files\"]"
)]
#[case::in_a_macro(
    "src/plan/id.rs",
    "fn f() { select! { _ = crate::graph::f() => {} } }",
    "room `plan` must not know `graph`; it may import [\"files\"]"
)]
#[case::by_super(
    "src/plan/id.rs",
    "use super::super::graph::State;",
    "room `plan` must not know `graph`; it may import [\"files\"]"
)]
#[case::by_super_from_the_face(
    "src/plan/mod.rs",
    "use super::graph::State;",
    "room `plan` must not know `graph`; it may import [\"files\"]"
)]
#[case::from_an_inline_module(
    "src/plan/mod.rs",
    "mod a { use super::super::graph::X; }",
    "room `plan` must not know `graph`; it may import [\"files\"]"
)]
#[case::from_a_deep_file(
    "src/checkpoint/sled/a.rs",
    "use super::super::super::graph::X;",
    "room `checkpoint` must not know `graph`; it may import []"
)]
#[case::through_the_root(
    "src/nodes/mod.rs",
    "use crate::StateGraph;",
    "`StateGraph` is no room; import it from the room it lives in, not through the crate's root"
)]
#[case::everything(
    "src/nodes/mod.rs",
    "use crate::*;",
    "`*` is no room; import it from the room it lives in, not through the crate's root"
)]
#[case::by_the_public_name(
    "src/checkpoint/mod.rs",
    "use superstep::graph::X;",
    "room `checkpoint` must not know `graph`; it may import []"
)]
#[case::store("src/checkpoint/memory.rs", "use sled::Db;", "names the crate `sled`; only `checkpoint::sled` may")]
#[case::store_in_a_type(
    "src/graph/mod.rs",
    "fn f(db: &::sled::Db) {}",
    "names the crate `sled`; only `checkpoint::sled` may"
)]
#[case::store_alone("cli/src/main.rs", "use sled;", "names the crate `sled`; only `checkpoint::sled` may")]
#[case::old_style("macros/src/lib.rs", "extern crate sled;", "names the crate `sled`; only `checkpoint::sled` may")]
#[case::unsafe_block("src/lib.rs", "fn f() { unsafe { g() } }", "`unsafe` is not written here")]
#[case::todo("src/lib.rs", "// TODO: later", "a TODO without its issue; write `TODO(issue)`")]
#[case::todo_of_nobody("src/lib.rs", "// TODO( ) FIXME(x)", "a TODO without its issue; write `TODO(issue)`")]
fn a_broken_rule_is_reported(#[case] name: &str, #[case] line: &str, #[case] problem: &str) {
    let found: BTreeSet<String> = problems_of(name, &format!("//! Made up.\n{line}\n")).into_iter().collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [format!("{name}:2: {problem}")]);
}

#[rstest]
#[case::downwards("src/app/mod.rs", "use crate::{graph::X, workflows::{self, y as z}};")]
#[case::own_room("src/plan/mod.rs", "use crate::plan::id::TaskId; pub(in crate::plan) fn f() {}")]
#[case::neighbours("src/checkpoint/sled/a.rs", "use super::super::key::Key; use super::b; use self::c::D;")]
#[case::inline_module("src/plan/id.rs", "mod tests { use super::*; use super::super::label::Label; }")]
#[case::in_a_comment("src/plan/id.rs", "/// See [`crate::graph::State`]; `unsafe`, sled::Db.\nstruct A;")]
#[case::in_a_string("src/plan/id.rs", "const A: &str = \"crate::graph::State unsafe sled::Db\";")]
#[case::store_room("src/checkpoint/sled/db.rs", "use sled::Db;")]
#[case::module_of_that_name("src/checkpoint/mod.rs", "mod sled; pub use self::sled::SledCheckpointer;")]
#[case::variable_of_that_name("src/graph/mod.rs", "fn f(sled: u8) -> u8 { let a = sled; Vec::<u8>::sled(a) }")]
#[case::roots_are_free("src/prelude.rs", "pub use crate::StateGraph; pub use crate::graph::State;")]
#[case::todo("src/lib.rs", "// TODO(#12): later")]
fn a_kept_rule_is_silent(#[case] name: &str, #[case] line: &str) {
    assert_eq!(problems_of(name, &format!("//! Made up.\n{line}\n")), [""; 0]);
}

#[test]
fn a_long_file_without_a_header_that_does_not_lex_has_three_problems() {
    let source = format!("{}\n(", "\n".repeat(MAX_LINES));
    let problems = problems_of("src/lib.rs", &source);
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[test]
fn a_new_room_enters_the_table() {
    let problems = problems_of("src/attic/mod.rs", "//! Made up.\nuse crate::graph::X;\n");
    assert_eq!(problems, ["src/attic/mod.rs:1: room `attic` is missing from the table of rooms"]);
}

#[test]
fn a_folder_needs_a_face() {
    let names = ["src/lib.rs", "src/plan/mod.rs", "src/plan/a/b.rs", "src/graph/x.rs", "tests/ui/a.rs"];
    let expected =
        ["src/graph/mod.rs", "src/plan/a/mod.rs"].map(|face| format!("{face}:1: missing; each folder opens with one"));
    assert_eq!(folders_without_a_face(&names), expected);
}

#[test]
fn the_table_of_rooms_has_no_circle() {
    for (nth, (room, may_import)) in ROOMS.iter().enumerate() {
        for import in *may_import {
            let place = ROOMS.iter().position(|(known, _)| known == import).unwrap();
            assert!(place < nth, "`{room}` imports `{import}`, which does not stand before it");
        }
    }
}
