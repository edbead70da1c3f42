//! Breakpoints stored with a thread: handles without breakpoints of their own stop there too.

use super::handle::{Thread, ThreadCore};
use crate::checkpoint::{AboutRecord, Key, StopRecord, about_thread, encode_record};
use crate::graph::build::{StopOverrides, Stops};
use crate::graph::error::RunError;
use crate::graph::node::NodeId;
use crate::graph::records::{Reader, Recorder};
use crate::graph::state::State;

impl<S: State, N: NodeId, C: Send + Sync + 'static> Thread<S, N, C> {
    /// Stores the breakpoints of this handle ([`interrupt_before`](Self::interrupt_before) and its like) with the
    /// thread, when it next runs or is updated. From then on every handle without breakpoints of its own stops there,
    /// in other processes and [runners](crate::graph::runner()) too; they take precedence over those of the graph. A
    /// handle without breakpoints removes the stored ones.
    ///
    /// ```
    /// # use superstep::graph::{NodeId, State, Writes};
    /// # use superstep::prelude::*;
    /// # async fn example<S: State, N: NodeId>(graph: CompiledGraph<S, N, ()>, review: N, input: Writes<S>) -> Result<(), RunError> {
    /// graph.thread("essay").interrupt_before([review]).remember_stops().invoke(input).await?;
    /// graph.thread("essay").proceed().await?; // a loop that comes to `review` again stops before it again
    /// graph.thread("essay").remember_stops().proceed().await?; // no more
    /// # Ok(()) }
    /// ```
    pub fn remember_stops(mut self) -> Self {
        self.core = self.core.remember_stops();
        self
    }
}

impl ThreadCore {
    pub(crate) fn remember_stops(mut self) -> Self {
        self.settings.remembers = true;
        self
    }

    /// Passes the breakpoints of an opened thread to the recorder; stores those of the handle if it remembers them.
    pub(crate) async fn open_stops(&self, recorder: &Recorder, about: Option<AboutRecord>) -> Result<(), RunError> {
        let stored = about.as_ref().map(|about| about.stops.clone()).unwrap_or_default();
        if !self.settings.remembers {
            recorder.stops_at(stored);
            return Ok(());
        }
        let stops = self.own_stops();
        recorder.stops_at(stops.clone());
        if let Some(about) = about.filter(|_| stops != stored) {
            let about = encode_record(&AboutRecord { stops, ..about })?;
            recorder.commit_apart(vec![(Key::About, about)]).await?;
        }
        Ok(())
    }

    fn own_stops(&self) -> Vec<StopRecord> {
        let before = self.settings.stops.before.iter().flat_map(|stops| self.records(stops, false));
        before.chain(self.settings.stops.after.iter().flat_map(|stops| self.records(stops, true))).collect()
    }

    fn records(&self, stops: &Stops<u32>, after: bool) -> Vec<StopRecord> {
        match stops {
            Stops::None => vec![],
            Stops::All => vec![StopRecord { node: None, after }],
            Stops::At(nodes) => {
                let name = |node: &u32| Some(self.graph.table.row(*node).name.to_string());
                nodes.iter().map(|node| StopRecord { node: name(node), after }).collect()
            }
        }
    }

    /// Returns the breakpoints of a run: the handle's, or else those stored with the thread.
    pub(crate) fn stops_over(&self, stored: &[StopRecord]) -> StopOverrides {
        let of = |own: &Option<Stops<u32>>, after| own.clone().or_else(|| self.stored_stops(stored, after));
        let StopOverrides { before, after } = &self.settings.stops;
        StopOverrides { before: of(before, false), after: of(after, true) }
    }

    fn stored_stops(&self, stored: &[StopRecord], after: bool) -> Option<Stops<u32>> {
        let mut stops = stored.iter().filter(|stop| stop.after == after).peekable();
        stops.peek()?;
        let nodes: Option<Vec<&str>> = stops.map(|stop| stop.node.as_deref()).collect();
        let Some(nodes) = nodes else { return Some(Stops::All) };
        Some(Stops::At(nodes.into_iter().filter_map(|name| self.graph.table.now(name)).collect()))
    }

    /// Returns the breakpoints of a run, with the stored ones read from the store.
    pub(crate) async fn read_stops(&self, reader: &Reader) -> Result<StopOverrides, RunError> {
        let about = about_thread(&*reader.store, &reader.thread).await?;
        Ok(self.stops_over(&about.map(|about| about.stops).unwrap_or_default()))
    }
}
