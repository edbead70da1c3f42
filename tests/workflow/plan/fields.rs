//! The labelled parts of a task's section: acceptance, verification, and the label for tasks that change no files.

use rstest::rstest;

use super::{plan, refused, warned};

/// The commands of the first task, with their lines.
fn verify(body: &str) -> Vec<String> {
    let plan = plan(&format!("### Task 1: a\n\n{body}"));
    plan.task(0).unwrap().verify.iter().map(|command| format!("{}: {command}", command.line)).collect()
}

fn acceptance(body: &str) -> Vec<String> {
    plan(&format!("### Task 1: a\n\n{body}")).task(0).unwrap().acceptance.to_vec()
}

fn warnings(body: &str) -> String {
    warned(&plan(&format!("### Task 1: a\n\n{body}")))
}

#[rstest]
#[case::same_line("**Verify:** `cargo test`\n", &["3: cargo test"])]
#[case::colon_outside("**Verify**: `cargo test`\n", &["3: cargo test"])]
#[case::underscores("__Verification:__ `cargo test`\n", &["3: cargo test"])]
#[case::plain("Verify: `cargo test`\n", &["3: cargo test"])]
#[case::remark_in_brackets("**Verify (all must pass):** `a`\n", &["3: a"])]
#[case::next_line("**Verify:**\n`cargo test`\n", &["4: cargo test"])]
#[case::among_labels("**Files:** `src/x.rs`\n**Verify:** `a`\n**Note:** `b`\n", &["4: a"])]
#[case::several("**Verify:** `a`, `b` and `c`\n", &["3: a", "3: b", "3: c"])]
#[case::list("**Verify:**\n\n- `a`\n- run `b -c`\n- `d` passes\n", &["5: a", "6: b -c", "7: d"])]
#[case::loose_list("**Verify:**\n\n1. `a`\n\n2. `b`\n", &["5: a", "7: b"])]
#[case::list_right_below("**Verify:** `a`\n- `b`\n", &["3: a", "4: b"])]
#[case::boxes("**Verify:**\n- [ ] `a`\n- [x] `b`\n", &["4: a", "5: b"])]
#[case::fence("**Verify:**\n\n```sh\n# first\ncargo build\n\n  cargo test\n```\n", &["7: cargo build", "9: cargo test"])]
#[case::tildes("**Verify:**\n~~~\na\n~~~\n", &["5: a"])]
#[case::indented("**Verify:**\n\n    a\n    b\n", &["5: a", "6: b"])]
#[case::fence_in_an_item("**Verify:**\n\n- tests:\n  ```sh\n  a\n  b\n  ```\n- `c`\n", &["7: a", "8: b", "10: c"])]
#[case::continued("**Verify:**\n```\ncargo test \\\n  --all \\\n  -q\nnext\n```\n", &["5: cargo test   --all   -q", "8: next"])]
#[case::escaped_backslash("**Verify:**\n```\necho \\\\\nnext\n```\n", &["5: echo \\\\", "6: next"])]
#[case::comment_does_not_go_on("**Verify:**\n```\n# a \\\nnext\n```\n", &["6: next"])]
#[case::continued_by_nothing("**Verify:**\n```\na \\\n```\n", &["5: a"])]
#[case::prompts("**Verify:**\n```console\n$ a\nok\n$ b\n```\n", &["5: a", "7: b"])]
#[case::prompt_in_a_span("**Verify:** `$ a`\n", &["3: a"])]
#[case::heading("#### Verification\n\nRun these.\n\n```sh\na\n```\n", &["8: a"])]
#[case::heading_with_colon("#### Verify:\n\n- `a`\n", &["5: a"])]
#[case::heading_with_code("#### Verify: `a`\n", &["3: a"])]
#[case::list_of_labels("- **Files:** `x`\n- **Verify:** `a`\n- **Note:** `b`\n", &["4: a"])]
#[case::nested_list_of_labels("- **Verify:**\n  - `a`\n  - `b`\n- `c`\n", &["4: a", "5: b"])]
#[case::twice("**Verify:** `a`\n\ntext\n\n**Verify:** `b`\n", &["3: a", "7: b"])]
#[case::crlf("**Verify:**\r\n\r\n```sh\r\na \\\r\n b\r\n```\r\n", &["6: a  b"])]
#[case::carriage_returns("**Verify:**\r\r```sh\ra\rb\r```\r", &["6: a", "7: b"])]
#[case::code_within_strong("**Verify: `a`**\n", &["3: a"])]
#[case::comment_within("**Verify:** <!-- `x` --> `a`\n", &["3: a"])]
fn commands(#[case] body: &str, #[case] expected: &[&str]) {
    assert_eq!(verify(body), expected, "{body}");
}

