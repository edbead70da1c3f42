//! Processes of this machine: whether one still lives, which it started, and which use a file. Knows `/proc`; where
//! there is none, nothing is known. A mark tells later processes when this one ended, however it ended.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use superstep_base::text::start;

/// Identity of a process among all processes: later ones with the same number, and those of other machines and
/// containers, have another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    /// Name of the machine.
    host: String,
    /// Id of the boot of the machine.
    boot: String,
    /// Namespace of process numbers.
    namespace: String,
    number: u32,
    /// Time of its start, in clock ticks since the boot.
    started: u64,
}

/// State of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It lives.
    Alive,
    /// It has ended.
    Ended,
    /// It may be a process of another machine or container.
    Unknown,
}

impl ProcessId {
    /// Returns the id of this process; `None` if the system does not list processes.
    pub(crate) fn own() -> Option<Self> {
        let number = std::process::id();
        Some(Self {
            host: text("/proc/sys/kernel/hostname")?,
            boot: text("/proc/sys/kernel/random/boot_id")?,
            namespace: fs::read_link("/proc/self/ns/pid").ok()?.display().to_string(),
            number,
            started: start_time(number)?,
        })
    }

    /// Returns whether this is the process that calls.
    pub(crate) fn is_own(&self) -> bool {
        Self::own().as_ref() == Some(self)
    }

    /// Returns whether it is one of this machine before its last start.
    pub(crate) fn is_of_earlier_boot(&self) -> bool {
        Self::own().is_some_and(|here| self.boot != here.boot && self.host == here.host)
    }

    /// Returns whether it lives. A process of an earlier boot of this machine has ended.
    pub(crate) fn life(&self) -> Life {
        let Some(here) = Self::own() else { return Life::Unknown };
        if self.boot != here.boot {
            return if self.host == here.host { Life::Ended } else { Life::Unknown };
        }
        if self.namespace != here.namespace {
            return Life::Unknown;
        }
        if start_time(self.number) == Some(self.started) { Life::Alive } else { Life::Ended }
    }
}

/// Returns whether a process has this environment variable, as it and its descendants got it at their start.
pub(crate) fn has_variable(name: &str, value: &str) -> bool {
    let line = format!("{name}={value}");
    let has = |process: &PathBuf| {
        let all = fs::read(process.join("environ")).unwrap_or_default();
        all.split(|byte| *byte == 0).any(|one| one == line.as_bytes())
    };
    processes().any(|process| has(&process))
}

/// Returns whether another process may be using a file of git's: it has the file open, or is a program that works on
/// the repository to which the folders belong, as git or a Java machine. Some of them close their locks while they hold
/// them. A git program of which the system shows nothing counts.
pub(crate) fn may_use(file: &Path, folders: &[PathBuf]) -> bool {
    other_processes()
        .any(|process| has_open(&process, file) || is_git_in(&process, folders) || is_java_in(&process, folders))
}

/// Returns whether any process that existed at a time works in one of the folders: its working directory or one of its
/// open files is there. Shells that wait at a terminal, and the processes that started this one, do not count.
pub(crate) fn works_in(folders: &[PathBuf], since: SystemTime) -> bool {
    let (above, begin) = (ancestors(), ticks(since));
    let start_of = |process: &Path| stat_field(process, START)?.parse::<u64>().ok();
    let is_older = |process: &Path| match (begin, start_of(process)) {
        (Some(begin), Some(start)) => start <= begin,
        (None, _) | (_, None) => true,
    };
    let mut others =
        other_processes().filter(|process| !above.contains(process) && !has_ended(process) && is_older(process));
    others.any(|process| !is_terminal_shell(&process) && (is_at(&process, folders) || opens_in(&process, folders)))
}

/// Returns the folders of the processes that started this one.
fn ancestors() -> Vec<PathBuf> {
    let own = PathBuf::from("/proc").join(std::process::id().to_string());
    let parent = |process: &PathBuf| Some(Path::new("/proc").join(stat_field(process, PARENT)?));
    std::iter::successors(Some(own), parent).skip(1).take_while(|process| process.exists()).collect()
}

/// Returns whether it leads the session of a terminal.
fn is_terminal_shell(process: &Path) -> bool {
    let number = process.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    stat_field(process, SESSION) == number && stat_field(process, TERMINAL).is_some_and(|terminal| terminal != "0")
}

/// Returns a time in clock ticks since the boot, with what it may be off.
fn ticks(time: SystemTime) -> Option<u64> {
    /// Length of a clock tick in ms, on Linux for all programs.
    const TICK: u128 = 10;
    /// The times of files and of the boot are exact to this number of ticks each.
    const OFF: u64 = 2;
    let since = time.duration_since(boot_time()?).ok()?;
    u64::try_from(since.as_millis() / TICK).ok()?.checked_add(OFF)
}

