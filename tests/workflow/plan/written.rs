//! Plans as people and their tools write them: labels above steps, numbers in other words, remarks, other formats.

use rstest::rstest;
use superstep::plan::{Plan, TaskId};

use super::{plan, refused, warned};

const STEPS: &str = "
- [ ] **Step 1: Add `serde` to `Cargo.toml`**

```bash
mkdir -p src/wire
```

- [ ] **Step 2: Commit**

```bash
git add src
git commit -m 'feat: wire'
```
";

fn task(body: &str) -> Plan {
    plan(&format!("# P\n\n### Task 1: a\n\n{body}"))
}

fn verify(plan: &Plan) -> Vec<String> {
    plan.tasks().flat_map(|task| task.verify.iter().map(ToString::to_string).collect::<Vec<_>>()).collect()
}

#[rstest]
#[case::bold("**Files:**\n- Modify: `src/a.rs`\n- Test: `tests/a.rs:3-9`\n")]
#[case::plain("Files:\n- Modify: `src/a.rs`\n- Test: `tests/a.rs`\n")]
#[case::stars("**Files:**\n* Modify: `src/a.rs`\n* Test: `tests/a.rs`\n")]
#[case::one_line("**Files:** `src/a.rs`, `tests/a.rs`\n")]
#[case::heading("#### Files\n\n- Modify: `src/a.rs`\n- Test: `tests/a.rs`\n")]
#[case::bold_kinds("**Files:**\n- **Modify:** `src/a.rs`\n- **Test:** `tests/a.rs`\n")]
#[case::lines("**Files:**\nModify: `src/a.rs`\nTest: `tests/a.rs`\n")]
#[case::lines_in_bold("**Files:**\n**Modify:** `src/a.rs`\n**Test:** `tests/a.rs`\n")]
#[case::table(
    "**Files:**\n\n| File | Change |\n|------|--------|\n| `src/a.rs` | uses `x.rs` |\n| `tests/a.rs` | new |\n"
)]
#[case::table_below_a_heading(
    "#### Files\n\n| Change | File |\n|---|---|\n| new | `src/a.rs` |\n| new | `tests/a.rs` |\n"
)]
#[case::beside_another_label("**Owner:** Ada. **Files:** `src/a.rs`, `tests/a.rs` · **Size:** `S`\n")]
fn files_end_where_the_steps_begin(#[case] files: &str) {
    let plan = task(&format!("{files}{STEPS}"));
    assert_eq!(plan.task(0).unwrap().files, ["src/a.rs", "tests/a.rs"]);
    assert_eq!((verify(&plan), warned(&plan)), (vec![], String::new()));
}

#[rstest]
#[case::sentence("Verify: `true` shows that it is healthy.\n")]
#[case::bold("**Verify:** `true`\n")]
#[case::block("**Verify:**\n\n```sh\ntrue\n```\n")]
#[case::list("**Verify:**\n- `true`\n")]
#[case::numbered_list("**Verify:**\n1. `true`\n")]
#[case::boxes("**Verify:**\n- [ ] `true`\n")]
#[case::heading("#### Verify\n\n- `true`\n")]
#[case::heading_and_block("#### Verification\n\nRun this.\n\n```bash\ntrue\n```\n")]
#[case::expectation("**Verify:** `true`\nExpected: PASS\n")]
#[case::table("**Verify:**\n\n| Check | Expected |\n|---|---|\n| `true` | all pass |\n")]
fn checks_end_where_the_steps_begin(#[case] checks: &str) {
    assert_eq!(verify(&task(&format!("{checks}{STEPS}"))), ["true"], "{checks}");
}