#[rstest]
#[case::prose("**Verify:** run the tests\n")]
#[case::sentence("Verify that `a` works.\n")]
#[case::lower_case_prose("verify: `a`\n")]
#[case::quoted("> **Verify:** `a`\n")]
#[case::fenced("```md\n**Verify:** `a`\n```\n")]
#[case::comment("<!--\n**Verify:** `a`\n\n- `b`\n-->\n")]
#[case::html("<div>\n**Verify:** `a`\n</div>\n")]
#[case::step("- Step 4: Verify: `a`\n")]
#[case::plain_in_a_list("- Verify: `a`\n")]
#[case::longer_heading("#### Verification of inputs\n\n- `a`\n")]
#[case::text_between("**Verify:** none\n\nLook:\n\n```sh\na\n```\n")]
#[case::quote_between("**Verify:**\n\n> note\n\n```sh\na\n```\n")]
#[case::rule_between("**Verify:**\n\n---\n\n- `a`\n")]
#[case::other_label("**Verify:**\n\n**Example:** `a`\n\n```sh\nb\n```\n")]
#[case::next_heading("#### Verify\n\n#### Example\n\n```sh\na\n```\n")]
#[case::other_language("**Verify:**\n\n```rust\nfn a() {}\n```\n")]
#[case::open_fence("**Verify:**\n\n```sh\na\n\ntext\n")]
#[case::open_long_fence("**Verify:**\n\n````sh\na\n```\n\ntext\n")]
#[case::comment_span("**Verify:** `# a`\n")]
#[case::label_in_code("`**Verify:**` `a`\n")]
fn no_commands(#[case] body: &str) {
    assert_eq!(verify(body), Vec::<String>::new(), "{body}");
}

