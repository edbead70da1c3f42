//! Repositories that are moved or copied while a run waits, was killed or has ended: it continues at the new place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::code_task::{FIXES, TASK, VERIFIERS};
use crate::kills::files;
use crate::place::{PLAN, Place, REJECTS_FIRST, RunOutput};

/// The run before its repository is moved, and the commands that end it.
struct Scene {
    turns: &'static str,
    plan: &'static str,
    profile: &'static str,
    verifiers: &'static str,
    /// Arguments of the first command.
    start: &'static [&'static str],
    /// Commands and codes until the move. The last one is killed in a check if it has no code.
    before: &'static [(&'static [&'static str], Option<i32>)],
    after: &'static [(&'static [&'static str], i32)],
    subjects: &'static [&'static str],
}

const TASKS: &[&str] = &["run", "tasks", "--plan", "PLAN.md"];
const PHASES: &[&str] = &["run", "phases", "--plan", "PLAN.md"];
const CODE: &[&str] = &["task", "--task", "TASK.md", "--verifiers", "verifiers.yml"];
const APPROVE: (&[&str], i32) = (&["approve", "t"], 0);
const PROCEED: (&[&str], i32) = (&["proceed", "t"], 0);
const BOTH: &[&str] = &["feat: Face (task 1)", "feat: Hands (task 2)"];

/// A check that waits until it is killed, the first time.
const WAITS: &str = "test -e OUTER/go || { touch OUTER/here; sleep 600; }";
const CHECKED: &str = "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n**Depends on:** none\n**Verify:** `WAITS`\n\n\
                       ### Task 2: Hands\n\nHands.\n\n**Depends on:** none\n";
