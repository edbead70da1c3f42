//! What the README shows is what is compiled: its first program is an example, its other snippets stand here, between marks.
#![cfg(feature = "sled")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "it is what the README shows")]

const README: &str = include_str!("../README.md");

/// Returns what stands here between the marks of a snippet.
fn snippet(name: &str) -> String {
    cut(include_str!("readme.rs"), name)
}

/// Returns what stands between the marks of a snippet, as far to the left as it goes.
fn cut(program: &str, name: &str) -> String {
    let (_, rest) = program.split_once(&format!("// <{name}>\n")).unwrap();
    let (inside, _) = rest.split_once(&format!("// </{name}>")).unwrap();
    let left = inside.lines().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let left = left.min().unwrap_or(0);
    inside.trim_end().lines().map(|line| format!("{}\n", line.get(left..).unwrap_or_default())).collect()
}

#[test]
fn first_program_is_the_compiled_example() {
    let (_, program) = include_str!("../examples/readme.rs").split_once("use std::").unwrap();
    assert!(README.contains(&format!("```rust,no_run\nuse std::{program}```\n")));
}

#[rstest::rstest]
#[case::define(snippet("items") + "\n" + &snippet("graph"))]
#[case::ask(snippet("ask"))]
#[case::debug(snippet("debug"))]
#[case::replay(snippet("replay"))]
#[case::keep(snippet("keep"))]
#[case::tool(snippet("tool"))]
fn snippet_is_compiled(#[case] code: String) {
    assert!(README.contains(&format!("```rust,ignore\n{code}```\n")), "the README lacks:\n{code}");
}

#[test]
fn the_effect_is_that_of_the_compiled_example() {
    let (_, rest) = include_str!("../examples/effects.rs").split_once("async fn pay(").unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    assert!(README.contains(&format!("```rust,ignore\nasync fn pay({body}\n}}\n```\n")), "the README lacks:\n{body}");
}

// --- the pages ---

const AGENTS: &str = include_str!("../docs/agent-workflows.md");

const GUIDE: &str = include_str!("../docs/coming-from-langgraph.md");

/// Returns the code blocks of the guide in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opened = GUIDE.split(&format!("```{language}\n") as &str).skip(1).collect::<Vec<_>>();
    opened.into_iter().map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// Returns a text without marks and without space around its lines, to be searched for pieces of it.
fn plain(text: &str, mark: &str) -> String {
    let is_mark = |line: &&str| line.starts_with(&format!("{mark} <"));
    text.lines().map(str::trim).filter(|line| !is_mark(line)).map(|line| format!("{line}\n")).collect()
}

#[rstest::rstest]
#[case::ours("rust,ignore", "//", include_str!("../examples/coming_from_langgraph.rs"), 19)]
#[case::theirs("python", "#", include_str!("../examples/coming_from_langgraph.py"), 15)]
fn what_the_guide_shows_is_cut_from_a_whole_program(
    #[case] language: &str,
    #[case] mark: &str,
    #[case] program: &str,
    #[case] least: usize,
) {
    let (program, shown) = (plain(program, mark), blocks(language));
    assert!(shown.len() >= least, "{} blocks", shown.len());
    for block in shown {
        assert!(program.contains(&plain(block, mark)), "the program lacks:\n{block}");
    }
}

#[rstest::rstest]
#[case::state("state")]
#[case::write("write")]
#[case::nodes("nodes")]
#[case::graph("graph")]
#[case::main("main")]
fn the_page_on_agent_workflows_shows_the_compiled_example(#[case] name: &str) {
    let (_, rest) = include_str!("../examples/publish.rs").split_once(&format!("// <{name}>\n")).unwrap();
    let (code, _) = rest.split_once(&format!("// </{name}>")).unwrap();
    assert!(AGENTS.contains(&format!("```rust,ignore\n{code}```\n")), "docs/agent-workflows.md lacks:\n{code}");
}

#[rstest::rstest]
#[case::service("service")]
#[case::store("store")]
#[case::handlers("handlers")]
#[case::wait("wait")]
#[case::refusal("refusal")]
#[case::process("process")]
fn the_page_on_services_shows_the_compiled_example(#[case] name: &str) {
    let code = cut(include_str!("../examples/service.rs"), name);
    let page = include_str!("../docs/guide/service.md");
    assert!(page.contains(&format!("```rust,ignore\n{code}```\n")), "docs/guide/service.md lacks:\n{code}");
}

