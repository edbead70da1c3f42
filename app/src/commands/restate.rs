//! `runner --restate`: runs the threads that Restate calls for. Without the feature `restate` it says which one is missing.

use std::time::Duration;

use superstep::graph::runner::RunnerReport;
use superstep::graph::{CancellationToken, Runner};

use super::session::Session;
use crate::args::RestateOptions;
#[cfg(not(feature = "restate"))]
use crate::dispatch::no_restate;
use crate::failure::Failure;

/// Arguments of a runner that Restate calls.
#[cfg_attr(not(feature = "restate"), allow(dead_code, reason = "the program has no Restate"))]
pub(super) struct RestateArgs {
    pub(super) listen: String,
    pub(super) options: RestateOptions,
    pub(super) lasting: Option<Duration>,
}

#[cfg(feature = "restate")]
impl Session {
    /// Serves Restate until the token is cancelled or the time is over.
    pub(super) async fn serve_restate(
        &self,
        runner: Runner,
        args: RestateArgs,
        stop: CancellationToken,
    ) -> Result<RunnerReport, Failure> {
        let counter = TurnCounter::default();
        let counted = counter.clone();
        let runner = runner.on_stop(move |stop| {
            counted.count(&stop);
            std::future::ready(())
        });
        let worker = self.restate_worker(runner, &args)?;
        if let Some(time) = args.lasting {
            let stop = stop.clone();
            tokio::spawn(async move {
                tokio::time::sleep(time).await;
                stop.cancel();
            });
        }
        worker.run(stop).await?;
        Ok(counter.report())
    }

    fn restate_worker(&self, runner: Runner, args: &RestateArgs) -> Result<superstep_restate::RestateWorker, Failure> {
        let RestateOptions { admin, advertise, service } = &args.options;
        let mut worker = superstep_restate::RestateWorker::new(runner)?.listen(args.listen.as_str());
        if let Some(admin) = admin {
            worker = worker.admin(admin)?;
        }
        if let Some(url) = advertise {
            worker = worker.advertise(url)?;
        }
        if let Some(name) = service {
            worker = worker.service(name)?;
        }
        if let Some(dispatch) = &self.dispatch {
            worker = worker.ingress(dispatch.ingress())?;
        }
        let is_quiet = self.view == crate::watch::View::Quiet;
        Ok(worker.on_notice(move |line| {
            if !is_quiet {
                crate::terminal::note(&format!("note: {}\n", crate::text::clean(line)));
            }
        }))
    }
}

#[cfg(not(feature = "restate"))]
impl Session {
    /// Fails: the program has no Restate.
    pub(super) async fn serve_restate(
        &self,
        _: Runner,
        args: RestateArgs,
        _: CancellationToken,
    ) -> Result<RunnerReport, Failure> {
        Err(no_restate(&format!("`--restate {}`", args.listen)))
    }
}

/// Counts turns as a runner reports them.
#[cfg(feature = "restate")]
#[derive(Clone, Default)]
struct TurnCounter(std::sync::Arc<std::sync::Mutex<RunnerReport>>);

#[cfg(feature = "restate")]
impl TurnCounter {
    fn count(&self, stop: &superstep::graph::runner::RunnerStop) {
        let mut report = self.lock();
        report.turns += 1;
        report.count(stop);
    }

    fn report(&self) -> RunnerReport {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RunnerReport> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
