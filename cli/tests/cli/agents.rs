//! Agents that are programs: a script in place of `codex`, found in `PATH`, with the same output and real work.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rstest::rstest;

use crate::place::{PLAN, Place, RunOutput};

const KEY: &str = "sk-key-0123456789";

/// Writes a file for each turn of a developer, approves everything, and also runs the commands of the file `play`.
const CODEX: &str = r#"#!/bin/sh
place=$(cd "$(dirname "$0")/.." && pwd)
cat > "$place/prompt"
case "$*" in *workspace-write*) role=developer;; *) role=reviewer;; esac
echo $role >> "$place/calls"
nth=$(($(wc -l < "$place/calls")))
env > "$place/agent.env"
said='"status":"done","summary":"did '$OPENAI_API_KEY'","files":[],"question":null'
if [ $role = developer ]; then
  echo "$nth" > part-$nth.txt
else
  said='"approved":true,"severity":"none","summary":"fine","comments":[],"resolved_ids":[],"unresolved_ids":[]'
fi
play=none
looks=0
if [ "$(cut -d' ' -f1 "$place/play" 2> /dev/null)" = $role ]; then
  play=$(cut -d' ' -f2 "$place/play")
  rm "$place/play"
fi
case $play in
  kill) trap "" TERM;;
  wait) echo > "$place/working"; until [ -e "$place/go" ] || [ $((looks += 1)) -gt 3000 ]; do sleep 0.01; done;;
  hang) exec 3> "$place/alive"; kill -9 $PPID; sleep 600;;
esac
echo '{"type":"thread.started","thread_id":"thread-'$nth'"}'
echo '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"env","aggregated_output":"'$OPENAI_API_KEY'"}}'
echo '{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"{'$(echo "$said" | sed 's/"/\\"/g')'}"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
if [ $play = kill ]; then
  until [ "$(cat .superstep/sessions/*/*.jsonl 2> /dev/null | grep -c '^{"ended"')" = $nth ] || [ $((looks += 1)) -gt 3000 ]; do sleep 0.01; done
  kill -9 $PPID
fi
"#;

struct Stage(Place);

impl Stage {
    fn new(profile: &str) -> Self {
        let place = Place::new("");
        place.write("p.toml", &format!("driver = 'cli:codex'\nfinal_review = false\n{profile}"));
        fs::create_dir(place.0.path().join("bin")).unwrap();
        let this = Self(place);
        this.program("bin/codex", CODEX);
        this
    }

    fn path(&self) -> &Path {
        self.0.0.path()
    }

