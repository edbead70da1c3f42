//! A Restate server of a test's own, on free ports and in a temporary folder, which ends with the process. Its program is the one that
//! `SUPERSTEP_RESTATE_SERVER` names, `.ci/run` has installed, or PATH has; without one, the tests that need it say so and pass.
#![allow(clippy::unwrap_used, dead_code, reason = "each test uses a part, and fails where it cannot go on")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The packages of npm have the program in a package for each system.
const PACKAGE: &str = "@restatedev/restate-server-linux-x64/bin/restate-server";

/// A server, which may be killed and started again.
#[derive(Debug)]
pub(crate) struct Restate {
    folder: PathBuf,
    program: PathBuf,
    ingress: u16,
    admin: u16,
    node: u16,
    server: Option<Child>,
    /// Waits for the end of its input, which is the end of this process; then it ends the server and removes the folder.
    keeper: Child,
}

impl Restate {
    /// Starts a server; `None` if there is none on the machine.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("skipped: there is no `restate-server`; `npm install @restatedev/restate-server` has one");
            return None;
        };
        let folder = tempfile::tempdir().unwrap().keep();
        let [ingress, admin, node] = free_ports();
        let settings = format!(
            "default-num-partitions = 2\nbind-address = \"127.0.0.1:{node}\"\n\
             [ingress]\nbind-address = \"127.0.0.1:{ingress}\"\n[admin]\nbind-address = \"127.0.0.1:{admin}\"\n"
        );
        std::fs::write(folder.join("settings.toml"), settings).unwrap();
        let line = "cat > /dev/null; kill -9 $(cat \"$1/pid\"); sleep 0.1; rm -rf \"$1\"";
        let mut keeper = Command::new("sh");
        keeper.args(["-c", line, "sh"]).arg(&folder).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let keeper = keeper.spawn().unwrap();
        let mut server = Self { folder, program, ingress, admin, node, server: None, keeper };
        server.run();
        Some(server)
    }

    /// Starts the server, again too, and waits until it can be reached.
    pub(crate) fn run(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log")).unwrap();
        let mut command = Command::new(&self.program);
        command.arg("--no-logo").arg("--base-dir").arg(self.folder.join("data"));
        command.arg("--config-file").arg(self.folder.join("settings.toml"));
        command.args(["--node-name", "node", "--listen-mode", "tcp"]).env("RESTATE_DISABLE_TELEMETRY", "true");
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        std::fs::write(self.folder.join("pid"), child.id().to_string()).unwrap();
        self.server = Some(child);
        let end = Instant::now() + Duration::from_secs(60);
        while !is_healthy(self.admin, "/health") || !is_healthy(self.ingress, "/restate/health") {
            assert!(Instant::now() < end, "Restate does not start: {}", self.folder.join("log").display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    pub(crate) fn ingress(&self) -> String {
        format!("http://127.0.0.1:{}", self.ingress)
    }

    pub(crate) fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        self.kill();
        drop(self.keeper.stdin.take());
        _ = self.keeper.wait();
    }
}

/// Returns ports of this machine that nobody uses.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("SUPERSTEP_RESTATE_SERVER").map(PathBuf::from);
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/restate/node_modules").join(PACKAGE);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders).filter_map(|folder| binary_of(&folder.join("restate-server")));
    named.into_iter().chain([installed]).chain(on_path).find(|path| path.is_file())
}

/// Returns the program that a command starts: npm's is a script, which outlives a kill of itself.
fn binary_of(command: &Path) -> Option<PathBuf> {
    let command = command.canonicalize().ok()?;
    match command.extension() {
        Some(_) => Some(command.ancestors().nth(4)?.join(PACKAGE)),
        None => Some(command),
    }
}

fn is_healthy(port: u16, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer.ends_with(b"200"))
    };
    ask().unwrap_or(false)
}
