//! The engine under test: superstep over data-defined graphs.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::checkpoint::{CheckpointId, Checkpointer, MemoryCheckpointer, SledCheckpointer};
use superstep::graph::{
    self, Answer, Command, Durability, EventKind, MemoryCache, Name, Outcome, Request, RunError, State, StateUpdate,
    Thread, Writes,
};

use crate::build::{CaseGraph, Graphs, World, build, goto, plain};
use crate::model::{ChannelKind, Graph, Names, Store};
use crate::outcome::{ErrorView, InvokeResult, Snapshot, StreamResult, Verification};
use crate::script::{Config, Durability as CaseDurability, Mode};
use crate::states::{CaseNames, CaseState};
use crate::subject::{
    Engine, HistoryEntry, Input, Place, Query, Refusal, Reply, Resume, RunCommand, Setup, StateWrite, Way,
};
use crate::{events, kinds, postgres, views};

/// The address of a checkpoint: its subgraph's nodes from the root, and its number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    thread: String,
    scope: Vec<String>,
    id: CheckpointId,
}

impl Point {
    /// Returns true if it names a checkpoint; the state of a thread that never ran has none, and means the latest.
    fn is_stored(&self) -> bool {
        self.id != CheckpointId(0)
    }
}

pub(crate) struct Subject<S: State> {
    setup: Setup,
    cache: Arc<MemoryCache>,
    memory: MemoryCheckpointer,
    folder: Option<tempfile::TempDir>,
    /// The store in PostgreSQL in place of one in the folder.
    address: Option<String>,
    store: Option<Arc<dyn Checkpointer>>,
    built: Graphs<S>,
}

type CaseThread<S> = Thread<S, Name, Arc<World>>;

impl<S: CaseState> Subject<S> {
    fn connect(&mut self) -> Reply<()> {
        self.store = match (&self.setup.case.store, self.setup.way) {
            (Store::None, _) => None,
            (_, Way::Sled) => Some(match &self.address {
                Some(address) => postgres::open(address),
                None => self.open_sled()?,
            }),
            (_, _) => Some(Arc::new(self.memory.clone())),
        };
        Ok(())
    }

