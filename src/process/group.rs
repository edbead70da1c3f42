//! A child and everything it started: one process group, ended together. The only file that sends signals.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::cgroup::Cgroup;

/// How often it is looked whether a child is still there.
const LOOK: Duration = Duration::from_millis(20);

/// A child in a process group of its own; the group is killed if this is dropped before the child's end was seen, and if
/// this process is killed.
pub(super) struct Group {
    child: Child,
    /// Killed when dropped; until then the group's number cannot go to another one.
    watch: Option<Child>,
    number: Option<u32>,
    /// Holds what leaves the group too; none where there are no cgroups.
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

    /// Waits for the child, which ends the group's hold on its number: nothing may be sent to it afterwards.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits until the child has ended, for so long; asks the group to end, and waits so long; kills what is left of it.
    pub(super) async fn end(&mut self, patience: Duration, grace: Duration) -> io::Result<ExitStatus> {
        if !self.leaves(patience).await {
            self.signal(Signal::Term);
            self.leaves(grace).await;
        }
        self.kill();
        self.wait().await
    }

    /// Asks the group to end.
    pub(super) fn ask(&mut self) {
        self.signal(Signal::Term);
    }

    /// Kills what there is of the group, also if the child was waited for.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::Kill);
        self.kill_cgroup();
    }

    async fn leaves(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        while !self.has_left() {
            if Instant::now() >= end {
                return false;
            }
            sleep(LOOK.min(within)).await;
        }
        true
    }
}

/// A shell in the child's group whose input ends when this process does, however it dies: it ends the group then. Nobody
/// would listen to it any more, and whoever goes on begins its work again. Without one, a group outlives us.
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
    /// Returns whether the child has ended. Leaves it unwaited for, so that the group keeps its number.
    pub(super) fn has_left(&mut self) -> bool {
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
            // A group that is gone already is no failure.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Kills what is in the cgroup; one by one, and those who were started meanwhile, where the kernel is old.
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
    pub(super) fn has_left(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn kill_cgroup(&self) {}

    /// There are no groups: the child alone is killed.
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
