//! Plans full of traps: text that only looks like a task, tasks that do not look like one, and huge plans.

use std::fmt::Write;

use rstest::rstest;
use superstep::plan::Plan;

use super::{ids, plan, refused, warned};

#[rstest]
#[case::fence_of_backticks("```\n### Task 9: x\n```\n")]
#[case::fence_of_tildes("~~~md\n### Task 9: x\n~~~\n")]
#[case::longer_fence("````md\n```\n### Task 9: x\n```\n### Task 8: x\n````\n")]
#[case::tildes_around_backticks("~~~\n```\n~~~\n")]
#[case::fence_with_backticks_in_its_info("~~~ a`b\n### Task 9: x\n~~~\n")]
#[case::indented_fence("   ```\n### Task 9: x\n   ```\n")]
#[case::fence_in_a_list("- a\n\n  ```\n  ### Task 9: x\n  ```\n")]
#[case::shorter_closing("````\n### Task 9: x\n```\n### Task 8: x\n````\n")]
#[case::closing_with_words("```\n``` x\n### Task 9: x\n```\n")]
#[case::indented_code("    ### Task 9: x\n")]
#[case::tab("\t### Task 9: x\n")]
#[case::comment("<!--\n### Task 9: x\n\n### Task 8: x\n-->\n")]
#[case::pre("<pre>\n\n### Task 9: x\n\n</pre>\n")]
#[case::script("<script>\n### Task 9: x\n\n</script>\n")]
#[case::cdata("<![CDATA[\n### Task 9: x\n]]>\n")]
#[case::div("<div>\n### Task 9: x\n</div>\n")]
#[case::quote("> ### Task 9: x\n>\n> Task 8: x\n> ---\n")]
#[case::bullet("- ### Task 9: x\n")]
#[case::numbered("1. ### Task 9: x\n")]
#[case::in_an_item("- a\n\n  ### Task 9: x\n")]
#[case::escaped("\\### Task 9: x\n")]
#[case::no_space("###Task 9: x\n")]
#[case::seven("####### Task 9: x\n")]
#[case::deeper("#### Task 9: x\n\n##### Task 1: x\n")]
#[case::bold("**Task 9: x**\n")]
#[case::words("### Tasks 9: x\n### Task nine: x\n### Subtask 9: x\n### My Task 9: x\n")]
#[case::signs(
    "### Task -9: x\n### Task 9abc: x\n### Task 9.: x\n### Task .9: x\n### Task 9..1: x\n### Task: x\n### Task9: x\n"
)]
#[case::digits("### Task ９: x\n### Task ٩: x\n### Task ⑨: x\n")]
#[case::case("### task 9: x\n### TASK 9: x\n")]
#[case::full_width_colon("### Task 9：x\n")]
#[case::code("### `Task 9: x`\n")]
#[case::setext_with_more("more\nTask 9: x\n---\n")]
fn this_is_not_a_task(#[case] between: &str) {
    let markdown = format!("### Task 1: a\n\ntext\n\n{between}\n### Task 2: b\n");
    assert_eq!(ids(&plan(&markdown)), ["1", "2"], "{markdown}");
    let markdown = markdown.replace('\n', "\r\n");
    assert_eq!(ids(&plan(&markdown)), ["1", "2"], "with CRLF: {markdown}");
    let markdown = markdown.replace("\r\n", "\r");
    assert_eq!(ids(&plan(&markdown)), ["1", "2"], "with CR: {markdown}");
}

