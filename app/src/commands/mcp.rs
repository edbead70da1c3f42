//! `mcp`: the graphs as tools of a coding agent that has started the program, over standard input and output; and the configuration in
//! which the agent finds it. Without the feature `server` it says which one is missing.

use super::session::{CommandOutput, Session};
use crate::args::McpArgs;
use crate::failure::Failure;

#[cfg(not(feature = "server"))]
impl Session {
    /// Fails: the program has no server.
    pub(super) async fn mcp(&self, _: McpArgs) -> Result<CommandOutput, Failure> {
        let error = "`mcp` needs the server, which this program was built without";
        Err(Failure::usage(error).help("build it with the feature `server`"))
    }
}

#[cfg(feature = "server")]
mod with_server {
    use std::path::Path;

    use serde_json::json;
    use superstep_server::Options;

    use super::{CommandOutput, Failure, McpArgs, Session};
    use crate::commands::agent_config::{AgentConfig, ToolServer};
    use crate::commands::client_input::read_arguments;
    use crate::store::StoreLocation;
    use crate::terminal::cancel_on_signal;

    impl Session {
        /// Serves an agent until it ends the input, or writes its configuration.
        pub(in crate::commands) async fn mcp(&self, args: McpArgs) -> Result<CommandOutput, Failure> {
            if let Some(agent) = args.install {
                let config = AgentConfig { agent, name: self.program_name(), server: self.tool_server(args.url)? };
                return if args.write { config.write() } else { config.show() };
            }
            let (local, cancel) = (self.store_or_new().await?, cancel_on_signal());
            let options = Options::default().jobs(args.jobs).stop_with(cancel.token.clone());
            let options = read_arguments(&self.graphs, options.observed_by(self.control_observer()));
            let served = options.serve_stdio(self.graphs.with_store(&local.store), local.store).await;
            served.map_err(|error| Failure::new("the client does not speak the protocol").because(&error))?;
            CommandOutput::new("", &json!(null))
        }

        fn program_name(&self) -> String {
            let name = Path::new(&self.caller.bin).file_stem();
            name.map_or("superstep".into(), |name| name.to_string_lossy().into_owned())
        }

        /// Returns how an agent reaches the graphs: at an address, or by this program with this store.
        fn tool_server(&self, url: Option<String>) -> Result<ToolServer, Failure> {
            if let Some(url) = url {
                return Ok(ToolServer::Address(url));
            }
            let unknown = |error| Failure::new("the path of this program is not known").because(&error);
            let command = std::env::current_exe().map_err(unknown)?.display().to_string();
            let store = match &self.store {
                StoreLocation::Directory(directory) => {
                    let mut directory = directory.clone();
                    directory.path = std::path::absolute(&directory.path).unwrap_or(directory.path);
                    directory.argument().display().to_string()
                }
                other => other.argument().display().to_string(),
            };
            Ok(ToolServer::Program { command, args: ["mcp", "--store", &store].map(str::to_owned).to_vec() })
        }
    }
}