    fn open_sled(&mut self) -> Reply<Arc<dyn Checkpointer>> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => tempfile::tempdir().map_err(broken)?,
        };
        let store = SledCheckpointer::open(folder.path().join("store")).map_err(broken)?;
        self.folder = Some(folder);
        Ok(Arc::new(store))
    }

    fn world(&self, root: &str) -> Arc<World> {
        let (case, counters) = (Arc::clone(&self.setup.case), Arc::clone(&self.setup.counters));
        let (cache, computed) = (Arc::clone(&self.cache), Arc::default());
        Arc::new(World { case, counters, cache, root: root.to_owned(), computed, way: self.setup.way })
    }

    fn graph(&self, name: &str) -> Reply<&CaseGraph<S>> {
        self.built.get(name).ok_or_else(|| Refusal::Broken(format!("graph {name} was not built")))
    }

    fn spec(&self, name: &str) -> &Graph {
        &self.setup.case.graphs[name]
    }

    /// Returns the thread of a place, at its root graph.
    fn root(&self, place: &Place<Point>) -> Reply<CaseThread<S>> {
        let mut graph = self.graph(&place.graph)?.clone();
        let world = Arc::new(self.world(&place.graph));
        Ok(match &self.store {
            Some(store) => {
                graph = graph.with_shared_checkpointer(Arc::clone(store));
                graph.thread_with(place.thread.as_str(), world)
            }
            None => graph.detached_thread(world),
        })
    }

    /// Returns the thread of a place: in its subgraph, at its checkpoint.
    fn thread(&self, place: &Place<Point>) -> Reply<(CaseThread<S>, String)> {
        let root = self.root(place)?;
        let Some(at) = &place.at else { return Ok((root, place.graph.clone())) };
        let (thread, graph) = self.subgraph_thread(&root, &place.graph, &at.scope)?;
        Ok((if at.is_stored() { thread.at(at.id) } else { thread }, graph))
    }

    fn subgraph_thread(&self, root: &CaseThread<S>, graph: &str, scope: &[String]) -> Reply<(CaseThread<S>, String)> {
        if scope.is_empty() {
            return Ok((root.clone(), graph.to_owned()));
        }
        let world = self.world(graph);
        let name = world.graph_at(scope).ok_or_else(|| Refusal::Broken(format!("no subgraph at {scope:?}")))?;
        Ok((root.subgraph(self.graph(name)?, scope.iter().cloned()), name.to_owned()))
    }

    /// Returns the thread of a place, configured for a run.
    fn runner(&self, place: &Place<Point>, config: &Config) -> Reply<CaseThread<S>> {
        let mut thread = self.root(place)?.discard_pending().rerun_unanswered();
        if let Some(at) = place.at.as_ref().filter(|at| at.is_stored()) {
            thread = thread.at(at.id);
        }
        thread = thread.recursion_limit(u64::try_from(config.recursion_limit).unwrap_or(0));
        thread = thread.durability(match config.durability {
            CaseDurability::Sync => Durability::Sync,
            CaseDurability::Async => Durability::Async,
            CaseDurability::Exit => Durability::Exit,
        });
        thread = match &config.interrupt_before {
            Some(Names::Word(_)) => thread.interrupt_before_all(),
            Some(Names::List(list)) if list.is_empty() => thread, // Python: `[] or the graph's own`
            Some(Names::List(list)) => thread.interrupt_before(list.iter().map(|node| Name::from(plain(node)))),
            None => thread,
        };
        Ok(match &config.interrupt_after {
            Some(Names::Word(_)) => thread.interrupt_after_all(),
            Some(Names::List(list)) if list.is_empty() => thread,
            Some(Names::List(list)) => thread.interrupt_after(list.iter().map(|node| Name::from(plain(node)))),
            None => thread,
        })
    }

    /// Returns true if a subgraph is planned and has not started.
    async fn waits_in_subgraph(&self, root: &CaseThread<S>, place: &Place<Point>, path: &[String]) -> Reply<bool> {
        let Some((node, above)) = path.split_last() else { return Ok(false) };
        let (thread, _) = self.subgraph_thread(root, &place.graph, above)?;
        let state = thread.state().await.map_err(refused)?;
        Ok(state.is_some_and(|state| state.tasks.iter().any(|task| task.name == *node)))
    }

    fn writes(&self, graph: &str, values: &Value) -> Reply<Writes<S>> {
        match values {
            Value::Object(values) => Ok(S::writes(self.spec(graph), values)),
            Value::Null => Ok(Writes::default()),
            _ => Err(ErrorView::of_kind("invalid_node_return").into()),
        }
    }

    /// Returns input that START cannot apply, as LangGraph cannot apply a value that is not an object.
    fn unwritable(&self, graph: &str) -> Reply<Writes<S>> {
        let spec = self.spec(graph);
        for (name, channel) in &spec.channels {
            let value = match channel.kind {
                ChannelKind::Append | ChannelKind::DeltaAppend | ChannelKind::Merge | ChannelKind::Union => {
                    vec![Value::from(0)]
                }
                ChannelKind::LastValue => vec![Value::Null, Value::Null],
                _ => continue,
            };
            let one = |value| S::writes(spec, &[(name.clone(), value)].into_iter().collect()).0;
            return Ok(Writes(value.into_iter().flat_map(one).collect()));
        }
        Err(Refusal::Broken("no channel refuses anything".into()))
    }

    fn request(&self, graph: &str, input: Input) -> Reply<Request<S, Name>> {
        let command = match input {
            Input::Values(Value::Null) => return Ok(Request::proceed()),
            Input::Values(Value::Object(values)) => {
                return Ok(Request::input(S::writes(self.spec(graph), &values)).with_raw_input(values));
            }
            Input::Values(_) => return Ok(Request::input(self.unwritable(graph)?)),
            Input::Command(command) => command,
        };
        let RunCommand { resume, goto: ways, update, parent } = command;
        if parent {
            return Err(ErrorView::of_kind("no_parent_graph").into());
        }
        let mut answers = vec![];
        match resume {
            Some(Resume::One(value)) => answers.push(Answer::json(&value)),
            Some(Resume::ById(by_id)) => {
                for (id, value) in by_id {
                    let id = id.parse().map_err(|_| ErrorView::of_kind("unknown_interrupt"))?;
                    answers.push(Answer::json(&value).to(id));
                }
                if answers.is_empty() {
                    return Err(ErrorView::of_kind("unknown_interrupt").into());
                }
            }
            None => {}
        }
        let writes = self.writes(graph, update.as_ref().unwrap_or(&Value::Null))?;
        if writes.is_empty() && ways.is_empty() && !answers.is_empty() {
            return Ok(Request::answers(answers));
        }
        let mut command = Command::update(writes);
        if !ways.is_empty() {
            command = command.goto(goto(ways));
        }
        Ok(Request::answers(answers).and(command))
    }

    fn state_write(&self, graph: &str, update: StateWrite) -> Reply<StateUpdate<S, Name>> {
        let writes = self.writes(graph, &update.values)?;
        let made = match update.as_node.as_deref().map(plain) {
            None => StateUpdate::new(writes),
            Some("__start__") => StateUpdate::new(writes).as_start(),
            Some("__end__") if update.values.is_null() => StateUpdate::clear(),
            Some("__input__") => StateUpdate::new(writes).as_input(),
            Some("__copy__") => StateUpdate::copy(),
            Some(node) => StateUpdate::new(writes).as_node(Name::from(node)),
        };
        let returned = update.values.as_object().cloned();
        Ok(returned.into_iter().fold(made, StateUpdate::returning))
    }

    /// Checks that the returned state is the stored one, except for channels that are never saved.
    async fn check_finished(&self, place: &Place<Point>, state: &S) -> Reply<()> {
        if self.store.is_none() {
            return Ok(());
        }
        let spec = self.spec(&place.graph);
        let stored = self.root(place)?.state().await.map_err(broken)?;
        let saved = |state: &S| {
            let mut values = state.values(spec);
            let unsaved = spec.channels.iter().filter(|(_, channel)| channel.kind == ChannelKind::Untracked);
            unsaved.for_each(|(name, _)| _ = values.remove(name));
            values
        };
        let (returned, stored) = (saved(state), stored.map(|stored| saved(&stored.values)));
        if stored.as_ref() == Some(&returned) {
            return Ok(());
        }
        Err(Refusal::Broken(format!("the run finished with {returned:?}, but {stored:?} is stored")))
    }

    /// Returns the result of `invoke` in the shape of the last `values` event: the output channels of the final state.
    async fn invoked(
        &self,
        graph: &str,
        thread: CaseThread<S>,
        request: Request<S, Name>,
    ) -> (Option<Value>, Result<Outcome<S>, RunError>) {
        let outcome = thread.run(request).await;
        let spec = self.spec(graph);
        let shown = outcome.as_ref().ok().map(|outcome| {
            let mut values = outcome.state().values(spec);
            if let Some(output) = &spec.output {
                values.retain(|name, _| output.contains(name));
            }
            values
        });
        (shown.filter(|values| !values.is_empty()).map(Value::from), outcome)
    }

    fn no_store(&self) -> Reply<()> {
        if self.store.is_some() { Ok(()) } else { Err(ErrorView::of_kind("no_checkpointer").into()) }
    }
}