#[rstest::rstest]
#[case::signals("signals")]
#[case::graph("graph")]
#[case::receive("receive")]
#[case::look("look")]
#[case::send("send")]
#[case::runner("runner")]
fn the_page_on_signals_shows_the_compiled_example(#[case] name: &str) {
    let code = cut(include_str!("../examples/signals.rs"), name);
    let page = include_str!("../docs/guide/signals.md");
    assert!(page.contains(&format!("```rust,ignore\n{code}```\n")), "docs/guide/signals.md lacks:\n{code}");
}

#[rstest::rstest]
#[case::questions("questions")]
#[case::default("default")]
#[case::pay("pay")]
#[case::vote("vote")]
#[case::cancel("cancel")]
fn the_page_on_questions_shows_the_compiled_example(#[case] name: &str) {
    let code = cut(include_str!("../examples/questions.rs"), name);
    let page = include_str!("../docs/guide/questions.md");
    assert!(page.contains(&format!("```rust,ignore\n{code}```\n")), "docs/guide/questions.md lacks:\n{code}");
}

#[test]
fn the_page_on_documents_shows_what_is_compiled() {
    let page = include_str!("../docs/guide/documents.md");
    let block = |language: &str| page.split_once(&format!("```{language}\n")).unwrap().1.split_once("```").unwrap().0;
    assert!(include_str!("app/spec.rs").contains(block("yaml")), "tests/app/spec.rs runs another document");
    let shown = include_str!("../src/graph/spec/graph_spec.rs");
    let lacks = block("rust,ignore").lines().find(|line| !shown.contains(format!("/// {line}").trim_end()));
    assert_eq!(lacks, None, "the example of `GraphSpec` has no such line");
    let problems = block("text").lines().find(|line| !include_str!("app/spec.rs").contains(line));
    assert_eq!(problems, None);
}

#[test]
fn the_driver_of_the_page_on_agent_workflows_is_compiled() {
    let code = snippet("driver");
    assert!(AGENTS.contains(&format!("```rust,ignore\n{code}```\n")), "docs/agent-workflows.md lacks:\n{code}");
}

mod driver {
    // <driver>
    use superstep::drivers::{
        AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, ErrorClass, Finished, Status, Usage,
        events,
    };

    struct Loud;
    impl Driver for Loud {
        fn name(&self) -> &str {
            "loud"
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities::default() // no sessions, no submit tool: the answer is read from JSON in the text
        }
        fn run(&self, request: AgentRequest) -> AgentEvents {
            events(|told| async move {
                if request.prompt.is_empty() {
                    return Err(DriverError::new(ErrorClass::Fatal, "there is nothing to do"));
                }
                told.tell(AgentEvent::Text("I shout it".into())).await;
                let text = serde_json::json!({"headline": request.prompt.to_uppercase()}).to_string();
                let usage = Usage { requests: 1, ..Usage::default() };
                Ok(Finished { status: Status::Done, text, submitted: None, session: None, usage })
            })
        }
    }
    // </driver>

    #[tokio::test]
    async fn it_carries_out_a_turn() {
        use superstep::drivers::DriverExt;
        let finished = Loud.finish(AgentRequest::new("writer", "tides", "."), |_| ()).await.unwrap();
        assert_eq!(finished.text, r#"{"headline":"TIDES"}"#);
    }
}

mod define {
    // <items>
    use std::sync::Arc;
    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Search {
        queries: Vec<String>,
        #[channel(append)]
        hits: Vec<String>,
        #[channel(add)]
        rounds: u32,
    }

    #[derive(NodeId)]
    enum Step {
        Plan,
        Find,
        Judge,
    }

    const FIND: Worker<Step, String> = Worker::new(Step::Find);
    fn fan_out(search: &Search) -> Sends<Step> {
        FIND.each(search.queries.clone())
    }

    #[derive(Route)]
    enum AfterJudge {
        #[to(Step::Plan)]
        Again,
        #[to(END)]
        Enough,
    }
    fn after_judge(search: &Search) -> AfterJudge {
        if search.hits.len() < 4 { AfterJudge::Again } else { AfterJudge::Enough }
    }

    async fn plan(search: Arc<Search>, _: Ctx) -> Result<SearchUpdate, NodeError> {
        let round = search.rounds + 1;
        Ok(Search::update().queries(vec![format!("tides {round}"), format!("moon {round}")]).rounds(1))
    }
    async fn find(query: Arc<String>, _: Ctx) -> Result<SearchUpdate, NodeError> {
        Ok(Search::update().hits([format!("a page on {query}")]))
    }
    async fn judge(_: Arc<Search>, _: Ctx) -> Result<(), NodeError> {
        Ok(())
    }
    // </items>

