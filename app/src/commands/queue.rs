//! `--queue`: stores a request for the runners of a store, and with `--wait` follows the thread until they are done with it.

use superstep::checkpoint::ThreadPlace;
use superstep::graph::{CancellationToken, RunError, Status, ThreadInfo};
use tokio::time::{Duration, sleep};

use super::session::{CommandOutput, Session};
use crate::failure::{Exit, Failure};
use crate::threads::{AppThread, RunRequest};
use crate::watch::View;

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
        let bound = thread.clone().with_place(self.new_place(thread).await?).with_max_supersteps(Some(0));
        let mut run = bound.run(go, CancellationToken::new());
        while run.next().await.is_some() {}
        if run.end().await? == Exit::Finished {
            return self.thread_output(thread.report().await?, 0); // there is nothing to run
        }
        thread.thread.request_run().await?;
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
        let mut changes = thread.store.watch();
        while self.is_under_way(thread).await? {
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
    async fn is_under_way(&self, thread: &AppThread) -> Result<bool, RunError> {
        let info = ThreadInfo::read(&*thread.store, &thread.id).await?;
        Ok(info.is_some_and(|info| info.owner.is_some() || info.requested_at.is_some()))
    }
}
