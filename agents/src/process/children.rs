//! The programs that a running child waits for, so that a wait can be blamed on one of them. Known on Linux only.

/// The maximum length of a command line in bytes.
const LONGEST: usize = 200;

/// Returns the command lines of the programs that a process started and that still run.
#[cfg(target_os = "linux")]
pub(super) fn of(process: u32) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return vec![] };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let children = numbers.filter(|number| parent(*number) == Some(process));
    children.filter_map(command).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of(_: u32) -> Vec<String> {
    vec![]
}

/// Returns the parent in `PID (NAME) STATE PARENT ..`; a name may have brackets and spaces.
#[cfg(target_os = "linux")]
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Returns the command line; none for a process that has ended.
#[cfg(target_os = "linux")]
fn command(process: u32) -> Option<String> {
    let words = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words: Vec<_> = words.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ");
    let end = (0..=line.len().min(LONGEST)).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    let line = line[..end].trim();
    (!line.is_empty()).then(|| line.to_owned())
}
