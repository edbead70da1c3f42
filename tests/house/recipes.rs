//! The recipes of CONTRIBUTING, walked backwards: of something that was added long ago, the files that name it are its own and at
//! most three others, and the recipe names each of these.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use rstest::rstest;

use crate::faces::shipped;
use crate::files::source_files;

/// The number of existing files that a recipe may touch.
const MOST: usize = 3;

/// Something that a recipe made.
struct Example {
    /// The recipe's title.
    recipe: &'static str,
    /// The words that identifiers have of it; a string that is one of them names it too.
    words: &'static [&'static str],
    /// The starts of the paths of its own files.
    own: &'static [&'static str],
    /// Files that are no Rust and name it.
    others: &'static [&'static str],
}

const STORE: Example = Example {
    recipe: "an embedded store",
    words: &["fjall", "Fjall", "FJALL"],
    own: &["src/checkpoint/fjall/"],
    others: &["Cargo.toml"],
};
const PROGRAM: Example = Example {
    recipe: "an agent program",
    words: &["codex", "Codex", "CODEX"],
    // Its configuration is written for MCP too, which drives no program.
    own: &["agents/src/drivers/cli/codex", "app/src/args/mcp.rs", "app/src/commands/agent_config.rs"],
    others: &[],
};
const RULE: Example = Example {
    recipe: "a rule for a channel",
    words: &["union"],
    own: &["src/graph/state/data/", "agents/"], // kinds of documents, and a method of flags
    others: &[],
};
const KIND: Example =
    Example { recipe: "a kind of channel for documents", words: &["opt_min", "OptMin"], own: &[], others: &[] };
const QUESTION: Example = Example {
    recipe: "a question of a workflow",
    words: &["AgentQuestion"],
    own: &["src/nodes/ask/agents", "src/nodes/agent/developer"],
    others: &[],
};

#[rstest]
#[case::a_store(&STORE)]
#[case::an_agent_program(&PROGRAM)]
#[case::a_rule(&RULE)]
#[case::a_kind(&KIND)]
#[case::a_question(&QUESTION)]
fn a_recipe_names_each_file_that_its_example_is_in(#[case] example: &Example) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let sources = source_files().into_iter().filter(|(name, _)| name.contains("src/"));
    let sources: Vec<_> =
        sources.filter(|(_, source)| example.words.iter().any(|word| source.contains(word))).collect();
    let problems = problems_of(&text, example, &sources);
    assert!(problems.is_empty(), "{} problem(s):\n{}\n", problems.len(), problems.join("\n"));
}

fn problems_of(contributing: &str, example: &Example, sources: &[(String, String)]) -> Vec<String> {
    let Some(recipe) = recipe(contributing, example.recipe) else {
        return vec![format!("CONTRIBUTING has no recipe for {}", example.recipe)];
    };
    let touched = sources.iter().filter(|(name, source)| {
        let tokens = source.parse().unwrap_or_default();
        !example.own.iter().any(|own| name.starts_with(own)) && names(tokens, example.words)
    });
    let others = example.others.iter().map(|name| (*name).to_owned());
    let touched: Vec<String> = touched.map(|(name, _)| name.clone()).chain(others).collect();
    let mut problems: Vec<String> = touched
        .iter()
        .filter(|name| !recipe.iter().any(|path| is_path_of(path, name)))
        .map(|name| format!("{name}: has a part of `{}`, and the recipe does not name the file", example.words[0]))
        .collect();
    if touched.is_empty() || touched.len() > MOST {
        let text =
            format!("{} touches {} files, not 1 to {MOST}: {}", example.recipe, touched.len(), touched.join(", "));
        problems.push(text);
    }
    problems
}

/// Returns what stands in backticks in the recipe.
fn recipe<'a>(contributing: &'a str, title: &str) -> Option<Vec<&'a str>> {
    let (_, rest) = contributing.split_once(&format!("\n- **{title}**"))?;
    let end = ["\n- **", "\n\n"].iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    Some(rest[..end].split('`').skip(1).step_by(2).collect())
}

/// Returns whether a path in a recipe, which may lack its front and its `.rs`, means a file.
fn is_path_of(path: &str, file: &str) -> bool {
    let stem = file.trim_end_matches(".rs");
    let ends = |whole: &str| whole == path || whole.strip_suffix(path).is_some_and(|front| front.ends_with('/'));
    ends(file) || ends(stem)
}

fn names(tokens: TokenStream, words: &[&str]) -> bool {
    shipped(tokens).into_iter().any(|token| match token {
        TokenTree::Group(group) => names(group.stream(), words),
        TokenTree::Ident(ident) => words.iter().any(|word| ident.to_string().contains(word)),
        TokenTree::Literal(literal) => words.iter().any(|word| literal.to_string() == format!("\"{word}\"")),
        TokenTree::Punct(_) => false,
    })
}

// --- the rule can fail ---

const MADE_UP: Example = Example { recipe: "a dish", words: &["soup"], own: &["src/soup"], others: &[] };
const TEXT: &str =
    "\n- **a dish**: its file; a row in `menu`,\n  its word in `src/cook/words.rs`.\n- **a drink**: `bar`.\n";

#[rstest]
#[case::named("fn soup() {}", "src/menu.rs", "")]
#[case::in_full("const A: &str = \"soup\";", "src/cook/words.rs", "")]
#[case::forgotten(
    "fn f() { make_soup() }",
    "src/bar.rs",
    "src/bar.rs: has a part of `soup`, and the recipe does not name the file"
)]
#[case::another_of_that_name(
    "fn soup() {}",
    "src/submenu.rs",
    "src/submenu.rs: has a part of `soup`, and the recipe does not name the file"
)]
#[case::nowhere(
    "/// soup\n#[cfg(test)] mod tests { fn soup() {} }",
    "src/menu.rs",
    "a dish touches 0 files, not 1 to 3: "
)]
fn a_file_that_a_recipe_forgets_is_reported(#[case] source: &str, #[case] name: &str, #[case] problem: &str) {
    let sources = [(name.to_owned(), source.to_owned()), ("src/soup.rs".to_owned(), "fn soup() {}".to_owned())];
    assert_eq!(problems_of(TEXT, &MADE_UP, &sources).join("\n"), problem);
}

#[test]
fn a_recipe_that_touches_more_files_is_reported() {
    let sources = ["a", "b", "c", "d"].map(|folder| (format!("src/{folder}/menu.rs"), "fn soup() {}".to_owned()));
    assert_eq!(problems_of(TEXT, &MADE_UP, &sources[..MOST]), [""; 0]);
    let expected = "a dish touches 4 files, not 1 to 3: src/a/menu.rs, src/b/menu.rs, src/c/menu.rs, src/d/menu.rs";
    assert_eq!(problems_of(TEXT, &MADE_UP, &sources), [expected]);
    assert_eq!(problems_of("", &MADE_UP, &sources), ["CONTRIBUTING has no recipe for a dish"]);
}
