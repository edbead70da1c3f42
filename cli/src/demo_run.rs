//! `demo`: the workflow `tasks` on a repository of its own, with scripted agents. It needs git, no key and no network.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::{Command, Output};

use clap::Args;
use serde_json::json;
use superstep_app::{App, CustomOutput, Exit, Refusal};
use superstep_base::shell::shell_word;

const PLAN: &str = include_str!("../../examples/tasks/plan.md");
const SCENARIO: &str = include_str!("../../examples/tasks/scenario.yaml");
const REPOSITORY: &str = include_str!("../../examples/tasks/repository.sh");

const THREAD: &str = "tides";
const BRANCH: &str = "superstep/tides";

/// The arguments of `demo`.
#[derive(Args)]
#[command(after_help = "Examples:\n  {bin} demo\n  {bin} demo --yes")]
pub(crate) struct DemoArgs {
    /// Approve the plan without asking
    #[arg(long)]
    yes: bool,

    #[arg(from_global)]
    json: bool,
}

/// Runs the demo, and returns where to look next.
pub(crate) async fn demo(args: DemoArgs, app: fn() -> App) -> Result<CustomOutput, Refusal> {
    if args.json {
        let help = "`run tasks --json` prints a run as JSON";
        return Err(Refusal::new("`demo` prints only text, not JSON").help(help));
    }
    let place = Place::make()?;
    let asks = !args.yes && has_input();
    say(&place.introduction(asks, args.yes));
    let exit = place.play(args.yes, asks, app)?;
    if exit == Exit::Finished {
        say(&place.commits()?);
    }
    let folder = place.folder.display().to_string();
    Ok(CustomOutput::new(place.next(exit), &json!({ "folder": folder, "thread": THREAD }))?.exit(exit))
}

/// A new folder with a plan, a scenario, a repository and a store.
struct Place {
    folder: PathBuf,
    bin: String,
}

impl Place {
    fn make() -> Result<Self, Refusal> {
        check_output("run git", Command::new("git").arg("--version").output())
            .map_err(|refusal| refusal.help("install git, or add its folder to PATH"))?;
        let bin = program();
        let place = Self { folder: new_folder()?, bin };
        place.fill().inspect_err(|_| _ = fs::remove_dir_all(&place.folder))?;
        Ok(place)
    }

    fn fill(&self) -> Result<(), Refusal> {
        for (name, text) in [("plan.md", PLAN), ("scenario.yaml", SCENARIO)] {
            let file = self.folder.join(name);
            fs::write(&file, text).map_err(|error| failure(format!("cannot write {}: {error}", file.display())))?;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", REPOSITORY, "repository.sh"]).arg(self.repository());
        check_output("create the repository", in_no_repository(&mut shell).output())?;
        Ok(())
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("tides")
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store")
    }

    fn introduction(&self, asks: bool, yes: bool) -> String {
        let folder = self.folder.display();
        let ask = match (asks, yes) {
            (true, _) => "The run stops for your approval: type `approve` and press Enter.\n",
            (false, true) => "",
            (false, false) => "The run stops for your approval; `demo --yes` approves the plan automatically.\n",
        };
        format!(
            "A plan with two tasks, executed by scripted agents, without a key or a network. The files, the checks and the\n\
             commits are real. Everything is in {folder}\n{ask}"
        )
    }

    /// Runs the plan up to its end or its question.
    fn play(&self, yes: bool, asks: bool, app: fn() -> App) -> Result<Exit, Refusal> {
        let (plan, dir) = (self.folder.join("plan.md"), self.repository());
        let driver = format!("scripted:{}", self.folder.join("scenario.yaml").display());
        let (plan, dir) = (plan.display().to_string(), dir.display().to_string());
        let mut words = vec!["run", "tasks", "--plan", &plan, "--driver", &driver, "--dir", &dir, "--thread", THREAD];
        words.extend(asks.then_some("--interactive"));
        let exit = self.call(&words, app)?;
        if yes && exit == Exit::Asking { self.call(&["approve", THREAD], app) } else { Ok(exit) }
    }

    /// Shows a command of this program, and runs it.
    fn call(&self, words: &[&str], app: fn() -> App) -> Result<Exit, Refusal> {
        say(&format!("\n$ {}\n", self.command(words)));
        let mut args: Vec<OsString> = vec![(&self.bin).into()];
        args.extend(words.iter().map(OsString::from));
        args.extend(["--store".into(), self.store().into_os_string()]);
        // An app makes a runtime of its own, which must not start on a thread of another one.
        let run = std::thread::spawn(move || app().run_with(args)).join();
        run.map(of_code).map_err(|_| failure("the run panicked"))
    }

    fn commits(&self) -> Result<String, Refusal> {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.repository()).args(["--no-pager", "log", "--oneline", BRANCH]);
        let output = check_output("list the commits", in_no_repository(&mut git).output())?;
        let list = String::from_utf8_lossy(&output.stdout);
        Ok(format!("\n$ {}\n{list}", self.git("log --oneline")))
    }

