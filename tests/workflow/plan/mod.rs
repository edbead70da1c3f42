//! Plans: the headings that are tasks, the extent of a section, and the errors of a broken plan.

mod fields;
mod issue;
mod phases;
mod profile;
mod proposal;
mod traps;
mod written;

use proptest::prelude::*;
use rstest::rstest;
use superstep::plan::{Plan, PlanError, PlanProblem, TaskId, extract_task_count, extract_task_section};

/// The plan that this module was first written for: its own tasks at level 2, ten more inside code fences.
const REAL: &str = include_str!("../../fixtures/task-based-execution-plan.md");

fn plan(markdown: &str) -> Plan {
    Plan::parse(markdown).unwrap_or_else(|error| panic!("{error}\n---\n{markdown}"))
}

fn refused(markdown: &str) -> String {
    Plan::parse(markdown).unwrap_err().to_string()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.tasks().map(|task| task.id.as_str()).collect()
}

fn warned(plan: &Plan) -> String {
    plan.warnings().iter().map(|warning| format!("{warning}\n")).collect()
}

#[test]
fn a_real_plan_has_its_own_tasks_and_not_those_in_its_examples() {
    let plan = plan(REAL);
    let tasks: Vec<String> = plan.tasks().map(|task| format!("{}: {task}", task.line)).collect();
    insta::assert_snapshot!(tasks.join("\n"), @"
    13: Task 1: Add Task Execution Fields to ExecutionState
    80: Task 2: Add Profile Field for max_task_review_iterations
    144: Task 3: Add Task Count Parsing to plan_validator_node
    252: Task 4: Integrate Task Count into plan_validator_node Output
    411: Task 5: Modify call_developer_node for Task-Scoped Execution
    587: Task 6: Create route_after_task_review Function
    747: Task 7: Create next_task_node
    904: Task 8: Increment task_review_iteration in Reviewer Node
    978: Task 9: Wire Task-Based Routing into LangGraph
    1088: Task 10: Integration Test for Multi-Task Execution
    1286: Task 11: Run Full Test Suite and Verify
    ");
    assert_eq!(extract_task_count(REAL), Some(11));
    assert_eq!(plan.warnings(), []);
}

#[test]
fn a_real_plan_names_its_title_and_goal() {
    let plan = plan(REAL);
    insta::assert_snapshot!(plan.title().unwrap_or_default(), @"Task-Based Execution Implementation Plan");
    insta::assert_snapshot!(plan.goal().unwrap_or_default(), @"Enable task-based Developer execution where each `### Task N:` block in Architect's plan spawns a fresh session, with review loops per task before proceeding to the next.");
}

#[test]
fn the_last_section_of_a_real_plan_leaves_the_summary_out() {
    let plan = plan(REAL);
    let last = plan.task(10).unwrap().section;
    assert!(last.starts_with("## Task 11: Run Full Test Suite and Verify\n"));
    assert!(last.ends_with("---\n\n"));
    assert!(!last.contains("## Summary"));
}

#[test]
fn an_excerpt_is_the_head_and_one_section() {
    let plan = plan(REAL);
    let excerpt = plan.excerpt(4).unwrap();
    assert_eq!(excerpt, [plan.preamble(), plan.task(4).unwrap().section].concat());
    assert_eq!(extract_task_section(REAL, 4).unwrap(), excerpt);
    assert!(plan.preamble().starts_with("# Task-Based Execution Implementation Plan\n"));
    assert!(plan.preamble().ends_with("---\n\n"));
}

#[rstest]
#[case::three("# P\n\n### Task 1: Setup\n\nDo.\n\n### Task 2: Implementation\n\n### Task 3: Testing\n", Some(3))]
#[case::none("# P\n\nSome content.\n\n## Section 1\n\nMore.\n", None)]
#[case::malformed(
    "### Task 1: Valid\n\n#### Task 2: Wrong level\n\n### Task: No number\n\n### Task2: No space\n\n### Task 3: Valid\n",
    Some(2)
)]
#[case::empty("", None)]
#[case::counted_though_refused("### Task 1: a\n### Task 1: b\n", Some(2))]
fn task_count(#[case] markdown: &str, #[case] count: Option<usize>) {
    assert_eq!(extract_task_count(markdown), count);
}