    fn program(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::write(&file, text).unwrap();
        crate::program::make_executable(file);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path().join("bin").display())).env("OPENAI_API_KEY", KEY);
        command
    }

    fn call(&self, words: &[&str]) -> RunOutput {
        RunOutput(self.command(words).output().unwrap())
    }

    /// Runs to the approval.
    fn run(&self, more: &[&str]) -> RunOutput {
        self.call(&[&["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--plan", "PLAN.md"], more].concat())
    }

    fn started(profile: &str) -> Self {
        let stage = Self::new(profile);
        let run = stage.run(&["--thread", "t"]);
        assert_eq!(run.code(), 10, "{}", run.text());
        stage
    }

    fn spawned(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn until(&self, file: &str) {
        let began = std::time::Instant::now();
        while !self.path().join(file).exists() {
            assert!(began.elapsed().as_secs() < 60, "{file} does not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[rstest]
#[case::developer("developer")]
#[case::reviewer("reviewer")]
fn a_turn_that_ended_just_before_a_kill_is_not_repeated(#[case] role: &str) {
    let stage = Stage::started("");
    stage.0.write("play", &format!("{role} kill"));
    let killed = stage.call(&["approve", "t"]);
    assert_eq!(killed.0.status.code(), None, "{}", killed.text());
    let done = stage.call(&["proceed", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!(stage.read("calls"), "developer\nreviewer\n".repeat(2));
    assert_eq!(stage.0.subjects("superstep/t").len(), 3);
}

#[test]
fn an_agent_ends_with_the_process_that_started_it() {
    let stage = Stage::started("");
    let pipe = stage.path().join("alive");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    stage.0.write("play", "developer hang");
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        fs::File::open(pipe).unwrap().read_to_end(&mut vec![]).unwrap();
        sender.send(()).unwrap();
    });
    assert_eq!(stage.call(&["approve", "t"]).0.status.code(), None);
    ended.recv_timeout(Duration::from_secs(60)).expect("the agent is alive, though nobody listens to it");
    let done = stage.call(&["proceed", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
}

#[test]
fn two_threads_do_not_work_in_one_repository_at_the_same_time() {
    let stage = Stage::started("");
    let elsewhere = ["--store", "elsewhere"];
    assert_eq!(stage.run(&["--thread", "u", "--store", "elsewhere"]).code(), 10);
    stage.0.write("play", "developer wait");
    let mut first = stage.spawned(&["approve", "t"]);
    stage.until("working");
    let holder = format!("thread `t` in process {}, for ", first.id());
    let second = stage.call(&[&["approve", "u"], &elsewhere[..]].concat());
    assert_eq!(second.code(), 1, "{}", second.text());
    assert!(second.text().contains(&holder), "{}", second.text());
    let third = stage.run(&["--thread", "v", "--store", "yet-elsewhere"]);
    assert_eq!(third.code(), 1, "{}", third.text());
    assert!(third.text().contains(&holder), "{}", third.text());
    stage.0.write("go", "");
    assert!(first.wait().unwrap().success());
    let second = stage.call(&[&["retry", "u"], &elsewhere[..]].concat());
    assert_eq!(second.code(), 0, "{}", second.text());
    assert_eq!(stage.0.subjects("superstep/t").len(), 3);
    assert_eq!(stage.0.subjects("superstep/u").len(), 3, "it began where the checkout was before the first");
}

#[test]
fn every_agent_runs_in_the_sandbox_of_the_profile() {
    let stage = Stage::new("");
    let sandbox = stage.path().join("bin/sandbox").display().to_string();
    stage.0.write(
        "p.toml",
        &format!("driver = 'cli:codex'\nfinal_review = false\n[tools]\ncommand_prefix = ['{sandbox}', '--strict']\n"),
    );
    stage.program(
        "bin/sandbox",
        "#!/bin/sh\necho \"$1 $2 $3\" >> \"$(dirname \"$0\")/../inside\"; shift; exec \"$@\"\n",
    );
    assert_eq!(stage.run(&["--thread", "t"]).code(), 10);
    let done = stage.call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    assert_eq!(stage.read("inside"), "--strict codex exec\n".repeat(4));
}

/// Returns the names of variables in an environment.
fn names(seen: &str) -> Vec<&str> {
    seen.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect()
}

#[test]
fn keys_are_passed_to_their_agent_only_and_stored_nowhere() {
    let stage = Stage::new("");
    let place = stage.path().display().to_string();
    stage.program("repo/.git/hooks/pre-commit", &format!("#!/bin/sh\nenv > {place}/hook.env\n"));
    stage
        .0
        .write("PLAN.md", &PLAN.replace("A face.\n", &format!("A face.\n\n**Verify:** `env > {place}/check.env`\n")));
    let call = |words: &[&str]| {
        let mut command = stage.command(words);
        command.env("GITHUB_TOKEN", "ghp_0123456789abc").env("ANTHROPIC_API_KEY", "sk-ant-0123456789");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_EXTERNAL_DIFF"] {
            command.env(name, "/nowhere");
        }
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.hooksPath").env("GIT_CONFIG_VALUE_0", "/x");
        RunOutput(command.output().unwrap())
    };
    let run = call(&["run", "tasks", "--dir", "repo", "--profile", "p.toml", "--plan", "PLAN.md", "--thread", "t"]);
    assert_eq!(run.code(), 10, "{}", run.text());
    let done = call(&["approve", "t"]);
    assert_eq!(done.code(), 0, "{}", done.text());
    let exported = call(&["export", "t", "t.export"]);
    assert_eq!(exported.code(), 0, "{}", exported.text());

    let agent = stage.read("agent.env");
    assert!(agent.contains(KEY) && !agent.contains("ghp_") && !agent.contains("sk-ant"), "{agent}");
    assert!(!names(&agent).iter().any(|name| name.starts_with("GIT_")), "{agent}");
    for seen in ["check.env", "hook.env"] {
        let seen = stage.read(seen);
        assert!(names(&seen).contains(&"PATH"));
        assert!(![KEY, "ghp_", "sk-ant", "/nowhere"].iter().any(|secret| seen.contains(secret)), "{seen}");
    }
    assert!(!names(&stage.read("check.env")).iter().any(|name| name.starts_with("GIT_")));
    fs::remove_file(stage.path().join("agent.env")).unwrap();
    assert_eq!(holding(stage.path(), KEY.as_bytes()), Vec::<String>::new());
    assert!(!holding(stage.path(), b"did [redacted]").is_empty(), "the agent said it");
}

/// Returns the files in a folder that contain some bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&entry.path(), bytes));
        } else if kind.is_file() && fs::read(entry.path()).unwrap().windows(bytes.len()).any(|part| part == bytes) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}