#[rstest]
#[case::schritt("- [ ] **Schritt 1: `a` anlegen**\n")]
#[case::chinese("- [ ] **步骤 1：添加 `a`**\n")]
#[case::japanese("- [ ] **手順1：`a`を追加**\n")]
#[case::korean("- [ ] **1단계: `a` 추가**\n")]
#[case::without_a_box("- **Step 1:** add `a`\n")]
#[case::plain("- Step 1: add `a`\n")]
#[case::only_a_box("- [ ] Add `a`\n")]
#[case::another_list("1. Add `a`\n")]
fn a_list_of_steps_is_no_list_of_files(#[case] steps: &str) {
    let plan = task(&format!("**Files:**\n- Modify: `src/x.rs`\n\n{steps}"));
    assert_eq!(plan.task(0).unwrap().files, ["src/x.rs"], "{steps}");
}

#[test]
fn criteria_and_dependencies_end_where_the_steps_begin() {
    let plan = plan(&format!(
        "### Task 1: a\n\n### Task 2: b\n\n**Depends on:**\n- Task 1\n{STEPS}\n**Acceptance:** it works\n{STEPS}\n### Task 3: c\n\n\
         **Acceptance criteria:**\n- one\n- Step 2 is fast\n{STEPS}"
    ));
    let task = |index| plan.task(index).unwrap();
    assert_eq!(task(1).depends_on.unwrap().iter().map(TaskId::as_str).collect::<Vec<_>>(), ["1"]);
    assert_eq!(
        (task(1).acceptance, task(2).acceptance),
        (&["it works".to_owned()][..], &["one".into(), "Step 2 is fast".into()][..])
    );
}

#[rstest]
#[case::folder("Verify: `src/generated/` is created.\n")]
#[case::file("**Verify:** `README.md` lists the commands\n")]
#[case::source("- **Verify:** `src/lib.rs` exports it\n")]
#[case::build_file("**Verify:** `Makefile` has the target\n")]
#[case::hidden("**Verify:** `.env.example` names the key\n")]
#[case::glob("**Verify:** `dist/*.js`\n")]
#[case::item("**Verify:**\n- `docs/guide` is complete\n")]
#[case::type_name("**Verify:** `Config` has a field `name`\n")]
#[case::call("**Verify:** `parse()` returns `None`\n")]
#[case::address("**Verify:** `http://localhost:8080` answers\n")]
#[case::method("**Verify:** `GET /health` answers `200`\n")]
#[case::shown("**Verify:** the page shows `hello world`\n")]
#[case::flag("**Verify:** `--json` is documented\n")]
#[case::code("**Verify:** `fn main() {}` compiles\n")]
#[case::made("**Verify:** `config` is created\n")]
fn code_that_names_something_is_no_command(#[case] body: &str) {
    let plan = task(body);
    assert_eq!(verify(&plan), Vec::<String>::new(), "{body}");
    assert!(warned(&plan).contains("is not read as a command"), "{}", warned(&plan));
}

#[rstest]
#[case("**Verify:** `./check`\n", "./check")]
#[case("**Verify:** `scripts/check.sh` passes\n", "scripts/check.sh")]
#[case("**Verify:** `bin/rails test`\n", "bin/rails test")]
#[case("**Verify:** `.venv/bin/pytest`\n", ".venv/bin/pytest")]
#[case("**Verify:** `make` is green\n", "make")]
#[case("**Verify:** `RUST_LOG=debug cargo test`\n", "RUST_LOG=debug cargo test")]
#[case("**Verify:** `! grep -r TODO src`\n", "! grep -r TODO src")]
#[case("**Verify:** `[ -f out.txt ]`\n", "[ -f out.txt ]")]
#[case("**Verify:** `test -d src/generated/`\n", "test -d src/generated/")]
#[case("**Verify:** `src/generated/` is made by `make gen`\n", "make gen")]
#[case("**Verify:** run `npm test` and see `ok`\n", "npm test")]
#[case("**Verify:** 运行 `cargo test`，全部通过\n", "cargo test")]
#[case("**Verify:** `curl localhost:8080/health` prints `ok`\n", "curl localhost:8080/health")]
#[case("**Verify:** `Rscript tests.R`\n", "Rscript tests.R")]
#[case("**Verify:** `cargo test` **Expected:** `ok`\n", "cargo test")]
fn code_that_runs_is_a_command(#[case] body: &str, #[case] command: &str) {
    assert_eq!(verify(&task(body)), [command], "{body}");
}

