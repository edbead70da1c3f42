//! The end of a run: what was made, how to look at it and how to merge it; where the checkout is then.

use std::process::Command;

use rstest::rstest;

use crate::place::{Place, RunOutput};

/// Returns the commands of the lines that begin so.
fn commands(text: &str) -> Vec<String> {
    let heads = ["  look at it: ", "  merge it: "];
    let found = text.lines().filter_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)));
    found.map(str::to_owned).collect()
}

fn typed(place: &Place, line: &str) -> RunOutput {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir("/").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    RunOutput(shell.env("GIT_PAGER", "cat").env("HOME", place.path()).output().unwrap())
}

fn branch(place: &Place) -> String {
    place.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned()
}

#[rstest]
#[case::back(&[], "main")]
#[case::stays(&["--stay"], "superstep/t")]
fn the_checkout_is_where_it_was_and_the_lines_work(#[case] more: &[&str], #[case] ends_on: &str) {
    let place = Place::new("");
    assert_eq!(place.run(&[&["--plan", "PLAN.md"], more].concat()).code(), 10);
    assert_eq!(branch(&place), "main");
    let done = place.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!((branch(&place), place.git(&["status", "--porcelain"])), (ends_on.to_owned(), String::new()));
    assert!(done.text().contains("  made: 2 commits on the branch superstep/t\n"), "{}", done.text());
    let lines = commands(&done.text());
    let looked = typed(&place, &lines[0]);
    assert!(looked.code() == 0 && looked.text().contains("+face"), "{}", looked.text());
    let merged = typed(&place, &lines[1]);
    assert_eq!(merged.code(), 0, "{}", merged.text());
    assert_eq!((branch(&place), place.subjects("main").len()), ("main".to_owned(), 3));
    let replayed = place.call(&["replay", "t", "--mode", "verify"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.text());
}

#[test]
fn the_checkout_is_where_it_was_after_an_abort_too_and_all_work_is_kept() {
    let place = Place::halted();
    let aborted = place.call(&["resume", "t", "--answer", "\"abort\""]);
    assert_eq!(aborted.code(), 13, "{}", aborted.text());
    assert_eq!((branch(&place), place.git(&["status", "--porcelain"])), ("main".to_owned(), String::new()));
    let text = aborted.text();
    let shows = text.lines().find_map(|line| line.strip_prefix("  unfinished work: ")).unwrap();
    let shown = typed(&place, shows).text();
    assert!(shown.contains("+face"), "{shown}");
    let replayed = place.call(&["replay", "t", "--mode", "verify"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.text());
    let history = place.json(&["history", "t"]);
    let asked = history.as_array().unwrap().iter().find(|line| line["next"] == serde_json::json!(["halt"])).unwrap();
    let at = asked["checkpoint"].as_u64().unwrap().to_string();
    assert_eq!(place.call(&["fork", "t", "--at", &at, "--to", "second"]).code(), 0);
    assert_eq!(place.call(&["proceed", "second"]).code(), 11);
    let accepted = place.call(&["resume", "second", "--answer", "\"accept\""]);
    assert_eq!(accepted.code(), 0, "{}", accepted.text());
    assert_eq!(branch(&place), "main");
}

#[rstest]
#[case::as_told(&["--stay"], "", "?? face.txt\n")]
#[case::for_the_files_of_a_person(&[], "notes.txt", "?? face.txt\n?? notes.txt\n")]
fn an_aborted_run_keeps_its_files_in_the_checkout(#[case] more: &[&str], #[case] written: &str, #[case] files: &str) {
    let place = Place::new(crate::place::REJECTS_FIRST);
    assert_eq!(place.run(&[&["--plan", "PLAN.md"], more].concat()).code(), 10);
    assert_eq!(place.call(&["approve", "t"]).code(), 11);
    if !written.is_empty() {
        place.write(&format!("repo/{written}"), "a person's\n");
    }
    let aborted = place.call(&["reject", "t"]);
    assert_eq!(aborted.code(), 13, "{}", aborted.text());
    assert_eq!((branch(&place), place.git(&["status", "--porcelain"])), ("superstep/t".to_owned(), files.to_owned()));
    assert_eq!(
        aborted.text().contains("the checkout stays on `superstep/t`"),
        !written.is_empty(),
        "{}",
        aborted.text()
    );
}

#[test]
fn the_store_is_hidden_from_git_from_its_first_moment() {
    let place = Place::new("");
    let repo = place.path().join("repo");
    let run = ["run", "tasks", "--profile", "../p.toml", "--plan", "../PLAN.md", "--thread", "t"];
    std::fs::write(place.path().join("p.toml"), "driver = 'scripted:../agents.yaml'\n").unwrap();
    let asked = RunOutput(place.command(&run).current_dir(&repo).output().unwrap());
    assert_eq!(asked.code(), 10, "{}", asked.text());
    assert!(repo.join(".superstep/store").exists());
    assert_eq!(place.git(&["status", "--porcelain", "--ignored=no"]), "");
}

#[test]
fn a_used_up_budget_is_text_with_a_line_to_copy() {
    let work = "
  - {role: developer, task: '1', steps: [write: {path: face.txt, content: face}, usage: {input: 900, output: 120, cost: 0.4}], submit: {status: done, summary: did}}
";
    let place = Place::new(work);
    place.profile("[budget]\ncost = 0.2\n");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    let asked = place.call(&["approve", "t"]);
    assert_eq!(asked.code(), 10, "{}", asked.text());
    let text = asked.text();
    assert!(text.contains("the budget of the run is used up") && text.contains("$0.4000"), "{text}");
    assert!(!text.contains("unpriced") && !text.contains("--answer JSON"), "{text}");
    let line = text.lines().map(str::trim).find(|line| line.contains(" resume t --answer ")).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place.path()).env_remove("SUPERSTEP_STORE");
    let done = RunOutput(shell.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap());
    assert_eq!(done.code(), 0, "{line}: {}", done.text());
}

#[test]
fn a_finished_run_takes_no_second_plan() {
    let place = Place::new("");
    assert_eq!(place.run(&["--plan", "PLAN.md"]).code(), 10);
    assert_eq!(place.call(&["approve", "t"]).code(), 0);
    let again = place.run(&["--plan", "PLAN.md"]);
    assert_eq!(again.code(), 1, "{}", again.text());
    assert!(again.text().contains("takes one input") && again.text().contains("another name"), "{}", again.text());
}

#[test]
fn the_live_view_names_tasks_commits_and_cost_and_hides_the_machinery() {
    let place = Place::new("");
    let hook = place.path().join("repo/.git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho all is well\n").unwrap();
    crate::program::make_executable(&hook);
    let asked = place.run(&["--plan", "PLAN.md"]);
    assert!(!asked.text().contains("plan_validator"), "{}", asked.text());
    let logged = place.call(&["approve", "t"]).text();
    for part in
        ["== task 1 (1 of 2), attempt 1: Face\n", "== task 2 (2 of 2), attempt 1: Hands\n", "\n  | all is well\n"]
    {
        assert!(logged.contains(part), "{part}: {logged}");
    }
    assert_eq!(logged.lines().filter(|line| line.starts_with("commit ")).count(), 2, "{logged}");
    assert!(!logged.contains("prepare_workspace"), "{logged}");
}
