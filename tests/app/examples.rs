//! The examples as a user meets them: real processes, with their output, their exit codes, and their deaths.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

use crate::model_server::{Answer, Hang, How, ModelServer};
use crate::place::example;

const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/task-based-execution-plan.md");
const TASKS: usize = 11;
/// Notes when a task starts and ends, and in which call of the program.
const LOGGED: &str =
    r#"echo "start $SUPERSTEP_TASK $CALL" >> log; cat >> input; echo "end $SUPERSTEP_TASK $CALL" >> log"#;

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

// --- the small ones ---

#[rstest]
#[case::essay("essay", "published after 2 rounds: tides, draft 2, from 2 notes")]
#[case::map_reduce("map_reduce", "3 chapters, most of all: the (4 times)")]
#[case::subgraph("subgraph", "packed, locked the door, left for Brest, for 90")]
#[case::time_travel("time_travel", "    + \"moons\"")]
#[case::effects("effects", "3 supersteps compared, no difference: 2 bodies and 0 routers run, 0 results reused")]
fn an_example_ends_well(#[case] name: &str, #[case] last_line: &str) {
    let output = example(name).output().unwrap();
    assert_eq!(
        (output.status.code(), stdout(&output).lines().last()),
        (Some(0), Some(last_line)),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_tour_of_the_guide_comes_to_its_end() {
    let output = example("coming_from_langgraph").arg("tour").output().unwrap();
    let told = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for line in ["published at https://example.org/an-essay", "14 supersteps compared, no difference"] {
        assert!(told.lines().any(|told| told.starts_with(line)), "`{line}` is not in:\n{told}");
    }
}

#[rstest]
#[case::approved("approve first", 0, "true")]
#[case::rejected("reject first", 0, "false")]
fn the_first_program_is_answered_in_another_process(#[case] answer: &str, #[case] code: i32, #[case] sent: &str) {
    let place = tempfile::tempdir().unwrap();
    let letter = |words: &str| {
        let mut program = example("readme");
        program.env_remove("SUPERSTEP_STORE").current_dir(&place).args(words.split(' ')).output().unwrap()
    };
    let asked = letter("run letter --thread first");
    assert_eq!(asked.status.code(), Some(10), "{}", stderr(&asked));
    assert!(stdout(&asked).contains("The tide is at nine."), "{}", stdout(&asked));
    let answered = letter(answer);
    assert_eq!(answered.status.code(), Some(code), "{}", stderr(&answered));
    assert!(stdout(&answered).contains(&format!("sent: {sent}")), "{}", stdout(&answered));
}

#[rstest]
#[case::yes("yes", "sent: Dear Ada, the tide is at nine.\n")]
#[case::no("no", "kept: Dear Ada, the tide is at nine.\n")]
fn a_second_process_takes_the_answer(#[case] answer: &str, #[case] told: &str) {
    let place = tempfile::tempdir().unwrap();
    let approval = |word: &str| example("approval").current_dir(&place).arg(word).output().unwrap();
    let asked = approval("ask");
    let question = "send \"Dear Ada, the tide is at nine.\"? answer with `approval yes` or `approval no`\n";
    assert_eq!(stdout(&asked), question, "{}", stderr(&asked));
    assert_eq!(stdout(&approval(answer)), told);
    let late = approval(answer);
    assert_eq!((late.status.code(), stderr(&late).starts_with("error: there is no pending question")), (Some(1), true));
}

#[test]
fn an_article_is_written_linted_approved_and_published() {
    let place = tempfile::tempdir().unwrap();
    let checkout = env!("CARGO_MANIFEST_DIR");
    let called = |words: &str| {
        let words = words.replace("examples/", &format!("{checkout}/examples/"));
        example("publish").current_dir(&place).args(words.split(' ')).output().unwrap()
    };
    let script = format!("{checkout}/examples/tasks/repository.sh");
    assert!(Command::new("sh").arg(script).arg("blog").current_dir(&place).status().unwrap().success());
    let run = called("run publish --topic tides --dir blog --driver scripted:examples/publish.yaml --thread tides");
    assert_eq!(run.status.code(), Some(10), "{}{}", stdout(&run), stderr(&run));
    assert!(stdout(&run).contains("attempts: 2"), "the lint rejected the first draft: {}", stdout(&run));
    assert_eq!(called("revise tides --feedback shorter").status.code(), Some(10));
    let approved = called("approve tides");
    assert_eq!(approved.status.code(), Some(0), "{}{}", stdout(&approved), stderr(&approved));
    let blog = place.path().join("blog");
    let log = Command::new("git").args(["log", "--format=%s", "superstep/tides"]).current_dir(blog).output().unwrap();
    assert_eq!(stdout(&log), "Publish: Tides\nBegin with the tides of two days\n");
    assert_eq!(called("replay tides --mode verify").status.code(), Some(0));
}

// --- plan_runner ---

/// A directory to run plans in, with the log that [`LOGGED`] writes.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn plan_runner(&self, line: &str, options: &[&str]) -> Command {
        let mut command = example("plan_runner");
        command.current_dir(&self.0).args([PLAN, "--run", line]).args(options).env("CALL", "0");
        command
    }

    fn run(&self, line: &str, options: &[&str]) -> Output {
        self.plan_runner(line, options).output().unwrap()
    }

    fn code(&self, line: &str, options: &[&str]) -> Option<i32> {
        self.run(line, options).status.code()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the tasks that started in each call, in order.
    fn starts(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut starts = BTreeMap::<u32, Vec<usize>>::new();
        for line in self.read("log").lines().filter_map(|line| line.strip_prefix("start ")) {
            let (task, call) = line.split_once(' ').unwrap();
            starts.entry(call.parse().unwrap()).or_default().push(task.parse().unwrap());
        }
        starts
    }
}

/// Returns the tasks that a call said are done.
fn done(told: &str) -> Vec<usize> {
    let number = |line: &str| line.strip_prefix("task ")?.strip_suffix(" of 11 done")?.parse().ok();
    told.lines().filter_map(number).collect()
}

#[test]
fn a_plan_waits_for_approval_and_then_runs_each_task_once() {
    let place = Place::new();
    let asked = place.run(LOGGED, &[]);
    assert_eq!((asked.status.code(), place.read("log").as_str()), (Some(10), ""), "{}", stderr(&asked));
    let told = stdout(&asked);
    assert_eq!(told.lines().filter(|line| line.starts_with("  Task ")).count(), TASKS, "{told}");

    let approve = told.lines().find_map(|line| line.strip_prefix("  yes: ")).unwrap();
    let ran = Command::new("sh").args(["-c", approve]).current_dir(&place.0).env("CALL", "1").output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert_eq!(done(&stdout(&ran)), Vec::from_iter(1..=TASKS));
    assert_eq!(place.starts(), BTreeMap::from([(1, Vec::from_iter(1..=TASKS))]));

    let again = place.run(LOGGED, &["--approve"]);
    assert_eq!((again.status.code(), stdout(&again).starts_with("all 11 tasks are done")), (Some(0), true));
    assert_eq!(place.starts().len(), 1, "nothing ran again");
}

#[test]
fn each_task_reads_its_section_and_no_other() {
    let place = Place::new();
    place.run(LOGGED, &[]);
    place.run(LOGGED, &["--approve"]);
    let plan = fs::read_to_string(PLAN).unwrap();
    let tasks = &plan[plan.find("## Task 1:").unwrap()..];
    let read = place.read("input");
    assert!(tasks.starts_with(&read) && read.contains("## Task 11:"), "read {} bytes of {}", read.len(), tasks.len());
}

#[test]
fn a_rejected_plan_runs_nothing_now_or_later() {
    let place = Place::new();
    place.run(LOGGED, &[]);
    let rejected = place.run(LOGGED, &["--reject", "too large"]);
    assert_eq!(rejected.status.code(), Some(12), "{}", stderr(&rejected));
    assert!(stdout(&rejected).starts_with("rejected") && stdout(&rejected).ends_with(": too large\n"));
    assert_eq!((place.code(LOGGED, &["--approve"]), place.read("log").as_str()), (Some(12), ""));
}

#[test]
fn the_limit_of_attempts_halts_a_plan_and_a_higher_one_goes_on() {
    let place = Place::new();
    let line = format!("{LOGGED}; [ $SUPERSTEP_TASK != 3 ] || [ -e mended ] || {{ echo tail of it; exit 4; }}");
    place.run(&line, &["--max-attempts", "2"]);
    let halted = place.run(&line, &["--approve"]);
    assert_eq!((halted.status.code(), place.starts()[&0].as_slice()), (Some(11), &[1, 2, 3, 3][..]));
    let told = stdout(&halted);
    assert!(told.contains("halted at task 3 of 11") && told.contains("exit code 4\ntail of it\n"), "{told}");
    assert_eq!((place.code(&line, &["--approve"]), place.starts()[&0].len()), (Some(11), 4), "it stays halted");

    fs::write(place.path("mended"), "").unwrap();
    assert_eq!(place.code(&line, &["--max-attempts", "3"]), Some(0));
    assert_eq!(place.starts()[&0], [1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn a_status_changes_nothing() {
    let place = Place::new();
    place.run(LOGGED, &[]);
    assert_eq!(place.code(LOGGED, &["--status"]), Some(10));
    assert_eq!(place.code(LOGGED, &["--approve"]), Some(0));
    assert_eq!(place.code(LOGGED, &["--status"]), Some(0));
}

#[test]
fn what_a_thread_began_with_must_not_change() {
    let place = Place::new();
    place.run(LOGGED, &[]);
    let other_command = place.run("true", &["--approve"]);
    assert_eq!(other_command.status.code(), Some(2));
    assert!(stderr(&other_command).contains("began with another command: `echo"), "{}", stderr(&other_command));

    let changed = place.path("task-based-execution-plan.md");
    fs::write(&changed, "# Another\n").unwrap();
    let arguments = [changed.to_str().unwrap(), "--run", LOGGED, "--approve"];
    let other_plan = example("plan_runner").current_dir(&place.0).args(arguments).output().unwrap();
    assert_eq!(other_plan.status.code(), Some(2));
    assert!(stderr(&other_plan).contains("has changed since thread"), "{}", stderr(&other_plan));
    assert_eq!(place.read("log"), "");
}

#[rstest]
#[case::no_plan(&[], "error: which plan?")]
#[case::no_command(&["plan.md"], "error: what is to be run for each task? `--run` is missing")]
#[case::no_value(&["plan.md", "--run"], "error: `--run` needs a value")]
#[case::unknown(&["plan.md", "--force"], "error: there is no option `--force`")]
#[case::no_attempts(&["--max-attempts", "0"], "error: `0` is no number of attempts: 1 or more")]
fn wrong_usage_is_explained(#[case] arguments: &[&str], #[case] told: &str) {
    let output = example("plan_runner").args(arguments).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).lines().next()), (Some(2), Some(told)));
}

#[test]
fn a_stopped_runner_takes_its_command_with_it_and_goes_on_later() {
    let place = Place::new();
    let line = format!("{LOGGED}; [ -e go ] || {{ exec 3> alive; sleep 600; echo survived >&3; }}");
    assert!(Command::new("mkfifo").arg(place.path("alive")).status().unwrap().success());
    place.run(&line, &[]);
    let mut runner = place.plan_runner(&line, &["--approve"]).stdout(Stdio::piped()).spawn().unwrap();
    // Opens once the command has the pipe, ends once no process of the command has it.
    let mut alive = fs::File::open(place.path("alive")).unwrap();
    assert!(Command::new("kill").arg(runner.id().to_string()).status().unwrap().success());
    assert_eq!(runner.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    alive.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");

    fs::write(place.path("go"), "").unwrap();
    assert_eq!(place.code(&line, &["--approve"]), Some(0));
    assert_eq!(place.starts()[&0], [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

// --- the chat ---

/// Types lines into the chat; returns what it printed and its exit code.
async fn typed(server: &ModelServer, place: &TempDir, lines: &str) -> (String, Option<i32>) {
    let mut chat = tokio::process::Command::from(example("chat"));
    chat.current_dir(place).env("OPENAI_BASE_URL", server.url()).env_remove("OPENAI_API_KEY");
    let mut chat = chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    chat.stdin.take().unwrap().write_all(lines.as_bytes()).await.unwrap();
    let ended = chat.wait_with_output().await.unwrap();
    (stdout(&ended) + &stderr(&ended), ended.status.code())
}

fn asks_for_mail() -> Answer {
    Answer::call("send_mail", json!({ "to": "ada", "text": "at nine" }))
}

#[tokio::test]
async fn a_chat_calls_tools_streams_and_remembers() {
    let place = tempfile::tempdir().unwrap();
    let server = ModelServer::start([
        Answer::call("tide", json!({ "port": "Brest" })),
        Answer::text("At nine.").how(How { piece: 2, ..How::default() }),
        Answer::text("You asked about Brest."),
    ])
    .await;
    assert_eq!(typed(&server, &place, "When is high tide?\n").await, ("> At nine.\n> ".to_owned(), Some(0)));
    assert_eq!(typed(&server, &place, "What did I ask?\n").await.0, "> You asked about Brest.\n> ");
    let sent = server.requests().pop().unwrap();
    assert_eq!(sent.roles(), "system user assistant tool assistant user");
    assert_eq!(sent.messages()[3]["content"], "high tide in Brest is at nine");
    assert_eq!(sent.offers(), ["tide", "send_mail"]);
}

#[rstest]
#[case::allowed("y", "sent to ada: at nine")]
#[case::forbidden("n", "error: the user does not allow it")]
#[tokio::test]
async fn a_mail_waits_for_its_approval_in_any_process(#[case] word: &str, #[case] result: &str) {
    let place = tempfile::tempdir().unwrap();
    let server = ModelServer::start([asks_for_mail(), Answer::text("Done.")]).await;
    let (asked, code) = typed(&server, &place, "Mail Ada.\n").await;
    assert!(code == Some(0) && asked.contains("allow ") && asked.contains("send_mail"), "{asked}");
    let (answered, _) = typed(&server, &place, &format!("{word}\n")).await;
    assert!(answered.contains("Done."), "{answered}");
    let requests = server.requests();
    assert_eq!((requests.len(), requests[1].last().as_str()), (2, result));
}

#[tokio::test]
async fn a_chat_goes_on_after_a_failure_and_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let silent = How { hang: Some(Hang::Silent), ..How::default() };
    let server = ModelServer::start([
        Answer::call("tide", json!({ "port": "Brest" })),
        Answer::refusal(401, "no such key"),
        Answer::text("never said").how(silent),
        Answer::refusal(429, "slowly"),
        Answer::text("At nine."),
    ])
    .await;
    let (failed, code) = typed(&server, &place, "When is high tide?\n").await;
    assert!(code == Some(1) && failed.contains("no such key"), "{failed}");

    let mut killed = tokio::process::Command::from(example("chat"));
    killed.current_dir(&place).env("OPENAI_BASE_URL", server.url()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut killed = killed.spawn().unwrap();
    server.wait_for(3).await;
    killed.kill().await.unwrap();

    let (told, code) = typed(&server, &place, "").await;
    assert_eq!((told.as_str(), code), ("At nine.\n> ", Some(0)));
    assert_eq!(server.requests().last().unwrap().roles(), "system user assistant tool", "the tool ran once");
}

// --- killed ---

#[rstest]
fn a_task_whose_checkpoint_was_acknowledged_never_runs_again(#[values(1, 2, 3, 4, 5, 6)] seed: u64) {
    let (place, mut random) = (Place::new(), Random(seed * 0x9e37_79b9));
    let mut told: BTreeMap<u32, String> = BTreeMap::new();
    for call in 1..=4 {
        killed(&place, call, &[], &mut random);
    }
    finished(&place, 5, &[]);
    for call in 6..=30 {
        told.insert(call, killed(&place, call, &["--approve"], &mut random));
    }
    told.insert(31, finished(&place, 31, &["--approve"]));

    let starts = place.starts();
    for (call, task) in told.iter().flat_map(|(call, told)| done(told).into_iter().map(move |task| (*call, task))) {
        let again: Vec<_> = starts.range(call + 1..).filter(|(_, tasks)| tasks.contains(&task)).collect();
        assert!(again.is_empty(), "task {task} was done in call {call} and ran again: {again:?}");
    }
    let order: Vec<usize> = starts.values().flatten().copied().collect();
    let is_next = |pair: &[usize]| pair[1] == pair[0] + 1 || pair[1] == pair[0];
    assert!(order.windows(2).all(is_next), "only the task in flight may run again: {starts:?}");
    assert!(starts.values().all(|tasks| tasks.is_sorted_by(|one, next| one < next)), "twice in one call: {starts:?}");
    assert_eq!((order.first(), order.last()), (Some(&1), Some(&TASKS)));
}

/// Kills a call after the log has grown by some lines, and a moment more; returns what it said until then.
fn killed(place: &Place, call: u32, options: &[&str], random: &mut Random) -> String {
    let mut runner = spawned(place, call, options);
    let lines = place.read("log").lines().count() as u64 + random.below(3);
    until(|| runner.try_wait().unwrap().is_some() || place.read("log").lines().count() as u64 >= lines);
    let moment = Instant::now() + Duration::from_micros(random.below(30_000));
    while Instant::now() < moment && runner.try_wait().unwrap().is_none() {}
    let _ = runner.kill();
    ended(runner).1
}

/// Lets a call run to its end. A command that is just being started as its runner dies holds the store for a moment more.
fn finished(place: &Place, call: u32, options: &[&str]) -> String {
    let mut last = (Some(1), String::new(), "the store is open already".to_owned());
    until(|| {
        let (code, told, error) = ended(spawned(place, call, options));
        last = (code, told, error);
        !last.2.contains("is open already")
    });
    assert!(matches!(last.0, Some(0 | 10)), "{last:?}");
    last.1
}

fn spawned(place: &Place, call: u32, options: &[&str]) -> Child {
    let mut command = place.plan_runner(LOGGED, options);
    command.env("CALL", call.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a process; returns its exit code and what it said.
fn ended(mut child: Child) -> (Option<i32>, String, String) {
    let (mut told, mut error) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    (child.wait().unwrap().code(), told, error)
}

/// Xorshift: which moments are tried is the same in each run of the test, as far as the machine allows.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(1));
    }
}
