//! Small graphs to try the command line with: no model, no network.
//!
//! | graph | feature |
//! |---|---|
//! | [`essay`] | fan out, join, an interrupt with approve, reject or revise |
//! | [`approval`] | an interrupt between two nodes |
//! | [`map_reduce`] | a worker for each item, counts merged by a reducer |

/// An essay: two researchers in parallel, a writer, and a person who approves, rejects or returns it.
pub mod essay {
    use std::sync::Arc;

    use serde::{Deserialize, Serialize};

    use superstep::graph::interrupt::ReplyKind;
    use superstep::graph::{
        CompileError, CompiledGraph, Ctx, END, HumanQuestion, Interrupt, NodeError, NodeExt, NodeId, Reply, Route,
        START, State, StateGraph,
    };

    /// The essay and its sources.
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Draft {
        /// The topic.
        pub topic: String,
        /// The text.
        pub text: String,
        /// The person's review, if any.
        pub review: Option<Review>,
        /// The researchers' notes.
        #[channel(append)]
        pub notes: Vec<String>,
        /// The number of drafts.
        #[channel(add)]
        pub rounds: u32,
    }

    /// The nodes of the graph.
    #[derive(NodeId)]
    pub enum Step {
        /// Starts the research.
        Plan,
        /// Searches the web.
        Web,
        /// Searches papers.
        Papers,
        /// Writes a draft.
        Write,
        /// Asks a person for a review.
        Review,
    }

    /// The interrupt before an essay is published.
    #[derive(Interrupt, Clone, Debug, Serialize, Deserialize)]
    #[interrupt(resume = Review, name = "approve")]
    pub struct Approve {
        /// The essay.
        pub text: String,
    }

    impl<S> HumanQuestion<S> for Approve {
        fn decide(&self, reply: &Reply) -> Option<Review> {
            match reply.kind {
                ReplyKind::Approve => Some(Review::Verdict(true)),
                ReplyKind::Reject => Some(Review::Verdict(false)),
                ReplyKind::Revise => Some(Review::Again { revise: reply.feedback.clone().unwrap_or_default() }),
            }
        }
    }

    /// A person's review of an essay: `true`, `false`, or `{"revise": "what to change"}`.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(untagged, expecting = "true, false or {\"revise\": text}")]
    pub enum Review {
        /// Publish it, or drop it.
        Verdict(bool),
        /// Write it again.
        Again {
            /// The requested changes.
            revise: String,
        },
    }

    /// The next step after a review.
    #[derive(Route)]
    pub enum AfterReview {
        /// The essay is written again.
        #[to(Step::Write)]
        Revise,
        /// The essay is published.
        #[to(END)]
        Publish,
        /// The essay is dropped.
        #[to(END)]
        Drop,
    }

    /// Returns the next step after a review.
    pub fn route_after_review(draft: &Draft) -> AfterReview {
        match draft.review {
            Some(Review::Verdict(true)) => AfterReview::Publish,
            Some(Review::Verdict(false)) => AfterReview::Drop,
            Some(Review::Again { .. }) | None => AfterReview::Revise,
        }
    }

    async fn plan(_: Arc<Draft>, _: Ctx) -> Result<(), NodeError> {
        Ok(())
    }

    async fn web(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
        Ok(Draft::update().notes([format!("the web on {}", draft.topic)]))
    }

    async fn papers(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
        Ok(Draft::update().notes([format!("papers on {}", draft.topic)]))
    }

    async fn write(draft: Arc<Draft>, _: Ctx) -> Result<DraftUpdate, NodeError> {
        let (topic, round, notes) = (&draft.topic, draft.rounds + 1, draft.notes.len());
        let request = match &draft.review {
            Some(Review::Again { revise }) => format!(", with {revise} in mind"),
            Some(Review::Verdict(_)) | None => String::new(),
        };
        Ok(Draft::update().text(format!("{topic}, draft {round}, from {notes} notes{request}")).rounds(1))
    }

    async fn review(draft: Arc<Draft>, ctx: Ctx) -> Result<DraftUpdate, NodeError> {
        let review = ctx.interrupt(Approve { text: draft.text.clone() })?;
        Ok(Draft::update().review(Some(review)))
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// Only if the graph is invalid, which is a bug.
    pub fn graph() -> Result<CompiledGraph<Draft, Step>, CompileError> {
        StateGraph::new()
            .add_node(Step::Plan, plan.replayable())
            .add_node(Step::Web, web.replayable())
            .add_node(Step::Papers, papers.replayable())
            .add_node(Step::Write, write.replayable())
            .add_node(Step::Review, review.asks::<Approve>().replayable())
            .add_edge(START, Step::Plan)
            .add_edge(Step::Plan, [Step::Web, Step::Papers])
            .add_edge([Step::Web, Step::Papers], Step::Write)
            .add_edge(Step::Write, Step::Review)
            .add_conditional_edges(Step::Review, route_after_review)
            .compile()
    }
}

/// A letter that is sent only with a person's approval.
pub mod approval {
    use std::sync::Arc;

