//! A fresh directory with the program in it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use superstep::prelude::*;
use tempfile::TempDir;

/// A fresh directory to run the program in.
pub(crate) struct Place {
    folder: TempDir,
    /// The address of a store that is not in the directory.
    store: Option<String>,
}

/// Returns a command that runs a built example.
pub(crate) fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(program.exists(), "{} is not built: `cargo build --examples`", program.display());
    Command::new(program)
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), store: None }
    }

    /// Returns a directory in which the program uses another store.
    pub(crate) fn on(store: String) -> Self {
        Self { store: Some(store), ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = example("own_tool");
        for variable in ["SUPERSTEP_STORE", "SUPERSTEP_DISPATCH", "SUPERSTEP_LOG", "RUST_BACKTRACE"] {
            command.env_remove(variable);
        }
        command.envs(self.store.iter().map(|store| ("SUPERSTEP_STORE", store)));
        command.current_dir(&self.folder).args(words);
        command
    }

    pub(crate) fn call(&self, words: &[&str]) -> RunOutput {
        RunOutput(self.command(words).output().unwrap())
    }

    /// Runs the program with `--json`, expects an exit code and returns the JSON.
    pub(crate) fn json(&self, code: i32, words: &[&str]) -> Value {
        let called = self.call(&[words, &["--json"]].concat());
        assert_eq!(called.code(), code, "{words:?}: {}{}", called.out(), called.err());
        serde_json::from_str(&called.out()).unwrap()
    }

    /// Starts a run whose node waits for `idle`, and returns once it waits.
    pub(crate) fn busy(&self, thread: &str) -> Child {
        std::fs::write(self.path("busy"), "").unwrap();
        self.started("release", thread)
    }

    /// The same of another graph.
    pub(crate) fn busy_with(&self, graph: &str, thread: &str) -> Child {
        std::fs::write(self.path("busy"), "").unwrap();
        self.started(graph, thread)
    }

    /// Starts a run whose node blocks its thread, then waits for `idle`.
    pub(crate) fn blocked(&self, thread: &str) -> Child {
        std::fs::create_dir(self.path("busy")).unwrap();
        self.started("release", thread)
    }

    fn started(&self, graph: &str, thread: &str) -> Child {
        let mut command = self.command(&["run", graph, "1.2.0", "--thread", thread]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().unwrap(), format!("thread {thread}"));
        let says = "superstep 1: Build says waiting for busy to go";
        assert_eq!(lines.find(|line| !line.contains(": Ask ")).unwrap(), says);
        child
    }

    /// Lets the waiting node continue.
    pub(crate) fn idle(&self) {
        std::fs::remove_file(self.path("busy")).unwrap();
    }

    /// Stores a finished thread of a graph that the program does not have.
    pub(crate) fn with_foreign_thread(&self, name: &str) {
        self.store_foreign_thread(name, 9);
    }

    /// Stores a thread of a graph that the program does not have, which ran for at most so many supersteps.
    pub(crate) fn store_foreign_thread(&self, name: &str, supersteps: u64) {
        #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
        struct Empty {
            nothing: u8,
        }
        #[derive(NodeId)]
        enum Only {
            Step,
        }
        async fn step(_: std::sync::Arc<Empty>, _: Ctx) -> Result<(), NodeError> {
            Ok(())
        }
        let store = SledCheckpointer::open(self.path(".superstep/store")).unwrap();
        let graph = StateGraph::new().add_node(Only::Step, step).add_sequence([Only::Step]).compile().unwrap();
        let thread = graph.named("elsewhere").with_checkpointer(store).thread(name).max_supersteps(supersteps);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(thread.invoke(Empty::update())).unwrap();
    }
}

/// The result of running the program.
pub(crate) struct RunOutput(pub(crate) Output);

impl RunOutput {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn out(&self) -> String {
        cleaned(&self.0.stdout)
    }

    pub(crate) fn err(&self) -> String {
        cleaned(&self.0.stderr)
    }
}

/// Decodes output, with the program's path replaced by `own_tool`.
fn cleaned(output: &[u8]) -> String {
    let program = example("own_tool").get_program().to_string_lossy().into_owned();
    String::from_utf8_lossy(output).replace(&program, "own_tool")
}

/// Replaces times in a text.
pub(crate) fn steady(text: &str) -> String {
    let is_time = |word: &str| word.starts_with("20") && word.ends_with('Z');
    let line = |line: &str| {
        line.split(' ').map(|word| if is_time(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
