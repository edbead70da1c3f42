//! Marks of the runs that have not ended, by which servers find their work. A damaged mark is made again from its run; a damaged run
//! leaves the queue of its thread, so that the runs after it are executed. Must not know how a run is executed.

use superstep::checkpoint::{CheckpointError, ItemKey, ItemWrite};
use uuid::Uuid;

use crate::records::items::{Lookup, Record, Records, decode_key_part, put};
use crate::records::run::{OpenRun, RunPlace, RunRecord};
use crate::records::thread::{RunFailure, ThreadRecord};

/// The runs that have not ended.
#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    pub runs: Vec<OpenRun>,
    /// Those whose marks a later release wrote: another server executes them.
    pub later: Vec<Uuid>,
}

impl Records {
    /// Returns the runs that have not ended.
    pub(super) async fn open_runs(&self) -> Result<OpenRuns, CheckpointError> {
        let (marks, damaged) = self.all_with_damage::<OpenRun>("").await?;
        let mut open = OpenRuns { runs: marks.into_iter().map(|mark| mark.record).collect(), later: vec![] };
        for key in damaged {
            let Ok(run) = key.key.parse() else { continue };
            match self.look_up::<OpenRun>(&key.key).await? {
                Lookup::Damaged => open.runs.extend(self.mark_again(run).await?),
                Lookup::Found(mark) => open.runs.push(mark.record),
                Lookup::Later => open.later.push(run),
                Lookup::Gone => {}
            }
        }
        Ok(open)
    }

    /// Writes the mark of a run again, and returns it; removes it if there is no such run any more.
    async fn mark_again(&self, run: Uuid) -> Result<Option<OpenRun>, CheckpointError> {
        let thread = self.thread_of(run).await?;
        let found = match &thread {
            Some(thread) => self.look_up::<RunRecord>(&RunRecord::key_of(thread, run)).await?,
            None => Lookup::Gone,
        };
        let waits = |run: &RunRecord| !run.status.has_ended() && run.starts_at.is_none();
        match (found, thread) {
            (Lookup::Found(found), _) if waits(&found.record) => {
                let mark = OpenRun::of(&found.record);
                self.write(vec![put(&mark)]).await?;
                return Ok(Some(mark));
            }
            (Lookup::Damaged, Some(thread)) => self.remove_damaged_run(&thread, run).await?,
            (Lookup::Later, _) => {}
            _ => self.write(vec![ItemWrite::delete(mark_of(run))]).await?,
        }
        Ok(None)
    }

    /// Returns the thread of a run.
    async fn thread_of(&self, run: Uuid) -> Result<Option<String>, CheckpointError> {
        if let Some(place) = self.look_up::<RunPlace>(&run.to_string()).await?.into_record() {
            return Ok(Some(place.record.thread));
        }
        let (runs, damaged) = self.all_with_damage::<RunRecord>("").await?;
        if let Some(found) = runs.into_iter().find(|found| found.record.run == run) {
            return Ok(Some(found.record.thread));
        }
        let id = run.to_string();
        let mut threads = damaged.iter().filter_map(|key| key.key.split_once('/').filter(|(_, run)| *run == id));
        Ok(threads.next().map(|(thread, _)| decode_key_part(thread).into_owned()))
    }

    /// Removes an unreadable run from the queue of its thread, and sets the error of the thread. The stored bytes stay.
    pub(super) async fn remove_damaged_run(&self, thread: &str, run: Uuid) -> Result<(), CheckpointError> {
        let key = ThreadRecord::key_of(thread);
        let changed = self.change::<ThreadRecord, ()>(&key, |found| {
            let found = found?;
            let mut record = found.record.clone();
            record.remove_run(run);
            record.error = Some(damage_of(run));
            Some((vec![found.replace(&record), ItemWrite::delete(mark_of(run))], ()))
        });
        changed.await.map(drop)
    }
}

fn mark_of(run: Uuid) -> ItemKey {
    ItemKey::new(OpenRun::NAMESPACE, run.to_string())
}

fn damage_of(run: Uuid) -> RunFailure {
    let message = format!("the record of the run `{run}` cannot be read, so it was left out of the queue");
    RunFailure { error: "DamagedRecord".into(), message }
}
