//! A child and its descendants as one process group that ends together. The only file that sends signals.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::alive;
use super::cgroup::Cgroup;

/// The interval at which a child is polled for its exit.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A child in its own process group. The group is killed if this is dropped before the child was waited for, or if this
/// process is killed.
pub(super) struct Group {
    child: Child,
    /// The watching shell, killed on drop; while it exists, the group's id cannot be reused.
    watch: Option<Child>,
    number: Option<u32>,
    /// Also holds processes that leave the group; `None` where there are no cgroups.
    cgroup: Option<Cgroup>,
}

impl Group {
    pub(super) fn spawn(mut command: Command, watched: bool, cgroup: Option<Cgroup>) -> io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        let watch = if watched { watch(&child, cgroup.as_ref()) } else { None };
        Ok(Self { number: child.id(), watch, child, cgroup })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns the command lines of the programs that the child has started and that still run.
    pub(super) fn children(&self) -> Vec<String> {
        self.child.id().map(alive::children_of).unwrap_or_default()
    }

    /// Waits for the child. Afterwards its group id may be reused, so that no signal may be sent to it.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits up to `patience` for the child's exit, then sends SIGTERM, waits up to `grace`, and kills the group.
    pub(super) async fn end(&mut self, patience: Duration, grace: Duration) -> io::Result<ExitStatus> {
        if !self.exits(patience).await {
            self.signal(Signal::Term);
            self.exits(grace).await;
        }
        self.kill();
        self.wait().await
    }

    /// Sends SIGTERM to the group.
    pub(super) fn terminate(&mut self) {
        self.signal(Signal::Term);
    }

    /// Kills the rest of the group, even if the child was waited for.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::Kill);
        self.kill_cgroup();
    }

    async fn exits(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.has_exited() {
            if Instant::now() >= end {
                return false;
            }
            sleep(POLL_INTERVAL.min(within)).await;
        }
        true
    }
}

/// Starts a shell in the child's group that kills the group once its input closes, which happens however this process
/// dies. Without it, the group would outlive this process and run beside the one that resumes its work.
#[cfg(unix)]
fn watch(child: &Child, cgroup: Option<&Cgroup>) -> Option<Child> {
    use std::process::Stdio;
    let group = child.id()?.cast_signed();
    let mut watch = Command::new("/bin/sh");
    let all = r#"trap '' TERM; read _; [ -z "$1" ] || echo 1 > "$1"; kill -s KILL 0"#;
    watch.args(["-c", all, "sh"]).args(cgroup.map(Cgroup::kill_file)).env_clear().process_group(group);
    watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    watch.spawn().ok()
}

#[cfg(not(unix))]
fn watch(_: &Child, _: Option<&Cgroup>) -> Option<Child> {
    None
}

enum Signal {
    Term,
    Kill,
}

#[cfg(unix)]
impl Group {
    /// True if the child has exited. It is not reaped, so that the group keeps its id.
    pub(super) fn has_exited(&mut self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(id) = self.id().filter(|_| self.child.id().is_some()) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(id), options), Ok(None))
    }

    fn signal(&self, signal: Signal) {
        let signal = match signal {
            Signal::Term => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
        };
        if let Some(group) = self.id() {
            // The group may be gone already, which is not an error.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Kills the cgroup's processes; on old kernels one by one, in rounds because new ones may start meanwhile.
    fn kill_cgroup(&self) {
        const ROUNDS: u32 = 10;
        let Some(cgroup) = self.cgroup.as_ref().filter(|cgroup| !cgroup.kill()) else { return };
        for _ in 0..ROUNDS {
            let processes = cgroup.processes();
            if processes.is_empty() {
                return;
            }
            for process in processes.into_iter().filter_map(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
            }
        }
    }

    fn id(&self) -> Option<rustix::process::Pid> {
        let is_ours = self.child.id().is_some() || self.watch.is_some();
        self.number.filter(|_| is_ours).and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
    }
}

#[cfg(not(unix))]
impl Group {
    pub(super) fn has_exited(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn kill_cgroup(&self) {}

    /// Kills only the child: there are no groups.
    fn signal(&mut self, signal: Signal) {
        if matches!(signal, Signal::Kill) {
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.child.id().is_some() {
            self.signal(Signal::Kill);
        }
        self.kill_cgroup();
    }
}