/// Returns the last `values` event, as LangGraph's `invoke` does. It need not be the final state: it still holds values
/// that a superstep without visible writes has cleared.
async fn last_values<S: CaseState>(
    names: CaseNames<'_>,
    thread: CaseThread<S>,
    request: Request<S, Name>,
) -> (Option<Value>, Result<Outcome<S>, RunError>) {
    let mut stream = thread.only_output().stream(request, [graph::Mode::Values]);
    let mut last = None;
    while let Some(event) = stream.next().await {
        if let EventKind::Values { values, .. } = &event.kind {
            last = Some(names.state(&[], values.json()));
        }
    }
    (last, stream.outcome().await)
}

fn is_no_object(input: &Input) -> bool {
    matches!(input, Input::Values(values) if !values.is_object() && !values.is_null())
}

fn broken(error: impl std::fmt::Display) -> Refusal {
    Refusal::Broken(error.to_string())
}

fn refused(error: RunError) -> Refusal {
    Refusal::Error(kinds::run(&error))
}

impl<S: CaseState> Engine for Subject<S> {
    type Point = Point;

    async fn open(setup: Setup) -> Reply<Self> {
        let (cache, memory) = (Arc::default(), MemoryCheckpointer::new());
        let mut subject = Self {
            setup,
            cache,
            memory,
            folder: None,
            address: postgres::replacement(),
            store: None,
            built: Graphs::new(),
        };
        subject.connect()?;
        let main = subject.setup.case.main.clone();
        subject.build(&main).await?;
        Ok(subject)
    }