    /// Returns a command of this program on the store of the demo, as a shell takes it.
    fn command(&self, words: &[&str]) -> String {
        let store = self.store().display().to_string();
        let option = |word: &str| if word.starts_with("--") { word.to_owned() } else { shell_word(word) };
        let words = words.iter().map(|word| option(word)).collect::<Vec<_>>().join(" ");
        format!("{} {words} --store {}", shell_word(&self.bin), shell_word(&store))
    }

    fn git(&self, words: &str) -> String {
        format!("git -C {} {words} {BRANCH}", shell_word(&self.repository().display().to_string()))
    }

    /// Returns the commands to try after a run that ended like this.
    fn next(&self, exit: Exit) -> String {
        let on = |words: &[&str]| self.command(words);
        let mut commands = vec![];
        if exit == Exit::Asking {
            commands.push(("approve the plan and run it", on(&["approve", THREAD])));
            commands.push(("the commits, after the run", self.git("log --oneline")));
        }
        commands.push(("each task, its attempts and its cost", on(&["status", THREAD])));
        commands.push(("everything that happened: prompts, actions, reviews, checks", on(&["log", THREAD])));
        commands.push(("the checkpoints, newest first", on(&["history", THREAD])));
        if exit == Exit::Finished {
            commands.push(("the change of the state by the rejected review", on(&["diff", THREAD, "8", "9"])));
            let verify = on(&["replay", THREAD, "--mode", "verify"]);
            commands.push(("compare the recorded run with the current graph; nothing is called or written", verify));
        }
        let remove = format!("rm -r {}", shell_word(&self.folder.display().to_string()));
        commands.push(("remove everything", remove));
        let line = |(what, command): (&str, String)| format!("  {what}\n    {command}\n");
        format!("\nWhere to look next\n{}{PAGES}", commands.into_iter().map(line).collect::<String>())
    }
}

/// Returns this program, as a shell finds it from every folder.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_else(|| "superstep".into());
    let is_path = called.contains(std::path::MAIN_SEPARATOR);
    let place = is_path.then(|| std::path::absolute(&called).ok()).flatten();
    place.map_or(called, |place| place.display().to_string())
}

/// Returns true if answers can be read: from a terminal, a pipe or a file.
fn has_input() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let input = stdin().as_fd().try_clone_to_owned().map(fs::File::from);
    let kind = input.and_then(|input| input.metadata()).map(|about| about.file_type());
    stdin().is_terminal() || kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file() || kind.is_socket())
}

const PAGES: &str = "\nIn the documentation of superstep
  docs/tasks.md          run plans with Claude Code, Codex, or a server of models
  docs/guide/define.md   write your own graph
  docs/guide/debug.md    history, forks, replay
";

/// Makes a folder that was not there.
fn new_folder() -> Result<PathBuf, Refusal> {
    let parent = std::env::temp_dir();
    let mut number = 1;
    loop {
        let folder = parent.join(format!("superstep-demo-{number}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                let refusal = failure(format!("cannot create a folder in {}: {error}", parent.display()));
                return Err(refusal.help("set TMPDIR to a folder that exists and can be written"));
            }
        }
    }
}

/// Removes the variables that point git at another repository.
fn in_no_repository(command: &mut Command) -> &mut Command {
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].into_iter().fold(command, Command::env_remove)
}

/// Returns the output of a program that succeeded.
fn check_output(purpose: &str, done: std::io::Result<Output>) -> Result<Output, Refusal> {
    let output = done.map_err(|error| failure(format!("cannot {purpose}: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(failure(format!("cannot {purpose}: {}: {reason}", output.status)))
}

fn failure(error: impl Into<String>) -> Refusal {
    Refusal::new(error).exit(Exit::Failed)
}

fn of_code(code: u8) -> Exit {
    let exits = [Exit::Finished, Exit::Asking, Exit::Halted, Exit::Rejected, Exit::Cancelled, Exit::Waiting];
    exits.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
}

/// Prints text; a reader that is gone stops nothing.
fn say(text: &str) {
    let mut out = stdout().lock();
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
