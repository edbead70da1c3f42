//! The README and the pages show code that is compiled: whole examples, and the snippets of `code`. Their links lead somewhere.
#![cfg(feature = "sled")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "it is what the pages show")]

mod code;
mod dependencies;
mod graphs;
mod jobs;
mod links;
mod memory;

use std::path::{Path, PathBuf};

const README: &str = include_str!("../../README.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the files below a folder whose names end like this, from the repository's root.
fn files(folder: &str, end: &str) -> Vec<String> {
    let mut found = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false => found.extend(path.to_str().filter(|path| path.ends_with(end)).map(str::to_owned)),
            }
        }
    }
    found.sort();
    found
}

/// Returns a snippet of `code`.
fn snippet(name: &str) -> String {
    cut(include_str!("code.rs"), name)
}

/// Returns the lines between the marks of a snippet, as far to the left as they go.
fn cut(program: &str, name: &str) -> String {
    let (_, rest) = program.split_once(&format!("// <{name}>\n")).unwrap();
    let (inside, _) = rest.split_once(&format!("// </{name}>")).unwrap();
    let left = inside.lines().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let left = left.min().unwrap_or(0);
    inside.trim_end().lines().map(|line| format!("{}\n", line.get(left..).unwrap_or_default())).collect()
}

/// Returns the first block of a page in this language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    blocks(page, language).first().unwrap()
}

/// Returns the code blocks of a page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let opened = page.split(&format!("```{language}\n") as &str).skip(1).collect::<Vec<_>>();
    opened.into_iter().map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// Fails unless a page shows this code as a block.
fn assert_shows(page: &str, code: &str) {
    assert!(read(page).contains(&format!("```rust,ignore\n{code}```\n")), "{page} lacks:\n{code}");
}

// --- the README ---

#[test]
fn readme_is_short() {
    let lines = README.lines().count();
    assert!(lines <= 150, "{lines} lines");
}

#[test]
fn first_program_is_a_compiled_example_of_25_lines() {
    let (_, program) = include_str!("../../examples/readme.rs").split_once("use std::").unwrap();
    assert!(README.contains(&format!("```rust,no_run\nuse std::{program}```\n")));
    assert!(program.lines().count() <= 25);
}

#[test]
fn drawing_of_the_readme_is_that_of_its_graph() {
    let drawn = superstep_workflows::demo::essay::graph().unwrap().mermaid(0);
    assert_eq!(block(README, "mermaid"), drawn);
}

#[test]
fn figures_of_the_readme_are_those_of_the_page_of_figures() {
    let (_, rest) = README.split_once("## Figures\n").unwrap();
    let (figures, _) = rest.split_once("\n## ").unwrap();
    let rows: Vec<&str> = figures.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 3);
    let page = read("docs/figures.md");
    rows.iter().for_each(|row| assert!(page.contains(row), "docs/figures.md lacks: {row}"));
}

#[test]
fn recording_shows_a_run_and_no_folder_of_whoever_made_it() {
    let recording = read("docs/recording.svg");
    assert!(recording.len() < 150_000, "{} bytes", recording.len());
    for shown in ["superstep run tasks", "superstep approve tides", "rejected (major)", "Choose a day"] {
        assert!(recording.contains(shown), "{shown}");
    }
    for folder in ["/home", "/root", "/Users", "/work"] {
        assert!(!recording.contains(folder), "{folder}");
    }
}

// --- the guide ---

#[rstest::rstest]
#[case::define("define", snippet("items") + "\n" + &snippet("graph"))]
#[case::asking("approve", snippet("asking"))]
#[case::ask("approve", snippet("ask"))]
#[case::first_store("define", snippet("store"))]
#[case::store("store", snippet("store"))]
#[case::debug("debug", snippet("debug"))]
#[case::replay("debug", snippet("replay"))]
#[case::keep("store", snippet("keep"))]
#[case::copy("store", snippet("copy"))]
#[case::failed("testing", snippet("failed"))]
fn the_guide_shows_compiled_snippets(#[case] page: &str, #[case] code: String) {
    assert_shows(&format!("docs/guide/{page}.md"), &code);
}

#[rstest::rstest]
#[case::shop("failures", "shop")]
#[case::compensate("failures", "compensate")]
#[case::failed("failures", "failed")]
#[case::again("failures", "again")]
#[case::emit("streaming", "emit")]
#[case::follow("streaming", "follow")]
#[case::feed("streaming", "feed")]
#[case::sse("streaming", "sse")]
#[case::recorded("streaming", "recorded")]
#[case::context("runner", "context")]
#[case::runner("runner", "runner")]
fn the_guide_shows_snippets_that_are_run(#[case] page: &str, #[case] name: &str) {
    assert_shows(&format!("docs/guide/{page}.md"), &cut(include_str!("jobs.rs"), name));
}

#[rstest::rstest]
#[case::requests("requests", "requests")]
#[case::team("supervisor", "team")]
#[case::researcher("supervisor", "researcher")]
#[case::handoff("supervisor", "handoff")]
#[case::order("testing", "order")]
#[case::tests("testing", "tests")]
fn the_guide_shows_graphs_that_are_run(#[case] page: &str, #[case] name: &str) {
    assert_shows(&format!("docs/guide/{page}.md"), &cut(include_str!("graphs.rs"), name));
}

#[rstest::rstest]
#[case::state("state")]
#[case::tools("tools")]
#[case::nodes("nodes")]
#[case::graph("graph")]
#[case::chat("chat")]
fn the_page_on_chats_shows_the_compiled_example(#[case] name: &str) {
    let program = include_str!("../../examples/chat.rs");
    assert_shows("docs/guide/chat.md", &cut(program, name));
    let lines = program.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//"));
    assert!(lines.count() <= 110);
}