#[rstest]
#[case::chinese("## 任务 1：读表\n\n读。\n\n## 任务 2：打印\n")]
#[case::japanese("## タスク1：読む\n\n## タスク2：書く\n\n## タスク3：試す\n")]
#[case::korean("### 작업 1: 읽기\n\n### 작업 2: 쓰기\n")]
#[case::german("### Aufgabe 1: Lesen\n\n### Aufgabe 2: Schreiben\n")]
#[case::french("### Tâche 1 : Lire\n\n### Tâche 2 : Écrire\n")]
#[case::spanish("## Tarea 1. Leer\n\n## Tarea 2. Escribir\n")]
#[case::russian("## Задача 1: Читать\n\n## Задача 2: Писать\n")]
#[case::ideographs("## 第一步 读\n\n## 第二步 写\n\n## 第三步 试\n")]
#[case::bare_ideographs("## 一、读\n\n## 二、写\n\n## 三、试\n")]
#[case::steps("## Step 1 — Read\n\n## Step 2 — Write\n")]
#[case::spelled("## Step One: Read\n\n## Step Two: Write\n")]
#[case::roman("## Part I: Read\n\n## Part II: Write\n\n## Part III: Test\n")]
#[case::numbers("## 1. Read\n\n## 2. Write\n\n## 3. Test\n")]
#[case::parts("## 1.1 Read\n\n## 1.2 Write\n\n## 2.1 Test\n")]
#[case::phases("## Phase 1: Read\n\n## Phase 2: Write\n")]
#[case::stories("### Story 1.1: Read\n\nAs a reader.\n\n### Story 1.2: Write\n")]
#[case::ids("### T001 Read\n\n### T002 Write\n")]
#[case::spec_kit(
    "## Phase 1: Setup\n\n- [ ] T001 Create it\n- [ ] T002 [P] Add a test in tests/a.py\n- [ ] T003 [P] [US1] Add the model\n"
)]
#[case::kiro(
    "- [ ] 1. Set up\n  - Make the folder\n- [ ] 2. Read\n- [ ] 2.1 Parse\n  - _Requirements: 1.1_\n- [x] 3. Write\n"
)]
#[case::unnumbered_boxes("## Work\n\n- [ ] read\n- [x] write\n- [ ] test\n")]
#[case::ordered_list("Fix it:\n\n1. Read\n2. Write\n3. Test\n")]
#[case::ordered_list_in_parts("1. Read\n\n```sh\na\n```\n\n2. Write\n\n```sh\nb\n```\n\n3. Test\n")]
#[case::bold_lines("**Task 1: Read**\n\nx\n\n**Task 2: Write**\n\ny\n\n**Task 3: Test**\n")]
#[case::lines("Task 1: Read\nTask 2: Write\nTask 3: Test\n")]
#[case::circled("① 读\n\n② 写\n\n③ 试\n")]
#[case::table("| # | Task |\n|---|---|\n| 1 | Read |\n| 2 | Write |\n| 3 | Test |\n")]
#[case::table_of_ids("| ID | Task |\n|---|---|\n| T-1 | Read |\n| T-2 | Write |\n| T-3 | Test |\n")]
fn what_only_differs_in_its_number_is_not_passed_over(#[case] body: &str) {
    let plan = plan(&format!("# Plan\n\n{body}"));
    assert_eq!((plan.task_count(), plan.has_task_headings()), (1, false));
    let warned = warned(&plan);
    assert!(
        warned.starts_with("line ") && warned.contains("a task is a heading `### Task 1: title`"),
        "{body}\n{warned}"
    );
}

