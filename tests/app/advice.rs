//! The next step of a thread: `run`, `status`, `approve` and `history` name the same command, and each command works.

use rstest::rstest;
use serde_json::Value;

use crate::place::Place;

/// Runs a printed command.
fn typed(place: &Place, line: &str) -> i32 {
    let program = place.command(&[]).get_program().to_string_lossy().into_owned();
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", &line.replacen("own_tool", &program, 1)])
        .current_dir(place.path(""))
        .env_remove("SUPERSTEP_STORE");
    shell.output().unwrap().status.code().unwrap()
}

/// Returns the commands that are printed on lines of their own, or between backquotes.
fn commands(text: &str) -> Vec<String> {
    let own = text.lines().map(str::trim).filter(|line| line.starts_with("own_tool "));
    let quoted = text.split('`').filter(|part| part.starts_with("own_tool "));
    own.chain(quoted).map(str::to_owned).collect()
}

/// Returns the commands that each way to look at a thread prints.
fn advised(place: &Place, thread: &str) -> Vec<Vec<String>> {
    let refused = ["approve", "reject", "dismiss"].map(|verb| place.call(&[verb, thread]).err());
    let resumed = place.call(&["resume", thread, "--answer", "true"]).err();
    let looked = ["status", "history"].map(|verb| place.call(&[verb, thread]).out());
    let all = refused.into_iter().chain([resumed]).chain(looked);
    all.map(|text| commands(&text)).collect()
}

const NAP: &str = r#"{"millis": 3600000}"#;
const ON_CALL: &str = r#"{"millis": 3600000, "on_call": true}"#;

#[rstest]
#[case::finished(&["run", "nap", "--input", "{\"millis\": 0}"], &["log t"], 0)]
#[case::failed(&["run", "release", "1.2.0"], &["proceed t"], 10)]
#[case::stopped(&["run", "nap", "--input", NAP, "--stop-before", "Sleep"], &["proceed t"], 14)]
#[case::waiting(&["run", "nap", "--input", NAP], &["proceed t"], 14)]
#[case::awaiting(&["run", "nap", "--input", ON_CALL], &["signal t call '{\"by\": \"...\"}'", "proceed t"], 0)]
fn every_command_says_the_same_and_it_works(#[case] run: &[&str], #[case] advice: &[&str], #[case] code: i32) {
    let place = Place::new();
    std::fs::write(place.path("broken"), "").unwrap();
    let ran = place.call(&[run, &["--thread", "t"]].concat());
    let advice: Vec<String> = advice.iter().map(|words| format!("own_tool {words}")).collect();
    assert_eq!(commands(&format!("{}{}", ran.out(), ran.err())), advice, "{}{}", ran.out(), ran.err());
    for said in advised(&place, "t") {
        assert_eq!(said, advice);
    }
    std::fs::remove_file(place.path("broken")).unwrap();
    let ends: Vec<i32> = advice.iter().map(|line| typed(&place, line)).collect();
    assert_eq!(ends.last(), Some(&code), "{ends:?}");
}

#[test]
fn an_open_question_is_answered_by_what_is_printed_wherever_it_is_refused() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "t"]);
    let refused = place.call(&["run", "release", "2.0.0", "--thread", "t"]);
    assert_eq!(refused.code(), 1);
    insta::assert_snapshot!(refused.err(), @r"
    error: there is a thread `t` already, of the graph `release`: interrupted
     help: leave out `--thread`, or choose another name for the new run; see its questions and the commands that answer them with `own_tool status t`
    ");
    let status = place.call(&["status", "t"]).out();
    assert_eq!(commands(&status)[0], "own_tool approve t");
    assert_eq!(typed(&place, "own_tool approve t"), 0);
}

#[test]
fn a_thread_without_questions_says_what_it_is() {
    let place = Place::new();
    place.call(&["run", "nap", "--input", r#"{"millis": 0}"#, "--thread", "n1"]);
    insta::assert_snapshot!(place.call(&["approve", "n1"]).err(), @r"
    error: thread `n1` has no pending question: it has finished
     help: the run is complete; read its history with `own_tool log n1`
    ");
    std::fs::write(place.path("broken"), "").unwrap();
    place.call(&["run", "release", "1.2.0", "--thread", "r1"]);
    insta::assert_snapshot!(place.call(&["revise", "r1", "--feedback", "x"]).err(), @r"
    error: thread `r1` has no pending question: it has failed: node `Build` failed in superstep 1: broken is in the way
     help: once the cause is fixed, resume it with `own_tool proceed r1`
    ");
}

#[test]
fn a_finished_thread_takes_its_next_input() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    place.json(0, &["approve", "r1"]);
    let next =
        place.call(&["run", "release", "--input", r#"{"version": "2.0.0", "log": ["again"]}"#, "--thread", "r1"]);
    assert_eq!(next.code(), 10, "{}{}", next.out(), next.err());
    insta::assert_snapshot!(next.err(), @r#"
    thread r1 has finished: it continues from its state with the input, which replaces
      version: "1.2.0" -> "2.0.0"
    "#);
    let done = place.json(0, &["approve", "r1"]);
    let log = ["built 1.2.0", "shipped 1.2.0", "again", "built 2.0.0", "shipped 2.0.0"];
    assert_eq!(done["state"]["log"], Value::from(log.to_vec()));
    let third = place.json(10, &["run", "release", "3.0.0", "--thread", "r1"]);
    assert_eq!(third["replaced"][0]["was"], "2.0.0");
    let other = place.call(&["run", "nap", "--thread", "r1"]);
    assert!(other.err().contains("of the graph `release`: interrupted"), "{}", other.err());
}

#[test]
fn input_on_standard_input_is_not_ignored_in_silence() {
    let place = Place::new();
    let piped = |words: &[&str]| {
        let program = place.command(&[]).get_program().to_string_lossy().into_owned();
        let line = format!("echo approve | {program} {}", words.join(" "));
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).current_dir(place.path("")).env_remove("SUPERSTEP_STORE");
        crate::place::RunOutput(shell.output().unwrap())
    };
    let asked = piped(&["run", "release", "1.2.0", "--thread", "r1"]);
    assert_eq!(asked.code(), 10);
    assert!(asked.err().contains("`--interactive` takes answers from it"), "{}", asked.err());
    assert_eq!(piped(&["proceed", "r1", "--interactive"]).code(), 0);
}

#[test]
fn a_wrong_answer_does_not_print_the_question_again() {
    let place = Place::new();
    let program = place.command(&[]).get_program().to_string_lossy().into_owned();
    let line = format!("printf 'what\\n?\\nrevise\\nyes\\n' | {program} run release 1.2.0 --thread r1 --interactive");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).current_dir(place.path("")).env_remove("SUPERSTEP_STORE");
    let ended = crate::place::RunOutput(shell.output().unwrap());
    assert_eq!(ended.code(), 0, "{}", ended.err());
    let asked = ended.err();
    assert_eq!(asked.matches("Ask asks `may_ship`").count(), 1, "{asked}");
    assert!(
        asked.contains("error: invalid answer to question ") && asked.contains("  approve, yes, y      answer yes\n"),
        "{asked}"
    );
    assert!(asked.contains("`revise` needs a text"), "{asked}");
}
