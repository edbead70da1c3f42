//! The rules of the house, read off the source: who may import whom, who may name the store, how files begin and how
//! long they get. All problems are reported at once, each with file and line.
#![allow(clippy::unwrap_used)]

mod circles;
mod faces;
mod files;
mod paths;
mod recipes;
mod surface;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use rstest::rstest;

use files::{is_shipped, source_files};
use paths::{Named, Reader};

/// The folders that rooms stand in: those of the library, and those of the crates below it, which know no graph. The crates see to
/// it that none of the others imports one of the first. What all need is in `base/`, and every room may import that.
const ROOTS: [&str; 3] = ["src/", "agents/src/", "verify/src/"];

/// Each room and what it may import beside itself: only rooms nearer to the checkpoint.
const ROOMS: [(&str, &[&str]); 13] = [
    ("checkpoint", &[]),
    ("memory", &["checkpoint"]),
    ("graph", &["checkpoint", "memory"]),
    ("process", &[]),
    ("findings", &[]),
    ("task", &["findings"]),
    ("decide", &["findings", "task"]),
    ("verifiers", &["findings", "task"]),
    ("drivers", &["process"]),
    ("plan", &[]),
    ("workspace", &["process"]),
    (
        "nodes",
        &["findings", "task", "decide", "verifiers", "drivers", "plan", "workspace", "process", "graph", "checkpoint"],
    ),
    ("routes", &["drivers", "plan", "workspace", "graph", "checkpoint"]),
];

/// The room that the library shows under another name, and that name: the engine has a `spec` too.
const SHOWN: (&str, &str) = ("task", "spec");

/// Each folder of `src/graph/` and what it may import beside itself: only folders above it. `graph` itself is their face.
const FOLDERS: [(&str, &[&str]); 21] = [
    ("json", &[]),
    ("state", &[]),
    ("interrupt", &["json", "state"]),
    ("error", &["state", "interrupt"]),
    ("records", &["json", "state", "interrupt", "error"]),
    ("view", &["json", "state", "interrupt", "error", "records"]),
    ("context", &["state", "interrupt", "error", "records", "view"]),
    ("node", &["state", "interrupt", "error", "records", "context"]),
    ("build", &["state", "interrupt", "error", "records", "view", "context", "node"]),
    ("document", &["state", "error", "context", "node", "build"]),
    ("superstep", &["state", "interrupt", "error", "records", "context", "node", "build"]),
    ("persist", &["state", "interrupt", "error", "records", "context", "node", "build", "superstep"]),
    ("run", &["state", "interrupt", "error", "records", "view", "context", "node", "build", "superstep", "persist"]),
    (
        "thread",
        &[
            "json",
            "state",
            "interrupt",
            "error",
            "records",
            "view",
            "context",
            "node",
            "build",
            "superstep",
            "persist",
            "run",
        ],
    ),
    (
        "diff",
        &["state", "interrupt", "error", "records", "view", "node", "build", "superstep", "persist", "run", "thread"],
    ),
    (
        "replay",
        &[
            "state",
            "interrupt",
            "error",
            "records",
            "view",
            "context",
            "node",
            "build",
            "superstep",
            "persist",
            "run",
            "thread",
            "diff",
        ],
    ),
    ("stream", &["view", "replay"]),
    (
        "subgraph",
        &[
            "state",
            "interrupt",
            "error",
            "records",
            "view",
            "context",
            "node",
            "build",
            "superstep",
            "run",
            "diff",
            "replay",
        ],
    ),
    ("host", &["state", "interrupt", "error", "records", "view", "context", "node", "build", "run", "thread"]),
    ("runner", &["json", "state", "interrupt", "error", "records", "node", "build", "run", "thread", "host"]),
    (
        "kit",
        &["state", "interrupt", "error", "records", "view", "context", "node", "build", "superstep", "run", "thread"],
    ),
];

