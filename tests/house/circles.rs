//! No circle of files, and none of the files and folders in one folder: whoever reads from the bottom up meets every name
//! before it is used.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;

use crate::faces::Modules;
use crate::files::source_files;

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[rstest]
#[case::library("src/")]
#[case::agents("agents/src/")]
#[case::verify("verify/src/")]
#[case::base("base/src/")]
#[case::macros("macros/src/")]
#[case::workflows("workflows/src/")]
#[case::metrics("metrics/src/")]
#[case::restate("restate/src/")]
#[case::server("server/src/")]
#[case::app("app/src/")]
#[case::command_line("cli/src/")]
fn no_files_import_each_other_in_a_circle(#[case] root: &str) {
    let arrows = Modules::of(root, &source_files()).arrows();
    assert!(arrows.len() > 1, "looked in the wrong place");
    let circles = circles(&arrows);
    assert!(circles.is_empty(), "{} circle(s) of files:\n{}\n", circles.len(), circles.join("\n"));
}

/// Returns each circle as the files in it: what is left once every file is gone that imports nothing, or that nothing imports.
fn circles(arrows: &Arrows) -> Vec<String> {
    let reachable = |from: &String| {
        let (mut found, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(file) = ahead.pop() {
            ahead.extend(arrows.get(file).into_iter().flatten().filter(|next| found.insert((*next).clone())));
        }
        found
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = arrows.keys().map(|file| (file, reachable(file))).collect();
    let circle_of = |file: &String| -> Vec<&str> {
        let both = reach[file].iter().filter(|other| reach.get(other).is_some_and(|back| back.contains(file)));
        both.map(String::as_str).collect()
    };
    let circles: BTreeSet<Vec<&str>> = arrows.keys().map(circle_of).filter(|circle| !circle.is_empty()).collect();
    circles.into_iter().map(|circle| format!("{} files: {}", circle.len(), circle.join(", "))).collect()
}

/// Folders whose entries may still import each other in a circle.
const EXCEPT: [&str; 0] = [];

#[rstest]
#[case::library("src/")]
#[case::agents("agents/src/")]
#[case::verify("verify/src/")]
#[case::workflows("workflows/src/")]
#[case::metrics("metrics/src/")]
#[case::restate("restate/src/")]
#[case::server("server/src/")]
#[case::app("app/src/")]
#[case::command_line("cli/src/")]
fn no_entries_of_a_folder_import_each_other_in_a_circle(#[case] root: &str) {
    let files = source_files();
    let arrows = Modules::of(root, &files).arrows();
    let folders: BTreeSet<&str> =
        files.iter().filter(|(name, _)| name.starts_with(root)).filter_map(|(name, _)| folder_of(name)).collect();
    let circles = folders.iter().flat_map(|folder| {
        let found = circles(&entries(&arrows, folder));
        assert!(found.is_empty() != EXCEPT.contains(folder), "{folder} has no circle any more: take it off the list");
        if EXCEPT.contains(folder) { vec![] } else { found }
    });
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "{} circle(s) of entries:\n{}\n", circles.len(), circles.join("\n"));
}

fn folder_of(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(folder, _)| folder)
}

/// Returns which entries of a folder import which others; a subfolder is one entry. Faces only pass names on.
fn entries(arrows: &Arrows, folder: &str) -> Arrows {
    let entry = |name: &str| -> Option<String> {
        let inside = name.strip_prefix(folder)?.strip_prefix('/')?;
        Some(format!("{folder}/{}", inside.split('/').next().unwrap_or(inside)))
    };
    let is_face = |name: &str| name == format!("{folder}/mod.rs") || name == format!("{folder}/lib.rs");
    let mut between = Arrows::new();
    for (from, to) in arrows.iter().filter(|(from, _)| !is_face(from)) {
        let Some(from) = entry(from) else { continue };
        let others = to.iter().filter(|name| !is_face(name)).filter_map(|name| entry(name));
        between.entry(from.clone()).or_default().extend(others.filter(|other| *other != from));
    }
    between
}

// --- the rules can fail ---

#[test]
fn a_circle_of_folders_is_reported() {
    let files = [
        ("src/room/a/mod.rs", "mod one; mod two; pub use one::A; pub use two::C;"),
        ("src/room/a/one.rs", "pub struct A; use crate::room::b::B;"),
        ("src/room/a/two.rs", "pub struct C;"),
        ("src/room/mod.rs", "pub mod a; pub mod b;"),
        ("src/room/b.rs", "pub struct B; use super::a::C;"),
    ];
    let files: Vec<_> = files.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect();
    let arrows = Modules::of("src/", &files).arrows();
    assert_eq!(circles(&arrows), [""; 0]);
    assert_eq!(circles(&entries(&arrows, "src/room")), ["2 files: src/room/a, src/room/b.rs"]);
}

fn circles_of(root: &str, files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect();
    circles(&Modules::of(root, &files).arrows())
}

#[rstest]
#[case::direct("use super::b::B;", "use crate::room::a::A;")]
#[case::through_the_face("use super::B;", "use super::A;")]
#[case::through_a_group("use crate::room::{self, b::{B, C}};", "use crate::{room::A};")]
#[case::under_another_name("use super::b::B as D;", "use super::a::A as E;")]
#[case::in_an_expression("fn f() { super::b::f(); }", "fn f() { crate::room::A::f(); }")]
#[case::through_an_imported_module("use super::b; fn f() -> b::B { b::B }", "use super::a::A;")]
#[case::through_everything("use super::b::*;", "use super::a::A;")]
fn a_circle_is_reported(#[case] a: &str, #[case] b: &str) {
    let (a, b) = (format!("pub struct A; {a}"), format!("pub struct B; pub struct C; {b}"));
    let face = "mod a; mod b; pub use a::A; pub use b::B;";
    let found = circles_of("src/", &[("src/room/mod.rs", face), ("src/room/a.rs", &a), ("src/room/b.rs", &b)]);
    assert_eq!(found, ["2 files: src/room/a.rs, src/room/b.rs"]);
}

#[rstest]
#[case::one_way("use super::b::B;", "")]
#[case::tests_alone("use super::b::B;", "#[cfg(test)] mod tests { use crate::room::a::A; }")]
#[case::another_crate("use super::b::B;", "use other::room::a::A;")]
#[case::in_a_comment("use super::b::B;", "/// See [`A`](crate::room::a::A).\nstruct D;")]
fn no_circle_is_reported_where_there_is_none(#[case] a: &str, #[case] b: &str) {
    let (a, b) = (format!("pub struct A; {a}"), format!("pub struct B; {b}"));
    let face = "mod a; mod b; pub use a::A; pub use b::B;";
    assert_eq!(circles_of("src/", &[("src/room/mod.rs", face), ("src/room/a.rs", &a), ("src/room/b.rs", &b)]), [""; 0]);
}

#[test]
fn a_circle_of_the_command_line_is_reported_and_the_library_is_another_crate() {
    let main = ("cli/src/main.rs", "mod a; use superstep::App; fn main() { a::a(); } fn b() {}");
    let beside = ("cli/src/a.rs", "use superstep_app::Exit; pub(crate) fn a() {}");
    let circle = ("cli/src/a.rs", "use superstep_app::Exit; pub(crate) fn a() { crate::b(); }");
    assert_eq!(circles_of("cli/src/", &[main, beside]), [""; 0]);
    assert_eq!(circles_of("cli/src/", &[main, circle]), ["2 files: cli/src/a.rs, cli/src/main.rs"]);
}
