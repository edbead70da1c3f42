//! Phases: dependencies of tasks, tasks that may run in parallel, and the errors in dependencies.

use std::collections::HashMap;

use proptest::prelude::*;
use rstest::rstest;
use superstep::plan::{Plan, TaskId};

use super::{plan, refused, warned};

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

/// A plan of tasks with these ids; the texts are the bodies of their sections.
fn tasks(tasks: &[(&str, &str)]) -> String {
    let tasks = tasks.iter().map(|(id, body)| format!("### Task {id}: t{id}\n\n{body}\n\n"));
    format!("# P\n\n{}", tasks.collect::<String>())
}

fn phases(plan: &Plan) -> Vec<Vec<String>> {
    plan.phases().ids().iter().map(|phase| phase.iter().map(|id| (*id).to_owned()).collect()).collect()
}

fn text(plan: &Plan) -> String {
    plan.phases().warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

#[test]
fn the_worked_example_has_three_phases() {
    let plan = plan(&tasks(&[
        ("1", "**Depends on:** none\n**Files:** `src/models.rs`"),
        ("2a", "**Depends on:** 1\n**Files:** `src/api.rs`"),
        ("2b", "**Depends on:** 1\n**Files:** `src/ui.rs`"),
        ("2c", "**Depends on:** 1\n**Files:** `docs/*.md`"),
        ("3", "**Depends on:** 2a, 2b"),
    ]));
    assert_eq!(plan.phases().ids(), [vec!["1"], vec!["2a", "2b", "2c"], vec!["3"]]);
    assert_eq!((text(&plan), warned(&plan)), (String::new(), String::new()));
    assert!(plan.is_phased());
    assert_eq!(plan.dependencies(&id("3")), [id("1"), id("2a"), id("2b")]);
    assert_eq!(plan.dependents(&id("2a")), [id("3")]);
    assert_eq!(plan.task(3).unwrap().files, ["docs/*.md"]);
}

#[rstest]
#[case::one_line("**Depends on:** 1, 2a", Some("1 2a"))]
#[case::words("**Depends on:** Task 1, Task 2a and `2.1`", Some("1 2a 2.1"))]
#[case::remark("**Depends on:** 1 (the table)", Some("1"))]
#[case::none("**Depends on:** none", Some(""))]
#[case::none_with_a_remark("**Depends on**: None (can begin at once).", Some(""))]
#[case::plain("Depends on: 1", Some("1"))]
#[case::list("**Depends on:**\n\n- Task 1: t1\n- `2a`\n", Some("1 2a"))]
#[case::heading("#### Depends on\n\n- 1\n", Some("1"))]
#[case::in_a_list_of_labels("- **Depends on:** 1\n- **Verify:** `a`\n", Some("1"))]
#[case::prose_below("**Depends on:** 1\nWrite them down.", Some("1"))]
#[case::next_line("**Depends on:** 1,\n2a", Some("1 2a"))]
#[case::steps_below("**Depends on:** 1\n\n- write it\n", Some("1"))]
#[case::twice("**Depends on:** 1\n\n**Depends on:** 2a", Some("1 2a"))]
#[case::prose("It depends on: 1", None)]
#[case::code("```md\n**Depends on:** 7\n```", None)]
#[case::quoted("> **Depends on:** 7", None)]
#[case::other("**Dependencies:** serde", None)]
fn what_a_task_depends_on(#[case] body: &str, #[case] expected: Option<&str>) {
    let plan = plan(&tasks(&[("1", "a"), ("2", "x"), ("2a", "b"), ("2.1", "c"), ("3", body)]));
    let found = plan.task(4).unwrap().depends_on;
    let found = found.map(|ids| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" "));
    assert_eq!(found.as_deref(), expected);
    assert_eq!(plan.is_phased(), expected.is_some());
}

