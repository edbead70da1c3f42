//! Stores of both kinds on the command line: `fjall:PATH` in every place that takes one, and copies between them.

use std::process::Command;

use rstest::rstest;
use serde_json::Value;
use superstep::checkpoint::{Checkpointer, FjallCheckpointer, SledCheckpointer};
use tempfile::TempDir;

/// A fresh directory to run the program in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Runs the program, expects an exit code and returns its output and its errors.
    fn call(&self, code: i32, words: &str) -> String {
        self.call_with(code, words, None)
    }

    fn call_with(&self, code: i32, words: &str, store: Option<&str>) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.env_remove("SUPERSTEP_STORE").current_dir(&self.0);
        store.into_iter().for_each(|store| _ = command.env("SUPERSTEP_STORE", store));
        let output = command.args(words.split(' ')).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap().replace(env!("CARGO_BIN_EXE_superstep"), "superstep");
        assert_eq!(output.status.code(), Some(code), "{words}: {text}");
        text
    }

    fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.call(0, &format!("{words} --json"))).unwrap()
    }

    /// Starts a thread that waits for a review.
    fn with_essay(store: &str) -> Self {
        let place = Self::new();
        place.call(10, &format!("run essay --topic tides --thread first --store {store}"));
        place
    }
}

#[rstest]
#[case::sled("sled:runs")]
#[case::fjall("fjall:runs")]
fn every_command_takes_a_store_of_either_kind(#[case] store: &str) {
    let place = Place::with_essay(store);
    let shown = place.call(0, &format!("status first --store {store}"));
    let named = if store == "sled:runs" { "--store runs" } else { "--store fjall:runs" };
    assert!(shown.contains(&format!("superstep approve first {named}")), "{shown}");
    place.call_with(0, "approve first --by ada", Some(store));
    let history = place.json(&format!("history first --store {store}"));
    let at = |nth: usize| history[nth]["checkpoint"].to_string();
    place.call(0, &format!("diff first {} {} --store {store}", at(1), at(0)));
    let fork = format!("fork first --at {} --to second", at(0));
    for words in [
        "threads",
        "status first",
        "history first",
        "show first",
        "events first",
        "log first",
        "replay first",
        "tag first here",
        "export first first.superstep",
        "gc --keep-last 2 --compact",
        "import first.superstep --thread other --trust",
        &fork,
        "delete second",
        "trust",
        "repair rescued",
        "runner --until-idle",
    ] {
        place.call(0, &format!("{words} --store {store}"));
    }
    let rescued = place.json(&format!("threads --store {}", store.replace("runs", "rescued")));
    assert_eq!(rescued.as_array().unwrap().len(), 2, "{rescued}");
}

#[test]
fn the_wrong_kind_is_an_error_that_names_the_right_one() {
    let place = Place::with_essay("fjall:runs");
    let error = place.call(1, "threads --store runs");
    assert!(error.contains("the store at runs is a fjall store, and was opened as a sled store"), "{error}");
    assert!(error.contains("put `fjall:` before its path: `--store fjall:PATH`"), "{error}");
    place.call(10, "run essay --topic tides --thread first --store other");
    let error = place.call(1, "threads --store fjall:other");
    assert!(error.contains("use its path without a prefix: `--store PATH`"), "{error}");
    let error = place.call(1, "threads --store fjall:none");
    assert!(error.contains("there is no store at none"), "{error}");
}

#[rstest]
#[case::sled("runs")]
#[case::fjall("fjall:runs")]
fn a_store_that_is_only_read_is_shown_or_its_holder_named(#[case] store: &str) {
    let place = Place::with_essay(store);
    let plain = place.json(&format!("history first --store {store}"));
    assert_eq!(place.json(&format!("history first --read-only --store {store}")), plain);
    let path = place.0.path().join("runs");
    let holder: Box<dyn Checkpointer> = match store {
        "runs" => Box::new(SledCheckpointer::open(path).unwrap()),
        _ => Box::new(FjallCheckpointer::open(path).unwrap()),
    };
    let at = |nth: usize| plain[nth]["checkpoint"].to_string();
    let diff = format!("diff first {} {}", at(1), at(0));
    let (command, copy) = (std::env::current_exe().unwrap(), format!("copy-store {store} sled:copy"));
    let command = command.file_name().unwrap().to_string_lossy().into_owned();
    let named = format!("is open already (pid {}, {command}, since 2", std::process::id());
    for words in [
        "threads",
        "status first",
        "history first",
        "show first",
        "events first",
        "watch first",
        "log first",
        "replay first",
        "replay first --mode verify",
        "export first first.superstep",
        &diff,
        &copy,
    ] {
        let store = if words == copy { String::new() } else { format!(" --store {store}") };
        let error = place.call(1, &format!("{words} --read-only{store}"));
        assert!(error.contains(&named), "{words}: {error}");
        assert!(error.contains("help: ") && error.contains("wait for"), "{words}: {error}");
    }
    drop(holder);
}

#[test]
fn a_store_is_copied_to_another_kind_and_its_threads_go_on_there() {
    let place = Place::with_essay(".superstep/store");
    let copied = place.call(0, "copy-store .superstep/store fjall:copy");
    assert!(copied.starts_with("1 threads copied: ") && copied.ends_with("the store is fjall:copy\n"), "{copied}");
    let history = |store: &str| place.json(&format!("history first --store {store}"));
    assert_eq!(history("fjall:copy"), history(".superstep/store"));
    let again = place.json("copy-store .superstep/store fjall:copy");
    assert_eq!((again["threads"].as_u64(), again["same"].as_u64()), (Some(0), Some(1)), "{again}");
    place.call(0, "approve first --store fjall:copy");
    let refused = place.call(1, "copy-store .superstep/store fjall:copy");
    assert!(refused.contains("there is a thread `first` already"), "{refused}");
    place.call(0, "copy-store fjall:copy sled:back");
    assert_eq!(history("back"), history("fjall:copy"));
    assert!(place.call(2, "copy-store back sled:back").contains("both are the same store"));
    assert!(place.call(2, "copy-store back fjall:new --store x").contains("leave out `--store`"));
    assert!(place.call(1, "copy-store none fjall:new").contains("there is no store at none"));
    assert!(!place.0.path().join("new").exists());
}