#[rstest]
#[case::strong("### **Task 9:** x", "x")]
#[case::strong_word("### **Task** 9: x", "x")]
#[case::all_strong("### **Task 9: x**", "x")]
#[case::emphasis("### _Task 9_: x", "x")]
#[case::code_in_the_title("### Task 9: use `foo`", "use `foo`")]
#[case::link("### [Task 9: x](#task-9)", "x")]
#[case::link_in_the_title("### Task 9: see [x](y)", "see x")]
#[case::anchor("### <a id=\"t9\"></a>Task 9: x", "x")]
#[case::comment("### Task 9: x <!-- later -->", "x")]
#[case::hashes("### Task 9: x ###", "x")]
#[case::hashes_without_space("### Task 9: x#", "x#")]
#[case::space_before_the_colon("### Task 9 : x", "x")]
#[case::zeros("### Task 009: x", "x")]
#[case::spaces("###   Task   9:   x  ", "x")]
#[case::tabs("###\tTask\t9:\tx\t", "x")]
#[case::no_break_space("### Task\u{a0}9: x", "x")]
#[case::entity("### Task&nbsp;9: x", "x")]
#[case::escaped_colon("### Task 9\\: x", "x")]
#[case::zero_width("### \u{200b}Task\u{200b} 9\u{feff}: x", "x")]
#[case::indented("   ### Task 9: x", "x")]
#[case::no_space_after("### Task 9:x", "x")]
#[case::after_a_paragraph("text\n### Task 9: x", "x")]
#[case::after_a_list("- item\n### Task 9: x", "x")]
#[case::after_a_quote("> quote\n### Task 9: x", "x")]
#[case::after_a_comment("<!-- a -->\n### Task 9: x", "x")]
#[case::after_an_unclosed_span("`open\n\n### Task 9: x", "x")]
#[case::after_a_table("| a |\n|---|\n| b |\n\n### Task 9: x", "x")]
#[case::after_inline_fence("``` not a fence ```\n\n### Task 9: x", "x")]
fn this_is_a_task(#[case] heading: &str, #[case] title: &str) {
    for end in ["\n", "\r\n", "\r"] {
        let markdown = format!("### Task 1: a\n\ntext\n\n{heading}\n\ntext\n\n### Task 10: b\n").replace('\n', end);
        let plan = plan(&markdown);
        assert_eq!(ids(&plan), ["1", "9", "10"], "{markdown:?}");
        let task = plan.task(1).unwrap();
        let before = markdown[..markdown.find(task.section).unwrap()].matches(end).count();
        assert_eq!((task.title, task.line), (title, before + 1), "{markdown:?}");
    }
}

#[rstest]
#[case::yaml("---\ntitle: x\n---\n")]
#[case::yaml_with_task_words("---\ntitle: x\nTask 7: y\n---\n")]
#[case::empty_lines("---\ntitle: x\n\nmore: y\n---\n")]
#[case::toml("+++\ntitle = \"x\"\n+++\n")]
#[case::toml_table("+++\n[a]\nb = 1\n+++\n")]
#[case::byte_order_mark("\u{feff}---\ntitle: x\n---\n")]
#[case::rule("---\n\n")]
#[case::rule_and_prose("---\nSome words.\n\n---\n")]
#[case::unclosed_yaml("---\ntitle: x\n\n")]
#[case::unclosed_toml("+++\ntitle = 1\n\n")]
#[case::byte_order_mark_only("\u{feff}")]
fn front_matter_hides_no_task(#[case] front: &str) {
    for end in ["\n", "\r\n", "\r"] {
        let markdown = format!("{front}### Task 1: a\n\n---\n\n### Task 2: b\n\n+++\n").replace('\n', end);
        assert_eq!(ids(&plan(&markdown)), ["1", "2"], "{markdown:?}");
    }
}

#[test]
fn unclosed_front_matter_is_warned_about() {
    let plan = plan("---\ntitle: x\n\n### Task 1: a\n");
    insta::assert_snapshot!(warned(&plan), @"line 1: this front matter is never closed, or not before the first task; it is read as text");
}

#[rstest]
#[case::only_front_matter("---\na: b\n---\n")]
#[case::only_a_mark("\u{feff}\n\n")]
#[case::only_space(" \t\r\n")]
fn an_empty_plan_is_refused(#[case] markdown: &str) {
    assert!(refused(markdown).contains("the plan is empty"));
}

#[rstest]
#[case::child_first("### Task 1.1: a\n\n### Task 1: b\n", "line 1: task `1.1` is below `1`")]
#[case::grandchild("### Task 1: a\n\n### Task 1.1.1: b\n", "line 3: task `1.1.1` is below `1.1`")]
#[case::phase_later("### Task 2.1: a\n\n## Phase 2\n\n### Task 2.2: b\n", "line 1: task `2.1` is below `2`")]
#[case::parent_is_deeper("### Task 1: a\n\n#### Task 2: b\n\n### Task 2.1: c\n", "line 5: task `2.1` is below `2`")]
#[case::twice("### Task 1: a\n\n### Task 01: b\n", "line 3: task `1` was already opened on line 1")]
#[case::level_up("### Task 1: a\n\n## Task 2: b\n", "line 3: task `2` is a heading of level 2")]
#[case::first_sets_the_level("#### Task 1: a\n\n### Task 2: b\n", "line 3: task `2` is a heading of level 3")]
#[case::carriage_returns("### Task 1: a\r\r### Task 1: b\r", "line 3: task `1` was already opened on line 1")]
fn this_is_refused(#[case] markdown: &str, #[case] problem: &str) {
    let error = refused(markdown);
    assert!(error.contains(problem), "{error}");
}