    async fn restart(&mut self) -> Reply<()> {
        let names: Vec<String> = self.built.keys().cloned().collect();
        self.built.clear();
        self.store = None;
        self.connect()?;
        for name in names {
            self.build(&name).await?;
        }
        Ok(())
    }

    async fn build(&mut self, graph: &str) -> Reply<()> {
        let world = self.world(graph);
        Ok(build(&world, graph, &mut self.built)?)
    }

    async fn invoke(&mut self, place: &Place<Point>, input: Input, config: &Config) -> Reply<InvokeResult> {
        let thread = self.runner(place, config)?;
        let no_object = is_no_object(&input);
        let request = self.request(&place.graph, input)?;
        let (shown, outcome) = match self.setup.way {
            Way::Plain => self.invoked(&place.graph, thread, request).await,
            Way::Memory | Way::Sled | Way::Mapped | Way::Added | Way::Typed => {
                let world = self.world(&place.graph);
                last_values(CaseNames::of::<S>(&world), thread, request).await
            }
        };
        if no_object && outcome.is_err() {
            return Err(ErrorView::of_kind("invalid_node_return").into());
        }
        let outcome = outcome.map_err(refused)?;
        if let Outcome::Finished(state) = &outcome {
            self.check_finished(place, state).await?;
        }
        let interrupts = views::questions(outcome.questions());
        let values = shown.unwrap_or(if interrupts.is_empty() { Value::Null } else { Value::Object(Map::new()) });
        Ok(InvokeResult { values, interrupts })
    }

    async fn stream(
        &mut self,
        place: &Place<Point>,
        input: Input,
        config: &Config,
        modes: &[Mode],
        subgraphs: bool,
    ) -> Reply<StreamResult> {
        let thread = self.runner(place, config)?;
        let request = match self.request(&place.graph, input) {
            Ok(request) => request,
            Err(Refusal::Error(error)) => return Ok(StreamResult { events: vec![], error: Some(error) }),
            Err(broken) => return Err(broken),
        };
        let (wanted, world) = (events::engine_modes(modes), self.world(&place.graph));
        let mut stream = if subgraphs { thread.stream_deep(request, wanted) } else { thread.stream(request, wanted) };
        let mut seen = vec![];
        while let Some(event) = stream.next().await {
            events::translate::<S>(&event, &world, modes, &mut seen);
        }
        let error = stream.outcome().await.err().map(|error| kinds::run(&error));
        Ok(StreamResult { events: seen, error })
    }

    async fn get_state(&mut self, place: &Place<Point>, subgraphs: bool) -> Reply<(Snapshot, Point)> {
        self.no_store()?;
        let (thread, _) = self.thread(place)?;
        let found = if subgraphs { thread.state_deep().await } else { thread.state().await };
        let scope = place.at.as_ref().map(|at| at.scope.clone()).unwrap_or_default();
        match found.map_err(refused)? {
            Some(found) => {
                let point = Point { thread: place.thread.clone(), scope, id: found.id };
                let shown = views::snapshot(&self.world(&place.graph), &point.scope, found, subgraphs);
                Ok((shown.ok_or_else(|| Refusal::Broken(format!("no graph at {:?}", point.scope)))?, point))
            }
            None => {
                let point = Point { thread: place.thread.clone(), scope, id: CheckpointId(0) };
                Ok((views::nothing(), point))
            }
        }
    }

