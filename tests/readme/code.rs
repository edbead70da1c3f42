//! The snippets of the README and the guide, between marks: compiled, and run where a test says so.

mod driver {
    // <driver>
    use superstep::drivers::{
        AgentEvent, AgentEvents, AgentRequest, Capabilities, Driver, DriverError, DriverErrorClass, Finished,
        TurnStatus, Usage, events,
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
            events(|sender| async move {
                if request.prompt.is_empty() {
                    return Err(DriverError::new(DriverErrorClass::Fatal, "there is nothing to do"));
                }
                sender.send(AgentEvent::Text("I shout it".into())).await;
                let text = serde_json::json!({"headline": request.prompt.to_uppercase()}).to_string();
                let usage = Usage { requests: 1, ..Usage::default() };
                Ok(Finished { status: TurnStatus::Done, text, submitted: None, session: None, usage })
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
    async fn graph_of_the_guide_finds_four_pages() -> Result<(), Box<dyn std::error::Error>> {
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
        let Outcome::Finished(search) = graph.invoke(Search::update()).await? else { panic!("no node interrupts") };
        assert_eq!(search.hits, ["a page on tides 1", "a page on moon 1", "a page on tides 2", "a page on moon 2"]);
        println!("{}", graph.mermaid(0)); // the graph, drawn from its declared edges
        // </graph>
        assert_eq!(graph.mermaid(0), crate::block(include_str!("../../docs/guide/define.md"), "mermaid"));
        Ok(())
    }
}

#[allow(dead_code, reason = "it is there to be compiled")]
mod later {
    use std::process::ExitCode;
    use std::sync::Arc;

    use superstep::checkpoint::{ExportOptions, FjallCheckpointer, Retention, copy_threads, export_thread};
    use superstep::graph::Replay;
    use superstep::graph::kit::Fixture;
    use superstep::prelude::*;
    use superstep_app::App;

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Draft {
        topic: String,
        approved: bool,
    }

    #[derive(NodeId)]
    enum Step {
        Review,
    }

    // <asking>
    #[derive(Interrupt, Serialize, Deserialize)]
    #[interrupt(resume = bool)]
    struct Approve(String);

    async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
        let approved = ctx.interrupt(Approve(draft.topic.clone()))?; // stops here until somebody has answered
        Ok(Draft::update().approved(approved))
    }

    fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
        StateGraph::new()
            .add_node(Step::Review, review.asks::<Approve>()) // a node declares what it asks
            .add_sequence([Step::Review])
            .compile()
    }
    // </asking>

    async fn store() -> Result<(), Box<dyn std::error::Error>> {
        // <store>
        let graph = graph()?.with_checkpointer(SledCheckpointer::open("runs.sled")?);
        let outcome = graph.thread("essay-1").invoke(Draft::update().topic("tides")).await?;
        // </store>
        drop(outcome);
        Ok(())
    }

    async fn ask(graph: CompiledGraph<Draft, Step>, id: superstep::graph::InterruptId) -> Result<(), RunError> {
        // <ask>
        let thread = graph.thread("essay-1");
        if let Status::Interrupted { questions } = thread.status().await? {
            for question in &questions {
                println!("{} asks {}: {}", question.node(), question.id(), question.json());
            }
        }
        thread.resume::<Approve>(true).await?; // answers the only pending question of this type
        thread.answer(Answer::new::<Approve>(&true).by("ada").note("new title")).await?; // or: with who and why
        thread.answer(Answer::json(&true.into()).to(id)).await?; // or: one of several, as JSON
        thread.proceed().await?; // resumes after a failure, a kill or a breakpoint
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
        thread.proceed().await?; // ... which is now the newest of the thread; the old branch stays in the history
        there.proceed().await?; // or run again from checkpoint 3 as it was, side effects included
        println!("{}", thread.mermaid(0).await?); // the graph, with the next nodes and the pending questions marked
        // </debug>
        Ok(())
    }

    async fn replay(thread: Thread<Draft, Step>) -> Result<(), RunError> {
        // <replay>
        println!("{}", thread.verify().await?); // today's code over the recorded run: the first difference, if any
        println!("{}", thread.what_if().await?); // the result with today's code
        println!("{}", thread.diff(CheckpointId(3), CheckpointId(9)).await?); // per channel, inside values; JSON too
        let mut events = thread.replay(Replay::Recorded).stream([Mode::Updates]); // the events again, from the records
        // </replay>
        events.next().await;
        Ok(())
    }

    async fn keep(
        thread: Thread<Draft, Step>,
        store: SledCheckpointer,
        file: std::fs::File,
    ) -> Result<(), Box<dyn std::error::Error>> {
        // <keep>
        thread.tag("before the edit").await?;
        thread.gc(&Retention::new().keep_last(20)).await?; // tags and pending questions stay
        export_thread(&store, &"essay-1".into(), &ExportOptions::new(), file).await?; // one file, without secret channels
        SledCheckpointer::backup(&store, "copy.sled").await?; // while runs continue
        SledCheckpointer::compact("runs.sled")?; // reclaims disk space
        SledCheckpointer::repair("damaged.sled", "new.sled").await?; // copies what is intact; the report lists what is lost
        // </keep>
        Ok(())
    }

    async fn copy_store() -> Result<(), Box<dyn std::error::Error>> {
        // <copy>
        let (from, to) = (SledCheckpointer::open("runs.sled")?, FjallCheckpointer::open("runs.fjall")?);
        let copied = copy_threads(&from, &to).await?; // or `superstep copy-store runs.sled fjall:runs.fjall`
        // </copy>
        assert!(copied.is_complete());
        Ok(())
    }

    async fn failed(graph: impl Fn() -> CompiledGraph<Draft, Step>) -> Result<(), Box<dyn std::error::Error>> {
        // <failed>
        let thread = Fixture::load("tests/fixtures/failed.superstep")?.thread(&graph()).await?;
        let outcome = thread.proceed().await?;
        // </failed>
        drop(outcome);
        Ok(())
    }

    // <tool>
    fn main() -> ExitCode {
        App::new().about("Writes essays").graph("essay", graph()).main()
    }
    // </tool>
}