/// Returns the time at which the machine was started.
pub(crate) fn boot_time() -> Option<SystemTime> {
    let seconds: f64 = text("/proc/uptime")?.split(' ').next()?.parse().ok()?;
    SystemTime::now().checked_sub(Duration::try_from_secs_f64(seconds).ok()?)
}

fn other_processes() -> impl Iterator<Item = PathBuf> {
    let own = std::process::id().to_string();
    processes().filter(move |process| process.file_name().is_some_and(|name| *name != *own))
}

fn has_open(process: &Path, file: &Path) -> bool {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().filter_map(Result::ok);
    let mut named = open.filter(|one| fs::read_link(one.path()).is_ok_and(|to| to.file_name() == file.file_name()));
    named.any(|one| is_same(&one.path(), file))
}

fn is_inside(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Returns whether its working directory is in one of the folders.
fn is_at(process: &Path, folders: &[PathBuf]) -> bool {
    fs::read_link(process.join("cwd")).is_ok_and(|directory| is_inside(&directory, folders))
}

fn opens_in(process: &Path, folders: &[PathBuf]) -> bool {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().filter_map(Result::ok);
    open.into_iter().any(|one| fs::read_link(one.path()).is_ok_and(|file| is_inside(&file, folders)))
}

#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    id(one).is_some_and(|one| id(other) == Some(one))
}

#[cfg(not(unix))]
fn is_same(_: &Path, _: &Path) -> bool {
    true
}

fn is_git_in(process: &Path, folders: &[PathBuf]) -> bool {
    /// Beginnings of the names of programs that change repositories.
    const PROGRAMS: [&str; 8] = ["git", "jgit", "egit", "gix", "ein", "jj", "lazygit", "tig"];
    /// Commands that lock nothing, and may run for hours.
    const READERS: [&str; 11] = [
        "fsmonitor--daemon",
        "credential-cache--daemon",
        "daemon",
        "log",
        "show",
        "diff",
        "blame",
        "grep",
        "cat-file",
        "status",
        "check-ignore",
    ];
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let name = name.trim_end();
    // Short names match as a whole, because many programs start with them; `git` also matches `git-lfs`.
    let is_short = |program: &str| program.len() < 4 && program != "git";
    let is_git = |program: &&str| if is_short(program) { name == *program } else { name.starts_with(program) };
    if !PROGRAMS.iter().any(is_git) || has_ended(process) {
        return false;
    }
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    // Only the subcommand counts: an argument such as a branch may be named `diff`.
    if READERS.iter().any(|reader| subcommand(&arguments) == Some(reader.as_bytes())) {
        return false;
    }
    // A git that works elsewhere may name the repository in its arguments or variables.
    match fs::read_link(process.join("cwd")) {
        Ok(directory) => is_inside(&directory, folders) || names_folder(process, &directory, &arguments, folders),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied, // otherwise it has ended meanwhile
    }
}

/// Returns whether a program that works elsewhere was given one of the folders, as an argument (also
/// `--git-dir=FOLDER`) or in git's variables.
fn names_folder(process: &Path, directory: &Path, arguments: &[u8], folders: &[PathBuf]) -> bool {
    let variables = fs::read(process.join("environ")).unwrap_or_default();
    let is_of_git = |line: &&[u8]| ["GIT_DIR=", "GIT_WORK_TREE="].iter().any(|name| line.starts_with(name.as_bytes()));
    let variables = variables.split(|byte| *byte == 0).filter(is_of_git);
    let mut words = arguments.split(|byte| *byte == 0).skip(1).chain(variables);
    words.any(|word| {
        let word = String::from_utf8_lossy(word);
        let path = if word.starts_with('-') || word.starts_with("GIT_") {
            word.split_once('=').map_or("", |(_, path)| path)
        } else {
            &word
        };
        let is_folder = |path: PathBuf| path.canonicalize().is_ok_and(|path| is_inside(&path, folders));
        !path.is_empty() && is_folder(directory.join(path))
    })
}

/// Returns whether it is a Java machine that works in one of the folders, as an editor with its own git.
fn is_java_in(process: &Path, folders: &[PathBuf]) -> bool {
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let has_machine = || fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("/libjvm.so"));
    if has_ended(process) || !(name.starts_with("java") || has_machine()) {
        return false;
    }
    let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
    let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
    is_inside(&directory, folders)
        || opens_in(process, folders)
        || names_folder(process, &directory, &arguments, folders)
}

/// Returns the command in the command line of a git program: `commit` in `git -C folder commit -m diff`.
fn subcommand(arguments: &[u8]) -> Option<&[u8]> {
    /// Options whose value is the next argument.
    const WITH_VALUE: [&[u8]; 7] =
        [b"-C", b"-c", b"--git-dir", b"--work-tree", b"--namespace", b"--config-env", b"--super-prefix"];
    let mut words = arguments.split(|byte| *byte == 0).skip(1);
    loop {
        match words.next()? {
            option if WITH_VALUE.contains(&option) => drop(words.next()),
            option if option.starts_with(b"-") => {}
            command => return Some(command),
        }
    }
}

