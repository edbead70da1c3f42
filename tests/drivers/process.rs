//! Child programs in groups of their own: output lines, limits, termination, environments, and redacted secrets.

use std::time::Duration;

use rstest::rstest;
use superstep::process::{Environment, Output, OutputItem, Program, Redactor, Running, StopReason, Watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::kit::Alive;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);

fn watch() -> Watch {
    Watch { cancel: CancellationToken::new(), end: Instant::now() + LONG, idle: LONG }
}

fn shell(line: &str) -> Program {
    Program::new("sh").args(["-c", line])
}

async fn all(running: &mut Running) -> Vec<OutputItem> {
    let mut lines = vec![];
    while let Some(line) = running.next(&watch()).await.unwrap() {
        lines.push(line);
    }
    lines
}

#[rstest]
#[case::silent("sleep 1000 > /dev/null 2>&1 & echo started")]
#[case::that_hold_its_outputs("sleep 1000 & echo started")]
#[case::that_ignore_a_request("(trap '' TERM HUP; sleep 1000) & echo started")]
#[tokio::test]
async fn children_of_a_program_end_with_it(#[case] line: &str) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = Alive::in_folder(folder.path());
    let program = shell(&format!("exec 3> alive; {line}")).directory(folder.path());
    let (output, pipe) = tokio::join!(program.run(|| ()), pipe.opened());
    assert_eq!(output.unwrap(), Output { code: Some(0), stdout: "started\n".into(), stderr: String::new() });
    pipe.closed().await;
}

#[tokio::test]
async fn the_last_line_may_have_no_line_feed() {
    let mut running = shell("cat; printf 'äh\\nlast'; echo oops >&2; exit 3").stdin("first\n").start().unwrap();
    let lines = ["first", "äh", "last"].map(|line| OutputItem::Line(line.to_owned()));
    assert_eq!(all(&mut running).await, lines);
    let exit = running.end(LONG, LONG).await.unwrap();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(3), "oops\n"));
}

#[tokio::test]
async fn a_giant_line_is_counted_and_not_stored() {
    let mut running = shell("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo after").start().unwrap();
    assert_eq!(all(&mut running).await, [OutputItem::TooLong(20_000_000), OutputItem::Line("after".into())]);
}

#[tokio::test]
async fn large_unread_input_does_not_block() {
    let mut running = shell("echo done").stdin("x".repeat(1_000_000)).start().unwrap();
    assert_eq!(all(&mut running).await, [OutputItem::Line("done".into())]);
    assert_eq!(running.end(LONG, LONG).await.unwrap().code, Some(0));
}

#[tokio::test]
async fn an_output_held_open_by_others_ends_with_its_program() {
    let place = tempfile::tempdir().unwrap();
    let alive = Alive::in_folder(place.path());
    let line = "(exec 3> alive; echo ready; exec sleep 600) & echo $!; read x < /dev/null; exit 0";
    let mut running = shell(line).directory(place.path()).start().unwrap();
    let pipe = alive.opened().await;
    assert_eq!(all(&mut running).await.len(), 2);
    assert_eq!(running.end(LONG, LONG).await.unwrap().code, Some(0));
    pipe.closed().await;
}

#[rstest]
#[case::cancelled(|watch: &mut Watch| watch.cancel.cancel(), "cancelled")]
#[case::out_of_time(|watch: &mut Watch| watch.end = Instant::now() + SHORT, "its time is up")]
#[case::silent(|watch: &mut Watch| watch.idle = SHORT, "it wrote nothing for 100ms")]
#[tokio::test]
async fn a_stopped_program_is_killed_with_its_children(#[case] limit: fn(&mut Watch), #[case] message: &str) {
    let place = tempfile::tempdir().unwrap();
    let alive = Alive::in_folder(place.path());
    // Neither the shell nor its child reacts to SIGTERM.
    let line = "trap '' TERM; exec 3> alive; (trap '' TERM; sleep 600) & echo ready; wait; sleep 600";
    let mut running = shell(line).directory(place.path()).start().unwrap();
    let (pipe, first) = (alive.opened().await, running.next(&watch()).await.unwrap());
    assert_eq!(first, Some(OutputItem::Line("ready".into())));

    let mut watch = watch();
    limit(&mut watch);
    let stopped: StopReason = running.next(&watch).await.unwrap_err();
    assert_eq!(stopped.to_string(), message);
    let exit = running.end(Duration::ZERO, SHORT).await.unwrap();
    assert_eq!(exit.code, None);
    pipe.closed().await;
}

#[tokio::test]
async fn a_terminated_program_may_clean_up() {
    let mut running =
        shell("trap 'echo bye >&2; exit 0' TERM; echo ready; while :; do sleep 0.01; done").start().unwrap();
    running.next(&watch()).await.unwrap();
    let exit = running.end(Duration::ZERO, LONG).await.unwrap();
    assert_eq!((exit.code, exit.stderr.lines().last()), (Some(0), Some("bye")));
}

#[tokio::test]
async fn dropped_programs_are_killed_with_their_children() {
    let place = tempfile::tempdir().unwrap();
    let alive = Alive::in_folder(place.path());
    let running = shell("trap '' TERM; exec 3> alive; sleep 600 & wait").directory(place.path()).start().unwrap();
    let pipe = alive.opened().await;
    drop(running);
    pipe.closed().await;
}