/// Each entry of `src/nodes/`, a folder or a file, and what it may import beside itself: only entries above it.
const NODES: [(&str, &[&str]); 10] = [
    ("job", &[]),
    ("step", &["job"]),
    ("siblings", &["job"]),
    ("prompts", &[]),
    ("ask", &[]),
    ("events", &["job", "prompts"]),
    ("git", &["job", "step", "siblings", "prompts", "ask", "events"]),
    ("agent", &["job", "step", "siblings", "prompts", "ask", "events", "git"]),
    ("verify", &["job", "step", "siblings", "prompts", "ask", "events", "git", "agent"]),
    ("plan", &["job", "step", "siblings", "prompts", "ask", "events", "git", "agent", "verify"]),
];

type Table = [(&'static str, &'static [&'static str])];

/// The rooms whose entries have a table, and what problems call them.
const TABLES: [(&str, &str, &Table); 2] = [("graph", "the engine", &FOLDERS), ("nodes", "the nodes", &NODES)];

/// Crates of databases, and the only folder that may name each.
const DATABASES: [(&str, &str); 3] = [
    ("sled", "src/checkpoint/sled/"),
    ("fjall", "src/checkpoint/fjall/"),
    ("tokio_postgres", "src/checkpoint/postgres/"),
];

const MAX_LINES: usize = 500;

/// A file with fewer lines says in its header why it is small.
const MIN_LINES: usize = 40;

/// The number of files that stand in one folder, its face among them.
const MAX_FILES: usize = 24;

#[test]
fn the_house_is_in_order() {
    let files = source_files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        ["src/lib.rs", "agents/src/lib.rs", "verify/src/lib.rs", "macros/tests/mistakes.rs"]
            .iter()
            .all(|name| names.contains(name)),
        "looked in the wrong place: {names:?}"
    );
    let mut problems = folders_without_a_face(&names);
    problems.extend(crowded_folders(&names));
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
    problems.extend(too_short(name, source));
    problems.extend(face_with_code(name, source));
    problems.extend(nameless_todos(name, source));
    match source.parse::<TokenStream>() {
        Ok(tokens) => problems.extend(problems_of_tokens(name, tokens)),
        Err(error) => problems.push(format!("{name}:{}: {error}", error.span().start().line)),
    }
    problems
}

/// Returns the path of a file from the folder that its room stands in.
fn inside_a_root(name: &str) -> Option<&str> {
    ROOTS.iter().find_map(|root| name.strip_prefix(root))
}

fn unknown_room(name: &str) -> Option<String> {
    let (room, _) = inside_a_root(name)?.split_once('/')?;
    let is_known = ROOMS.iter().any(|(known, _)| *known == room);
    (!is_known).then(|| format!("{name}:1: room `{room}` is missing from the table of rooms"))
}

/// A `mod.rs` shows what is in its folder, or is a module without files of its own; never both.
fn face_with_code(name: &str, source: &str) -> Option<String> {
    if !name.ends_with("/mod.rs") {
        return None;
    }
    let starts = |words: &[&str], line: &str| {
        let inner = line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map(|(_, rest)| rest);
        let line = inner.or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        words.iter().any(|word| line.starts_with(word))
    };
    let has_files = source.lines().any(|line| starts(&["mod "], line) && line.ends_with(';'));
    let code = ["fn ", "async fn ", "struct ", "enum ", "trait ", "impl", "const ", "static ", "type ", "macro_rules!"];
    let (nth, _) = source.lines().enumerate().find(|(_, line)| starts(&code, line))?;
    has_files.then(|| format!("{name}:{}: a face with code; move the code into a file of the folder", nth + 1))
}

fn too_long(name: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    (lines > MAX_LINES).then(|| format!("{name}:{lines}: more than {MAX_LINES} lines; a noun is missing"))
}

/// The crates of the macros and of what every crate needs have small files by nature.
fn too_short(name: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    let mut header = source.lines().take_while(|line| line.starts_with("//!"));
    let is_explained = header.any(|line| line.starts_with("//! Small because "));
    let is_above = ["workflows/src/", "metrics/src/", "restate/src/", "server/src/", "app/src/"]
        .iter()
        .any(|root| name.starts_with(root));
    let is_judged = is_above || inside_a_root(name).is_some_and(|inside| inside.contains('/'));
    (is_judged && lines < MIN_LINES && !is_explained).then(|| {
        format!("{name}:{lines}: fewer than {MIN_LINES} lines; fold it, or say `Small because ..` in its header")
    })
}

/// Finds folders with too many files.
fn crowded_folders(names: &[&str]) -> Vec<String> {
    let mut sizes = BTreeMap::<&str, usize>::new();
    for (folder, _) in names.iter().filter(|name| is_shipped(name)).filter_map(|name| name.rsplit_once('/')) {
        *sizes.entry(folder).or_default() += 1;
    }
    let crowded = sizes.into_iter().filter(|(_, size)| *size > MAX_FILES);
    crowded.map(|(folder, size)| format!("{folder}:1: {size} files; a room for some of them is missing")).collect()
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
    let named = DATABASES.iter().find(|(database, folder)| path.names_crate(database) && !name.starts_with(folder));
    if let Some((database, _)) = named {
        return Some(format!("names the crate `{database}`; only `checkpoint::{database}` may"));
    }
    wrong_room(name, path).or_else(|| wrong_folder(name, path))
}

/// Judges a path that leads out of its entry of a room whose entries have a table.
fn wrong_folder(name: &str, path: &Named) -> Option<String> {
    let (room, inside) = name.strip_prefix("src/")?.split_once('/')?;
    let (_, called, table) = TABLES.iter().find(|(known, ..)| *known == room)?;
    let folder = inside.split('/').next().filter(|first| *first != "mod.rs")?.trim_end_matches(".rs");
    let depth = module_depth(inside) + path.inline_modules;
    let target = match path.beyond_root(depth) {
        Some(beyond) if beyond == room => path.after(room)?,
        Some(_) => return None,
        None => path.beyond_root(depth - 1)?,
    };
    let Some((_, may_import)) = table.iter().find(|(known, _)| *known == folder) else {
        return Some(format!("folder `{folder}` is missing from the table of folders"));
    };
    if target == folder || may_import.contains(&target) {
        return None;
    }
    Some(match table.iter().any(|(known, _)| *known == target) {
        true => format!("folder `{folder}` of {called} must not know `{target}`; it may import {may_import:?}"),
        false if path.is_for_callers => return None,
        false => {
            format!(
                "`{target}` is not a folder of {called}; import it from the folder it lives in, not through `{room}`"
            )
        }
    })
}

/// Judges a path that leads through the crate's root out of its room.
fn wrong_room(name: &str, path: &Named) -> Option<String> {
    let (room, inside) = inside_a_root(name)?.split_once('/')?;
    let (_, may_import) = ROOMS.iter().find(|(known, _)| *known == room)?;
    let target = path.beyond_root(module_depth(inside) + path.inline_modules)?;
    let target = if target == SHOWN.1 { SHOWN.0 } else { target };
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

/// Finds folders of rooms without a `mod.rs`.
fn folders_without_a_face(names: &[&str]) -> Vec<String> {
    let inside = names.iter().filter(|name| inside_a_root(name).is_some_and(|inside| inside.contains('/')));
    let folders: BTreeSet<&str> = inside.filter_map(|name| name.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let faceless =
        folders.iter().map(|folder| format!("{folder}/mod.rs")).filter(|face| !names.contains(&face.as_str()));
    faceless.map(|face| format!("{face}:1: missing; each folder opens with one")).collect()
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
    "room `graph` must not know `nodes`; it may import [\"checkpoint\", \"memory\"]"
)]
#[case::in_an_expression(
    "verify/src/task/id.rs",
    "fn f() { crate::graph::f(); }",
    "room `task` must not know `graph`; it may import [\"findings\"]"
)]
#[case::in_a_macro(
    "verify/src/task/id.rs",
    "fn f() { select! { _ = crate::graph::f() => {} } }",
    "room `task` must not know `graph`; it may import [\"findings\"]"
)]
#[case::below_the_library(
    "agents/src/plan/id.rs",
    "use crate::workspace::X;",
    "room `plan` must not know `workspace`; it may import []"
)]
#[case::by_super(
    "verify/src/task/id.rs",
    "use super::super::graph::State;",
    "room `task` must not know `graph`; it may import [\"findings\"]"
)]
#[case::by_super_from_the_face(
    "verify/src/task/mod.rs",
    "use super::graph::State;",
    "room `task` must not know `graph`; it may import [\"findings\"]"
)]
#[case::from_an_inline_module(
    "verify/src/task/mod.rs",
    "mod a { use super::super::graph::X; }",
    "room `task` must not know `graph`; it may import [\"findings\"]"
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
#[case::up_in_the_engine(
    "src/graph/state/a.rs",
    "use crate::graph::thread::Thread;",
    "folder `state` of the engine must not know `thread`; it may import []"
)]
#[case::up_in_the_engine_by_super(
    "src/graph/state/data/a.rs",
    "use super::super::super::thread::Thread;",
    "folder `state` of the engine must not know `thread`; it may import []"
)]
#[case::through_the_face_of_the_engine(
    "src/graph/state/a.rs",
    "use crate::graph::Thread;",
    "`Thread` is not a folder of the engine; import it from the folder it lives in, not through `graph`"
)]
#[case::up_in_the_nodes(
    "src/nodes/prompts/a.rs",
    "use crate::nodes::agent::Turn;",
    "folder `prompts` of the nodes must not know `agent`; it may import []"
)]
#[case::up_in_the_nodes_from_a_file(
    "src/nodes/events.rs",
    "use super::git::Folder;",
    "folder `events` of the nodes must not know `git`; it may import [\"job\", \"prompts\"]"
)]
#[case::through_the_face_of_the_nodes(
    "src/nodes/git/a.rs",
    "use crate::nodes::Prompt;",
    "`Prompt` is not a folder of the nodes; import it from the folder it lives in, not through `nodes`"
)]
#[case::store("src/checkpoint/memory/store.rs", "use sled::Db;", "names the crate `sled`; only `checkpoint::sled` may")]
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
    let found: BTreeSet<String> =
        problems_of(name, &format!("//! Small because it is made up.\n{line}\n")).into_iter().collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [format!("{name}:2: {problem}")]);
}