/// Returns the command lines of the programs that a process started and that still run.
pub(super) fn children_of(number: u32) -> Vec<String> {
    let number = number.to_string();
    let is_child = |process: &PathBuf| stat_field(process, PARENT).as_ref() == Some(&number);
    processes().filter(is_child).filter_map(|process| command_line(&process)).collect()
}

/// Returns the command line; `None` for a process that has ended.
fn command_line(process: &Path) -> Option<String> {
    /// The maximum length in bytes.
    const LONGEST: usize = 200;
    let words = fs::read(process.join("cmdline")).ok()?;
    let words: Vec<_> = words.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ");
    let line = start(&line, LONGEST).trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Returns whether only its exit code is left of it.
fn has_ended(process: &Path) -> bool {
    stat_field(process, STATE).is_none_or(|state| state.starts_with(['Z', 'X']))
}

/// Returns the folders of all processes.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(is_number)).map(|entry| entry.path())
}

/// Fields of `/proc/PID/stat` after the name of the process.
const STATE: usize = 0;
const PARENT: usize = 1;
const SESSION: usize = 3;
const TERMINAL: usize = 4;
const START: usize = 19;

/// Returns a field of `NUMBER (NAME) STATE PARENT ..`; a name may contain brackets and spaces.
fn stat_field(process: &Path, field: usize) -> Option<String> {
    let stat = text(process.join("stat"))?;
    Some(stat.rsplit_once(") ")?.1.split(' ').nth(field)?.to_owned())
}

/// Returns the start of a process that has not ended.
fn start_time(number: u32) -> Option<u64> {
    let process = PathBuf::from(format!("/proc/{number}"));
    if has_ended(&process) {
        return None;
    }
    stat_field(&process, START)?.parse().ok()
}

fn text(file: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim_end().to_owned())
}

/// Shell that creates a file as soon as this process ends. Dropping it ends it without the file.
#[derive(Debug)]
pub(crate) struct EndMark(Child);

impl EndMark {
    /// Starts the shell; `None` if there is none.
    pub(crate) fn start(file: &Path) -> Option<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#"trap '' HUP INT TERM; read _; : > "$1""#, "sh"]).arg(file).current_dir("/").env_clear();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Self)
    }
}

impl Drop for EndMark {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_another_process_has_by_now_is_not_the_process() {
        let own = ProcessId::own().unwrap();
        assert!(own.is_own() && own.life() == Life::Alive);
        assert_eq!(ProcessId { started: own.started + 1, ..own.clone() }.life(), Life::Ended);
        assert_eq!(ProcessId { boot: "earlier".into(), ..own.clone() }.life(), Life::Ended, "the machine was rebooted");
        let elsewhere = ProcessId { host: "other".into(), boot: "theirs".into(), ..own.clone() };
        assert_eq!(elsewhere.life(), Life::Unknown);
        assert_eq!(ProcessId { namespace: "pid:[1]".into(), ..own }.life(), Life::Unknown);
    }

    #[test]
    fn only_the_command_of_a_git_says_that_it_locks_nothing() {
        let of = |line: &str| subcommand(line.replace(' ', "\0").as_bytes()).map(|word| word.to_vec());
        for line in ["git commit -m diff", "git -C diff commit", "git -c log --git-dir show --no-pager commit status"] {
            assert_eq!(of(line).as_deref(), Some(b"commit".as_slice()), "{line}");
        }
        assert_eq!(of("git --git-dir=x -p log commit").as_deref(), Some(b"log".as_slice()));
        assert_eq!([of("git"), of("git --version"), of("git -C")], [None, None, None]);

        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("diff")).unwrap();
        let mut git = Command::new("git");
        git.args(["-C", "diff", "hash-object", "--stdin"]).current_dir(&folder).stdin(Stdio::piped());
        let mut git = git.stdout(Stdio::null()).spawn().unwrap();
        assert!(may_use(&folder.path().join("index.lock"), &[folder.path().canonicalize().unwrap()]));
        git.kill().unwrap();
        git.wait().unwrap();
    }

    #[test]
    fn an_open_file_and_a_variable_are_found_while_their_process_lives() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.lock");
        let stdin = fs::File::create_new(&file).unwrap();
        assert!(!may_use(&file, &[]), "this process does not count");
        let mark = folder.path().display().to_string();
        let mut sleep = Command::new("sleep").arg("60").env("MARK", &mark).stdin(Stdio::from(stdin)).spawn().unwrap();
        assert!(may_use(&file, &[]) && has_variable("MARK", &mark));
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert!(!may_use(&file, &[]) && !has_variable("MARK", &mark));
    }
}
