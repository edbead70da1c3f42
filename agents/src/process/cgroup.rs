//! A cgroup v2 for a program and its descendants, where available: it also holds processes that leave the process
//! group. Knows the kernel's files and not what runs. Elsewhere there is none, and only the process group is killed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::process::Command;

/// The prefix of our cgroups' names, followed by this process's id.
const NAME: &str = "superstep-";
/// Enters the cgroup before the program runs, so that it holds all children. If that fails, the program runs anyway.
const ENTER: &str = r#"{ echo $$ > "$0"; } 2> /dev/null; exec "$@""#;
/// The variables that a shell adds to the environment of its children.
const SHELL_VARIABLES: [&str; 3] = ["PWD", "OLDPWD", "SHLVL"];

/// A cgroup. Its processes are killed on drop.
#[derive(Debug)]
pub(super) struct Cgroup(PathBuf);

/// Cgroups that could not be removed yet, because processes killed in them have not ended.
static UNREMOVED: Mutex<Vec<PathBuf>> = Mutex::new(vec![]);
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Cgroup {
    /// Creates a cgroup beneath that of this process; `None` where that is not possible.
    pub(super) fn create() -> Option<Self> {
        let own =
            own(&fs::read_to_string("/proc/self/mountinfo").ok()?, &fs::read_to_string("/proc/self/cgroup").ok()?)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            sweep(&own);
        }
        remove_empty();
        let path = own.join(format!("{NAME}{}-{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    /// Returns a command that starts a program in the cgroup. `has`: true if its environment has a variable.
    pub(super) fn command(&self, program: &OsStr, has: impl Fn(&str) -> bool) -> Command {
        let added: Vec<&str> = SHELL_VARIABLES.into_iter().filter(|name| !has(name)).collect();
        let unset = if added.is_empty() { String::new() } else { format!("unset {}; ", added.join(" ")) };
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("{unset}{ENTER}")).arg(self.0.join("cgroup.procs")).arg(program);
        command
    }

    /// Returns the file that kills every process in the cgroup, on Linux 5.14 or newer.
    pub(super) fn kill_file(&self) -> PathBuf {
        self.0.join("cgroup.kill")
    }

    /// Kills every process in the cgroup; returns false if the kernel cannot do that in one step.
    pub(super) fn kill(&self) -> bool {
        fs::write(self.kill_file(), "1").is_ok()
    }

    pub(super) fn processes(&self) -> Vec<i32> {
        let listed = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        UNREMOVED.lock().unwrap_or_else(PoisonError::into_inner).push(self.0.clone());
        remove_empty();
    }
}

fn remove_empty() {
    let mut left = UNREMOVED.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|path| fs::remove_dir(path).is_err() && path.exists());
}

/// Removes the empty cgroups that killed instances of this program left.
fn sweep(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the folder of this process's cgroup, given its mounts and cgroups.
fn own(mounts: &str, cgroups: &str) -> Option<PathBuf> {
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = |line: &str| {
        let (about, kind) = line.split_once(" - ")?;
        let mut about = about.split(' ').skip(3);
        let (root, point) = (about.next()?.to_owned(), about.next()?.to_owned());
        kind.starts_with("cgroup2 ").then_some((root, point)).filter(|(_, point)| !point.contains('\\'))
    };
    let (root, point) = mounts.lines().find_map(mount)?;
    let inside = Path::new(path).strip_prefix(&root).ok()?;
    Some(Path::new(&point).join(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
                          40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n\
                          41 31 0:38 ROOT /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";

    #[rstest::rstest]
    #[case::hybrid("/", "9:name=systemd:/\n0::/\n", Some("/sys/fs/cgroup/unified"))]
    #[case::inside("/", "0::/user.slice/a.scope\n", Some("/sys/fs/cgroup/unified/user.slice/a.scope"))]
    #[case::in_a_container("/docker/1", "0::/docker/1/b\n", Some("/sys/fs/cgroup/unified/b"))]
    #[case::outside_of_the_mount("/docker/1", "0::/../x\n", None)]
    #[case::version_1("/", "4:memory:/a\n", None)]
    fn the_own_cgroup_is_found(#[case] root: &str, #[case] cgroups: &str, #[case] found: Option<&str>) {
        assert_eq!(own(&MOUNTS.replace("ROOT", root), cgroups), found.map(PathBuf::from));
    }

    #[test]
    fn without_cgroups_of_version_2_there_is_none() {
        assert_eq!(own("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "0::/\n"), None);
    }
}