#[rstest]
#[case::downwards("src/routes/mod.rs", "use crate::{graph::X, plan::{self, y as z}};")]
#[case::below_the_library("src/nodes/a.rs", "use crate::plan::X; use superstep_base::Y;")]
#[case::under_another_name("src/nodes/a.rs", "use crate::spec::X;")]
#[case::own_room("verify/src/task/mod.rs", "use crate::task::id::TaskId; pub(in crate::task) fn f() {}")]
#[case::neighbours("src/checkpoint/sled/a.rs", "use super::super::key::Key; use super::b; use self::c::D;")]
#[case::inline_module("verify/src/task/id.rs", "mod tests { use super::*; use super::super::words::Words; }")]
#[case::in_a_comment("verify/src/task/id.rs", "/// See [`crate::graph::State`]; `unsafe`, sled::Db.\nstruct A;")]
#[case::in_a_string("verify/src/task/id.rs", "const A: &str = \"crate::graph::State unsafe sled::Db\";")]
#[case::store_room("src/checkpoint/sled/db.rs", "use sled::Db;")]
#[case::module_of_that_name("src/checkpoint/mod.rs", "mod sled; pub use self::sled::SledCheckpointer;")]
#[case::variable_of_that_name("src/graph/mod.rs", "fn f(sled: u8) -> u8 { let a = sled; Vec::<u8>::sled(a) }")]
#[case::roots_are_free("src/prelude.rs", "pub use crate::StateGraph; pub use crate::graph::State;")]
#[case::face_for_callers("src/graph/state/a.rs", "macro_rules! a { () => { $crate::graph::Thread } }")]
#[case::todo("src/lib.rs", "// TODO(#12): later")]
fn a_kept_rule_is_silent(#[case] name: &str, #[case] line: &str) {
    assert_eq!(problems_of(name, &format!("//! Small because it is made up.\n{line}\n")), [""; 0]);
}

