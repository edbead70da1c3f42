//! The first commands of docs/tasks.md, as a newcomer types them. `demo` has those of the README.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const PAGE: &str = include_str!("../../../docs/tasks.md");

/// The page's first block in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n") as &str).unwrap();
    rest.split_once("```").unwrap().0
}

/// Runs a line at the top of the checkout, with folders of its own.
fn typed(line: &str, place: &TempDir) -> Output {
    let line = line.replace("cargo run --", env!("CARGO_BIN_EXE_superstep"));
    let line = line.replace("/tmp/tides", &place.path().join("tides").display().to_string());
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(checkout).env("SUPERSTEP_STORE", place.path().join("store"));
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap()
}

/// A line without what differs from run to run: commits, the checkout's folder.
fn steady(line: &str) -> String {
    let is_commit = |word: &&str| word.len() == 9 && word.chars().all(|c| c.is_ascii_hexdigit());
    let word = |word| if is_commit(&word) || str::contains(word, "/examples/tasks/") { "..." } else { word };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_commands_of_the_page_end_in_what_it_shows() {
    let place = tempfile::tempdir().unwrap();
    let ended: Vec<(Option<i32>, String, String)> = block("sh")
        .lines()
        .map(|line| typed(line, &place))
        .map(|output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        })
        .collect();
    let codes: Vec<Option<i32>> = ended.iter().map(|(code, ..)| *code).collect();
    assert_eq!(codes, [Some(0), Some(10), Some(0), Some(0)], "{ended:#?}");
    let told: Vec<String> = ended[2].1.lines().map(steady).collect();
    for shown in block("text").lines().map(steady) {
        assert!(told.contains(&shown), "`{shown}` is not in {told:#?}");
    }
    let subjects: Vec<&str> =
        ended[3].1.lines().filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
    assert_eq!(
        subjects,
        ["feat: Choose a day (task 2)", "feat: Print the table (task 1)", "Begin with the tides of two days"]
    );
}