#[rstest]
#[case::level_2("## Task 1: a\n\n## Task 2: b\n", &["1", "2"])]
#[case::level_3("### Task 1: a\n\n### Task 2: b\n", &["1", "2"])]
#[case::level_4_if_alone("### Phase 1\n\n#### Task 1: a\n\n#### Task 2: b\n", &["1", "2"])]
#[case::level_1_is_the_title("# Task 9: the issue\n\n## Task 1: a\n\n## Task 2: b\n", &["1", "2"])]
#[case::setext("Task 1: a\n---------\n\ntext\n\nTask 2: b\n---\n", &["1", "2"])]
#[case::closed_atx("### Task 1: a ###\n### Task 2: b ##\n", &["1", "2"])]
#[case::indented_by_three("   ### Task 1: a\n", &["1"])]
#[case::markup("### **Task 1:** a\n### `x`\n### *Task* 2: b\n", &["1", "2"])]
#[case::crlf("# P\r\n\r\n### Task 1: a\r\n\r\ntext\r\n\r\n### Task 2: b\r\n", &["1", "2"])]
#[case::byte_order_mark("\u{feff}### Task 1: a\n### Task 2: b\n", &["1", "2"])]
#[case::from_zero("### Task 0: a\n### Task 1: b\n", &["0", "1"])]
#[case::leading_zeros("### Task 01: a\n### Task 02: b\n", &["1", "2"])]
#[case::below_phases("## Phase 1: A\n### Task 1.1: a\n### Task 1.2: b\n## Phase 2\n### Task 2.1: c\n", &["1.1", "1.2", "2.1"])]
#[case::below_a_task("### Task 1: a\n### Task 1.1: b\n", &["1", "1.1"])]
#[case::document_order("### Task 2: a\n### Task 1: b\n", &["2", "1"])]
#[case::fence("### Task 1: a\n\n```md\n### Task 2: b\n```\n\n~~~~\n~~~\n### Task 3: c\n~~~~\n", &["1"])]
#[case::indented_code("### Task 1: a\n\n    ### Task 2: b\n", &["1"])]
#[case::comment("### Task 1: a\n\n<!--\n### Task 2: b\n-->\n", &["1"])]
#[case::quote("### Task 1: a\n\n> ### Task 2: b\n", &["1"])]
#[case::list("### Task 1: a\n\n- ### Task 2: b\n", &["1"])]
#[case::hashes_without_space("### Task 1: a\n\n###Task 2: b\n", &["1"])]
#[case::front_matter("---\ntitle: x\nTask 7: y\n---\n\n### Task 1: a\n", &["1"])]
#[case::rule_is_no_front_matter("---\n\n### Task 1: a\n\n---\n\n### Task 2: b\n", &["1", "2"])]
fn headings_that_are_tasks(#[case] markdown: &str, #[case] expected: &[&str]) {
    let plan = plan(markdown);
    assert!(plan.has_task_headings());
    assert_eq!(ids(&plan), expected);
}

#[rstest]
#[case::plain("### Task 1: Set up\n", "Set up")]
#[case::crlf("### Task 1: Set up\r\n\r\ntext\r\n", "Set up")]
#[case::code("### Task 1: Add `Vec<T>` and *more*\n", "Add `Vec<T>` and more")]
#[case::bare_generics("### Task 1: Add Vec<T>\n", "Add Vec<T>")]
#[case::colons("### Task 1: fix: a: b\n", "fix: a: b")]
#[case::none("### Task 1:\n", "")]
fn title_of_a_task(#[case] markdown: &str, #[case] title: &str) {
    assert_eq!(plan(markdown).task(0).unwrap().title, title);
}

#[rstest]
#[case::next_task("### Task 1: a\n\ntext\n\n### Task 2: b\n", "### Task 1: a\n\ntext\n\n")]
#[case::deeper_headings_stay("### Task 1: a\n\n#### Steps\n\nx\n", "### Task 1: a\n\n#### Steps\n\nx\n")]
#[case::same_level("### Task 1: a\n\nx\n\n### Notes\n\ny\n", "### Task 1: a\n\nx\n\n")]
#[case::higher_level("### Task 1: a\n\nx\n\n## Phase 2\n\n### Task 2: b\n", "### Task 1: a\n\nx\n\n")]
#[case::indentation_is_kept("  ### Task 1: a\n  x\n", "  ### Task 1: a\n  x\n")]
#[case::line_ends_are_kept("### Task 1: a\r\n\r\nx\r\n## End\r\n", "### Task 1: a\r\n\r\nx\r\n")]
#[case::fenced_heading("### Task 1: a\n\n```\n## End\n```\n", "### Task 1: a\n\n```\n## End\n```\n")]
fn section_of_the_first_task(#[case] markdown: &str, #[case] section: &str) {
    assert_eq!(plan(markdown).task(0).unwrap().section, section);
}

