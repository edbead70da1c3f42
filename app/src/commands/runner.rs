//! The command `runner`: resumes every thread of the store, in one process. Its hooks, a shell command or a URL, get
//! questions and stops as JSON.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep_base::time::{millis, rfc3339};
use superstep_metrics::RunMetrics;
use tokio::task::JoinSet;

use super::restate::RestateArgs;
use super::retention::RetentionRules;
use super::session::{CommandOutput, Session};
use crate::advice::{Caller, commands};
use crate::args::Runner;
use crate::control::Control;
use crate::events::{EventBuffer, later_event_json};
use crate::failure::{Failure, json};
use crate::graphs::AppGraphs;
use crate::local::Local;
use crate::metrics;
use crate::relocation::locate_to_run;
use crate::shapes::ThreadReport;
#[cfg(all(feature = "agents", unix))]
use crate::shapes::with_present_paths;
use crate::store::OwnerSettings;
use crate::terminal::{self, note, print, print_failure};
use crate::text::clean;
use crate::threads::RunRequest;
use crate::watch::View;
use superstep::checkpoint::Checkpointer;
use superstep::graph::runner::{RunnerQuestion, RunnerReport, RunnerStop, RunnerTurn, TurnEnd, Until};
use superstep::graph::{self, Event, RunError, StatusKind};

impl Session {
    pub(super) async fn runner(&self, args: Runner) -> Result<CommandOutput, Failure> {
        let asked = args.on_question.as_deref().map(|text| Hook::new(text, args.hook_timeout)).transpose()?;
        let stopped = args.on_stop.as_deref().map(|text| Hook::new(text, args.hook_timeout)).transpose()?;
        let rules = RetentionRules::read(args.config.as_deref(), self.store.folder())?;
        if args.restate.is_some() {
            self.check_shared()?;
        }
        let local = self.store_of_runner(OwnerSettings { name: args.name, lease: args.lease }).await?;
        let graphs = self.graphs.named_over(&args.graphs, &local.store)?;
        let names: Vec<String> = graphs.iter().map(|graph| graph.name().to_owned()).collect();
        let metrics = RunMetrics::new(&names);
        let listener = self.serve_metrics(args.metrics.as_deref(), &metrics).await?;
        let host = Arc::new(TurnHost {
            metrics: Arc::clone(&metrics),
            graphs: Arc::clone(&self.graphs),
            local: local.clone(),
            control: self.control.clone(),
        });
        let version = self.command.get_version().unwrap_or_default().to_owned();
        let entry = local.store.join_workers(names, version).await?;
        let mut runner = graph::runner(graphs)
            .drive_with(move |turn| Arc::clone(&host).drive(turn))
            .max_threads(args.jobs)
            .max_resumes(args.max_resumes)
            .on_stop(move |stop| {
                metrics.end(&stop.graph, stop.status.kind());
                std::future::ready(())
            });
        self.control.wakes(runner.waker());
        if let Some(hook) = asked {
            let formatter = QuestionFormatter::of(self, &local);
            runner = runner.on_question(move |question| call_question_hook(formatter.clone(), hook.clone(), question));
        }
        if let Some(hook) = stopped {
            runner = runner.on_stop(move |stop| call_stop_hook(hook.clone(), stop));
        }
        if self.view != View::Quiet {
            runner = runner.on_stop(|stop| {
                print(&line(&stop));
                std::future::ready(())
            });
            let graphs = Arc::clone(&self.graphs);
            runner = runner.on_unknown_graph(move |graph, version| {
                unknown_graph(&graphs, graph, version).iter().for_each(|line| note(line));
            });
        }
        if let Some(every) = args.gc_every {
            runner = runner.gc_every(every, rules.expiry(), rules.policy()).on_gc(|done| {
                if let Err(error) = done {
                    print_failure(&error.into(), false);
                }
            });
        }
        let cancel = terminal::cancel_on_signal();
        let until = match args.lasting {
            Some(time) => Until::For(time),
            None if args.until_idle => Until::Idle,
            None => Until::Cancelled(cancel.token.clone()),
        };
        let runner = runner.stop_with(cancel.token.clone());
        let restate =
            args.restate.map(|listen| RestateArgs { listen, options: args.restate_options, lasting: args.lasting });
        let report = match restate {
            Some(restate) => self.serve_restate(runner, restate, cancel.token.clone()).await,
            None => runner.run(until).await.map_err(Failure::from),
        };
        entry.leave().await;
        drop(listener);
        let report = report?;
        CommandOutput::new(text(&report), &report)
    }
}

