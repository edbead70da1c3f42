//! Proposals: written as markdown that reads back as the same proposal, or refused with every reason.

use proptest::prelude::*;
use rstest::rstest;
use superstep::plan::{Plan, PlanError, PlanProposal, ProposalProblem, ProposedTask};

fn task(id: &str, title: &str) -> ProposedTask {
    ProposedTask {
        id: id.to_owned(),
        title: title.to_owned(),
        description: String::new(),
        files_create: Vec::new(),
        files_modify: Vec::new(),
        files: Vec::new(),
        depends_on: None,
        acceptance: Vec::new(),
        verify_commands: Vec::new(),
        est_size: None,
    }
}

fn proposal(tasks: Vec<ProposedTask>) -> PlanProposal {
    PlanProposal { goal: "Know the tides.".to_owned(), approach: String::new(), success_criteria: Vec::new(), tasks }
}

fn described(text: &str) -> PlanProposal {
    let first =
        ProposedTask { description: text.to_owned(), verify_commands: vec!["a".to_owned()], ..task("1", "one") };
    proposal(vec![first, task("2", "two")])
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

#[test]
fn a_proposal_is_written_as_a_plan() {
    let first = ProposedTask {
        description: "Read **all** of them.\n\n- the old\n- the new".to_owned(),
        files_create: texts(&["src/tides.rs"]),
        files_modify: texts(&["src/lib.rs"]),
        acceptance: texts(&["`tides()` gives them", "a * b"]),
        verify_commands: texts(&["cargo test", "$ cargo clippy -- -D warnings"]),
        est_size: Some("S".to_owned()),
        ..task("1", "Read the `tides`")
    };
    let second = ProposedTask { depends_on: Some(texts(&["1"])), ..task("02", "Write them") };
    let proposal = PlanProposal {
        approach: "By hand.".to_owned(),
        success_criteria: texts(&["All are known"]),
        ..proposal(vec![first, second])
    };
    insta::assert_snapshot!(proposal.render().unwrap(), @r"
    # Plan: Know the tides

    **Goal:** Know the tides.

    **Approach:**

    By hand.

    **Success criteria:**

    - All are known

    ### Task 1: Read the `tides`

    Read **all** of them.

    - the old
    - the new

    **Files:**

    - Create: `src/tides.rs`
    - Modify: `src/lib.rs`

    **Size:** S

    **Acceptance:**

    - `tides()` gives them
    - a * b

    **Verify:**

    ```sh
    cargo test
    cargo clippy -- -D warnings
    ```

    ### Task 2: Write them

    **Depends on:** 1
    ");
}

#[rstest]
#[case::task_heading("### Task 2: mine")]
#[case::deeper_task_heading("#### Task 2: mine")]
#[case::heading("# End\n\ntext")]
#[case::setext("End\n---\n\ntext")]
#[case::verify("**Verify:** `rm -rf /`")]
#[case::acceptance("#### Acceptance\n\n- nothing")]
#[case::changes("**Changes:** none")]
#[case::depends_on("**Depends on:** 7")]
#[case::files("**Files:** `x`")]
#[case::open_fence("```sh\nrm -rf /")]
#[case::longer_fence("````\n```\n````")]
#[case::many_backticks("``````` x\n\n**Verify:** `b`")]
#[case::open_comment("<!-- a")]
#[case::open_pre("<pre>")]
#[case::carriage_returns("a\r\r### Task 2: mine\r")]
#[case::reference("[1]: http://x\n\n[one]: http://y")]
fn a_description_stays_in_its_section(#[case] text: &str) {
    let markdown = described(text).render().unwrap();
    let plan = Plan::parse(markdown.as_str()).unwrap();
    let tasks: Vec<_> = plan.tasks().map(|task| (task.to_string(), task.verify.len(), task.acceptance.len())).collect();
    assert_eq!(tasks, [("Task 1: one".to_owned(), 1, 0), ("Task 2: two".to_owned(), 0, 0)], "{markdown}");
    assert!(!plan.task(0).unwrap().changes_nothing, "{markdown}");
    assert!(
        markdown.replace("\\", "").contains(text.lines().next().unwrap().split('\r').next().unwrap()),
        "{markdown}"
    );
}

#[test]
fn every_problem_of_a_proposal_is_reported_at_once() {
    let broken = PlanProposal {
        goal: " ".to_owned(),
        tasks: vec![
            task("one", "x"),
            ProposedTask { depends_on: Some(texts(&["1", "3"])), ..task("1", "\n") },
            task("01", "again\u{7}"),
            task("2.1", "early"),
            ProposedTask {
                verify_commands: texts(&["a\nb", "# no", "c \\", "d\u{202e}", "\u{1b}e", ""]),
                ..task("3", "commands")
            },
        ],
        ..proposal(Vec::new())
    };
    insta::assert_snapshot!(broken.render().unwrap_err(), @r"
    the proposed plan cannot be executed:
      the goal is empty
      the id of the 1. task, `one`, is not a number like `3` or `3a`, or `3.1` below task 3
      task `1` has no title
      task `1` depends on `1`, but there is no task `1` before it
      task `1` depends on `3`, but there is no task `3` before it
      two tasks have the id `1`
      the title of task 1 holds the control character U+0007
      task `2.1` is below `2`, but there is no task `2` before it
      the command `a\nb` of task `3` has several lines; write one command, or join them with `&&`
      the command `# no` of task `3` is a comment
      the command `c \\` of task `3` ends in a backslash
      the command `d\u{202e}` of task `3` holds a control character or one that cannot be seen
      the command `\u{1b}e` of task `3` holds a control character or one that cannot be seen
    ");
    let none = proposal(Vec::new()).render();
    assert_eq!(none, Err(PlanError::Proposal { problems: vec![ProposalProblem::NoTasks] }));
}

#[test]
fn dependencies_and_files_are_written_and_read_back() {
    let first =
        ProposedTask { depends_on: Some(vec![]), files: texts(&["src/*.rs", "./docs/a b.md"]), ..task("1", "one") };
    let second = ProposedTask {
        depends_on: Some(texts(&["1", "Task 1"])),
        files_create: texts(&["src/a.rs:1-3"]),
        files: texts(&["tests/**"]),
        ..task("2a", "two")
    };
    let markdown = proposal(vec![first, second]).render().unwrap();
    insta::assert_snapshot!(markdown.split_once("### ").unwrap().1, @"
    Task 1: one

    **Files:** `src/*.rs`, `docs/a b.md`

    **Depends on:** none

    ### Task 2a: two

    **Files:**

    - Create: `src/a.rs`
    - `tests/**`

    **Depends on:** 1
    ");
    let plan = Plan::parse(markdown).unwrap();
    assert_eq!(plan.phases().ids(), [vec!["1"], vec!["2a"]]);
    assert_eq!(plan.task(0).unwrap().files, ["src/*.rs", "docs/a b.md"]);
    assert_eq!(plan.task(1).unwrap().files, ["src/a.rs", "tests/**"]);
}

#[test]
fn null_and_a_missing_list_of_dependencies_are_none() {
    let read = |depends_on: &str| -> ProposedTask {
        serde_json::from_str(&format!(r#"{{"id": "1", "title": "a", "description": ""{depends_on}}}"#)).unwrap()
    };
    assert_eq!(read("").depends_on, None);
    assert_eq!(read(r#", "depends_on": null"#).depends_on, None);
    assert_eq!(read(r#", "depends_on": []"#).depends_on, Some(vec![]));
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "`", "```", "*", "**", "_", "#", "### Task 9: x", "\n", "\n\n", "- ", "1. ", "> ", "<!--", "-->", "<b>", "[x] ", "[a]",
            "(b)", "[a]: b\n", "\\", ":", "|", "    ", "\t", "&amp;", "~~~", "---", "===", "**Verify:** `z`", "Verify: `z`",
            "#### Verify\n", "**Acceptance:** z", "**Changes:** none", "**Depends on:** 9", "**Files:** `z`", "./", ":1", "\r", "\u{a0}", "\u{200b}", "\u{feff}", "$ ", "none", "+++",
        ]).prop_map(str::to_owned),
        2 => "[a-z]{1,4} ?",
        1 => "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn proposed() -> impl Strategy<Value = ProposedTask> {
    let lists =
        (prop::collection::vec(text(), 0..3), prop::collection::vec(text(), 0..3), prop::collection::vec(text(), 0..3));
    (text(), text(), lists, prop::option::of(text())).prop_map(|(title, description, lists, est_size)| ProposedTask {
        description,
        files_create: lists.0.clone(),
        files: lists.0.into_iter().chain(lists.1.clone()).collect(),
        acceptance: lists.1,
        verify_commands: lists.2,
        est_size,
        ..task("", &format!("t{title}"))
    })
}

fn proposals() -> impl Strategy<Value = PlanProposal> {
    let head = (text(), text(), prop::collection::vec(text(), 0..3));
    (head, prop::collection::vec(proposed(), 1..4)).prop_map(|((goal, approach, success_criteria), mut tasks)| {
        tasks.iter_mut().zip(1..).for_each(|(task, number): (_, u32)| task.id = number.to_string());
        PlanProposal { goal: format!("g{goal}"), approach, success_criteria, tasks }
    })
}

proptest! {
    #[test]
    fn a_proposal_reads_back_as_it_was_made(proposal in proposals()) {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let markdown = match proposal.render() {
            Ok(markdown) => markdown,
            Err(PlanError::Proposal { problems }) => {
                let expected = |problem: &ProposalProblem| matches!(problem, ProposalProblem::BadCommand { .. });
                prop_assert!(problems.iter().all(expected), "{problems:?}");
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let plan = Plan::parse(markdown.as_str()).unwrap();
        prop_assert_eq!(plan.task_count(), proposal.tasks.len());
        for (task, proposed) in plan.tasks().zip(&proposal.tasks) {
            prop_assert_eq!(task.id.as_str(), &proposed.id);
            prop_assert_eq!(task.title, words(&proposed.title));
            prop_assert!(task.verify.len() <= proposed.verify_commands.len());
            prop_assert!(task.verify.iter().all(|read| proposed.verify_commands.iter().any(|c| c.contains(&read.command))));
            prop_assert!(task.acceptance.iter().all(|read| proposed.acceptance.iter().any(|a| words(a).contains(read))));
        }
    }
}