    async fn history(&mut self, place: &Place<Point>, query: &Query<Point>) -> Reply<Vec<HistoryEntry<Point>>> {
        self.no_store()?;
        let scope = place.at.as_ref().map(|at| at.scope.clone()).unwrap_or_default();
        let root = self.root(place)?;
        let (thread, _) = self.subgraph_thread(&root, &place.graph, &scope)?;
        let mut history = thread.history().await.map_err(refused)?;
        if let Some(before) = &query.before {
            history = history.before(before.id);
        }
        let only = place.at.as_ref().filter(|at| at.scope.is_empty() && at.is_stored()).map(|at| at.id);
        let mut listed = vec![];
        let point = |id| Point { thread: place.thread.clone(), scope: scope.clone(), id };
        while let Some(found) = history.next().await {
            let found = found.map_err(refused)?;
            if only.is_some_and(|only| only != found.id) {
                continue;
            }
            let (id, parent) = (found.id, found.parent);
            let Some(snapshot) = views::snapshot(&self.world(&place.graph), &scope, found, false) else { continue };
            if query.keeps(&snapshot) && query.limit.is_none_or(|limit| listed.len() < limit) {
                listed.push(HistoryEntry { point: point(id), parent: parent.map(point), snapshot });
            }
        }
        Ok(listed)
    }

    async fn subgraph(&mut self, place: &Place<Point>, path: &[String]) -> Reply<Option<Point>> {
        let root = self.root(place)?;
        let (thread, _) = self.subgraph_thread(&root, &place.graph, path)?;
        let id = match thread.state().await.map_err(refused)? {
            Some(state) => state.id,
            None if self.waits_in_subgraph(&root, place, path).await? => CheckpointId(0),
            None => return Ok(None),
        };
        Ok(Some(Point { thread: place.thread.clone(), scope: path.to_vec(), id }))
    }

    async fn verify(&mut self, place: &Place<Point>) -> Reply<Option<Verification>> {
        if self.store.is_none() {
            return Ok(None);
        }
        let thread = self.root(place)?;
        let verified = match thread.verify().await {
            Err(RunError::UnknownThread { .. } | RunError::EmptyInput { .. }) => return Ok(None),
            verified => verified.map_err(broken)?,
        };
        let imagined = thread.what_if().await.map_err(broken)?;
        let verdict = serde_json::to_value(verified.verdict()).map_err(broken)?;
        let first = verified.divergence.or_else(|| imagined.differences.into_iter().next());
        Ok(Some(Verification {
            verdict: verdict.as_str().unwrap_or_default().to_owned(),
            bodies: verified.bodies,
            routers: verified.routers,
            taken_over: verified.not_verified.len(),
            difference: first.map(|divergence| divergence.to_string()),
        }))
    }

    async fn update(&mut self, place: &Place<Point>, update: StateWrite) -> Reply<Point> {
        self.bulk_update(place, vec![vec![update]]).await
    }

    async fn bulk_update(&mut self, place: &Place<Point>, supersteps: Vec<Vec<StateWrite>>) -> Reply<Point> {
        self.no_store()?;
        let (thread, graph) = self.thread(place)?;
        let mut steps = vec![];
        for updates in supersteps {
            let step: Reply<Vec<_>> = updates.into_iter().map(|update| self.state_write(&graph, update)).collect();
            steps.push(step?);
        }
        let made = thread.bulk_update(steps).await.map_err(refused)?;
        let scope = place.at.as_ref().map(|at| at.scope.clone()).unwrap_or_default();
        Ok(Point { thread: place.thread.clone(), scope, id: made.checkpoint })
    }
}