impl Session {
    /// Serves the numbers of a runner until the returned task is dropped.
    async fn serve_metrics(&self, address: Option<&str>, metrics: &Arc<RunMetrics>) -> Result<JoinSet<()>, Failure> {
        let Some(address) = address else { return Ok(JoinSet::new()) };
        let (address, task) = metrics::serve(address, Arc::clone(metrics)).await.map_err(|error| {
            let failure = Failure::new(format!("cannot listen at {}", clean(address))).because(&error);
            failure.help("give a free address of this machine to `--metrics`, such as 127.0.0.1:9464")
        })?;
        if self.view != View::Quiet {
            note(&format!("metrics: http://{address}/metrics\n"));
        }
        Ok(task)
    }
}

/// Drives the turns of the runner. Other processes can follow and cancel its runs.
struct TurnHost {
    graphs: Arc<AppGraphs>,
    local: Local,
    control: Control,
    metrics: Arc<RunMetrics>,
}

impl TurnHost {
    async fn drive(self: Arc<Self>, turn: RunnerTurn) -> Result<TurnEnd, RunError> {
        let RunnerTurn { thread, cancel, due, .. } = turn;
        let (Some(id), name) = (thread.id().cloned(), thread.graph().name().to_owned()) else {
            return Ok(TurnEnd::default()); // a runner's threads have names
        };
        let invalid = |failure: Failure| RunError::InvalidConfig { what: failure.error };
        let graph = self.graphs.get(&name).map_err(invalid)?;
        let mut metrics = self.metrics.begin(&name, due);
        let own = cancel.child_token();
        let running = self.control.runs(id.as_str(), own.clone());
        let thread = graph.thread_of(thread, Arc::clone(&self.local.store), id.clone());
        locate_to_run(&thread, id.as_str(), self.local.folder.as_deref()).await.map_err(invalid)?;
        let mut run = thread.run(RunRequest::Proceed, own.clone());
        let labels = Arc::new(thread.labels());
        let emit = |event: Event| running.record_lazily(later_event_json(event, &labels));
        let mut buffer = EventBuffer::default();
        while let Some(event) = run.next().await {
            metrics.on_event(&event);
            buffer.push(event).into_iter().for_each(emit);
        }
        let ended = run.end().await.inspect_err(|error| metrics.on_error(error));
        if !matches!(ended, Err(RunError::Checkpoint(_))) {
            buffer.finish().into_iter().for_each(emit);
        }
        let is_cancelled = own.is_cancelled() && !cancel.is_cancelled();
        Ok(TurnEnd { error: ended.err(), is_cancelled })
    }
}

/// The data that a notice of a question needs.
#[derive(Clone)]
struct QuestionFormatter {
    graphs: Arc<AppGraphs>,
    store: Arc<dyn Checkpointer>,
    caller: Caller,
}

impl QuestionFormatter {
    fn of(session: &Session, local: &Local) -> Self {
        let (graphs, store) = (Arc::clone(&session.graphs), Arc::clone(&local.store));
        Self { graphs, store, caller: session.caller.clone() }
    }

    /// Returns a question with the commands that answer it while the runner holds the store.
    async fn question(&self, asked: &RunnerQuestion) -> Result<Value, Failure> {
        let graph = self.graphs.of_thread(asked.thread.as_str(), &asked.graph)?;
        let report: ThreadReport = graph.thread(Arc::clone(&self.store), asked.thread.clone()).report().await?;
        let mut questions = report.position.questions;
        commands(&self.caller, asked.thread.as_str(), &mut questions, " --record-only");
        let id = asked.question.id().to_string();
        match questions.into_iter().find(|question| question.id == id) {
            Some(question) => json(&question),
            None => json(&asked.question), // it was answered meanwhile
        }
    }
}

async fn call_question_hook(formatter: QuestionFormatter, hook: Hook, asked: RunnerQuestion) {
    let called = async {
        let question = formatter.question(&asked).await?;
        let words = json!({
            "thread": asked.thread, "graph": asked.graph, "status": StatusKind::Interrupted, "question": question,
        });
        hook.call(&words).await
    };
    if let Err(failure) = called.await {
        print_failure(&failure, false);
    }
}

async fn call_stop_hook(hook: Hook, stop: RunnerStop) {
    let called = async { hook.call(&json(&stop)?).await };
    if let Err(failure) = called.await {
        print_failure(&failure, false);
    }
}