    use serde::{Deserialize, Serialize};

    use superstep::graph::{
        CompileError, CompiledGraph, Ctx, Interrupt, NodeError, NodeExt, NodeId, State, StateGraph,
    };

    /// The letter.
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Letter {
        /// The recipient.
        pub to: String,
        /// The text.
        pub text: String,
        /// Set once it was sent.
        pub is_sent: bool,
    }

    /// The nodes of the graph.
    #[derive(NodeId)]
    pub enum Step {
        /// Writes the letter.
        Write,
        /// Asks for approval, and sends the letter.
        Send,
    }

    /// The interrupt before a letter is sent; resumes with a `bool`.
    #[derive(Interrupt, Clone, Debug, Serialize, Deserialize)]
    #[interrupt(resume = bool, name = "send_it")]
    pub struct SendIt {
        /// The letter.
        pub text: String,
    }

    async fn write(letter: Arc<Letter>, _: Ctx) -> Result<LetterUpdate, NodeError> {
        Ok(Letter::update().text(format!("Dear {}, the tide is at nine.", letter.to)))
    }

    async fn send(letter: Arc<Letter>, ctx: Ctx) -> Result<LetterUpdate, NodeError> {
        let approved = ctx.interrupt(SendIt { text: letter.text.clone() })?;
        Ok(Letter::update().is_sent(approved))
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// Only if the graph is invalid, which is a bug.
    pub fn graph() -> Result<CompiledGraph<Letter, Step>, CompileError> {
        StateGraph::new()
            .add_node(Step::Write, write.replayable())
            .add_node(Step::Send, send.asks::<SendIt>().replayable())
            .add_sequence([Step::Write, Step::Send])
            .compile()
    }
}

/// The words of a book: one parallel worker for each chapter, their counts merged by a reducer.
pub mod map_reduce {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde::{Deserialize, Serialize};

    use superstep::graph::{
        CompileError, CompiledGraph, Ctx, NodeError, NodeExt, NodeId, START, Sends, State, StateGraph, Worker, worker,
    };

    /// The number of occurrences of each word.
    pub type Counts = BTreeMap<String, usize>;

    /// A book and its words.
    #[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
    pub struct Book {
        /// The text of each chapter.
        pub chapters: Vec<String>,
        /// The number of occurrences of each word.
        #[channel(reduce = merge)]
        pub counts: Counts,
        /// The most frequent word.
        pub most: String,
    }

    /// Adds counts. The order in which workers finish does not matter.
    fn merge(counts: &mut Counts, more: Counts) {
        more.into_iter().for_each(|(word, count)| *counts.entry(word).or_default() += count);
    }

    /// The nodes of the graph.
    #[derive(NodeId)]
    pub enum Step {
        /// Counts the words of a chapter.
        Count,
        /// Finds the most frequent word.
        Rank,
    }

    /// A chapter, sent to its worker.
    #[derive(Serialize, Deserialize)]
    pub struct Chapter(String);

    const COUNT: Worker<Step, Chapter> = Worker::new(Step::Count);

    fn fan_out(book: &Book) -> Sends<Step> {
        COUNT.each(book.chapters.iter().cloned().map(Chapter))
    }

    async fn count(chapter: Arc<Chapter>, _: Ctx) -> Result<BookUpdate, NodeError> {
        let mut counts = Counts::new();
        chapter.0.split_whitespace().for_each(|word| *counts.entry(word.to_lowercase()).or_default() += 1);
        Ok(Book::update().counts(counts))
    }

    async fn rank(book: Arc<Book>, _: Ctx) -> Result<BookUpdate, NodeError> {
        let most = book.counts.iter().max_by_key(|(_, count)| **count);
        Ok(Book::update().most(most.map(|(word, count)| format!("{word} ({count} times)")).unwrap_or_default()))
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// Only if the graph is invalid, which is a bug.
    pub fn graph() -> Result<CompiledGraph<Book, Step>, CompileError> {
        StateGraph::new()
            .add_worker(COUNT, worker(count).replayable())
            .add_node(Step::Rank, rank.replayable())
            .add_conditional_edges_to(START, fan_out, COUNT)
            .add_edge(Step::Count, Step::Rank)
            .compile()
    }
}