#[test]
fn a_deeper_task_heading_belongs_to_the_section_around_it() {
    let plan = plan("## Task 1: a\n\n### Task 1: sub\n\nx\n\n## Task 2: b\n");
    assert_eq!(ids(&plan), ["1", "2"]);
    assert_eq!(plan.task(0).unwrap().section, "## Task 1: a\n\n### Task 1: sub\n\nx\n\n");
}

#[test]
fn a_task_may_be_empty() {
    let plan = plan("### Task 1: a\n### Task 2:\n### Task 3: c");
    let sections: Vec<&str> = plan.tasks().map(|task| task.section).collect();
    assert_eq!(sections, ["### Task 1: a\n", "### Task 2:\n", "### Task 3: c"]);
}

#[rstest]
#[case("### Task ９: x\n")]
#[case("### Task ٩ : x\n")]
#[case("### `Task 9: x`\n")]
#[case("### Task\u{200b}9: x\n")]
#[case("### Task `9`: x\n")]
#[case("### TASK 9: x\n")]
#[case("### Task 9) x\n")]
fn a_heading_that_was_meant_as_a_task_is_warned_about(#[case] heading: &str) {
    let plan = plan(&format!("### Task 1: a\n\n{heading}"));
    assert!(warned(&plan).contains("line 3: "), "{}", warned(&plan));
}

/// A prefix and a repeated part: a parser that is not linear would not finish.
#[rstest]
#[case::tasks("", |n| format!("### Task {n}: t\n\n**Verify:** `a`\n\ntext text text text text text text text text text text\n\n"))]
#[case::phases("", |n| format!("### Phase {n}\n### x\n### Task {n}: t\n"))]
#[case::phases_and_no_task("### Task 0: a\n", |n| format!("### Phase {n}\n"))]
#[case::almost("### Task 0: a\n", |n| format!("#### Task {n}: t\n### Task{n}\n"))]
#[case::fences("### Task 1: a\n", |n| format!("```\n### Task {n}: t\n```\n"))]
#[case::items("### Task 1: a\n\n**Verify:**\n", |n| format!("- `{n}`\n"))]
#[case::spans("### Task 1: a\n\n**Verify:** ", |n| format!("`{n}` "))]
#[case::lines("### Task 1: a\n\n**Verify:**\n```\n", |n| format!("{n} \\\n"))]
#[case::labels("### Task 1: a\n\n", |n| format!("**Verify:** `{n}`\n"))]
#[case::nested_lists("### Task 1: a\n\n**Verify:**\n", |n| if n < 4000 { "- ".to_owned() } else { String::new() })]
#[case::quotes("### Task 1: a\n\n", |n| if n < 4000 { "> ".to_owned() } else { String::new() })]
#[case::stars("### Task 1: a\n\n", |_| "**a ".to_owned())]
#[case::brackets("### Task 1: a\n\n", |_| "[a](".to_owned())]
#[case::front_matter("---\n", |n| format!("a{n}: b\n"))]
fn a_huge_plan_is_read(#[case] prefix: &str, #[case] part: fn(usize) -> String) {
    let mut markdown = prefix.to_owned();
    (1..=10_000).for_each(|n| markdown.write_str(&part(n)).unwrap());
    let _ = Plan::parse(markdown);
}

#[test]
fn a_plan_of_ten_thousand_tasks_has_them_all() {
    let section = |n: usize| format!("### Task {n}: t\n\n**Verify:** `run {n}`\n\n{}\n", "text ".repeat(20));
    let markdown: String = (1..=10_000).map(section).collect();
    assert!(markdown.len() > 1_000_000);
    let plan = plan(&markdown);
    assert_eq!((plan.task_count(), plan.tasks().map(|task| task.verify.len()).sum::<usize>()), (10_000, 10_000));
    assert_eq!(plan.task(9_999).unwrap().verify[0].command, "run 10000");
}
