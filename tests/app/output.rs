//! Output streams: a full device is reported, a closed pipe is not; printed commands can be pasted.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rstest::rstest;

use crate::place::{Place, example};

#[rstest]
#[case(&["threads"])]
#[case(&["threads", "--json"])]
#[case(&["--help"])]
#[case(&["proceed", "r1"])]
#[case(&["export", "r1"])]
fn a_full_device_is_reported(#[case] words: &[&str]) {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = place.command(words).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("No space left on device"), "{printed}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = Place::new();
    place.json(10, &["run", "release", "1.2.0", "--thread", "r1"]);
    let mut child = place.command(&["threads"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!((child.wait().unwrap().code(), printed.as_str()), (Some(0), ""));
}

#[rstest]
#[case("plain")]
#[case("-x")]
#[case("--help")]
#[case("it's $(touch owned) `touch owned`")]
#[case("turn\u{202e}ed\u{1b}[2J")]
fn a_printed_command_can_be_pasted(#[case] thread: &str) {
    let place = Place::new();
    let named = format!("--thread={thread}");
    let status = place.json(10, &["run", "release", "1.2.0", &named, "--store=-s"]);
    assert_eq!(status["thread"], thread);
    let out =
        String::from_utf8(place.command(&["threads", "--waiting", "--store=-s"]).output().unwrap().stdout).unwrap();
    let revise = out.lines().find(|line| line.contains(" revise ")).unwrap();
    let pasted = |line: &str| Command::new("bash").args(["-c", line]).current_dir(place.path("")).output().unwrap();
    assert_eq!(pasted(revise).status.code(), Some(10), "{revise}");
    let again = place.json(0, &["threads", "--store=-s"]);
    assert_eq!((&again[0]["thread"], &again[0]["step"]), (&thread.into(), &3.into()), "{again}");
    let approve = status["questions"][0]["commands"][0].as_str().unwrap();
    let approve = approve.replacen("own_tool", &example("own_tool").get_program().to_string_lossy(), 1);
    assert_eq!(pasted(&approve).status.code(), Some(0), "{approve}");
    assert!(!place.path("owned").exists());
}