#[test]
fn the_page_on_effects_shows_the_compiled_example() {
    let (_, rest) = include_str!("../../examples/effects.rs").split_once("async fn pay(").unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    assert_shows("docs/guide/effects.md", &format!("async fn pay({body}\n}}\n"));
}

/// Returns the lines of a text without space around them, without marks, and without the slashes of a doc comment.
fn bare(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or(line).trim();
        let is_shown = !line.starts_with("// <") && !line.starts_with("// </") && !line.is_empty();
        is_shown.then(|| format!("{line}\n"))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn every_block_of_rust_is_compiled_somewhere() {
    let programs = ["examples", "tests", "src", "agents/src", "verify/src", "server/tests"]
        .into_iter()
        .flat_map(|folder| files(folder, ".rs"));
    let programs: Vec<String> = programs.map(|file| bare(&read(&file))).collect();
    // The page shows one example of `GraphSpec`, whose hidden lines are between: see below.
    let pages = files("docs", ".md").into_iter().filter(|page| page != "docs/guide/documents.md");
    for page in pages.chain(["README.md".into()]) {
        let text = read(&page);
        let all = ["rust,ignore", "rust,no_run", "rust"].into_iter().flat_map(|language| blocks(&text, language));
        for shown in all.collect::<Vec<_>>() {
            for part in shown.split("\n\n").map(bare) {
                let is_compiled = programs.iter().any(|program| program.contains(&part));
                assert!(is_compiled, "{page} shows what is not compiled:\n{part}");
            }
        }
    }
}

// --- the other pages ---

const AGENTS: &str = include_str!("../../docs/agent-workflows.md");

const GUIDE: &str = include_str!("../../docs/coming-from-langgraph.md");

/// Returns a text without marks and without space around its lines, to be searched for pieces of it.
fn plain(text: &str, mark: &str) -> String {
    let is_mark = |line: &&str| line.starts_with(&format!("{mark} <"));
    text.lines().map(str::trim).filter(|line| !is_mark(line)).map(|line| format!("{line}\n")).collect()
}

#[rstest::rstest]
#[case::ours("rust,ignore", "//", include_str!("../../examples/coming_from_langgraph.rs"), 19)]
#[case::theirs("python", "#", include_str!("../../examples/coming_from_langgraph.py"), 15)]
fn what_the_guide_shows_is_cut_from_a_whole_program(
    #[case] language: &str,
    #[case] mark: &str,
    #[case] program: &str,
    #[case] least: usize,
) {
    let (program, shown) = (plain(program, mark), blocks(GUIDE, language));
    assert!(shown.len() >= least, "{} blocks", shown.len());
    for block in shown {
        assert!(program.contains(&plain(block, mark)), "the program lacks:\n{block}");
    }
}

#[rstest::rstest]
#[case::state("state")]
#[case::write("write")]
#[case::nodes("nodes")]
#[case::graph("graph")]
#[case::main("main")]
fn the_page_on_agent_workflows_shows_the_compiled_example(#[case] name: &str) {
    let (_, rest) = include_str!("../../examples/publish.rs").split_once(&format!("// <{name}>\n")).unwrap();
    let (code, _) = rest.split_once(&format!("// </{name}>")).unwrap();
    assert!(AGENTS.contains(&format!("```rust,ignore\n{code}```\n")), "docs/agent-workflows.md lacks:\n{code}");
}

#[rstest::rstest]
#[case::service("service")]
#[case::store("store")]
#[case::handlers("handlers")]
#[case::refusal("refusal")]
#[case::process("process")]
fn the_page_on_services_shows_the_compiled_example(#[case] name: &str) {
    assert_shows("docs/guide/service.md", &cut(include_str!("../../examples/service.rs"), name));
}

#[test]
fn the_page_on_embedding_shows_what_is_run() {
    assert_shows("docs/guide/embedding.md", &cut(include_str!("../../server/tests/server/embedding.rs"), "embedded"));
}

#[rstest::rstest]
#[case::signals("signals")]
#[case::graph("graph")]
#[case::receive("receive")]
#[case::look("look")]
#[case::send("send")]
#[case::runner("runner")]
fn the_page_on_signals_shows_the_compiled_example(#[case] name: &str) {
    assert_shows("docs/guide/signals.md", &cut(include_str!("../../examples/signals.rs"), name));
}

#[rstest::rstest]
#[case::questions("questions")]
#[case::default("default")]
#[case::pay("pay")]
#[case::vote("vote")]
#[case::cancel("cancel")]
fn the_page_on_questions_shows_the_compiled_example(#[case] name: &str) {
    assert_shows("docs/guide/questions.md", &cut(include_str!("../../examples/questions.rs"), name));
}

#[test]
fn the_page_on_documents_shows_what_is_compiled() {
    let page = include_str!("../../docs/guide/documents.md");
    assert!(include_str!("../app/spec.rs").contains(block(page, "yaml")), "tests/app/spec.rs runs another document");
    let shown = include_str!("../../src/graph/document/graph_spec.rs");
    let lacks = block(page, "rust,ignore").lines().find(|line| !shown.contains(format!("/// {line}").trim_end()));
    assert_eq!(lacks, None, "the example of `GraphSpec` has no such line");
    let problems = block(page, "text").lines().find(|line| !include_str!("../app/spec.rs").contains(line));
    assert_eq!(problems, None);
}

#[test]
fn the_driver_of_the_page_on_agent_workflows_is_compiled() {
    assert_shows("docs/agent-workflows.md", &snippet("driver"));
}