const BLOCKED: &str = "  - {role: developer, task: '2', steps: [write: {path: half.txt, content: half}], submit: {status: blocked, summary: half, question: \"Roman?\"}}\n";
const REPLY: (&[&str], i32) = (&["resume", "t", "--answer", r#"{"reply": {"text": "Roman."}}"#], 0);
const LINKS: &str = "# Clock\n\n**Goal:** A clock.\n\n### Task 1: Face\n\nA face.\n\n\
                     ### Task 2: Hands\n\nHands.\n\n**Verify:** `test -e modules/part`\n";
const LINKED: &str = "[worktree]\nlink = ['modules']\n";
const PARTS: &str = "
  - {role: developer, task: tides, times: always, steps: [write: {path: a.txt, content: \"error: a\\n\"}, write: {path: b.txt, content: \"error: b\\n\"}], submit: {status: done}}
";

const PLAIN: Scene = Scene {
    turns: "",
    plan: PLAN,
    profile: "",
    verifiers: VERIFIERS,
    start: TASKS,
    before: &[],
    after: &[APPROVE],
    subjects: BOTH,
};

const AT_APPROVAL: Scene = PLAIN;
const HALTED: Scene = Scene {
    turns: REJECTS_FIRST,
    before: &[(&["approve", "t"], Some(11))],
    after: &[(&["resume", "t", "--answer", "\"accept\""], 0)],
    ..PLAIN
};
const KILLED: Scene = Scene { plan: CHECKED, before: &[(&["approve", "t"], None)], after: &[PROCEED], ..PLAIN };
const PHASES_AT_APPROVAL: Scene = Scene { start: PHASES, ..PLAIN };
const PHASES_ASKED: Scene = Scene {
    turns: BLOCKED,
    plan: LINKS,
    profile: LINKED,
    start: PHASES,
    before: &[(&["approve", "t"], Some(10))],
    after: &[REPLY],
    ..PLAIN
};
const PHASES_KILLED: Scene = Scene { start: PHASES, ..KILLED };
const CODE_GIVEN_UP: Scene = Scene {
    turns: FIXES,
    profile: "[budget]\ntokens = 500000\n",
    start: &["task", "--task", "TASK.md", "--verifiers", "verifiers.yml", "--override-policy", "max_attempts=1"],
    after: &[(&["override", "t", "DONE", "--why", "fine"], 0), (&["task", "show", "t"], 0)],
    subjects: &["feat: Tides"],
    ..PLAIN
};
const CODE_KILLED: Scene = Scene {
    turns: FIXES,
    verifiers: "verifiers:\n- {id: build, config: {command: \"WAITS\"}}\n- {id: test, enabled: false}\n- {id: bigpicture, enabled: false}\n",
    start: CODE,
    before: &[],
    after: &[PROCEED, (&["task", "show", "t"], 0)],
    subjects: &["feat: Tides"],
    ..PLAIN
};

#[derive(Clone, Copy, PartialEq)]
enum Store {
    Inside,
    Outside,
}

/// A place whose repository may be elsewhere.
struct Home {
    place: Place,
    repo: PathBuf,
    store: Option<String>,
}

impl Home {
    fn new(scene: &Scene, store: Store) -> Self {
        let place = Place::new(scene.turns);
        let (outer, repo) = (place.path().display().to_string(), place.path().join("repo"));
        let waits = WAITS.replace("OUTER", &outer);
        let written = |text: &str| text.replace("WAITS", &waits);
        place.write(
            "p.toml",
            &format!("driver = 'scripted:{outer}/agents.yaml'\nmax_task_review_iterations = 2\n{}", scene.profile),
        );
        let (task, modules) =
            (TASK.replace("of every day", "of every day, as they come in and go out,"), repo.join("modules"));
        for (name, text) in [
            ("PLAN.md", scene.plan),
            ("TASK.md", &task),
            ("verifiers.yml", scene.verifiers),
            (".gitignore", "modules\n"),
        ] {
            fs::write(repo.join(name), written(text)).unwrap();
        }
        fs::create_dir(&modules).unwrap();
        fs::write(modules.join("part"), "x").unwrap();
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", "plan"]);
        let store = (store == Store::Outside).then(|| format!("{outer}/stores/own"));
        Self { place, repo, store }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(words);
        command.args(self.store.iter().flat_map(|store| ["--store", store])).current_dir(&self.repo);
        command
    }

    fn call(&self, words: &[&str], code: i32) -> RunOutput {
        let called = RunOutput(self.command(words).output().unwrap());
        assert_eq!(called.code(), code, "{words:?}: {}", called.text());
        called
    }

    /// Runs to the move.
    fn run(&self, scene: &Scene) {
        let profile = self.place.path().join("p.toml").display().to_string();
        let start = [scene.start, &["--profile", &profile, "--thread", "t"]].concat();
        let is_killed = scene.before.is_empty() && scene.verifiers.contains("WAITS");
        let first = match scene.start[0] {
            _ if is_killed => None,
            "task" => Some(11),
            _ => Some(10),
        };
        for (words, code) in [(&*start, first)].into_iter().chain(scene.before.iter().copied()) {
            match code {
                Some(code) => _ = self.call(words, code),
                None => self.killed(words),
            }
        }
    }

    /// Kills the program while a check runs.
    fn killed(&self, words: &[&str]) {
        let mut child = self.command(words).output_to_null().spawn().unwrap();
        let (here, began) = (self.place.path().join("here"), Instant::now());
        while !here.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "{words:?} comes to no check");
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        self.place.write("go", "");
    }

    /// Moves the repository; returns its old place.
    fn moves(&mut self, how: &str) -> PathBuf {
        let to = self.place.path().join("other folder/app");
        fs::create_dir(to.parent().unwrap()).unwrap();
        let old = std::mem::replace(&mut self.repo, to.clone());
        match how {
            "moved" => fs::rename(&old, &to).unwrap(),
            "moved behind a link" => {
                fs::rename(&old, &to).unwrap();
                std::os::unix::fs::symlink(&to, &old).unwrap();
            }
            _ => assert!(Command::new("cp").arg("-a").args([&old, &to]).status().unwrap().success()),
        }
        if how == "copied and deleted" {
            fs::remove_dir_all(&old).unwrap();
        }
        old
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(&self.repo).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs from the move to the end.
    fn ends(&self, scene: &Scene, old: &Path) {
        let is_link = old.is_symlink();
        let names_old = |text: &str| {
            !is_link && ["/", "'", "\""].iter().any(|end| text.contains(&format!("{}{end}", old.display())))
        };
        let status = self.call(&["status", "t", "--json"], 0).text();
        let is_shown = is_link || status.contains(&format!("\"{}\"", self.repo.display()));
        assert!(is_shown && !names_old(&status), "{status}");
        for (words, code) in scene.after {
            let text = self.call(words, *code).text();
            assert!(!names_old(&text), "{text}");
        }
        let subjects = self.git(&["log", "--reverse", "--format=%s", "main..superstep/t"]);
        assert_eq!(subjects.lines().collect::<Vec<_>>(), scene.subjects);
        assert_eq!(self.git(&["status", "--porcelain"]), "");
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        self.call(&["replay", "t", "--mode", "verify"], 0);
        for words in [&["log", "t"][..], &["show", "t"], &["history", "t"]] {
            self.call(words, 0);
        }
    }
}

trait Quiet {
    fn output_to_null(&mut self) -> &mut Self;
}

impl Quiet for Command {
    fn output_to_null(&mut self) -> &mut Self {
        self.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null())
    }
}

#[rstest]
#[case::tasks_at_the_approval(AT_APPROVAL, Store::Inside, "moved")]
#[case::tasks_halted(HALTED, Store::Inside, "copied and deleted")]
#[case::tasks_halted_elsewhere(HALTED, Store::Outside, "moved")]
#[case::tasks_killed(KILLED, Store::Inside, "moved")]
#[case::phases_at_the_approval(PHASES_AT_APPROVAL, Store::Outside, "copied and deleted")]
#[case::phases_asked(PHASES_ASKED, Store::Inside, "moved")]
#[case::phases_asked_elsewhere(PHASES_ASKED, Store::Outside, "moved")]
#[case::phases_asked_behind_a_link(PHASES_ASKED, Store::Inside, "moved behind a link")]
#[case::phases_killed(PHASES_KILLED, Store::Inside, "copied and deleted")]
#[case::a_task_given_up(CODE_GIVEN_UP, Store::Inside, "moved")]
#[case::a_task_killed(CODE_KILLED, Store::Outside, "moved")]
fn a_run_continues_where_its_repository_was_moved(#[case] scene: Scene, #[case] store: Store, #[case] how: &str) {
    let mut home = Home::new(&scene, store);
    home.run(&scene);
    let old = home.moves(how);
    home.ends(&scene, &old);
    assert_eq!(old.exists(), how == "moved behind a link");
}

#[rstest]
#[case::at_the_approval(AT_APPROVAL)]
#[case::asked(PHASES_ASKED)]
#[case::given_up(CODE_GIVEN_UP)]
fn a_run_continues_in_a_copy_with_its_store_and_leaves_the_first_repository_alone(#[case] scene: Scene) {
    let mut home = Home::new(&scene, Store::Inside);
    home.run(&scene);
    let old = home.moves("copied");
    let before = files(&old);
    home.ends(&scene, &old);
    assert_eq!(files(&old), before);
}

#[test]
fn a_run_in_a_copy_whose_store_is_elsewhere_is_refused() {
    let scene = AT_APPROVAL;
    let mut home = Home::new(&scene, Store::Outside);
    home.run(&scene);
    let old = home.moves("copied");
    let (before, copy) = (files(&old), files(&home.repo));
    let refused = home.call(scene.after[0].0, 1).text();
    assert!(
        refused.contains("is a copy of that repository") && refused.contains("help: run this command outside"),
        "{refused}"
    );
    assert_eq!((files(&old), files(&home.repo)), (before, copy));
    home.repo = old;
    home.ends(&scene, Path::new("/nowhere"));
}

#[test]
fn a_run_continues_where_a_folder_around_repository_and_store_was_renamed() {
    let scene = HALTED;
    let mut home = Home::new(&scene, Store::Inside);
    let outer = home.place.path();
    fs::create_dir(outer.join("group")).unwrap();
    fs::rename(outer.join("repo"), outer.join("group/repo")).unwrap();
    home.repo = outer.join("group/repo");
    let profile = outer.join("p.toml").display().to_string();
    let begin = ["run", "tasks", "--plan", "repo/PLAN.md", "--dir", "repo", "--profile", &profile, "--thread", "t"];
    let call = |folder: &str, words: &[&str], code: i32| {
        let called = RunOutput(home.place.command(words).current_dir(outer.join(folder)).output().unwrap());
        assert_eq!(called.code(), code, "{words:?}: {}", called.text());
    };
    call("group", &begin, 10);
    call("group", &["approve", "t"], 11);
    fs::rename(outer.join("group"), outer.join("team")).unwrap();
    call("team", scene.after[0].0, 0);
    home.repo = outer.join("team/repo");
    assert_eq!(home.git(&["log", "--reverse", "--format=%s", "main..superstep/t"]).lines().collect::<Vec<_>>(), BOTH);
}

#[rstest]
fn a_finished_run_is_forked_where_its_repository_was_moved(#[values(Store::Inside, Store::Outside)] store: Store) {
    let scene = AT_APPROVAL;
    let mut home = Home::new(&scene, store);
    home.run(&scene);
    home.call(&["approve", "t"], 0);
    home.moves("moved");
    let forked = home.call(&["fork", "t", "--at", "3", "--to", "u"], 0).text();
    let folder = home.repo.join(".superstep/forks/u");
    assert!(forked.contains(&format!("files: {}\n", folder.display())), "{forked}");
    let ended = home.command(&["proceed", "u"]).output().unwrap();
    if ended.status.code() == Some(10) {
        // The fork is moved too, with the place of its work.
        let old = home.repo.clone();
        home.repo = home.place.path().join("third");
        fs::rename(old, &home.repo).unwrap();
        home.call(&["approve", "u"], 0);
    }
    let made = |branch: &str| home.git(&["log", "--format=%s", branch]);
    assert_eq!(made("superstep/u"), made("superstep/t"));
    assert!(home.repo.join(".superstep/forks/u/more.txt").exists());
    home.call(&["delete", "t"], 0);
}

#[test]
fn children_that_wait_in_worktrees_continue_where_their_repository_was_moved() {
    let human =
        VERIFIERS.replace("{id: build,", "{id: build, config: {command: 'true'}}\n- {id: check, on_fail: human,");
    let scene = Scene { turns: PARTS, verifiers: Box::leak(human.into_boxed_str()), ..PLAIN };
    let mut home = Home::new(&scene, Store::Inside);
    let profile = home.place.path().join("p.toml").display().to_string();
    let split = ["--override", "SPLIT", "--why", "too much", "--parallel", "2", "--profile", &profile, "--thread", "t"];
    home.call(&[CODE, &split].concat(), 10);
    home.moves("moved");
    let status = RunOutput(home.command(&["status", "t", "--json"]).output().unwrap());
    let status: serde_json::Value = serde_json::from_slice(&status.0.stdout).unwrap();
    let ids: Vec<&str> =
        status["questions"].as_array().unwrap().iter().map(|asked| asked["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{status}");
    home.call(&["override", "t", "DONE", "--why", "fine", "--interrupt", ids[0]], 10);
    let ended =
        RunOutput(home.command(&["override", "t", "DONE", "--why", "fine", "--interrupt", ids[1]]).output().unwrap());
    assert!([0, 10, 11].contains(&ended.code()), "{}", ended.text());
    assert_eq!(home.git(&["worktree", "list"]).lines().count(), 1, "{}", ended.text());
}

#[test]
fn a_rewound_task_outside_of_its_repository_continues_after_that_was_moved() {
    let scene = Scene { turns: FIXES, ..CODE_GIVEN_UP };
    let mut home = Home::new(&scene, Store::Inside);
    let profile = home.place.path().join("p.toml").display().to_string();
    home.call(&[CODE, &["--profile", &profile, "--thread", "t"]].concat(), 0);
    let outside = home.place.path().join("again");
    home.call(&["rewind", "t", "--attempt", "1", "--worktree", outside.to_str().unwrap()], 0);
    home.moves("moved");
    home.call(&["proceed", "t-1"], 0);
    assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "high\n");
    assert_eq!(home.git(&["log", "--format=%s", "superstep/t-1"]), home.git(&["log", "--format=%s", "superstep/t"]));
}

#[test]
fn a_repository_that_is_gone_is_named() {
    let scene = HALTED;
    let mut home = Home::new(&scene, Store::Outside);
    home.run(&scene);
    let old = home.moves("moved");
    home.repo = home.place.path();
    let refused = home.call(scene.after[0].0, 1).text();
    assert!(
        refused.contains(&format!("the repository of thread `t` is not at {} any more", old.display())),
        "{refused}"
    );
    assert!(refused.contains("help: if it was moved, run this command in its new folder"), "{refused}");
    home.call(&["status", "t"], 0);
    assert!(!old.exists());
    // Another repository is there now.
    fs::create_dir(&old).unwrap();
    home.repo = old.clone();
    home.git(&["init", "-q"]);
    let before = files(&old);
    home.repo = home.place.path().join("other folder/app");
    home.ends(&scene, Path::new("/nowhere"));
    assert_eq!(files(&old), before);
}