#[test]
fn a_warning_names_the_texts_that_are_no_tasks() {
    let chinese = plan("# 计划\n\n## 任务 1：读表\n\n## 任务 2：打印\n");
    let spec_kit = plan(
        "# Tasks\n\n## Phase 1: Setup\n\n## Phase 2: Work\n\n- [ ] T001 Create `a`\n- [ ] T002 Create `b`\n- [ ] T003 Test\n",
    );
    let mixed = plan("### Task 1: a\n\n### Step 2: b\n\n### Step 3: c\n");
    let shown = [&chinese, &spec_kit, &mixed].map(warned).concat();
    insta::assert_snapshot!(shown, @"
    line 3: 2 headings, from `任务 1：读表` to `任务 2：打印`, are not read as tasks, so the whole plan is one task; a task is a heading `### Task 1: title`
    line 3: 2 headings, from `Phase 1: Setup` to `Phase 2: Work`, are not read as tasks, so the whole plan is one task; a task is a heading `### Task 1: title`
    line 7: 3 list items, from `T001 Create `a`` to `T003 Test`, are not read as tasks, so the whole plan is one task; a task is a heading `### Task 1: title`
    line 3: 2 headings, from `Step 2: b` to `Step 3: c`, are not read as tasks; a task is a heading `### Task 1: title`
    ");
}

#[rstest]
#[case::steps_of_a_task("### Task 1: a\n\n#### Step 1: x\n\n#### Step 2: y\n\n1. a\n2. b\n3. c\n")]
#[case::parts_of_a_plan("## Part 1: x\n\n### Task 1: a\n\n## Part 2: y\n\n### Task 2: b\n")]
#[case::chapters("## 1. Goal\n\n## 2. Design\n\n## 3. Tasks\n\n### Task 1: a\n")]
#[case::prose("Fix the bug in version 2.\n\n- read\n- write\n- test\n")]
#[case::two_items("1. read\n2. write\n")]
fn ordinary_plans_are_not_warned_about(#[case] body: &str) {
    assert_eq!(warned(&plan(body)), "");
}

#[rstest]
#[case::json("{\"tasks\": [{\"id\": 1, \"title\": \"Read\"}]}", "JSON")]
#[case::json_list("[\n  {\"id\": 1}\n]\n", "JSON")]
#[case::broken_json("{\n  \"tasks\": [,]\n}\n", "JSON")]
#[case::json_lines("{\"id\": 1}\n{\"id\": 2}\n", "JSON")]
#[case::yaml("tasks:\n  - id: 1\n    title: Read\n  - id: 2\n    title: Write\n", "YAML")]
#[case::yaml_document("---\n- id: 1\n  title: Read\n- id: 2\n  title: Write\n", "YAML")]
#[case::toml("[[task]]\nid = 1\ntitle = \"Read\"\n", "TOML")]
#[case::html("<!DOCTYPE html>\n<html><body><h2>Task 1: Read</h2></body></html>\n", "HTML")]
#[case::xml("<?xml version=\"1.0\"?>\n<tasks/>\n", "XML")]
#[case::ascii_doc("= Plan\n\n== Task 1: Read\n\n== Task 2: Write\n", "AsciiDoc or wiki markup")]
#[case::org("#+TITLE: Plan\n* TODO Task 1: Read\n* TODO Task 2: Write\n", "Org")]
#[case::csv("id,title,state\n1,Read,open\n2,Write,open\n", "comma-separated values")]
#[case::script("#!/bin/sh\nmake\n", "a script")]
#[case::binary("PK\u{3}\u{4}\u{0}\u{0}", "binary data")]
fn what_is_no_markdown_is_refused(#[case] text: &str, #[case] format: &str) {
    let error = refused(text);
    assert!(error.contains(&format!("the plan is {format}, not markdown")), "{error}");
}

#[rstest]
#[case::prose("Fix the bug: it is in `a.rs`.\n")]
#[case::key_and_list("Goal: x\n\nSteps:\n- a\n- b\n")]
#[case::front_matter("---\ntasks:\n  - id: 1\n    title: a\n---\n\n### Task 1: a\n")]
#[case::json_inside("### Task 1: a\n\n```json\n{\"a\": 1}\n```\n")]
#[case::link("[the issue](https://example.org) is to be done\n")]
#[case::commas("First, read it, then write.\nSecond, test it, then ship.\nThird, rest.\n")]
fn prose_is_markdown(#[case] text: &str) {
    assert!(Plan::parse(text).is_ok());
}

#[rstest]
#[case::range("Tasks 1–3", "1 2a 2b 3", "")]
#[case::range_with_a_hyphen("1-2b", "1 2a 2b", "")]
#[case::range_in_words("Task 1 to Task 3 (all of them)", "1 2a 2b 3", "")]
#[case::state("Task 1 GREEN passing", "1", "`GREEN passing`")]
#[case::more("Tasks 1 and 3 plus the reviewed contracts", "1 3", "`the reviewed contracts`")]
#[case::none("None (parallel-safe with Task 3)", "", "`parallel-safe with Task 3`")]
#[case::none_over_two_lines(
    "None (parallel-safe with Tasks 2a,\n2b and 3)",
    "",
    "`parallel-safe with Tasks 2a, 2b and 3`"
)]
#[case::none_and_a_dash("None — can run beside Task 3", "", "`can run beside Task 3`")]
#[case::all("all previous tasks", "1 2a 2b 3", "")]
#[case::last("the previous task", "3", "")]
#[case::another_label("Tasks 1-2a. **Workspace:** `sequential`", "1 2a", "")]
fn dependencies_as_people_write_them(#[case] text: &str, #[case] ids: &str, #[case] remark: &str) {
    let tasks = ["1", "2a", "2b", "3"].map(|id| format!("### Task {id}: t\n\n"));
    let plan = plan(&format!("{}### Task 4: t\n\n**Depends on:** {text}\n", tasks.concat()));
    let found = plan.task(4).unwrap().depends_on.unwrap();
    assert_eq!(found.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" "), ids);
    let warned = warned(&plan);
    assert!(if remark.is_empty() { warned.is_empty() } else { warned.contains(remark) }, "{warned}");
}

