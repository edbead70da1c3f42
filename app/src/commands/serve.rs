//! `serve`: the graphs over HTTP. While it runs, other commands on the store see and cancel its runs, and store answers with which it
//! resumes them. Without the feature `server` it says which one is missing.

use super::session::{CommandOutput, Session};
use crate::args::ServeArgs;
use crate::failure::Failure;

#[cfg(not(feature = "server"))]
impl Session {
    /// Fails: the program has no server.
    pub(super) async fn serve(&self, args: ServeArgs) -> Result<CommandOutput, Failure> {
        let error = format!("to serve at {} needs the server, which this program was built without", args.listen);
        Err(Failure::usage(error).help("build it with the feature `server`"))
    }
}

#[cfg(feature = "server")]
mod with_server {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
    use std::sync::Arc;

    use serde_json::json;
    use superstep::checkpoint::ThreadId;
    use superstep::graph::{AnyThread, CancellationToken, Event, Mode};
    use superstep_server::{Keys, Options, RunListener, RunObserver};
    use tokio::net::TcpListener;

    use super::{CommandOutput, Failure, ServeArgs, Session};
    use crate::commands::browser;
    use crate::commands::client_input::read_arguments;
    use crate::commands::fork_hook::prepare_forks;
    use crate::control::{Control, RunGuard};
    use crate::events::{EventBuffer, later_event_json};
    use crate::graphs::{AppGraph, AppGraphs};
    use crate::settings::Labels;
    use crate::terminal::{cancel_on_signal, print, print_json};
    use crate::text::clean;
    use crate::threads::RUN_MODES;
    use crate::watch::View;

    /// The variable with the secret that the receivers of webhooks know.
    const WEBHOOK_SECRET: &str = "SUPERSTEP_WEBHOOK_SECRET";

    impl Session {
        /// Serves the graphs until a signal.
        pub(in crate::commands) async fn serve(&self, args: ServeArgs) -> Result<CommandOutput, Failure> {
            let listener = listen(&args.listen).await?;
            check_reach(&listener, &args)?;
            let local = self.store_or_new().await?;
            let cancel = cancel_on_signal();
            let options = Options::default()
                .jobs(args.jobs)
                .keep_events_for(args.keep_events_for)
                .page(!args.no_page)
                .stop_with(cancel.token.clone());
            let options = match self.control.is_served() {
                true => options.observed_by(self.control_observer()),
                false => options, // nobody can follow the runs of a store in memory
            };
            let options = prepare_forks(&local, read_arguments(&self.graphs, options));
            let options = with_webhooks(protect(options, &args)?, &args);
            self.announce(&listener, args.open)?;
            let graphs = self.graphs.with_store(&local.store);
            let served = options.serve(graphs, local.store, listener).await;
            served.map_err(|error| Failure::new("the server has stopped").because(&error))?;
            CommandOutput::new("", &serde_json::Value::Null)
        }

        /// Returns the listener that shows the runs of a server to other processes.
        pub(in crate::commands) fn control_observer(&self) -> impl RunObserver + use<> {
            ControlObserver { control: self.control.clone(), graphs: Arc::clone(&self.graphs) }
        }

        /// Prints the address, which with port 0 is only now known, and opens its page if that is wanted.
        fn announce(&self, listener: &TcpListener, opens: bool) -> Result<(), Failure> {
            let address = listener.local_addr().map_err(|error| Failure::new("no address").because(&error))?;
            match self.view {
                View::Quiet => print_json(&json!({ "listening": format!("http://{address}") })),
                _ => print(&format!("listening on http://{address}\n")),
            }
            if opens {
                browser::open(format!("http://{}/ui/", reachable(address)));
            }
            Ok(())
        }
    }

    /// Returns the address at which this machine reaches the server: one for all addresses is none.
    fn reachable(address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
            IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
            _ => address,
        }
    }

    /// Sets where webhooks may be sent, and the secret of the environment with which they are signed.
    fn with_webhooks(options: Options, args: &ServeArgs) -> Options {
        let options = options.allow_private_webhooks(args.allow_private_webhooks);
        match std::env::var(WEBHOOK_SECRET) {
            Ok(secret) if !secret.is_empty() => options.webhook_secret(secret),
            _ => options,
        }
    }

    async fn listen(address: &str) -> Result<TcpListener, Failure> {
        TcpListener::bind(address).await.map_err(|error| {
            let failure = Failure::new(format!("cannot listen at {}", clean(address))).because(&error);
            failure.help("give a free address of this machine to `--listen`, such as 127.0.0.1:2025")
        })
    }

    /// Refuses to let other machines in without keys.
    fn check_reach(listener: &TcpListener, args: &ServeArgs) -> Result<(), Failure> {
        let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
        if is_local || args.api_keys.is_some() {
            return Ok(());
        }
        let listen = clean(&args.listen);
        let error = format!("at {listen} other machines reach the server, and without keys they may do everything");
        let help = "`keys add NAME --role ROLE --api-keys FILE` makes a key, which `serve --api-keys FILE` accepts; or listen at 127.0.0.1";
        Err(Failure::usage(error).help(help))
    }

    /// Sets who may send requests.
    fn protect(options: Options, args: &ServeArgs) -> Result<Options, Failure> {
        let name = args.listen.rsplit_once(':').map_or("", |(name, _)| name);
        let options = args.allow_origin.iter().fold(options.allow_host(name), Options::allow_origin);
        Ok(match &args.api_keys {
            Some(file) => options.api_keys(Keys::load(file)?),
            None => options,
        })
    }

    /// Shows the runs of the server to other processes, which may cancel them.
    struct ControlObserver {
        control: Control,
        graphs: Arc<AppGraphs>,
    }

    impl RunObserver for ControlObserver {
        fn modes(&self) -> &[Mode] {
            &RUN_MODES
        }

        fn begin(&self, thread: &AnyThread, cancel: CancellationToken) -> Box<dyn RunListener> {
            let id = thread.id().cloned().unwrap_or_else(|| ThreadId::from(""));
            let labels = self.graphs.find(thread.graph().name()).map(AppGraph::labels);
            let run = self.control.runs(id.as_str(), cancel);
            let labels = Arc::new(labels.unwrap_or_default());
            Box::new(ControlListener { run, labels, buffer: EventBuffer::default() })
        }
    }

    /// Passes the events of a run on, those of ended tasks once they are stored.
    struct ControlListener {
        run: RunGuard,
        labels: Arc<Labels>,
        buffer: EventBuffer,
    }

    impl ControlListener {
        fn record(&self, events: Vec<Event>) {
            events.into_iter().for_each(|event| self.run.record_lazily(later_event_json(event, &self.labels)));
        }
    }

    impl RunListener for ControlListener {
        fn on_event(&mut self, event: &Event) {
            let events = self.buffer.push(event.clone());
            self.record(events);
        }
    }

    impl Drop for ControlListener {
        fn drop(&mut self) {
            let events = std::mem::take(&mut self.buffer).finish();
            self.record(events);
        }
    }
}
