//! The snippets of the guide's pages on tests, supervisors and requests, between marks: compiled and run.

mod testing {
    use std::sync::Arc;

    use superstep::prelude::*;

    // <order>
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Order {
        cents: u64,
        receipt: String,
    }

    #[derive(NodeId)]
    enum Step {
        Pay,
        Thank,
    }

    #[derive(Interrupt, Serialize, Deserialize)]
    #[interrupt(resume = bool)]
    struct Confirm {
        cents: u64,
    }

    async fn pay(order: Arc<Order>, ctx: Ctx) -> Result<OrderUpdate, NodeError> {
        let cents = order.cents;
        if !ctx.interrupt(Confirm { cents })? {
            return Err(NodeError::permanent("not confirmed"));
        }
        let receipt: String = ctx.effect("charge", &cents, |_| charge(cents)).await?;
        Ok(Order::update().receipt(receipt))
    }
    // </order>

    async fn charge(_: u64) -> Result<String, std::io::Error> {
        unreachable!("a test charges nobody")
    }

    async fn thank(_: Arc<Order>, _: Ctx) -> Result<(), NodeError> {
        Ok(())
    }

    fn after_pay(order: &Order) -> Step {
        if order.receipt.is_empty() { Step::Pay } else { Step::Thank }
    }

    fn graph() -> Result<CompiledGraph<Order, Step>, CompileError> {
        StateGraph::new()
            .add_node(Step::Pay, pay.asks::<Confirm>())
            .add_node(Step::Thank, thank)
            .add_edge(START, Step::Pay)
            .add_conditional_edges_to(Step::Pay, after_pay, [Step::Pay, Step::Thank])
            .compile()
    }

    // <tests>
    #[tokio::test]
    async fn an_order_is_charged_once_it_is_confirmed() -> Result<(), Box<dyn std::error::Error>> {
        let graph = graph()?;
        let test = graph.test().answer::<Confirm>(true).effect("charge", "r-1");
        let order = || Order { cents: 700, ..Order::default() };

        let paid = test.node(Step::Pay, order()).await?; // one node, and the routers after it
        assert_eq!((paid.state.receipt.as_str(), paid.next), ("r-1", vec!["Thank".to_owned()]));

        assert_eq!(test.route(Step::Pay, &order())?.targets, ["Pay"]); // one router

        let unanswered = graph.test().node(Step::Pay, order()).await?; // no answer: it stops at the question
        assert_eq!(unanswered.asks.unwrap().name(), "confirm");

        let broken = graph.test().answer::<Confirm>(true).effect_fails("charge", "the bank is closed");
        assert!(broken.node(Step::Pay, order()).await.is_err());

        let ran = test.run(Order::update().cents(700u64)).await?; // the whole graph
        assert_eq!((ran.state.receipt.as_str(), ran.effects.len()), ("r-1", 1));
        test.cut_everywhere(Order::update().cents(700u64)).await?; // killed at every commit: each time the same end
        Ok(())
    }
    // </tests>
}

mod supervisor {
    use std::sync::Arc;

    use superstep::prelude::*;

    // <team>
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    struct Team {
        goal: String,
        #[channel(append)]
        notes: Vec<String>,
        #[channel(add)]
        rounds: u32,
    }

    #[derive(NodeId)]
    enum Role {
        Supervisor,
        Researcher,
        Writer,
    }

    /// Decides who works next. A model of yours is asked here, in an effect.
    async fn supervisor(team: Arc<Team>, _: Ctx) -> Result<Command<Team, Role>, NodeError> {
        let counted = Command::update(Team::update().rounds(1u32));
        Ok(match team.notes.len() {
            _ if team.rounds >= 10 => return Err(NodeError::permanent("ten rounds and nothing written")),
            0 => counted.goto(Role::Researcher),
            1 => counted.goto(Role::Writer),
            _ => counted, // goes nowhere: the run ends
        })
    }

    async fn writer(team: Arc<Team>, _: Ctx) -> Result<TeamUpdate, NodeError> {
        Ok(Team::update().notes([format!("an essay, after: {}", team.notes[0])]))
    }
    // </team>

    // <researcher>
    #[derive(NodeId)]
    enum Research {
        Search,
        Read,
    }

    async fn search(team: Arc<Team>, _: Ctx) -> Result<TeamUpdate, NodeError> {
        Ok(Team::update().notes([format!("a page on {}", team.goal)]))
    }

