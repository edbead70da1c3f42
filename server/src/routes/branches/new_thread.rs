//! A thread that is made of the checkpoints of another one. Must not know which of them it gets.

use superstep_base::time::now;

use crate::error::ApiResult;
use crate::records::items::create;
use crate::records::thread::{StateMark, ThreadRecord};
use crate::server::Server;

/// A new thread with the graph and the metadata of another, which gets its checkpoints next: half a thread is none.
pub(in crate::routes) struct NewThread<'a> {
    server: &'a Server,
    pub record: ThreadRecord,
}

impl<'a> NewThread<'a> {
    /// Stores the record of the thread: nobody else makes one of its name.
    pub(in crate::routes) async fn create(server: &'a Server, name: &str, origin: &ThreadRecord) -> ApiResult<Self> {
        let mut record = ThreadRecord::new(name, now());
        (record.graph, record.metadata) = (origin.graph.clone(), origin.metadata.clone());
        record.state = Some(StateMark::unfinished(record.created_at));
        server.records.write(vec![create(&record)]).await?;
        Ok(Self { server, record })
    }

    /// Keeps the thread if it has got its checkpoints; else removes it, unless somebody uses it by now. `owns_checkpoints`: false if
    /// checkpoints of its name would be those of another program.
    pub(in crate::routes) async fn settle<T>(&self, made: ApiResult<T>, owns_checkpoints: bool) -> ApiResult<T> {
        let name = self.record.thread.as_str();
        match made {
            Ok(_) => self.server.mark_state(name).await?,
            Err(_) => self.remove(name, owns_checkpoints).await?,
        }
        made
    }

    async fn remove(&self, name: &str, owns_checkpoints: bool) -> ApiResult<()> {
        let found = self.server.records.get::<ThreadRecord>(&ThreadRecord::key_of(name)).await?;
        let Some(unused) = found.filter(|found| found.record.queue.is_empty()) else { return Ok(()) };
        if let Some(graph) = self.server.graph_of(&self.record)?.filter(|_| owns_checkpoints) {
            self.server.delete_checkpoints(graph, name).await?;
        }
        self.server.remove_records(&unused).await
    }
}
