//! `--queue`: stores a request for the runners of a store, and with `--wait` follows the thread until they are done with it; and
//! `--dispatch`, which tells an engine of the request and always follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use superstep::checkpoint::{CheckpointError, Claim, ThreadId, ThreadPlace};
use superstep::graph::runner::Dispatch;
use superstep::graph::{CancellationToken, RunError, Status, ThreadInfo};
use tokio::time::sleep;

use super::session::{CommandOutput, Session};
use crate::dispatch::not_woken;
use crate::failure::{Exit, Failure};
use crate::threads::{AppThread, RunRequest};
use crate::watch::View;

/// The longest time between two workers of an engine, the first of which has stopped.
const BETWEEN: Duration = Duration::from_secs(20);

/// The interval at which `--wait` looks for the end, if the store gives no hint.
const POLL: Duration = Duration::from_millis(50);

impl Session {
    /// Stores what a run would begin with, and the request that a runner goes on from there.
    pub(super) async fn queue(
        &self,
        thread: &AppThread,
        name: &str,
        go: RunRequest,
        waits: bool,
    ) -> Result<CommandOutput, Failure> {
        self.open_dispatch()?;
        let bound = thread.clone().with_place(self.new_place(thread).await?).with_max_supersteps(Some(0));
        let mut run = bound.run(go, CancellationToken::new());
        while run.next().await.is_some() {}
        if run.end().await? == Exit::Finished {
            return self.thread_output(thread.report().await?, 0); // there is nothing to run
        }
        match thread.thread.request_run().await {
            Err(RunError::Checkpoint(CheckpointError::ThreadBusy { .. })) => {} // a runner was faster
            requested => requested?,
        }
        self.wake(name).await?;
        if waits {
            return self.wait_for_runner(thread, name).await;
        }
        let place = self.place_elsewhere(thread).await?;
        let place = place.map(|place| format!(" on the machine of {place}")).unwrap_or_default();
        let note = format!("the request is stored: a runner{place} takes it from here");
        let output = self.output_with_note(thread.report().await?, 0, &note)?;
        Ok(CommandOutput { text: format!("{}\n{name}\n", output.text.trim_end()), ..output })
    }

    /// Returns the place of a new thread that works in files, on a store that other machines share.
    pub(super) async fn new_place(&self, thread: &AppThread) -> Result<Option<ThreadPlace>, Failure> {
        if self.store.folder().is_some() || !thread.works_in_files() || self.place(thread).await?.is_some() {
            return Ok(None);
        }
        Ok(Some(ThreadPlace::here(std::env::current_dir().unwrap_or_default())))
    }

    /// Returns the place of a thread that is bound to another machine.
    pub(super) async fn place_elsewhere(&self, thread: &AppThread) -> Result<Option<ThreadPlace>, Failure> {
        Ok(self.place(thread).await?.filter(|place| !place.is_here()))
    }

    async fn place(&self, thread: &AppThread) -> Result<Option<ThreadPlace>, Failure> {
        Ok(ThreadInfo::read(&*thread.store, &thread.id).await?.and_then(|info| info.place))
    }

    /// Follows a thread until no runner has it or is to take it; the exit code is that of its run.
    async fn wait_for_runner(&self, thread: &AppThread, name: &str) -> Result<CommandOutput, Failure> {
        let (mut changes, mut idle) = (thread.store.watch(), IdleSince::default());
        while self.is_under_way(thread, &mut idle).await? {
            if self.view != View::Quiet {
                self.show_live(name).await?;
            }
            tokio::select! {
                () = changes.changed() => {}
                () = sleep(POLL) => {}
            }
        }
        let code = match thread.thread.status().await? {
            Status::Failed { reason } => return Err(Failure::new(reason)),
            status => thread.exit_of(&status).await?.code(),
        };
        self.thread_output(thread.report().await?, code)
    }

    /// Returns true while a runner has the thread, or a request waits for one.
    async fn is_under_way(&self, thread: &AppThread, idle: &mut IdleSince) -> Result<bool, Failure> {
        let info = ThreadInfo::read(&*thread.store, &thread.id).await?;
        if info.is_some_and(|info| info.owner.is_some() || info.requested_at.is_some()) {
            idle.0 = None;
            return Ok(true);
        }
        let goes_on = matches!(thread.thread.status().await?, Status::Pending { .. });
        if !goes_on {
            return Ok(false);
        }
        // Between two workers nobody has it, unless it was cancelled. A runner takes it again; an engine's call can be lost.
        let since = match idle.0 {
            Some(since) => since,
            None if was_cancelled(thread).await? => return Ok(false),
            None => *idle.0.insert(Instant::now()),
        };
        Ok(self.dispatch.is_none() || since.elapsed() < BETWEEN)
    }

    /// Has the engine that was named call a worker for a thread.
    pub(super) async fn wake(&self, name: &str) -> Result<(), Failure> {
        let Some(dispatch) = self.open_dispatch()? else { return Ok(()) };
        dispatch.wake(&ThreadId::from(name), None).await.map_err(|error| not_woken(&error))
    }

    /// Has the engine that was named cancel the run of a thread.
    pub(super) async fn dispatch_cancel(&self, name: &str) -> Result<(), Failure> {
        let Some(dispatch) = self.open_dispatch()? else { return Ok(()) };
        // The store passes the request on as well.
        if let Err(error) = dispatch.cancel(&ThreadId::from(name)).await {
            tracing::warn!(%error, "the engine was not told");
        }
        Ok(())
    }

    fn open_dispatch(&self) -> Result<Option<Arc<dyn Dispatch>>, Failure> {
        let Some(address) = &self.dispatch else { return Ok(None) };
        self.check_shared()?;
        address.open().map(Some)
    }

    /// Fails unless several processes can use the store.
    pub(super) fn check_shared(&self) -> Result<(), Failure> {
        if self.store.folder().is_none() {
            return Ok(());
        }
        let error = "the workers of an engine and this process need a store that several processes share";
        Err(Failure::usage(error).help("name a database: `--store postgres://USER@HOST/NAME`"))
    }
}

/// The time since when nobody has a thread that can go on.
#[derive(Default)]
struct IdleSince(Option<Instant>);

/// Returns true if the last run of a thread was cancelled and nobody has written the thread since.
async fn was_cancelled(thread: &AppThread) -> Result<bool, CheckpointError> {
    match thread.store.claim(&thread.id, Claim::IfFree).await {
        Err(CheckpointError::ThreadBusy { .. }) => Ok(false),
        lease => {
            let lease = lease?;
            let was_cancelled = lease.follows_cancel();
            lease.release().await.map(|()| was_cancelled)
        }
    }
}