#[rstest]
#[case::first("# P\n\nhead\n\n", "## Phase 1: A\n\nintro a\n\n", "### Task 1: a\n\n", 0)]
#[case::second_of_a_phase("# P\n\nhead\n\n", "## Phase 1: A\n\nintro a\n\n", "### Task 2: b\n\n", 1)]
#[case::next_phase("# P\n\nhead\n\n", "## Phase 2: B\n\n", "### Task 3: c\n\n", 2)]
#[case::after_the_phases("# P\n\nhead\n\n", "", "### Task 4: d\n", 3)]
fn excerpt_with_phases(#[case] head: &str, #[case] phase: &str, #[case] section: &str, #[case] index: usize) {
    let markdown = "# P\n\nhead\n\n## Phase 1: A\n\nintro a\n\n### Task 1: a\n\n### Task 2: b\n\n\
                    ## Phase 2: B\n\n### Task 3: c\n\n## Other\n\nnot for task 4\n\n### Task 4: d\n";
    assert_eq!(plan(markdown).excerpt(index).unwrap(), [head, phase, section].concat());
}

#[test]
fn phases_may_be_at_the_level_of_the_tasks() {
    let plan = plan("## Phase 1\n\nintro\n\n## Task 1: a\n\n## Task 2: b\n\n## Phase 2\n\n## Task 3: c\n");
    let phases: Vec<_> = plan.tasks().map(|task| task.phase.unwrap_or_default()).collect();
    assert_eq!(phases, ["## Phase 1\n\nintro\n\n", "## Phase 1\n\nintro\n\n", "## Phase 2\n\n"]);
}

#[test]
fn the_head_of_a_plan_keeps_its_front_matter() {
    let plan = plan("---\nauthor: x\n---\n# P\n\n### Task 1: a\n\n### Task 2: b\n");
    assert_eq!(plan.title(), Some("P"));
    assert_eq!(plan.excerpt(1).unwrap(), "---\nauthor: x\n---\n# P\n\n### Task 2: b\n");
}

#[test]
fn a_plan_without_task_headings_is_one_task() {
    let markdown = "# Legacy\n\n## Setup\n\nDo it.\n";
    let plan = plan(markdown);
    assert!(!plan.has_task_headings());
    assert_eq!(plan.tasks().map(|task| task.to_string()).collect::<Vec<_>>(), ["Task 1: Legacy"]);
    assert_eq!(plan.task(0).unwrap().section, markdown);
    assert_eq!(plan.excerpt(0).unwrap(), markdown);
}

#[test]
fn a_plan_of_one_task_is_its_own_excerpt() {
    let markdown = "# P\n\n### Task 1: a\n\n## Summary\n\nx\n";
    assert_eq!(extract_task_section(markdown, 0).unwrap(), markdown);
}

#[rstest]
#[case::bold("# P\n\n**Goal:** Ship it\nsoon.\n**Stack:** Rust\n", Some("Ship it soon."))]
#[case::bold_word("**Goal**: Ship it\r\n", Some("Ship it"))]
#[case::plain("Goal: Ship it\n", Some("Ship it"))]
#[case::after_other_labels("**Stack:** Rust\n**Goal:** Ship it\n", Some("Ship it"))]
#[case::heading("# P\n\n## Goal\n\nShip it.\n\nMore.\n", Some("Ship it."))]
#[case::after_the_tasks("### Task 1: a\n\n**Goal:** of the task\n", None)]
#[case::quoted("> **Goal:** not ours\n", None)]
#[case::none("# P\n", None)]
fn goal_of_a_plan(#[case] markdown: &str, #[case] goal: Option<&str>) {
    assert_eq!(plan(markdown).goal(), goal);
}

