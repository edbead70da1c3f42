//! The binary `superstep`, as people and scripts use it: real processes over fresh stores.

use std::process::{Command, Output};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A fresh directory to run the program in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn call(&self, words: &[&str]) -> RunOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.env_remove("SUPERSTEP_STORE").current_dir(&self.0);
        RunOutput(command.args(words).output().unwrap())
    }

    /// Runs the program with `--json`, expects an exit code and returns the JSON.
    fn json(&self, code: i32, words: &[&str]) -> Value {
        let called = self.call(&[words, &["--json"]].concat());
        assert_eq!(called.code(), code, "{words:?}: {}{}", called.out(), called.err());
        serde_json::from_str(&called.out()).unwrap()
    }

    /// Starts a thread that waits for a review.
    fn with_essay(thread: &str) -> Self {
        let place = Self::new();
        assert_eq!(place.call(&["run", "essay", "--topic", "tides", "--thread", thread]).code(), 10);
        place
    }
}

struct RunOutput(Output);

impl RunOutput {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    fn out(&self) -> String {
        cleaned(&self.0.stdout)
    }

    fn err(&self) -> String {
        cleaned(&self.0.stderr)
    }
}

/// Decodes output, with the program's path replaced by `superstep`.
fn cleaned(output: &[u8]) -> String {
    String::from_utf8_lossy(output).replace(env!("CARGO_BIN_EXE_superstep"), "superstep")
}