/// Returns a line about threads that this program cannot run; none about those that `--graphs` leaves out.
fn unknown_graph(graphs: &AppGraphs, name: &str, version: u32) -> Option<String> {
    let shown = clean(name);
    let Some(graph) = graphs.find(name) else {
        return Some(format!("note: this program has no graph `{shown}`: its threads are left to other runners\n"));
    };
    let own = graph.graph.version();
    (version > own).then(|| {
        format!(
            "note: this program has version {own} of graph `{shown}`: threads of version {version} are left to other runners\n"
        )
    })
}

/// Formats a turn as a line.
fn line(stop: &RunnerStop) -> String {
    let why = stop.error.as_ref().map(|error| format!(": {}", clean(&error.to_string()))).unwrap_or_default();
    format!("{}: {}{why}\n", clean(stop.thread.as_str()), stop.status.kind())
}

/// Returns a runner's report in a few lines.
fn text(report: &RunnerReport) -> String {
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let mut text = format!("resumed {}\n", times(report.turns));
    report.ended.iter().for_each(|(standing, count)| text.push_str(&format!("  {standing}: {count}\n")));
    for thread in &report.given_up {
        text.push_str(&format!("  {} makes no progress: `status` shows it\n", clean(thread.as_str())));
    }
    if let Some(wake) = report.wake {
        text.push_str(&format!("  the next thread wakes at {}\n", rfc3339(millis(wake))));
    }
    text
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hook {
    Command(Arc<str>, Duration),
    Address(Arc<str>),
}

impl Hook {
    /// Parses a hook; `limit` is the time limit of a command.
    fn new(text: &str, limit: Duration) -> Result<Self, Failure> {
        if !cfg!(all(feature = "agents", unix)) {
            return Err(
                Failure::usage("this program was built without hooks").help("build it with the feature `agents`")
            );
        }
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        Ok(if is_address { Self::Address(text.into()) } else { Self::Command(text.into(), limit) })
    }

    /// Calls the hook: a command gets the JSON on standard input and its parts as variables; a URL gets it by POST.
    #[cfg(all(feature = "agents", unix))]
    async fn call(&self, json: &Value) -> Result<(), Failure> {
        let json = with_present_paths(json);
        let json = json.as_ref();
        let failed = |hook: &str, why: String| Failure::new(format!("the hook `{hook}` failed: {why}"));
        match self {
            // The URL may hold a secret.
            Self::Address(url) => {
                superstep::drivers::api::post(url, json.to_string()).await.map_err(|why| failed("http..", why))
            }
            Self::Command(line, limit) => command(line, json, *limit).await.map_err(|why| failed(line, why)),
        }
    }

    #[cfg(not(all(feature = "agents", unix)))]
    async fn call(&self, _: &Value) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(all(feature = "agents", unix))]
async fn command(line: &str, json: &Value, time: Duration) -> Result<(), String> {
    use superstep::process::{Bounds, Program, ProgramEnd};

    let bounds = Bounds { time, output: 1 << 20, linger: Duration::from_millis(100) };
    let mut program = Program::new("sh").args(["-c", line]).stdin(json.to_string());
    for (name, value) in variables(json) {
        program = program.env(name, value);
    }
    let ran = program.run_within(&bounds).await.map_err(|error| error.to_string())?;
    match ran.how {
        ProgramEnd::Exited(status) if status.success() => Ok(()),
        ProgramEnd::Exited(status) => Err(status.to_string()),
        ProgramEnd::TooMuch => Err("it wrote more than a mebibyte".into()),
        ProgramEnd::TooLong => Err(format!("it took longer than {} s, its `--hook-timeout`", time.as_secs())),
    }
}

/// Returns the parts of a message as environment variables.
#[cfg(all(feature = "agents", unix))]
fn variables(json: &Value) -> Vec<(&'static str, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parts = [
        ("SUPERSTEP_THREAD", &json["thread"]),
        ("SUPERSTEP_GRAPH", &json["graph"]),
        ("SUPERSTEP_STATUS", &json["status"]),
        ("SUPERSTEP_QUESTION", &json["question"]["id"]),
        ("SUPERSTEP_NAME", &json["question"]["name"]),
        ("SUPERSTEP_PAYLOAD", &json["question"]["payload"]),
        ("SUPERSTEP_ANSWER", &json["question"]["commands"][0]),
    ];
    // A variable cannot hold NUL.
    let set = parts.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name, text(value).replace('\0', ""))).collect()
}