#[test]
fn every_problem_of_a_plan_is_reported_at_once() {
    let markdown = "# P\n\n### Task 1: a\n\n### Task 2.1: b\n\n### Task 01: c\n\n## Task 3: d\n";
    insta::assert_snapshot!(refused(markdown), @"
    the plan cannot be executed:
      line 5: task `2.1` is below `2`, but there is no task or phase 2 before it
        help: put the heading of that task or phase before it, or number this task without the point
      line 7: task `1` was already opened on line 3
        help: give each task a different number; below phases, write `1.1`, `1.2`, `2.1`
      line 9: task `3` is a heading of level 2, but the plan's tasks are at level 3 since line 3
        help: write all task headings of the plan at one level
    ");
}

#[test]
fn an_empty_plan_is_refused() {
    assert_eq!(Plan::parse(" \n"), Err(PlanError::Invalid { problems: vec![PlanProblem::Empty] }));
    insta::assert_snapshot!(refused(""), @"
    the plan cannot be executed:
      the plan is empty
        help: describe at least the work; headings `### Task 1: title` divide it into tasks
    ");
}

#[test]
fn a_task_beyond_the_last_is_an_error_and_never_the_whole_plan() {
    let error = extract_task_section(REAL, 11).unwrap_err();
    insta::assert_snapshot!(error, @"the plan has no task at index 11: it has 11 task(s), counted from 0");
    insta::assert_snapshot!(error.help().unwrap_or_default(), @"the plan was probably shortened during the run; restore it, or start a new run");
}

#[test]
fn probable_mistakes_are_warned_about_and_do_not_stop_the_plan() {
    let plan = plan(
        "### Task 2: late\n\n#### Task 3: too deep\n\n### Task: no number\n\n### task 5: lower case\n\n\
         ### Task6: no space\n\n### Task 4 - no colon\n\n### Task 7:\n\n### Tasks\n\n### Task list\n\n```\nopen\n",
    );
    insta::assert_snapshot!(warned(&plan), @"
    line 1: task `2` is the first; tasks are executed in the order of the document
    line 3: task `3` at heading level 4 is not a task of its own; the plan's tasks are at level 3
    line 5: `Task: no number` is not read as a task; a task heading is `Task N: title`
    line 7: `task 5: lower case` is not read as a task; a task heading is `Task N: title`
    line 9: `Task6: no space` is not read as a task; a task heading is `Task N: title`
    line 11: `Task 4 - no colon` is not read as a task; a task heading is `Task N: title`
    line 13: task `7` follows task `2`; tasks are executed in the order of the document
    line 13: task `7` has no title
    line 19: this code fence is never closed; headings after it are not read
    ");
}

#[test]
fn tasks_at_other_levels_only_are_warned_about() {
    let plan = plan("# Task 1: a\n\n##### Task 2: b\n");
    assert!(!plan.has_task_headings());
    insta::assert_snapshot!(warned(&plan), @"
    line 1: task `1` at heading level 1 is not a task of its own; tasks are at level 2, 3 or 4
    line 3: task `2` at heading level 5 is not a task of its own; tasks are at level 2, 3 or 4
    ");
}

#[rstest]
#[case::rising("### Task 1: a\n### Task 2: b\n### Task 3: c\n")]
#[case::children("### Task 1: a\n### Task 1.1: b\n### Task 1.2: c\n### Task 2: d\n")]
#[case::closed_fence("### Task 1: a\n\n```rust\nfn f() {}\n```\n")]
#[case::long_fence("### Task 1: a\n\n~~~~md\n~~~\n~~~~~\n\n")]
fn an_ordinary_plan_has_no_warnings(#[case] markdown: &str) {
    assert_eq!(warned(&plan(markdown)), "");
}

#[test]
fn a_plan_is_stored_as_its_markdown() {
    let plan = plan("# P\n\n### Task 1: a\n\n### Task 2: b\n");
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(stored, r##""# P\n\n### Task 1: a\n\n### Task 2: b\n""##);
    assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan);
}

#[test]
fn a_task_is_serialized_with_all_its_parts() {
    let plan = plan("## Phase 1\n\n### Task 1.1: a\n");
    let shown = serde_json::to_string(&plan.task(0).unwrap()).unwrap();
    insta::assert_snapshot!(shown, @r####"{"index":0,"id":"1.1","title":"a","line":3,"section":"### Task 1.1: a\n","phase":"## Phase 1\n\n","acceptance":[],"verify":[],"changes_nothing":false,"depends_on":null,"files":[]}"####);
}

#[rstest]
#[case("1", Some("1"))]
#[case("007", Some("7"))]
#[case("0", Some("0"))]
#[case("1.02.3", Some("1.2.3"))]
#[case("99999999999999999999999", Some("99999999999999999999999"))]
#[case("", None)]
#[case("1.", None)]
#[case(".1", None)]
#[case("1abc", None)]
#[case("+1", None)]
#[case("١", None)]
fn id_of_a_task(#[case] text: &str, #[case] id: Option<&str>) {
    assert_eq!(text.parse::<TaskId>().ok().as_ref().map(TaskId::as_str), id);
}

/// Lines of plans, put together in any order.
fn piece() -> impl Strategy<Value = String> {
    let heading = (1_usize..6, 0_u8..4, any::<bool>()).prop_map(|(level, number, is_task)| {
        format!("{} {} {number}: x\n", "#".repeat(level), if is_task { "Task" } else { "Phase" })
    });
    prop_oneof![
        4 => heading,
        1 => prop::sample::select(vec!["```\n", "~~~\n", "---\n", "> ", "- ", "    ", "\r\n", "\n", "<!--", "-->\n", "\u{feff}", "é: ", "Task 2: y\n",
            "**Verify:** `x`\n", "**Verify:**\n", "```sh\nx\n```\n", "- `x`\n", "#### Acceptance\n", "\r", "+++\n", "a: b\n"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ]
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..30).prop_map(|pieces| pieces.concat())
}

fn line_ends(text: &str) -> usize {
    text.replace("\r\n", "\n").matches(['\n', '\r']).count()
}

proptest! {
    #[test]
    fn parsing_never_panics(markdown in any::<String>()) {
        let _ = (Plan::parse(markdown.as_str()), extract_task_count(&markdown));
    }

    #[test]
    fn sections_are_disjoint_slices_of_the_plan_in_order(markdown in document()) {
        let Ok(plan) = Plan::parse(markdown.as_str()) else { return Ok(()) };
        let offset = |part: &str| part.as_ptr() as usize - plan.markdown().as_ptr() as usize;
        let mut end = plan.preamble().len();
        for task in plan.tasks() {
            prop_assert!(offset(task.section) >= end);
            prop_assert!(task.phase.is_none_or(|phase| offset(phase) + phase.len() <= offset(task.section)));
            prop_assert!(task.section.len() == markdown.len() || task.section.contains("Task"));
            end = offset(task.section) + task.section.len();
        }
        prop_assert!(end <= markdown.len());
    }

    #[test]
    fn a_task_is_on_the_line_it_names(markdown in document()) {
        let Ok(plan) = Plan::parse(markdown.as_str()) else { return Ok(()) };
        for task in plan.tasks() {
            let before = task.section.as_ptr() as usize - plan.markdown().as_ptr() as usize;
            prop_assert_eq!(task.line, line_ends(&markdown[..before]) + 1);
        }
    }

    #[test]
    fn a_command_is_in_its_section_on_the_line_it_names(markdown in document()) {
        let Ok(plan) = Plan::parse(markdown.as_str()) else { return Ok(()) };
        for task in plan.tasks() {
            let first = line_ends(&markdown[..task.section.as_ptr() as usize - plan.markdown().as_ptr() as usize]);
            let section = task.section.replace("\r\n", "\n").replace('\r', "\n");
            // A code span may extend over several lines of its paragraph.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let from = |line: usize| section.split('\n').skip(line - 1 - first).collect::<Vec<_>>().join(" ");
            let is_there = |line: usize, command: &str| words(&from(line)).contains(&words(command));
            prop_assert!(task.verify.iter().all(|command| is_there(command.line, &command.command)));
        }
    }

    #[test]
    fn the_count_agrees_with_the_plan(markdown in document()) {
        let Ok(plan) = Plan::parse(markdown.as_str()) else { return Ok(()) };
        let counted = plan.has_task_headings().then(|| plan.task_count());
        prop_assert_eq!(extract_task_count(&markdown), counted);
    }
}