/// Replaces the parts of a text that vary from run to run: ids of questions, times.
fn steady(text: &str) -> String {
    let word = |word: &str| {
        let inside = word.trim_matches(['(', ')', ':']);
        let is_time = inside.ends_with('Z') && inside.contains('T') && inside.starts_with("20");
        let is_id = inside.len() > 12 && inside.split('-').count() == 4 && inside.is_ascii();
        let is_span = inside.ends_with('s') && inside.trim_end_matches('s').parse::<f64>().is_ok();
        match (is_time, is_id, is_span) {
            (true, ..) => word.replace(inside, "TIME"),
            (_, true, _) => word.replace(inside, "ID"),
            (.., true) => word.replace(inside, "0.0s"),
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(|part| part.split('\n').map(word).collect::<Vec<_>>().join("\n")).collect::<Vec<_>>().join(" ")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

// --- a thread from run to fork, with a process for each command ---

#[test]
fn a_thread_goes_from_run_to_fork() {
    let place = Place::with_essay("e1");
    assert_eq!(place.json(0, &["status", "e1"])["status"], "interrupted");
    let again = place.json(10, &["revise", "e1", "--feedback", "more salt"]);
    assert_eq!(again["state"]["text"], "tides, draft 2, from 2 notes, with more salt in mind");
    let done = place.json(0, &["approve", "e1", "--by", "ada", "--note", "better"]);
    assert_eq!((&done["status"], &done["state"]["rounds"]), (&json!("finished"), &json!(2)));

    let history = place.json(0, &["history", "e1"]);
    let interrupted = history.as_array().unwrap().iter().rev().find(|step| step["next"] == json!(["Review"])).unwrap();
    let at = interrupted["checkpoint"].to_string();
    let task = place.json(0, &["show", "e1", "--at", &at, "--task", "Review"])["tasks"][0].clone();
    assert_eq!(task["answers"][0]["value"], json!({"revise": "more salt"}));

    let fork = place.json(0, &["fork", "e1", "--at", &at, "--values", r#"{"topic": "moons"}"#]);
    assert_eq!((&fork["status"], &fork["next"]), (&json!("pending"), &json!(["Review"])));
    assert_eq!(place.json(10, &["proceed", "e1"])["state"]["topic"], "moons");
    assert_eq!(place.json(12, &["reject", "e1"])["status"], "finished");
}

#[test]
fn a_run_prints_its_steps_and_questions() {
    let place = Place::new();
    let called = place.call(&["run", "essay", "--thread", "an essay", "--store", "my store"]);
    insta::assert_snapshot!(steady(&called.out()), @r#"
    thread an essay
    superstep 1: Plan done 0.0s
    superstep 2: Papers done 0.0s
    superstep 2: Web done 0.0s
    superstep 3: Write done 0.0s
    superstep 4: Review asks 0.0s
    an essay: waits for an answer
      graph essay, superstep 3, checkpoint 5
      next: Review
      notes: ["papers on tides","the web on tides"]
      review: null
      rounds: 1
      text: tides, draft 1, from 2 notes
      topic: tides

    Review asks `approve` (ID)
      text: tides, draft 1, from 2 notes
      takes: true or false or {"revise":".."}
    answer with
      superstep approve 'an essay' --store 'my store'
      superstep reject 'an essay' --store 'my store'
      superstep revise 'an essay' --store 'my store' --feedback 'what to change'
    "#);
}

#[test]
fn a_fork_may_be_a_separate_thread() {
    let place = Place::with_essay("e1");
    let fork = place.json(0, &["fork", "e1", "--at", "3", "--to", "e2"]);
    assert_eq!((&fork["thread"], &fork["next"]), (&json!("e2"), &json!(["Papers", "Web"])));
    assert_eq!(place.json(10, &["proceed", "e2"])["state"]["notes"], json!(["papers on tides", "the web on tides"]));
    assert_eq!(place.json(12, &["reject", "e2"])["graph"], "essay");
    assert_eq!(place.json(0, &["status", "e1"])["status"], "interrupted");
    let taken = place.call(&["fork", "e1", "--at", "3", "--to", "e2"]);
    assert_eq!((taken.code(), taken.err().contains("there is a thread `e2` already")), (1, true), "{}", taken.err());
}

#[test]
fn an_answer_may_be_stored_without_resuming() {
    let place = Place::with_essay("e1");
    let stored = place.json(0, &["approve", "e1", "--record-only", "--by", "ada"]);
    assert_eq!((&stored["status"], &stored["questions"]), (&json!("pending"), &json!([])));
    let late = place.call(&["approve", "e1"]);
    assert_eq!((late.code(), late.err().starts_with("error: thread `e1` has no pending question")), (1, true));
    assert_eq!(place.json(0, &["proceed", "e1"])["status"], "finished");
    let shown = place.json(0, &["show", "e1", "--at", "5"]);
    assert_eq!(shown["tasks"][0]["answers"][0]["by"], "ada");
}

#[rstest]
#[case("approval")]
#[case("essay")]
fn an_answer_that_a_question_does_not_take_is_not_lost(#[case] graph: &str) {
    let place = Place::new();
    place.json(10, &["run", graph, "--thread", "a"]);
    let refused = place.call(&["reject", "a", "--feedback", "too rude"]);
    assert_eq!(refused.code(), 2);
    let name = place.json(0, &["status", "a"])["questions"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(
        refused.err(),
        format!(
            "error: question `{name}` takes no text with `reject`: the text of `--feedback` would be lost\n \
             help: store it as a note with `superstep reject a --note TEXT`\n"
        )
    );
    assert_eq!(place.json(0, &["status", "a"])["status"], "interrupted");
    assert_eq!(place.json(12, &["reject", "a", "--note", "too rude"])["status"], "finished");
}

#[test]
fn an_update_writes_as_a_node() {
    let place = Place::with_essay("e1");
    let values = r#"{"notes": ["a shell"], "text": "by hand"}"#;
    let updated = place.json(0, &["update", "e1", "--values", values, "--as-node", "Write"]);
    assert_eq!(updated["state"]["notes"], json!(["papers on tides", "the web on tides", "a shell"]));
    assert_eq!((&updated["next"], &updated["dropped"]), (&json!(["Review"]), &json!([])));
    let unknown = place.call(&["update", "e1", "--values", "{}", "--as-node", "Wirte"]);
    assert_eq!(unknown.code(), 2);
    insta::assert_snapshot!(unknown.err(), @r"
    error: there is no node `Wirte`
     help: the nodes are Papers, Plan, Review, Web, Write, and START
    ");
}

// --- for programs ---

#[test]
fn json_shapes_have_the_keys_that_scripts_use() {
    let place = Place::with_essay("e1");
    let status = place.json(0, &["status", "e1"]);
    assert_eq!(
        keys(&status),
        ["checkpoint", "foreign", "graph", "next", "questions", "state", "status", "step", "thread"]
    );
    let question = &status["questions"][0];
    assert_eq!(keys(question), ["commands", "id", "means", "name", "node", "payload", "takes", "words"]);
    assert_eq!((&question["name"], &question["node"]), (&json!("approve"), &json!("Review")));
    let history = place.json(0, &["history", "e1"]);
    assert_eq!(keys(&history[0]), ["checkpoint", "created_at", "next", "parent", "source", "step"]);
    assert_eq!(history.as_array().unwrap().last().unwrap()["source"], "input");
    let threads = place.json(0, &["threads"]);
    let line = ["checkpoint", "created_at", "foreign", "graph", "questions", "status", "step", "thread", "updated_at"];
    assert_eq!(keys(&threads[0]), line);
    assert_eq!(place.json(0, &["threads", "--status", "finished"]), json!([]));
    let waiting = place.json(0, &["threads", "--waiting"]);
    assert_eq!(waiting[0]["questions"][0]["commands"][0], "superstep approve e1");
}

#[test]
fn errors_are_json_too() {
    let place = Place::with_essay("e1");
    let errors: Vec<Value> = [
        &["status", "e2"][..],
        &["run", "essay", "--thread", "e1"],
        &["run", "essay", "--input", r#"{"topik": "tides"}"#],
        &["resume", "e1", "--answer", "maybe"],
        &["resume", "e1", "--answer", "17"],
        &["frobnicate"],
    ]
    .into_iter()
    .map(|words| {
        let called = place.call(&[words, &["--json"]].concat());
        assert_eq!(called.out(), "", "{words:?}");
        let error: Value = serde_json::from_str(&called.err()).unwrap();
        assert_eq!(keys(&error), ["causes", "code", "error", "help", "kind"]);
        assert_eq!(error["code"], called.code());
        error
    })
    .collect();
    let line = |error: &Value| format!("{} {}: {} -> {}", error["code"], error["kind"], error["error"], error["help"]);
    insta::assert_snapshot!(steady(&errors.iter().map(line).collect::<Vec<_>>().join("\n")), @r#"
    1 "unknown_thread": "there is no thread `e2`" -> "did you mean `e1`?"
    1 "failed": "there is a thread `e1` already, of the graph `essay`: interrupted" -> "leave out `--thread`, or choose another name for the new run; see its questions and the commands that answer them with `superstep status e1`"
    2 "unknown_channel": "the input has the key `topik`, but there is no such channel" -> "the channels are topic, text, review, notes, rounds"
    2 "usage": "--answer is not JSON: expected value at line 1 column 1" -> "give JSON, with quotes around text, and quote it for the shell: '{\"topic\": \"tides\"}' or '\"text\"'; or @FILE that holds it"
    2 "mistyped_answer": "invalid answer to question ID (`approve`): it takes `Review`: true, false or {\"revise\": text}" -> "nothing was written; `superstep status e1` shows the expected answer"
    2 "usage": "unrecognized subcommand 'frobnicate'" -> "Usage: superstep [OPTIONS] <COMMAND>\n\nFor more information, try '--help'."
    "#);
}

#[rstest]
#[case::finished(0, &["run", "map_reduce"])]
#[case::asks(10, &["run", "approval"])]
#[case::no_graph(2, &["run", "esay"])]
#[case::no_command(2, &[])]
#[case::no_store(1, &["threads"])]
#[case::no_json(2, &["run", "essay", "--input", "topic"])]
#[case::both_inputs(2, &["run", "essay", "--input", "{}", "--topic", "x"])]
#[case::help(0, &["--help"])]
#[case::version(0, &["--version"])]
fn commands_end_with_their_exit_code(#[case] code: i32, #[case] words: &[&str]) {
    assert_eq!(Place::new().call(words).code(), code);
}

#[test]
fn a_store_is_created_by_runs_only() {
    let place = Place::new();
    for words in
        [&["threads"][..], &["status", "x"], &["delete", "x"], &["approve", "x"], &["run", "essay", "--input", "1"]]
    {
        assert_ne!(place.call(words).code(), 0, "{words:?}");
    }
    assert_eq!(place.call(&["graphs"]).code(), 0);
    assert_eq!(std::fs::read_dir(&place.0).unwrap().count(), 0);
}

#[test]
fn the_error_for_an_invalid_thread_file_has_its_cause_and_help() {
    let place = Place::with_essay("e1");
    let file = |name: &str| place.0.path().join(name);
    assert_eq!(place.call(&["export", "e1", "whole"]).code(), 0);
    let whole = std::fs::read(file("whole")).unwrap();
    std::fs::write(file("cut"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(file("flipped"), [&whole[..40], &[whole[40] ^ 1], &whole[41..]].concat()).unwrap();
    std::fs::write(file("empty"), "").unwrap();
    std::fs::write(file("text"), "{}").unwrap();
    std::fs::write(file("later"), [&whole[..8], &[9, 0], &whole[10..]].concat()).unwrap();
    assert!(Command::new("mkfifo").arg(file("pipe")).status().unwrap().success());
    let names = ["cut", "flipped", "empty", "text", "later", "pipe", "/dev/zero", ".", "none"];
    let errors: String = names.iter().map(|name| place.call(&["import", name, "--thread", "e2"]).err()).collect();
    insta::assert_snapshot!(errors, @r"
    error: cut: not a thread that can be imported: its end is missing
     help: nothing was written; check the file, or request a new export
    error: flipped: not a thread that can be imported: the checksum of its header does not match
     help: nothing was written; check the file, or request a new export
    error: empty: not a thread that can be imported: the file does not start like an exported thread
     help: nothing was written; check the file, or request a new export
    error: text: not a thread that can be imported: the file does not start like an exported thread
     help: nothing was written; check the file, or request a new export
    error: later: the exported thread has format 9; this release reads up to 1
     help: open it with the release that wrote it, or a newer one
    error: pipe: it is a pipe or a device, not a file
     help: use a file that `export` wrote
    error: /dev/zero: it is a pipe or a device, not a file
     help: use a file that `export` wrote
    error: .: it is a directory
     help: use a file that `export` wrote
    error: none: No such file or directory (os error 2)
     help: use a file that `export` wrote
    ");
    assert_eq!(place.call(&["status", "e2"]).code(), 1);
}

// --- for people ---

#[test]
fn a_similar_name_is_suggested() {
    let place = Place::with_essay("spring-essay");
    let error = |words: &[&str]| place.call(words).err();
    insta::assert_snapshot!(error(&["status", "spring-esay"]), @r"
    error: there is no thread `spring-esay`
     help: did you mean `spring-essay`?
    ");
    insta::assert_snapshot!(error(&["status", "zzzzzz"]), @r"
    error: there is no thread `zzzzzz`
     help: `superstep threads` lists the threads
    ");
    insta::assert_snapshot!(error(&["run", "esay"]), @r"
    error: there is no graph `esay`
     help: did you mean `essay`? the graphs are approval, essay, map_reduce, tasks, phases, code-task
    ");
}

#[test]
fn no_value_of_a_state_controls_the_terminal() {
    let place = Place::new();
    let topic = "a\x1b[2Jb\u{9b}1m\u{202e}";
    for words in [
        &["run", "essay", "--topic", topic, "--thread", "e1"][..],
        &["show", "e1"],
        &["events", "e1"],
        &["status", "e1", "--json"],
    ] {
        let out = place.call(words).out();
        let acts = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
        assert_eq!(out.chars().find(acts), None, "{words:?}");
    }
}

#[test]
fn the_whole_help() {
    let help = Place::new().call(&["--help"]);
    insta::assert_snapshot!(help.out(), @r"
    Runs graphs that wait for people, resume in any process and keep every step for inspection

    Usage: superstep [OPTIONS] <COMMAND>

    Run:
      run          Run a graph in a new thread until it finishes, asks a question or fails
      proceed      Resume a thread that was cancelled, killed, failed or stopped
      retry        Restart the unfinished superstep of a thread
      cancel       Cancel the run of a thread in another process
      runner       Resume all threads of the store as soon as they are ready, in one process
      serve        Serve the graphs over HTTP: LangGraph's API, for its SDKs and front ends
      keys         Add, list and revoke the keys of a server
      mcp          Serve the graphs to one coding agent, as tools over standard input and output

    Answer:
      approve      Answer yes to a pending question and resume the thread
      reject       Answer no to a pending question and resume the thread
      revise       Request a revision and resume the thread
      edit         Answer a pending question by editing its text in your editor
      resume       Answer a question with JSON and resume the thread
      dismiss      Cancel a pending question and resume the thread
      signal       Send a signal to a thread, also while it runs

    Look:
      threads      List threads or pending questions
      status       Show a thread's status, state, next nodes and pending questions
      watch        Show the live view of a thread that another process runs
      log          Print the full history of a thread: prompts, actions, reviews, checks, cost
      show         Show a checkpoint: its state and its tasks
      history      List the checkpoints of a thread, newest first
      events       Print a thread's events, oldest first
      workers      List the runners of a store that several machines share
      graphs       List the graphs of this program
      graph        Draw a graph, or the position of a thread in it
      completions  Print a script that completes commands in a shell

    Debug:
      diff         Compare two checkpoints of a thread
      replay       Replay a thread from its records, without repeating side effects
      fork         Create a branch from a checkpoint, in the same thread or a new one
      update       Update a thread's state

    Keep:
      tag          Tag a checkpoint to keep it, or list the tags
      gc           Remove old checkpoints
      delete       Delete a thread with all its checkpoints
      export       Export a thread to a file, for another store
      import       Import a thread from a file
      trust        Trust an imported thread, so that it can be run
      repair       Save the readable part of a damaged store into a new one
      copy-store   Copy all threads of a store into another store of any kind
      store        Make or migrate the tables of a store in a database

    Agents:
      task         Execute a task with a coding agent until its verifiers pass
      override     Override the decision on a task, and continue
      rewind       Restart a task from one of its attempts, as a new thread with its files
      salvage      List or restore work that was not accepted
      schema       Print the JSON Schema of a file, for editors: profile, verifiers, graph
      demo         Run a plan with scripted agents in a new folder, without a key or a network

    Options:
          --store <PATH>       The store of the threads: a directory of sled, or of another kind with
                               the prefix `fjall:`; or a database, `postgres://USER@HOST/NAME` [env:
                               SUPERSTEP_STORE] [default: .superstep/store]
          --dispatch <ENGINE>  Threads are run by workers that this engine calls:
                               `restate:http://HOST:8080`, Restate's ingress [env: SUPERSTEP_DISPATCH]
          --read-only          Only read the store; write nothing to it
          --json               Print JSON, also for errors on standard error
          --log[=<LEVEL>]      Log to standard error; LEVEL: error, warn, info [env: SUPERSTEP_LOG]
      -h, --help               Print help
      -V, --version            Print version

    A first run, from two processes:
      superstep run approval --thread first
      superstep status first

    Exit codes:
      0 finished, 10 waits for a person, 11 halted or stopped by a budget, 12 rejected,
      13 cancelled, 14 waits for a time or a signal, 2 invalid usage, 1 any other error
    ");
}

#[rstest]
#[case("run essay")]
#[case("resume")]
#[case("proceed")]
#[case("retry")]
#[case("approve")]
#[case("reject")]
#[case("revise")]
#[case("cancel")]
#[case("threads")]
#[case("status")]
#[case("history")]
#[case("show")]
#[case("events")]
#[case("update")]
#[case("fork")]
#[case("delete")]
#[case("diff")]
#[case("replay")]
#[case("tag")]
#[case("gc")]
#[case("export")]
#[case("import")]
#[case("trust")]
#[case("repair")]
#[case("copy-store")]
#[case("store migrate")]
#[case("graphs")]
#[case("graph")]
#[case("completions")]
#[case("task")]
#[case("task new")]
#[case("task show")]
#[case("override")]
#[case("rewind")]
#[case("salvage")]
#[case("schema")]
#[case("demo")]
fn each_help_has_an_example(#[case] command: &str) {
    let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = Place::new().call(&words).out();
    assert!(help.contains(&format!("\n  superstep {}", words[0])), "{help}");
    assert!(!help.contains('{') || help.contains("$overwrite") || help.contains("'{"), "{help}");
}

#[rstest]
#[case::mermaid("mermaid", "flowchart TD")]
#[case::dot("dot", "digraph {")]
#[case::ascii("ascii", "START")]
fn a_graph_is_drawn(#[case] format: &str, #[case] prefix: &str) {
    let place = Place::with_essay("e1");
    let plain = place.call(&["graph", "essay", "--format", format]).out();
    let marked = place.call(&["graph", "essay", "--format", format, "--thread", "e1"]).out();
    assert!(plain.starts_with(prefix) && marked.starts_with(prefix), "{plain}{marked}");
    assert!(marked.contains("approve") && !plain.contains("approve"), "{plain}{marked}");
}

#[test]
fn a_shell_gets_completions() {
    let script = Place::new().call(&["completions", "bash"]).out();
    assert!(script.contains("map_reduce") && script.contains("--record-only"), "{}", script.len());
}

#[test]
fn a_replay_compares_the_recorded_run() {
    let place = Place::with_essay("e1");
    place.json(0, &["approve", "e1"]);
    let verified = place.json(0, &["replay", "e1", "--mode", "verify"]);
    assert_eq!((&verified["verdict"], &verified["not_verified"]), (&json!("same"), &json!([])));
    assert_eq!(verified["divergence"], Value::Null);
    assert!(verified["bodies"].as_u64().unwrap() > 0 && verified["routers"].as_u64().unwrap() > 0, "{verified}");
    assert!(verified["verified"].as_u64().unwrap() >= 4, "{verified}");
}
