//! A PostgreSQL server of a test's own, on a socket in a temporary folder, which ends with the process. Where there is no `initdb`,
//! there is no server, and the tests that need one say so and pass.
#![allow(clippy::unwrap_used, dead_code, reason = "each test uses a part, and fails where it cannot go on")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use superstep::checkpoint::{Checkpointer, PostgresCheckpointer};

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    folder: PathBuf,
    bin: PathBuf,
    /// Waits for the end of its input, which is the end of this process; then it ends the server and removes the folder.
    keeper: Child,
    /// Of its socket too.
    port: u16,
}

/// Returns the server that all tests of this process share; `None` if there is no PostgreSQL here.
pub(crate) fn shared() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(&[])).as_ref()
}

/// Returns the address of a store in place of one on disk, if `SUPERSTEP_TEST_STORE` is `postgres` and there is a server.
pub(crate) fn replacement() -> Option<String> {
    let is_wanted = std::env::var("SUPERSTEP_TEST_STORE").as_deref() == Ok("postgres");
    is_wanted.then(new_store).flatten()
}

/// Opens a store with few connections.
pub(crate) fn open(address: &str) -> Arc<dyn Checkpointer> {
    let builder = PostgresCheckpointer::builder(address).pool(3);
    // The caller's runtime may have a clock that stands still.
    let connect = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(builder.connect()).unwrap()
    };
    Arc::new(std::thread::spawn(connect).join().unwrap())
}

/// Returns the address of a store in a schema that nothing has used.
pub(crate) fn new_store() -> Option<String> {
    Some(shared()?.new_store())
}

impl Server {
    /// Starts a server with settings beside the usual ones, such as `fsync=off`.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        let Some(bin) = programs() else {
            eprintln!("skipped: there is no `initdb`, so PostgreSQL is not installed");
            return None;
        };
        let folder = tempfile::tempdir().unwrap().keep();
        hand_over(&folder);
        let made = unprivileged(&bin.join("initdb"))
            .args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "-D"])
            .arg(folder.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let usual = ["listen_addresses=", "max_connections=200", "shared_buffers=32MB"];
        let lines = usual.iter().chain(settings).map(|setting| setting.split_once('=').unwrap());
        let lines: String = lines.map(|(name, value)| format!("{name} = '{value}'\n")).collect();
        let lines = format!("{lines}unix_socket_directories = '{}'\n", folder.display());
        std::fs::write(folder.join("data/postgresql.auto.conf"), lines).unwrap();
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port="));
        let port = port.map_or(5432, |port| port.parse().unwrap());
        let server = Self { keeper: keeper(&folder), folder, bin, port };
        server.run();
        Some(server)
    }

    /// Starts the server again, or for the first time, and waits until it accepts connections.
    pub(crate) fn run(&self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.folder.join("log")).unwrap();
        let end = Instant::now() + Duration::from_secs(180);
        loop {
            let mut child = unprivileged(&self.bin.join("postgres"))
                .arg("-D")
                .arg(self.folder.join("data"))
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log.try_clone().unwrap())
                .spawn()
                .unwrap();
            while child.try_wait().unwrap().is_none() {
                if self.is_ready() {
                    // It lives on: the keeper ends it, or a test.
                    std::thread::spawn(move || child.wait());
                    return;
                }
                assert!(Instant::now() < end, "the server does not start: {}", self.log());
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(Instant::now() < end, "the server does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn is_ready(&self) -> bool {
        let mut ask = Command::new(self.bin.join("pg_isready"));
        ask.args(["-q", "-p", &self.port.to_string(), "-h"]).arg(&self.folder).status().unwrap().success()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Returns the address of a store in a schema that nothing has used.
    pub(crate) fn new_store(&self) -> String {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        self.store(&format!("s{}", SCHEMAS.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns the address of the store in a schema.
    pub(crate) fn store(&self, schema: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/postgres?schema={schema}", self.port)
    }

    /// Executes SQL with `psql`, and returns what it prints.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        let psql = psql
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-p", &self.port.to_string(), "-h"])
            .arg(&self.folder);
        let done = psql.args(["-c", sql, "postgres"]).output().unwrap();
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// Makes a file one that the server trusts: its own, and nobody else's.
    pub(crate) fn own(&self, file: &Path) {
        hand_over(file);
        assert!(Command::new("chmod").arg("0600").arg(file).status().unwrap().success());
    }

    /// Returns the folder of the server.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sends a signal to the server and all of its processes.
    pub(crate) fn signal(&self, signal: &str) {
        for pid in self.processes() {
            _ = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
        }
    }

    /// Returns the processes of the server, the first of which started the others.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let postmaster = self.postmaster();
        postmaster.into_iter().chain(postmaster.into_iter().flat_map(children)).collect()
    }

    fn postmaster(&self) -> Option<u32> {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).ok()?;
        file.lines().next()?.parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        _ = self.keeper.wait();
    }
}

/// Returns the processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// Starts the process that ends the server after this one, however that ends.
fn keeper(folder: &Path) -> Child {
    let script =
        r#"read -r line; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")" 2>/dev/null; sleep 0.3; rm -rf "$0""#;
    Command::new("sh").arg("-c").arg(script).arg(folder).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Finds the folder of the server's programs.
fn programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let found = folders.into_iter().find(|folder| folder.join("initdb").exists())?;
    let real = std::fs::canonicalize(found.join("initdb")).ok()?;
    real.parent().map(Path::to_owned)
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

/// Returns a command of the user `postgres` if this one is root: the server refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.current_dir("/");
    command
}

/// Gives a folder to the user that the server runs as.
fn hand_over(folder: &Path) {
    if is_root() {
        let status = Command::new("chown").arg("postgres").arg(folder).status().unwrap();
        assert!(status.success());
    }
}