#[test]
fn a_long_file_without_a_header_that_does_not_lex_has_three_problems() {
    let source = format!("{}\n(", "\n".repeat(MAX_LINES));
    let problems = problems_of("src/lib.rs", &source);
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[test]
fn a_new_room_enters_the_table() {
    let problems = problems_of("src/attic/mod.rs", "//! Small because it is made up.\nuse crate::graph::X;\n");
    assert_eq!(problems, ["src/attic/mod.rs:1: room `attic` is missing from the table of rooms"]);
}

#[test]
fn a_new_folder_of_the_engine_enters_the_table() {
    let problems = problems_of("src/graph/attic/mod.rs", "//! Small because it is made up.\nuse crate::graph::X;\n");
    assert_eq!(problems, ["src/graph/attic/mod.rs:2: folder `attic` is missing from the table of folders"]);
}

#[rstest]
#[case::function("pub(crate) mod a;\npub fn f() {}", true)]
#[case::macro_by_example("mod a;\nmacro_rules! b { () => {} }", true)]
#[case::for_the_folder_alone("mod a;\npub(super) const B: u8 = 1;", true)]
#[case::implementation("mod a;\nimpl<T> A<T> {}", true)]
#[case::face("mod a;\npub use a::A;", false)]
#[case::module_without_files("pub struct A;\nmod tests {}", false)]
fn a_face_holds_no_code(#[case] source: &str, #[case] is_reported: bool) {
    let found = problems_of("src/nodes/mod.rs", &format!("//! Small because it is made up.\n{source}\n"));
    assert_eq!(found.len(), usize::from(is_reported), "{found:?}");
}

#[test]
fn a_folder_needs_a_face() {
    let names = [
        "src/lib.rs",
        "src/nodes/mod.rs",
        "src/nodes/a/b.rs",
        "src/graph/x.rs",
        "agents/src/plan/y.rs",
        "tests/ui/a.rs",
    ];
    let expected = ["agents/src/plan/mod.rs", "src/graph/mod.rs", "src/nodes/a/mod.rs"]
        .map(|face| format!("{face}:1: missing; each folder opens with one"));
    assert_eq!(folders_without_a_face(&names), expected);
}

#[rstest]
#[case::rooms(&ROOMS)]
#[case::folders_of_the_engine(&FOLDERS)]
#[case::entries_of_the_nodes(&NODES)]
fn a_table_has_no_circle(#[case] table: &[(&str, &[&str])]) {
    for (nth, (room, may_import)) in table.iter().enumerate() {
        for import in *may_import {
            let place = table.iter().position(|(known, _)| known == import).unwrap();
            assert!(place < nth, "`{room}` imports `{import}`, which is not above it in the table");
        }
    }
}

#[rstest]
#[case::unexplained("//! Made up.\n", 1)]
#[case::explained("//! Made up.\n//! Small because both use it.\n", 0)]
#[case::long_enough(&"//! Made up.\n".repeat(MIN_LINES), 0)]
fn a_small_file_says_why(#[case] source: &str, #[case] reported: usize) {
    assert_eq!(problems_of("src/graph/thread/a.rs", source).len(), reported);
}

#[test]
fn a_crowded_folder_is_reported() {
    let names: Vec<String> = (0..=MAX_FILES).map(|nth| format!("src/room/f{nth}.rs")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(crowded_folders(&names), ["src/room:1: 25 files; a room for some of them is missing"]);
    assert_eq!(crowded_folders(&names[1..]), [""; 0]);
}