    #[tokio::test]
    async fn graph_of_the_readme_finds_four_pages() -> Result<(), Box<dyn std::error::Error>> {
        // <graph>
        let graph = StateGraph::new()
            .add_node(Step::Plan, plan)
            .add_worker(FIND, find)
            .add_node(Step::Judge, judge)
            .add_edge(START, Step::Plan)
            .add_conditional_edges_to(Step::Plan, fan_out, FIND)
            .add_edge(Step::Find, Step::Judge)
            .add_conditional_edges(Step::Judge, after_judge)
            .compile()?;
        let Outcome::Finished(search) = graph.invoke(Search::update()).await? else { panic!("nothing asks") };
        assert_eq!(search.hits, ["a page on tides 1", "a page on moon 1", "a page on tides 2", "a page on moon 2"]);
        println!("{}", graph.mermaid(0)); // the graph, drawn from its declared edges
        // </graph>
        Ok(())
    }
}

#[allow(dead_code, reason = "it is there to be compiled")]
mod later {
    use std::process::ExitCode;

    use superstep::app::App;
    use superstep::checkpoint::{ExportOptions, Retention, export_thread};
    use superstep::graph::Replay;
    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Draft {
        topic: String,
    }

    #[derive(NodeId)]
    enum Step {
        Review,
    }

    #[derive(Serialize, Deserialize)]
    struct Approve(String);
    impl Interrupt for Approve {
        type Resume = bool;
        const NAME: &'static str = "approve";
    }

    async fn ask(graph: CompiledGraph<Draft, Step>, id: superstep::graph::InterruptId) -> Result<(), RunError> {
        // <ask>
        let thread = graph.thread("essay-1");
        if let Status::Interrupted { questions } = thread.status().await? {
            for question in &questions {
                println!("{} asks {}: {}", question.node(), question.id(), question.json());
            }
        }
        thread.resume::<Approve>(true).await?; // answers the only open question of this type
        thread.answer(Answer::new::<Approve>(&true).by("ada").note("new title")).await?; // or: says who, and why
        thread.answer(Answer::json(&true.into()).to(id)).await?; // or: one of several, as JSON
        thread.proceed().await?; // goes on after a failure, a kill, a breakpoint
        // </ask>
        Ok(())
    }

    async fn debug(graph: CompiledGraph<Draft, Step>) -> Result<(), RunError> {
        // <debug>
        let thread = graph.thread("essay-1");
        let mut steps = thread.history().await?.limit(20); // newest first
        while let Some(step) = steps.next().await {
            let step = step?;
            println!("checkpoint {} after superstep {}: next {:?}, {:?}", step.id, step.step, step.next, step.values);
        }
        let there = thread.clone().at(CheckpointId(3));
        there.update_state(Draft::update().topic("moons")).await?; // a new branch from checkpoint 3 ...
        thread.proceed().await?; // ... which is the thread's newest now; the old branch stays in its history
        there.proceed().await?; // or run from checkpoint 3 again as it was: for real, side effects included
        println!("{}", thread.mermaid(0).await?); // the graph with the nodes that run next and the open questions marked
        // </debug>
        Ok(())
    }

    async fn replay(thread: Thread<Draft, Step>) -> Result<(), RunError> {
        // <replay>
        println!("{}", thread.verify().await?); // today's code over what was recorded: the first difference, if there is one
        println!("{}", thread.what_if().await?); // what today's code would have come to
        println!("{}", thread.diff(CheckpointId(3), CheckpointId(9)).await?); // per channel, inside values; JSON too
        let mut told = thread.replay(Replay::Recorded).stream([Mode::Updates]); // the events again, from the records
        // </replay>
        told.next().await;
        Ok(())
    }

    async fn keep(
        thread: Thread<Draft, Step>,
        store: SledCheckpointer,
        file: std::fs::File,
    ) -> Result<(), Box<dyn std::error::Error>> {
        // <keep>
        thread.tag("before the edit").await?;
        thread.gc(&Retention::new().keep_last(20)).await?; // tags and open questions stay
        export_thread(&store, &"essay-1".into(), &ExportOptions::new(), file).await?; // one file, without secret channels
        SledCheckpointer::backup(&store, "copy.sled").await?; // while runs go on
        SledCheckpointer::compact("runs.sled")?; // gives the disk back
        SledCheckpointer::repair("damaged.sled", "new.sled").await?; // what is whole goes on; the report says what is lost
        // </keep>
        Ok(())
    }

    fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
        StateGraph::new().compile()
    }

    // <tool>
    fn main() -> ExitCode {
        App::new().about("Writes essays").graph("essay", graph()).main()
    }
    // </tool>
}