#[tokio::test]
async fn a_child_gets_the_listed_variables_only() {
    let ours =
        ["PATH", "LC_ALL", "RUSTUP_HOME", "https_proxy", "CLAUDECODE", "CODEX_SANDBOX", "OPENAI_API_KEY", "SECRET"];
    let ours = ours.map(|name| (name.into(), std::env::var_os("PATH").unwrap_or_default()));
    let environment = Environment::from_variables(ours).set("MINE", "1");
    let output = Program::new("env").environment(environment).run(|| ()).await.unwrap();
    let mut names: Vec<&str> = output.stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["LC_ALL", "MINE", "PATH", "RUSTUP_HOME", "https_proxy"]);
}

#[rstest]
#[case::given("the word is open-sesame-1.", "the word is [redacted].")]
#[case::two("open-sesame-1open-sesame-1", "[redacted][redacted]")]
#[case::a_key("(sk-proj-abc_DEF-123)", "([redacted])")]
#[case::inside_a_word("task-abcdefghijkl risk-sk-x", "task-abcdefghijkl risk-sk-x")]
#[case::a_header("authorization: BEARER abc.def-ghi", "authorization: BEARER [redacted]")]
#[case::no_token("bearer of news", "bearer of news")]
#[case::others("ä ghp_0123456789 äsk-12345678", "ä [redacted] äsk-12345678")]
fn secrets_are_redacted(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(Redactor::new(["open-sesame-1", "no"]).redact(text), shown);
}

#[test]
fn an_address_with_a_password_is_withheld_unless_requested() {
    let mine =
        [("HTTP_PROXY", "http://me:word1234@proxy:3128"), ("HTTPS_PROXY", "http://proxy:3128"), ("PATH", "/bin")];
    let mine = || mine.map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::from_variables(mine());
    assert_eq!(environment.names(), ["HTTPS_PROXY", "PATH"]);
    let passed = environment.set("HTTP_PROXY", "http://me:word1234@proxy:3128");
    assert_eq!(passed.secrets(), ["word1234"]);
    let redactor = Redactor::new(passed.secrets());
    let text = "fatal: cannot reach http://me:word1234@proxy:3128/ (word1234) ssh://git@host a@b";
    let shown = "fatal: cannot reach http://[redacted]@proxy:3128/ ([redacted]) ssh://[redacted]@host a@b";
    assert_eq!(redactor.redact(text), shown);
}

/// Returns true if programs run in a cgroup here, according to their own `/proc/self/cgroup`.
async fn has_cgroups() -> bool {
    let listed = Program::new("cat").args(["/proc/self/cgroup"]).run(|| ()).await;
    listed.is_ok_and(|listed| listed.stdout.contains("/superstep-"))
}

/// Starts a process in its own session that holds the pipe `alive` open, and exits once that process is up.
const LEAVES: &str = "setsid sh -c 'exec 3> alive; echo up > up; sleep 600' > /dev/null 2>&1 < /dev/null & cat up";

#[rstest]
#[case::that_ends(LEAVES.to_owned(), false)]
#[case::that_is_dropped(format!("{LEAVES}; echo up; sleep 600"), true)]
#[tokio::test]
async fn a_process_outside_the_group_does_not_outlive_its_program(#[case] line: String, #[case] is_dropped: bool) {
    if !has_cgroups().await {
        return; // process groups have to do
    }
    let place = tempfile::tempdir().unwrap();
    for pipe in ["alive", "up"] {
        assert!(std::process::Command::new("mkfifo").arg(place.path().join(pipe)).status().unwrap().success());
    }
    let alive = place.path().join("alive");
    let ended = tokio::task::spawn_blocking(move || std::fs::read_to_string(alive).unwrap());
    let program = Program::new("sh").args(["-c", &line]).directory(place.path());
    let is_up = tokio::sync::Notify::new();
    tokio::select! {
        output = program.run(|| if is_dropped { is_up.notify_one() }) => assert_eq!(output.unwrap().stdout, "up\n"),
        () = is_up.notified() => {}
    }
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    assert_eq!(ended.expect("it has ended").unwrap(), "");
}

#[tokio::test]
async fn a_missing_program_fails_to_start() {
    for name in ["no-such-program", "./no-such-program", "/no/such/program"] {
        let error = Program::new(name).run(|| ()).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{name}");
    }
}

#[rstest]
#[case::that_names_its_interpreter("#!/bin/sh\necho it runs\n")]
#[case::that_does_not("echo it runs\n")]
#[tokio::test]
async fn a_script_is_found_in_the_path_of_its_environment(#[case] script: &str) {
    let place = tempfile::tempdir().unwrap();
    let folders = ["first", "second"].map(|name| place.path().join(name));
    for (folder, text) in folders.iter().zip(["not to be run", script]) {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("tool"), text).unwrap();
    }
    crate::program::make_executable(folders[1].join("tool"));
    let path = std::env::join_paths(folders.iter().map(|folder| folder.as_path()).chain(["/bin".as_ref()])).unwrap();
    let program = Program::new("tool").environment(Environment::from_process().set("PATH", path));
    assert_eq!(program.run(|| ()).await.unwrap().stdout, "it runs\n");
}

#[tokio::test]
async fn a_program_gets_the_name_that_it_was_started_by() {
    assert_eq!(shell("echo $0").run(|| ()).await.unwrap().stdout, "sh\n");
}

#[tokio::test]
async fn nothing_is_added_to_an_environment() {
    let env =
        Program::new("env").environment(Environment::from_process()).env("ONLY", "this").run(|| ()).await.unwrap();
    let known = Environment::from_process().names();
    let names = env.stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    assert_eq!(names.filter(|name| !known.iter().any(|known| known == name)).collect::<Vec<_>>(), ["ONLY"]);
}