#[test]
fn a_number_with_tasks_below_it_means_all_of_them() {
    let plan = plan(
        "## Phase 1: A\n\n### Task 1.1: a\n\n**Depends on:** none\n\n### Task 1.2: b\n\n## Phase 2: B\n\n### Task 2.1: c\n\n\
         **Depends on:** 1\n\n### Task 2.2: d\n\n**Depends on:** Phase 1, 2.1\n",
    );
    let of =
        |index| plan.task(index).unwrap().depends_on.unwrap().iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
    assert_eq!((of(2), of(3)), ("1.1 1.2".to_owned(), "1.1 1.2 2.1".to_owned()));
}

#[test]
fn a_range_of_unknown_tasks_is_refused() {
    let error = refused("### Task 1: a\n\n### Task 2: b\n\n**Depends on:** Tasks 1–7\n");
    assert!(error.contains("task `2` depends on `7`, but the plan has no task `7`"), "{error}");
}

#[rstest]
#[case::inserted("### Task 15: a\n\n### Task 15.5: b\n\n### Task 16: c\n", "line 1: task `15` is the first")]
#[case::two_parts("### Task 1.1: a\n\n### Task 1.2: b\n\n### Task 2.1: c\n", "")]
#[case::below_other_headings("## Milestone 1: A\n\n### Task 1.1: a\n\n## Milestone 2: B\n\n### Task 2.1: b\n", "")]
#[case::below_numbers("## 1. A\n\n### Task 1.1: a\n\n## 2. B\n\n### Task 2.1: b\n\n### Task 2.2: c\n", "")]
#[case::from_the_middle("### Task 3: a\n\n### Task 3.2: b\n\n### Task 4: c\n", "line 1: task `3` is the first")]
fn numbers_below_numbers_are_read(#[case] markdown: &str, #[case] warning: &str) {
    let warned = warned(&plan(markdown));
    assert!(warned.starts_with(warning) && warned.lines().count() == usize::from(!warning.is_empty()), "{warned}");
}