    async fn read(_: Arc<Team>, _: Ctx) -> Result<(), NodeError> {
        Ok(())
    }

    fn researcher() -> Result<CompiledGraph<Team, Research>, CompileError> {
        let graph = StateGraph::new().add_node(Research::Search, search).add_node(Research::Read, read);
        graph.add_sequence([Research::Search, Research::Read]).compile()
    }

    fn team() -> Result<CompiledGraph<Team, Role>, CompileError> {
        StateGraph::new()
            .add_node(Role::Supervisor, supervisor.goes_to((Role::Researcher, Role::Writer, END)))
            .add_subgraph(Role::Researcher, researcher()?)
            .add_node(Role::Writer, writer)
            .add_edge(START, Role::Supervisor)
            .add_edge(Role::Researcher, Role::Supervisor) // each reports back
            .add_edge(Role::Writer, Role::Supervisor)
            .compile()
    }
    // </researcher>

    #[tokio::test]
    async fn a_supervisor_sends_each_role_to_work() -> Result<(), Box<dyn std::error::Error>> {
        let team = team()?.invoke(Team::update().goal("tides")).await?;
        assert_eq!(team.state().notes, ["a page on tides", "an essay, after: a page on tides"]);
        Ok(())
    }

    // <handoff>
    /// A node of a subgraph that hands over to a node of the graph around it, with what it has found.
    async fn hand_over(team: Arc<Team>, _: Ctx) -> Result<Command<Team, Research>, NodeError> {
        let found = Team::update().notes([format!("a page on {}", team.goal)]);
        Ok(Command::parent(Command::<Team, Role>::update(found).goto(Role::Writer)))
    }
    // </handoff>

    #[tokio::test]
    async fn a_handoff_leaves_the_subgraph() -> Result<(), Box<dyn std::error::Error>> {
        let inside = StateGraph::new().add_node(Research::Search, hand_over).add_node(Research::Read, read);
        let inside = inside.add_edge(START, Research::Search).add_conditional_edges_to(
            Research::Search,
            |_: &Team| Research::Read,
            [Research::Read],
        );
        let graph = StateGraph::new()
            .add_node(Role::Supervisor, read)
            .add_subgraph(Role::Researcher, inside.compile()?)
            .add_node(Role::Writer, writer)
            .add_sequence([Role::Supervisor, Role::Researcher, Role::Writer])
            .compile()?;
        let team = graph.invoke(Team::update().goal("tides")).await?;
        assert_eq!(team.state().notes, ["a page on tides", "an essay, after: a page on tides"]);
        Ok(())
    }
}

mod requests {
    use std::sync::Arc;

    use superstep::prelude::*;

    #[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Draft {
        topic: String,
        approved: bool,
    }

    #[derive(NodeId)]
    enum Step {
        Write,
        Review,
    }

    #[derive(Interrupt, Serialize, Deserialize)]
    #[interrupt(resume = bool)]
    struct Approve(String);

    async fn write(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> {
        Ok(())
    }

    async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
        Ok(Draft::update().approved(ctx.interrupt(Approve(draft.topic.clone()))?))
    }

    #[tokio::test]
    async fn each_request_is_a_way_to_go_on() -> Result<(), Box<dyn std::error::Error>> {
        let graph = StateGraph::new().add_node(Step::Write, write).add_node(Step::Review, review.asks::<Approve>());
        let graph = graph.add_sequence([Step::Write, Step::Review]).compile()?;
        let graph = graph.with_checkpointer(MemoryCheckpointer::new());
        let thread = graph.thread("essay-1");
        // <requests>
        let asked = thread.run(Request::input(Draft::update().topic("tides"))).await?; // new input, from START
        let done = thread.run(Request::resume::<Approve>(&true)).await?; // the answer to the only question of this type
        let again = thread.run(Request::command(Command::to(Step::Review))).await?; // starts a node, beside what is pending
        let answer = Answer::new::<Approve>(&false).to(again.questions()[0].id()).by("ada");
        let done_again = thread.run(Request::answers([answer])).await?; // answers by id, with who gave them
        let nothing = thread.run(Request::proceed()).await?; // the rest of a run that stopped; here there is none
        // </requests>
        assert!(matches!(asked, Outcome::Interrupted(_)) && done.state().approved && !done_again.state().approved);
        assert_eq!(nothing.finished().as_deref(), Some(&Draft { topic: "tides".to_owned(), approved: false }));
        Ok(())
    }
}
