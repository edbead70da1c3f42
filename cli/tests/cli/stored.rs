//! Threads that earlier versions stored (`tests/fixtures/stores`): they are listed, read, verified, exported, imported, copied and
//! resumed to the end that they had in the version that recorded them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::{Map, Value, json};

use superstep::checkpoint::{
    Checkpointer, ExportOptions, FjallCheckpointer, ImportOptions, MemoryCheckpointer, SledCheckpointer, copy_threads,
    export_thread, import_thread,
};

use crate::place::RunOutput;

/// The folder in which fixtures are recorded. Threads of agents contain the path of their repository.
const PLACE: &str = "/tmp/superstep-fixture";

/// Cases of which a rule is another one now, so that `verify` reports a difference, with the rule.
const CHANGED: [(&str, &str); 1] = [(
    "code_task_split",
    "a verifier that fails as a blocker stops the later stages, and no longer the rest of its own",
)];

/// A folder as the earlier version left it, for this process alone.
struct Stored {
    archive: PathBuf,
    folder: PathBuf,
    case: Value,
    _lock: File,
}

impl Stored {
    fn open(archive: &Path) -> Self {
        let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.xz").unwrap();
        std::fs::create_dir_all(PLACE).unwrap();
        let lock = File::create(format!("{PLACE}/{name}.lock")).unwrap();
        lock.lock().unwrap();
        let cases = std::fs::read_to_string(archive.with_file_name("cases.json")).unwrap();
        let case = serde_json::from_str::<Value>(&cases).unwrap()[name].take();
        let folder = Path::new(PLACE).join(name);
        let stored = Self { archive: archive.canonicalize().unwrap(), folder, case, _lock: lock };
        stored.unpack();
        stored
    }

    /// Makes the folder as it was recorded.
    fn unpack(&self) {
        self.remove();
        let tar = Command::new("tar").arg("-xf").arg(&self.archive).current_dir(PLACE).output().unwrap();
        assert!(tar.status.success(), "{}", String::from_utf8_lossy(&tar.stderr));
    }