#[rstest]
#[case::one_line("**Files:** `src/a.rs`, `src/b.rs` and `c/**`", &["src/a.rs", "src/b.rs", "c/**"])]
#[case::plain("**Files:** src/a.rs, src/{b,c}.rs", &["src/a.rs", "src/{b,c}.rs"])]
#[case::list("**Files:**\n- Create: `src/a.rs`\n- Modify: `./src/b.rs:12-40`\n- Test: tests/c.rs (new)\n", &["src/a.rs", "src/b.rs", "tests/c.rs"])]
#[case::remark("**Files:**\n- `src/a.rs`: exports `Tides`\n- Makefile\n", &["src/a.rs", "Makefile"])]
#[case::nested("**Files:**\n- Create:\n  - `a`\n  - `b`\n", &["a", "b"])]
#[case::kinds("**Files:** Create: `a.rs`; Modify: `b.rs`", &["a.rs", "b.rs"])]
#[case::heading("#### Files\n\nThese change:\n\n- `a`\n", &["a"])]
#[case::prose_below("**Files:** `a`\nUse `b` for it.", &["a"])]
#[case::steps_below("**Files:** `a`\n\n- run `b`\n", &["a"])]
#[case::none("**Files:** none", &[])]
#[case::each_once("**Files:** `a`, `./a`", &["a"])]
#[case::absent("text", &[])]
fn files_of_a_task(#[case] body: &str, #[case] expected: &[&str]) {
    assert_eq!(plan(&tasks(&[("1", body)])).task(0).unwrap().files, expected);
}

#[test]
fn labels_below_files_stay_labels() {
    let plan = plan(&tasks(&[("1", "**Files:**\n- **Verify:** `a`\n")]));
    let task = plan.task(0).unwrap();
    assert_eq!((task.files, task.verify[0].command.as_str()), (&[][..], "a"));
}

#[rstest]
#[case::one_line_makes_it_phased(&tasks(&[("1", ""), ("2", "**Depends on:** none"), ("3", "")]), "1 2 3")]
#[case::not_phased(&tasks(&[("1", ""), ("2", "")]), "")]
#[case::headings("## Phase 1: A\n\n### Task 1: a\n\n### Task 2: b\n\n## Phase 2\n\n### Task 3: c\n", "1 2 | 3")]
#[case::headings_are_titles(
    "## Phase 1\n\n### Task 1: a\n\n### Task 2: b\n\n## Phase 2\n\n### Task 3: c\n\n**Depends on:** 1\n",
    "1 2 | 3"
)]
#[case::titles_may_be_empty("## Phase 1\n\n## Phase 2\n\n### Task 3: c\n\n**Depends on:** none\n", "3")]
#[case::before_the_phases("### Task 1: a\n\n## Phase 1\n\n### Task 2: b\n\n### Task 3: c\n", "1 | 2 3")]
#[case::after_the_phases("## Phase 1\n\n### Task 1: a\n\n## More\n\n### Task 2: b\n", "1 | 2")]
#[case::whole_plan("# P\n\n**Depends on:** 7\n", "")]
#[case::later_first(&tasks(&[("1", "**Depends on:** 2"), ("2", ""), ("3", "")]), "2 3 | 1")]
fn phases_of_a_plan(#[case] markdown: &str, #[case] expected: &str) {
    let plan = plan(markdown);
    let found: Vec<String> = plan.phases().ids().iter().map(|phase| phase.join(" ")).collect();
    assert_eq!(found.join(" | "), expected);
    assert_eq!(plan.is_phased(), !expected.is_empty());
}