#[test]
fn text_that_looks_like_a_command_is_warned_about_with_its_line() {
    let body = "**Verify:**\n- `a` returns `{}`\n- the page looks right\n\n**Verify:** by hand\n\n#### Verify\n\nRun `b`:\n\n\
                ```sh\nc\n```\n\nIt prints:\n\n```\nok\n```\n\n#### Verify\n\n```json\n{}\n```\n";
    assert_eq!(verify(body), ["4: a", "14: c"]);
    insta::assert_snapshot!(warnings(body), @"
    line 4: `{}` is not read as a command; below `Verify`, commands are list items, or lines of a shell block directly after the label
    line 5: `the page looks right` names no command; below `Verify`, write each command as code
    line 7: `Verify: by hand` names no command; below `Verify`, write each command as code
    line 11: `b` is not read as a command; below `Verify`, commands are list items, or lines of a shell block directly after the label
    line 19: `ok` is not read as a command; below `Verify`, commands are list items, or lines of a shell block directly after the label
    line 25: `{}` is not read as a command; below `Verify`, commands are list items, or lines of a shell block directly after the label
    ");
}

#[rstest]
#[case("**Verify:** none\n")]
#[case("**Verify:** n/a\n")]
#[case("#### Verification\n\nNone.\n")]
fn a_task_may_declare_that_nothing_verifies_it(#[case] body: &str) {
    assert_eq!((verify(body), warnings(body)), (Vec::new(), String::new()));
}

#[test]
fn commands_outside_of_tasks_are_warned_about() {
    let plan = plan("# P\n\n**Verify:** `a`\n\n### Task 1: a\n\n**Verify:** `b`\n\n## Verification\n\n- `c`\n");
    assert_eq!(plan.task(0).unwrap().verify.len(), 1);
    insta::assert_snapshot!(warned(&plan), @"
    line 3: this command is in no task's section, so no task is verified by it
    line 11: this command is in no task's section, so no task is verified by it
    ");
}

#[rstest]
#[case::bidi("`echo \u{202e}x`", "U+202E")]
#[case::zero_width("`ls\u{200b}`", "U+200B")]
#[case::escape("`ls \u{1b}[8m; rm x`", "U+001B")]
fn a_command_with_hidden_characters_is_refused(#[case] command: &str, #[case] name: &str) {
    let error = refused(&format!("### Task 1: a\n\n**Verify:** {command}\n"));
    assert!(error.contains(&format!("line 3: the command contains the hidden character {name}")), "{error}");
}

#[rstest]
#[case::list("**Acceptance:**\n\n- it *works*\n- `x` is\n  there\n", &["it works", "`x` is there"])]
#[case::same_line("**Acceptance:** it works\nwell\n", &["it works well"])]
#[case::heading("#### Acceptance criteria\n\nAll of these:\n\n1. a\n2. b\n\nMore text.\n", &["a", "b"])]
#[case::heading_and_paragraphs("#### Acceptance\n\nIt works\nwell.\n\nAnd fast.\n", &["It works well.", "And fast."])]
#[case::plain_label("Acceptance criteria\n\n- a\n", &["a"])]
#[case::boxes("**Acceptance criteria:**\n- [ ] a\n- [x] b\n", &["a", "b"])]
#[case::nested("**Acceptance:**\n- when\n  - a\n  - b\n", &["when a; b"])]
#[case::ended_by_verify("**Acceptance:** a\n**Verify:** `x`\n", &["a"])]
#[case::ended_by_other_label("**Acceptance:**\n- a\n\n**Notes:**\n- b\n", &["a"])]
#[case::code("**Acceptance:**\n- prints\n\n      x\n", &["prints `x`"])]
#[case::none("**Acceptance:** none\n", &[])]
#[case::quoted("> **Acceptance:** a\n", &[])]
#[case::prose("Acceptance of `a` is given.\n", &[])]
fn acceptance_of_a_task(#[case] body: &str, #[case] expected: &[&str]) {
    assert_eq!(acceptance(body), expected);
}

#[rstest]
#[case("**Changes:** none\n", true)]
#[case("**Changes:** None.\n", true)]
#[case("Changes: no files\n", true)]
#[case("#### Changes\n\nnone\n", true)]
#[case("- **Changes:** nothing\n", true)]
#[case("**Changes:** `a.rs`\n", false)]
#[case("> **Changes:** none\n", false)]
#[case("Nothing changes: none\n", false)]
#[case("", false)]
fn a_task_may_declare_that_it_changes_nothing(#[case] body: &str, #[case] expected: bool) {
    assert_eq!(plan(&format!("### Task 1: a\n\n{body}")).task(0).unwrap().changes_nothing, expected);
}

#[test]
fn each_task_has_its_own_parts() {
    let plan = plan("### Task 1: a\n\n**Verify:**\n\n### Task 2: b\n\n- `x`\n\n#### Task 2.1: c\n\n**Verify:** `y`\n");
    let verify: Vec<Vec<String>> = plan.tasks().map(|t| t.verify.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(verify, [vec![], vec!["y".to_owned()]]);
}

#[test]
fn a_plan_without_task_headings_is_verified_as_one_task() {
    let plan = plan("# Do it\n\n## Verification\n\n- `x`\n");
    assert_eq!(plan.task(0).unwrap().verify[0].command, "x");
    assert_eq!(warned(&plan), "");
}

#[test]
fn an_outline_has_a_line_for_each_task() {
    insta::assert_snapshot!(plan("# P\n\n### Task 1: a\n\ntext\n\n### Task 1.1: b\n\n### Task 3:\n").outline(), @"
    Task 1: a
    Task 1.1: b
    Task 3
    ");
}

#[test]
fn the_hash_of_a_plan_is_fixed() {
    assert_eq!(plan("### Task 1: a\n").hash(), plan("### Task 1: a\n").hash());
    assert_ne!(plan("### Task 1: a\n").hash(), plan("### Task 1: a\r\n").hash());
    insta::assert_snapshot!(plan("### Task 1: a\n").hash(), @"018bc775584c313b");
}