    fn remove(&self) {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    /// True for the cases that go through more commands than others, since each opens a store.
    fn is_example(&self) -> bool {
        ["demos_", "_done", "_in_a_turn_sled", "_split"].iter().any(|part| self.folder.to_str().unwrap().contains(part))
    }

    fn store(&self, name: &str) -> &str {
        self.case[name].as_str().unwrap()
    }

    fn threads(&self) -> &Map<String, Value> {
        self.case["threads"].as_object().unwrap()
    }

    /// Runs the program on a store, as the recorder does.
    fn call(&self, store: &str, words: &[&str]) -> RunOutput {
        self.program(&[words, &["--store", store]].concat())
    }

    fn program(&self, words: &[&str]) -> RunOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
        command.args(words).current_dir(&self.folder);
        command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env("USER", "Ada").env("HOME", PLACE);
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}/bin:{path}", self.folder.display()))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        RunOutput(command.output().unwrap())
    }

    fn expect(&self, code: i64, store: &str, words: &[&str]) -> RunOutput {
        let called = self.call(store, words);
        assert_eq!(i64::from(called.code()), code, "{words:?} --store {store}: {}", called.text());
        called
    }

    fn json(&self, store: &str, words: &[&str]) -> Value {
        let called = self.expect(0, store, &[words, &["--json"]].concat());
        serde_json::from_slice(&called.0.stdout).unwrap()
    }

    /// Returns the position of a thread. One that waited for a time when it was recorded may have reached it.
    fn now(&self, store: &str, thread: &str, recorded: &Value) -> Value {
        let mut found = self.standing(store, thread);
        if recorded["status"] == "waiting" && found["status"] == "pending" {
            found["status"] = json!("waiting");
        }
        found
    }

    /// Returns what `standing` of the recorder notes of a thread.
    fn standing(&self, store: &str, thread: &str) -> Value {
        let shown = self.json(store, &["status", thread]);
        let questions = shown["questions"].as_array().unwrap().iter().map(|question| question["name"].clone());
        let mut found = json!({"status": shown["status"], "questions": questions.collect::<Vec<_>>()});
        let state = &shown["state"];
        if let Some(outcome) = state.get("outcome") {
            found["outcome"] = outcome.clone();
        }
        if let Some(tasks) = state["tasks"].as_array() {
            found["marks"] = tasks.iter().map(|task| task["mark"].clone()).collect();
        }
        if self.folder.join("repo/.git").exists() {
            found["branches"] = self.branches();
        }
        found
    }

    /// Returns the files of each branch.
    fn branches(&self) -> Value {
        let mut git = Command::new("git");
        git.args(["for-each-ref", "--format=%(refname:short) %(tree)", "refs/heads"]);
        let output = git.current_dir(self.folder.join("repo")).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let branch = |line: &str| line.split_once(' ').map(|(name, tree)| (name.to_owned(), json!(tree))).unwrap();
        Value::Object(lines.lines().map(branch).collect())
    }

    /// Reads each thread, and runs its nodes again over what is recorded.
    fn read(&self) {
        let home = self.store("store");
        for (thread, about) in self.threads() {
            assert_eq!(self.now(home, thread, &about["begin"]), about["begin"], "{thread}");
            for words in [&["show", thread][..], &["log", thread], &["events", thread], &["history", thread, "--tasks"]]
            {
                self.expect(0, home, words);
            }
            let verified = self.call(home, &["replay", thread, "--mode", "verify"]);
            let is_changed = CHANGED.iter().any(|(case, _)| self.folder.ends_with(case));
            assert!(is_changed || [0, 15].contains(&verified.code()), "{thread}: {}", verified.text());
        }
    }

    /// Moves each thread to other stores: with its whole store, and as a file, that of the earlier version too.
    async fn carry(&self) {
        let [home, copy] = ["store", "copy"].map(|name| self.checkpointer(self.store(name)));
        let (copied, imported) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
        let all = copy_threads(&*home, &copied).await.unwrap();
        assert!(all.is_complete(), "{all}");
        for thread in self.threads().keys() {
            let [file, of_copy, of_copied] =
                [export(&*home, thread).await, export(&*copy, thread).await, export(&copied, thread).await];
            assert!([of_copy, of_copied].iter().all(|copied| records(copied) == records(&file)), "{thread}");
            let old = std::fs::read(self.folder.join(format!("{thread}.superstep"))).unwrap();
            let mut counts = vec![];
            for (file, name) in [(old, format!("{thread}-old")), (file, format!("{thread}-new"))] {
                let options = ImportOptions::new().with_name(name.as_str());
                counts.push(import_thread(&imported, &*file, &options).await.unwrap().records);
            }
            assert_eq!(counts[0], counts[1], "{thread}");
        }
    }

    fn checkpointer(&self, store: &str) -> Box<dyn Checkpointer> {
        let (kind, path) = store.split_once(':').unwrap();
        let path = self.folder.join(path);
        match kind {
            "sled" => Box::new(SledCheckpointer::open(path).unwrap()),
            _ => Box::new(FjallCheckpointer::open(path).unwrap()),
        }
    }

    /// The same by commands, into a store of the other kind.
    fn carry_by_commands(&self) {
        let home = self.store("store");
        let other = self.store("copy").split(':').next().unwrap();
        let (copied, imported) = (format!("{other}:copied"), format!("{other}:imported"));
        let called = self.program(&["copy-store", home, &copied]);
        assert_eq!(called.code(), 0, "{}", called.text());
        let listed = |store: &str| {
            let all = self.json(store, &["threads"]);
            all.as_array().unwrap().iter().map(|one| one["thread"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(listed(&copied), listed(home));
        for (thread, about) in self.threads() {
            assert!(listed(home).contains(thread));
            let history = self.json(home, &["history", thread]);
            assert_eq!(self.json(&copied, &["history", thread]), history, "{thread}");
            self.expect(0, &imported, &["import", &format!("{thread}.superstep"), "--thread", thread, "--trust"]);
            assert_eq!(self.now(&imported, thread, &about["begin"]), about["begin"], "{thread}");
        }
    }

    /// Continues each thread to its end, each in a folder as it was.
    fn resume(&self, store: &str) {
        for (thread, about) in self.threads() {
            if about["begin"]["status"] == "waiting" && self.standing(store, thread)["status"] == "pending" {
                // The time for which it waited has passed since it was recorded.
                self.expect(0, store, &["proceed", thread]);
                assert_eq!(self.standing(store, thread)["status"], "finished", "{thread}");
                continue;
            }
            for command in about["then"].as_array().unwrap() {
                let (code, words) = command.as_array().unwrap().split_first().unwrap();
                let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
                self.expect(code.as_i64().unwrap(), store, &words);
            }
            assert_eq!(self.standing(store, thread), about["end"], "{thread}");
            if self.threads().len() > 1 && self.folder.join("repo/.git").exists() {
                self.unpack();
            }
        }
    }
}

async fn export(store: &dyn Checkpointer, thread: &str) -> Vec<u8> {
    let mut file = vec![];
    export_thread(store, &thread.into(), &ExportOptions::new(), &mut file).await.unwrap();
    file
}

/// Returns the records of an exported thread: what follows its header, which has the time, without the checksums of both.
fn records(file: &[u8]) -> &[u8] {
    let begin = file.iter().position(|byte| *byte == b'{').unwrap();
    let mut header = serde_json::Deserializer::from_slice(&file[begin..]).into_iter::<Value>();
    header.next().unwrap().unwrap();
    &file[begin + header.byte_offset() + 4..file.len() - 4]
}

#[rstest]
#[tokio::test]
async fn a_store_of_an_earlier_version_is_read_carried_and_resumed(
    #[files("../tests/fixtures/stores/*/*.tar.xz")] archive: PathBuf,
) {
    let stored = Stored::open(&archive);
    stored.read();
    stored.carry().await;
    if stored.is_example() {
        stored.carry_by_commands();
        stored.resume(stored.store("copy"));
        stored.unpack();
    }
    stored.resume(stored.store("store"));
    stored.remove();
}
