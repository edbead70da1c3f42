//! Forks that clients of a server make: what a graph does for them outside of the store, as `fork` has it done. Must not know requests.

use std::sync::Arc;

use serde_json::Value;
use superstep::checkpoint::{BoxFuture, ThreadId};
use superstep_server::{ForkHook, ForkOrigin, Options, PreparedFork};

use crate::failure::{Failure, Refusal};
use crate::local::Local;
use crate::repository::keep_repository;
use crate::settings::{ForkPoint, ForkWrites, Forks};

/// Has the graphs that prepare their forks do so for those of clients.
pub(crate) fn prepare_forks(local: &Local, options: Options) -> Options {
    let hooked = local.graphs.0.iter().filter_map(|graph| Some((graph.name(), graph.settings().forks.clone()?)));
    hooked.fold(options, |options, (name, forks)| options.prepare_forks(name, Hook { local: local.clone(), forks }))
}

/// Hook of a graph.
struct Hook {
    local: Local,
    forks: Forks,
}

impl ForkHook for Hook {
    fn prepare(&self, origin: ForkOrigin) -> BoxFuture<'static, Result<Box<dyn PreparedFork>, String>> {
        let (local, forks) = (self.local.clone(), Arc::clone(&self.forks));
        Box::pin(async move {
            let writes = writes(&forks, &origin).await.map_err(|failure| failure.error)?;
            Ok(Box::new(Prepared { local, name: origin.name, writes }) as Box<dyn PreparedFork>)
        })
    }
}

/// Returns the writes of a fork; none for a thread that is not of the graph's own type.
async fn writes(forks: &Forks, origin: &ForkOrigin) -> Result<ForkWrites, Failure> {
    let (there, newest) = (origin.thread.clone().at(origin.checkpoint).state().await?, origin.thread.state().await?);
    let (Some(there), Some(newest)) = (there, newest) else { return Ok(ForkWrites::default()) };
    let own = origin.thread.id().map(ToString::to_string).unwrap_or_default();
    let point = ForkPoint {
        at: Arc::clone(&there.values),
        newest: Arc::clone(&newest.values),
        thread: origin.name.clone().unwrap_or(own),
        is_new_thread: origin.name.is_some(),
    };
    match forks(point) {
        Some(writes) => writes.await.map_err(|refusal: Refusal| Failure::from(refusal)),
        None => Ok(ForkWrites::default()),
    }
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
