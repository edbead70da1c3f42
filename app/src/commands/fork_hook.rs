//! Forks that clients of a server make: what a graph does for them outside of the store, as `fork` has it done. Must not know requests.

use serde_json::Value;
use superstep::checkpoint::{BoxFuture, ThreadId};
use superstep_server::{ForkHook, ForkOrigin, Options, PreparedFork};

use crate::failure::Failure;
use crate::local::Local;
use crate::repository::keep_repository;
use crate::settings::ForkWrites;

/// Has the graphs that prepare their forks do so for those of clients.
pub(crate) fn prepare_forks(local: &Local, options: Options) -> Options {
    let hooked = local.graphs.0.iter().filter(|graph| graph.settings().forks.is_some());
    hooked.fold(options, |options, graph| options.prepare_forks(graph.name(), Hook(local.clone())))
}

/// Hook of the graphs.
struct Hook(Local);

impl ForkHook for Hook {
    fn prepare(&self, origin: ForkOrigin) -> BoxFuture<'static, Result<Box<dyn PreparedFork>, String>> {
        let local = self.0.clone();
        Box::pin(async move {
            let writes = writes(&local, &origin).await.map_err(|failure| failure.error)?;
            Ok(Box::new(Prepared { local, name: origin.name, writes }) as Box<dyn PreparedFork>)
        })
    }
}

/// Returns the writes of a fork; none for a thread that is not of the graph's own type.
async fn writes(local: &Local, origin: &ForkOrigin) -> Result<ForkWrites, Failure> {
    let id = origin.thread.id().map(ToString::to_string).unwrap_or_default();
    let writes = local.thread(&id).await?.fork_writes(origin.checkpoint, origin.name.as_deref()).await?;
    Ok(writes.unwrap_or_default())
}

/// A fork that has its files.
struct Prepared {
    local: Local,
    name: Option<String>,
    writes: ForkWrites,
}

impl PreparedFork for Prepared {
    fn values(&self) -> Value {
        self.writes.values.clone()
    }

    fn stored(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(name) = &self.name {
                // A failure only means that git may remove old files of the fork one day.
                _ = keep_repository(&self.local, &ThreadId::from(name.as_str())).await;
            }
        })
    }

    fn undo(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            _ = self.writes.undo_on_failure::<()>(Err(Failure::new("the fork was not stored"))).await;
        })
    }
}