#[test]
fn overlapping_files_get_phases_of_their_own() {
    let plan = plan(&tasks(&[
        ("1", "**Files:** `src/a.rs`"),
        ("2", "**Files:** `docs/**`"),
        ("3", "**Depends on:** none\n**Files:** `src/*.rs`"),
        ("4", "**Files:** `docs/x.md`, `y`"),
        ("5", "**Files:** `y`"),
        ("6", "**Depends on:** 3"),
    ]));
    assert_eq!(plan.phases().ids(), [vec!["1", "2", "5"], vec!["3"], vec!["4"], vec!["6"]]);
    insta::assert_snapshot!(text(&plan), @"
    line 11: task `3` may touch the same files as task `1` (`src/*.rs` and `src/a.rs`); it runs after it, in a phase of its own
    line 16: task `4` may touch the same files as task `2` (`docs/x.md` and `docs/**`); it runs after it, in a phase of its own
    ");
    assert_eq!(warned(&plan), "", "the plan itself is in order");
}

#[test]
fn an_order_that_contradicts_the_dependencies_is_warned_about() {
    let plan = plan(&tasks(&[("1", "**Depends on:** 3"), ("2", ""), ("3", "")]));
    let order: Vec<&str> = plan.execution_order().iter().map(|task| task.id.as_str()).collect();
    assert_eq!(order, ["2", "3", "1"]);
    insta::assert_snapshot!(text(&plan), @"line 3: task `1` depends on `3`, which comes after it; the phases decide the order of execution");
}

#[test]
fn an_order_that_respects_the_dependencies_is_kept() {
    let plan = plan(&tasks(&[("1", ""), ("2", "**Depends on:** 1"), ("3", ""), ("4", "**Depends on:** 3")]));
    assert_eq!(plan.phases().ids(), [vec!["1", "3"], vec!["2", "4"]]);
    let order: Vec<&str> = plan.execution_order().iter().map(|task| task.id.as_str()).collect();
    assert_eq!(order, ["1", "2", "3", "4"]);
}

#[test]
fn dependencies_that_cannot_be_met_are_problems_with_lines() {
    let markdown = tasks(&[
        ("1", "**Depends on:** 3"),
        ("2a", "**Depends on:** 2a, 2c"),
        ("2b", "**Depends on:** the parser"),
        ("3", "**Depends on:** 4"),
        ("4", "**Depends on:**\n\n- Task 1\n- Task 9"),
        ("5", "**Depends on:** 4"),
        ("6", "**Depends on:**"),
        ("5", ""),
    ]);
    insta::assert_snapshot!(refused(&markdown), @"
    the plan cannot be executed:
      line 5: the dependencies form a cycle: `1` -> `3` -> `4` -> `1`
        help: remove one of these dependencies, or merge the tasks
      line 9: task `2a` depends on itself
        help: remove the task's own id from the line, or write `none`
      line 9: task `2a` depends on `2c`, but the plan has no task `2c`; similar ids: `2b`
        help: name a task of this plan by the id in its heading, or write `none`
      line 13: `Depends on` of task `2b` has `the parser`, which is not a list of task ids
        help: write the ids of tasks, `**Depends on:** 1, 2a`, or `none`
      line 24: task `4` depends on `9`, but the plan has no task `9`
        help: name a task of this plan by the id in its heading, or write `none`
      line 32: `Depends on` of task `6` names no task
        help: write the ids of tasks, `**Depends on:** 1, 2a`, or `none`
      line 34: task `5` was already opened on line 26
        help: give each task a different number; below phases, write `1.1`, `1.2`, `2.1`
    ");
}

#[test]
fn a_phase_without_tasks_is_a_problem() {
    let markdown = "## Phase 1\n\n### Task 1: a\n\n## Phase 2: B\n\ntext\n\n### Notes\n\n## Phase 3\n\n### Task 2: b\n";
    insta::assert_snapshot!(refused(markdown), @"
    the plan cannot be executed:
      line 5: phase `2` has no tasks
        help: put a task below the heading, or remove it
    ");
}

#[test]
fn a_path_is_declared_by_name_folder_or_glob() {
    let plan = plan(&tasks(&[("1", "**Files:** `src/a.rs`, `docs/`, `tests/**/*.rs`, `app/[id]/page.tsx`")]));
    let task = plan.task(0).unwrap();
    let paths = ["src/a.rs", "docs/x/y.md", "tests/a/b.rs", "app/[id]/page.tsx", "src/b.rs", "tests/a.txt", "docs.md"];
    let declared: Vec<bool> = paths.iter().map(|path| task.declares(path)).collect();
    assert_eq!(declared, [true, true, true, true, false, false, false]);
}

#[rstest]
#[case("1a", Some("1a"))]
#[case("02B", Some("2b"))]
#[case("2ab", Some("2ab"))]
#[case("2a.1c", Some("2a.1c"))]
#[case("2abc", None)]
#[case("a", None)]
#[case("2é", None)]
fn ids_may_have_letters(#[case] text: &str, #[case] expected: Option<&str>) {
    assert_eq!(text.parse::<TaskId>().ok().as_ref().map(TaskId::as_str), expected);
}

#[rstest]
#[case(&["1", "2a", "2b", "3"], 0)]
#[case(&["1a", "1b", "2"], 0)]
#[case(&["1", "1a", "2"], 0)]
#[case(&["1", "2b"], 1)]
#[case(&["1", "2a", "2c"], 1)]
fn letters_count_on(#[case] ids: &[&str], #[case] jumps: usize) {
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (*id, "")).collect();
    assert_eq!(plan(&tasks(&all)).warnings().len(), jumps);
}

/// Acyclic dependencies: for each task, the tasks it depends on.
fn dags() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (1_usize..14).prop_flat_map(|count| {
        let order = Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
        let edges = prop::collection::vec((0..count, 0..count), 0..count * 2);
        (order, edges).prop_map(move |(order, edges)| {
            let place = |task: usize| order.iter().position(|known| *known == task);
            let mut needs = vec![vec![]; count];
            for (task, needed) in edges {
                if place(needed) < place(task) && !needs[task].contains(&needed) {
                    needs[task].push(needed);
                }
            }
            needs
        })
    })
}

fn written(needs: &[Vec<usize>]) -> String {
    let names = |ids: &Vec<usize>| ids.iter().map(|id| (id + 1).to_string()).collect::<Vec<_>>().join(", ");
    let line = |ids: &Vec<usize>| if ids.is_empty() { "none".to_owned() } else { names(ids) };
    needs
        .iter()
        .enumerate()
        .map(|(at, ids)| format!("### Task {}: t\n\n**Depends on:** {}\n\n", at + 1, line(ids)))
        .collect()
}

/// Removes all tasks whose dependencies are met, again and again.
fn naive(needs: &[Vec<usize>]) -> Vec<Vec<String>> {
    let mut left: HashMap<usize, Vec<usize>> = needs.iter().cloned().enumerate().collect();
    let mut phases = vec![];
    while !left.is_empty() {
        let is_free = |ids: &Vec<usize>| ids.iter().all(|id| !left.contains_key(id));
        let mut free: Vec<usize> = left.iter().filter(|(_, ids)| is_free(ids)).map(|(task, _)| *task).collect();
        free.sort_unstable();
        free.iter().for_each(|task| drop(left.remove(task)));
        phases.push(free.iter().map(|task| (task + 1).to_string()).collect());
    }
    phases
}

fn naive_closure(needs: &[Vec<usize>], of: usize) -> Vec<usize> {
    let mut all = needs[of].clone();
    while let Some(new) = all.iter().flat_map(|task| &needs[*task]).find(|task| !all.contains(task)).copied() {
        all.push(new);
    }
    all.sort_unstable();
    all
}

proptest! {
    #[test]
    fn phases_are_those_of_a_naive_reference(needs in dags()) {
        let plan = plan(&written(&needs));
        prop_assert_eq!(phases(&plan), naive(&needs));
        for task in 0..needs.len() {
            let ids: Vec<TaskId> = naive_closure(&needs, task).iter().map(|id| (id + 1).to_string().parse().unwrap()).collect();
            let own: TaskId = (task + 1).to_string().parse().unwrap();
            prop_assert_eq!(plan.dependencies(&own), ids.clone());
            prop_assert!(ids.iter().all(|id| plan.dependents(id).contains(&own)));
        }
        let order: Vec<usize> = plan.execution_order().iter().map(|task| task.index).collect();
        let place = |task: usize| order.iter().position(|known| *known == task);
        prop_assert!(needs.iter().enumerate().all(|(task, ids)| ids.iter().all(|id| place(*id) < place(task))));
    }

    #[test]
    fn a_cycle_is_found_and_is_one(mut needs in dags(), nth in any::<prop::sample::Index>()) {
        let pairs = |from: usize| naive_closure(&needs, from).into_iter().map(move |to| (from, to));
        let pairs: Vec<(usize, usize)> = (0..needs.len()).flat_map(pairs).collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let (from, to) = *nth.get(&pairs);
        needs[to].push(from);
        let error = refused(&written(&needs));
        let line = error.lines().find(|line| line.contains("cycle")).unwrap_or_default().to_owned();
        let path: Vec<usize> = line.split('`').skip(1).step_by(2).map(|id| id.parse::<usize>().unwrap() - 1).collect();
        prop_assert!(path.len() > 2 && path.first() == path.last(), "{}", error);
        prop_assert!(path.windows(2).all(|step| needs[step[0]].contains(&step[1])), "{}", error);
    }
}
