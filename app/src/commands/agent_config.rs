//! The configuration in which a coding agent finds tools: `.mcp.json` of Claude Code, `config.toml` of Codex. Other entries of a file
//! stay as they are. Knows no graph and no store.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::session::CommandOutput;
use crate::args::AgentProgram;
use crate::failure::Failure;

/// The table of Codex's configuration that names the servers of tools, and Claude's object of them.
const CODEX: &str = "mcp_servers";
const CLAUDE: &str = "mcpServers";
/// The file of Claude Code in a project.
const CLAUDE_FILE: &str = ".mcp.json";

/// A server of tools.
#[derive(Debug)]
pub(super) enum ToolServer {
    /// The agent starts it.
    Program { command: String, args: Vec<String> },
    /// It runs already.
    Address(String),
}

/// The entry of an agent's configuration for a server of tools.
#[derive(Debug)]
pub(super) struct AgentConfig {
    pub agent: AgentProgram,
    pub name: String,
    pub server: ToolServer,
}

impl AgentConfig {
    /// Returns the entry as text.
    pub(super) fn show(&self) -> Result<CommandOutput, Failure> {
        let (text, file) = (self.text(), self.file()?);
        CommandOutput::new(text.clone(), &json!({ "file": file, "text": text }))
    }

    /// Adds the entry to the agent's configuration.
    pub(super) fn write(&self) -> Result<CommandOutput, Failure> {
        let file = self.file()?;
        let failed = |error| Failure::new(format!("{} cannot be written", file.display())).because(&error);
        let before = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(failed)?,
        };
        let after = match self.agent {
            AgentProgram::Claude => self.add_to_json(&before, &file)?,
            AgentProgram::Codex => self.add_to_toml(&before, &file)?,
        };
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(&file, after).map_err(failed)?;
        CommandOutput::new(format!("wrote `{}` to {}\n", self.name, file.display()), &json!({ "file": file }))
    }

    fn file(&self) -> Result<PathBuf, Failure> {
        if self.agent == AgentProgram::Claude {
            return Ok(CLAUDE_FILE.into());
        }
        let folder = std::env::var_os("CODEX_HOME").map(PathBuf::from);
        let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".codex")));
        let unknown = || Failure::usage("the folder of codex is not known").help("set CODEX_HOME or HOME");
        Ok(folder.ok_or_else(unknown)?.join("config.toml"))
    }

    fn text(&self) -> String {
        match self.agent {
            AgentProgram::Claude => pretty(&json!({ CLAUDE: { &self.name: self.json() } })),
            AgentProgram::Codex => self.toml(),
        }
    }

    fn json(&self) -> Value {
        match &self.server {
            ToolServer::Program { command, args } => json!({ "type": "stdio", "command": command, "args": args }),
            ToolServer::Address(url) => json!({ "type": "http", "url": url }),
        }
    }

    /// Returns the entry as a table. Strings of TOML are written as those of JSON.
    fn toml(&self) -> String {
        let lines = match &self.server {
            ToolServer::Program { command, args } => format!("command = {}\nargs = {}\n", json!(command), json!(args)),
            ToolServer::Address(url) => format!("url = {}\n", json!(url)),
        };
        format!("[{CODEX}.{}]\n{lines}", json!(self.name))
    }

    fn add_to_json(&self, before: &str, file: &Path) -> Result<String, Failure> {
        let unreadable = || Failure::new(format!("{} is no object of JSON", file.display())).help("correct it first");
        let mut all: Map<String, Value> = match before.trim() {
            "" => Map::new(),
            text => serde_json::from_str(text).map_err(|_| unreadable())?,
        };
        let servers = all.entry(CLAUDE).or_insert_with(|| json!({})).as_object_mut().ok_or_else(unreadable)?;
        servers.insert(self.name.clone(), self.json());
        Ok(pretty(&all.into()))
    }

    /// Adds the table at the end. One that is there is not replaced: its comments and other settings are the user's.
    fn add_to_toml(&self, before: &str, file: &Path) -> Result<String, Failure> {
        let unreadable = |error| Failure::new(format!("{} is no TOML", file.display())).because(&error);
        let all: toml::Table = before.parse().map_err(unreadable)?;
        if all.get(CODEX).and_then(|servers| servers.get(&self.name)).is_some() {
            let error = format!("{} has a table `{CODEX}.{}` already", file.display(), self.name);
            return Err(Failure::new(error).help("remove it, or change it as the command prints it without `--write`"));
        }
        let gap = if before.is_empty() || before.ends_with("\n\n") { "" } else { "\n" };
        let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        Ok(format!("{before}{end}{gap}{}", self.toml()))
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(agent: AgentProgram) -> AgentConfig {
        let server = ToolServer::Program { command: "/bin/a \"b\"".into(), args: vec!["mcp".into()] };
        AgentConfig { agent, name: "essays".into(), server }
    }

    #[test]
    fn a_table_is_added_after_those_of_the_user() {
        let before = "model = \"x\" # mine\n\n[mcp_servers.other]\nurl = \"http://h/mcp\"";
        let after = config(AgentProgram::Codex).add_to_toml(before, Path::new("config.toml")).unwrap();
        assert!(after.starts_with(before), "{after}");
        let all: toml::Table = after.parse().unwrap();
        assert_eq!(all[CODEX]["essays"]["command"].as_str(), Some("/bin/a \"b\""));
        let again = config(AgentProgram::Codex).add_to_toml(&after, Path::new("config.toml"));
        assert!(again.unwrap_err().error.contains("already"));
    }

    #[test]
    fn an_entry_is_added_to_those_of_the_user() {
        let before = r#"{"mcpServers": {"other": {"url": "http://h/mcp"}}, "mine": 1}"#;
        let after = config(AgentProgram::Claude).add_to_json(before, Path::new(CLAUDE_FILE)).unwrap();
        let all: Value = serde_json::from_str(&after).unwrap();
        assert_eq!((&all["mine"], &all[CLAUDE]["other"]["url"]), (&json!(1), &json!("http://h/mcp")));
        assert_eq!(all[CLAUDE]["essays"]["args"], json!(["mcp"]));
        assert!(config(AgentProgram::Claude).add_to_json("[]", Path::new(CLAUDE_FILE)).is_err());
    }
}
