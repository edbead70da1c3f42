//! The tools of an agent in its folder, and their limits: real files, links, fifos and commands.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use superstep::drivers::tools::{ToolAnswer, ToolLimits, Toolbox};
use superstep::drivers::{Access, Shell};
use tempfile::TempDir;

use crate::kit::{Alive, script};

/// A folder `work` with files, and a secret next to it.
fn folder() -> TempDir {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "the secret").unwrap();
    fs::create_dir_all(outside.path().join("work/src/deep")).unwrap();
    let work = outside.path().join("work");
    fs::create_dir(work.join(".git")).unwrap();
    fs::write(work.join(".git/config"), "[core]").unwrap();
    fs::write(work.join("src/a.rs"), "fn one() {}\nfn two() {}\n").unwrap();
    fs::write(work.join("src/deep/b.rs"), "fn two() {}\r\nfn three() {}\r\n").unwrap();
    outside
}

fn all() -> Access {
    Access { write: true, shell: Some(Shell::default()) }
}

fn tools(folder: &TempDir) -> Toolbox {
    Toolbox::open(&folder.path().join("work"), all()).unwrap()
}

async fn call(tools: &Toolbox, name: &str, arguments: Value) -> ToolAnswer {
    tools.call(name, &arguments.to_string()).await
}

fn work(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("work")
}

#[rstest]
#[case::up("../secret")]
#[case::up_from_within("src/../../secret")]
#[case::up_and_back("../work/src/a.rs")]
#[case::only_up("..")]
#[case::hidden_up("./src/./../a.rs")]
#[case::absolute("/etc/passwd")]
#[case::doubled("//etc/passwd")]
#[case::nul("src/a.rs\u{0}.txt")]
#[case::git(".git/config")]
#[case::git_shouted(".GIT/config")]
#[case::git_below("src/.Git/config")]
#[case::git_with_slash("./.git//config")]
#[case::git_with_a_dot(".git./config")]
#[case::git_with_a_space(".git /config")]
#[case::git_as_a_stream(".git::$INDEX_ALLOCATION/config")]
#[case::git_in_short("GIT~1/config")]
#[case::git_unseen(".g\u{200c}it/config")]
#[case::git_as_a_file(".git")]
#[case::superstep(".superstep/runs")]
#[case::link_to_a_file("link")]
#[case::link_to_a_folder("out/secret")]
#[case::link_to_a_folder_inside("inner/a.rs")]
#[case::link_in_a_folder("src/link/secret")]
#[case::broken_link("broken")]
#[case::fifo("fifo")]
#[case::socket("socket")]
#[case::file_as_a_folder("src/a.rs/x")]
#[tokio::test]
async fn no_tool_leaves_the_folder(#[case] path: &str) {
    let folder = folder();
    let (work, secret) = (work(&folder), folder.path().join("secret"));
    symlink(&secret, work.join("link")).unwrap();
    symlink(folder.path(), work.join("out")).unwrap();
    symlink(folder.path(), work.join("src/link")).unwrap();
    symlink("src", work.join("inner")).unwrap();
    symlink(folder.path().join("made"), work.join("broken")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(work.join("fifo")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap();
    let tools = tools(&folder);
    for (name, arguments) in [
        ("read", json!({ "path": path })),
        ("grep", json!({ "path": path, "pattern": "." })),
        ("list", json!({ "path": path })),
        ("write", json!({ "path": path, "content": "taken" })),
        ("edit", json!({ "path": path, "old": "secret", "new": "taken" })),
    ] {
        let answer = call(&tools, name, arguments).await;
        assert!(!answer.ok && answer.text.starts_with("error: "), "{name} {path}: {}", answer.text);
        assert!(!answer.text.contains("the secret"), "{}", answer.text);
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret");
    assert_eq!(fs::read_to_string(work.join(".git/config")).unwrap(), "[core]");
    assert!(!folder.path().join("made").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_leaves_the_folder_while_links_come_and_go() {
    let folder = folder();
    let (work, outside) = (work(&folder), folder.path().join("outside"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.rs"), "the secret").unwrap();
    symlink(&outside, work.join("link")).unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapping = {
        let (work, stop) = (work.clone(), std::sync::Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    work.join("src"),
                    rustix::fs::CWD,
                    work.join("link"),
                    exchange,
                )
                .unwrap();
            }
        })
    };
    let tools = tools(&folder);
    for nth in 0..200 {
        for (name, arguments) in [
            ("read", json!({ "path": "src/a.rs" })),
            ("grep", json!({ "path": "src", "pattern": "secret" })),
            ("list", json!({ "path": "src" })),
            ("write", json!({ "path": "src/new/x.rs", "content": nth.to_string() })),
            ("edit", json!({ "path": "src/a.rs", "old": "the secret", "new": "taken" })),
        ] {
            let answer = call(&tools, name, arguments).await;
            assert!(!answer.text.contains("the secret"), "{name}: {}", answer.text);
        }
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(names(&outside), ["a.rs"]);
    assert_eq!(fs::read_to_string(outside.join("a.rs")).unwrap(), "the secret");
}

#[tokio::test]
async fn files_outside_the_folder_are_read_only_if_listed() {
    let folder = folder();
    let (file, link) = (folder.path().join("long.diff"), folder.path().join("link.diff"));
    fs::write(&file, "+added\n").unwrap();
    symlink(folder.path().join("secret"), &link).unwrap();
    let tools = tools(&folder).reading(vec![file.clone(), link.clone()]);
    let ask = async |name: &str, path: &Path| {
        call(&tools, name, json!({ "path": path, "pattern": "add", "content": "x", "old": "a", "new": "b" })).await
    };
    assert_eq!(ask("read", &file).await.text, "+added\n");
    assert_eq!(ask("grep", &file).await.text, "long.diff:1: +added");
    for (name, path) in [
        ("write", &file),
        ("edit", &file),
        ("list", &file),
        ("read", &link),
        ("read", &folder.path().join("secret")),
        ("grep", &folder.path().to_owned()),
    ] {
        let answer = ask(name, path).await;
        assert!(!answer.ok && !answer.text.contains("the secret"), "{name}: {}", answer.text);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "+added\n");
}

#[tokio::test]
async fn refusals_give_a_reason() {
    let folder = folder();
    symlink("/etc", work(&folder).join("etc")).unwrap();
    let tools = tools(&folder);
    let mut texts = Vec::new();
    for path in ["/etc/passwd", "a/../b", ".git/x", "etc/passwd", "none", "src"] {
        texts.push(call(&tools, "read", json!({ "path": path })).await.text);
    }
    texts.push(tools.call("fly", "{}").await.text);
    texts.push(tools.call("read", "{\"path\": \"a").await.text);
    texts.push(tools.call("write", "{\"path\": \"a\"}").await.text);
    insta::assert_snapshot!(texts.join("\n"), @r"
    error: `/etc/passwd`: absolute paths are refused; give the path from the folder you work in
    error: `a/../b`: `..` is refused; give the path from the folder you work in
    error: `.git/x`: `.git` and `.superstep` are refused
    error: `etc` is a symbolic link, which is not followed
    error: `none` does not exist
    error: `src` is a folder; use list
    error: there is no tool `fly` here; there are: read, list, grep, write, edit, shell
    error: the arguments are not JSON (EOF while parsing a string at line 1 column 11); call the tool again
    error: the arguments do not fit: missing field `content`
    ");
}

#[rstest]
#[case::short("a\nb\n".to_owned())]
#[case::long("größe\r\n".repeat(500))]
#[case::the_last_line_open("größe\n".repeat(500) + "gr")]
#[tokio::test]
async fn a_long_file_is_read_in_pieces(#[case] text: String) {
    let folder = folder();
    fs::write(work(&folder).join("long"), &text).unwrap();
    let tools = tools(&folder).limits(ToolLimits { answer: 1000, ..ToolLimits::default() });
    let (mut read, mut line) = (String::new(), 1);
    loop {
        let piece = call(&tools, "read", json!({ "path": "long", "line": line })).await;
        assert!(piece.ok && piece.text.len() <= 1000, "{}", piece.text);
        let Some((piece, note)) = piece.text.rsplit_once("\n[cut here") else {
            read.push_str(&piece.text);
            break;
        };
        read.push_str(piece);
        line = note.split("`line` is ").nth(1).unwrap().trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read, text);
    let beyond = call(&tools, "read", json!({ "path": "long", "line": 1 + text.lines().count() })).await;
    assert_eq!(beyond.text, format!("error: `long` has {} lines", text.lines().count()));
}

#[tokio::test]
async fn a_listing_marks_folders_and_links_and_hides_git() {
    let folder = folder();
    symlink("/etc", work(&folder).join("etc")).unwrap();
    let tools = tools(&folder);
    assert_eq!(call(&tools, "list", json!({ "path": "." })).await.text, "etc@\nsrc/");
    assert_eq!(call(&tools, "list", json!({ "path": "" })).await.text, "etc@\nsrc/");
    assert_eq!(call(&tools, "list", json!({ "path": "src/" })).await.text, "a.rs\ndeep/");
}

#[tokio::test]
async fn grep_searches_files_and_folders_beneath_the_root() {
    let folder = folder();
    let work = work(&folder);
    symlink(folder.path(), work.join("out")).unwrap();
    fs::write(work.join("binary"), b"fn two\0").unwrap();
    fs::create_dir(work.join("target")).unwrap();
    fs::write(work.join("target/c.rs"), "fn two() {}\n").unwrap();
    fs::write(work.join("src/generated.rs"), "fn two() {}\n").unwrap();
    fs::write(work.join(".gitignore"), "target/\ngenerated.rs\n").unwrap();
    fs::write(work.join(".git/two"), "fn two").unwrap();
    let tools = tools(&folder);
    let grep =
        async |pattern: &str, path: &str| call(&tools, "grep", json!({ "pattern": pattern, "path": path })).await;
    assert_eq!(grep("fn tw.", ".").await.text, "src/a.rs:2: fn two() {}\nsrc/deep/b.rs:1: fn two() {}");
    assert_eq!(grep("^fn two\\(\\) \\{\\}$", "src/deep").await.text, "src/deep/b.rs:1: fn two() {}");
    assert_eq!(grep("two", "src/a.rs").await.text, "src/a.rs:2: fn two() {}");
    assert_eq!(grep("two", "target").await.text, "target/c.rs:1: fn two() {}", "a folder that is named is searched");
    assert_eq!(grep("secret", ".").await.text, "no match");
    assert!(!grep("(", ".").await.ok);
    assert!(!grep("(a{1000}){1000}{1000}", ".").await.ok, "a pattern may not take all memory");
}

#[tokio::test]
async fn written_files_are_whole_and_keep_their_mode() {
    let folder = folder();
    let (tools, work) = (tools(&folder), work(&folder));
    fs::set_permissions(work.join("src/a.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::hard_link(work.join("src/a.rs"), folder.path().join("linked")).unwrap();
    assert!(call(&tools, "write", json!({ "path": "src/a.rs", "content": "new" })).await.ok);
    assert!(call(&tools, "write", json!({ "path": "docs/of/it.md", "content": "größe" })).await.ok);
    assert_eq!(fs::read_to_string(work.join("src/a.rs")).unwrap(), "new");
    assert_eq!(fs::metadata(work.join("src/a.rs")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(work.join("docs/of/it.md")).unwrap(), "größe");
    assert!(fs::read_to_string(folder.path().join("linked")).unwrap().starts_with("fn one"), "a hard link is cut");
    assert_eq!(names(&work.join("docs/of")), ["it.md"], "nothing is left beside it");
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[rstest]
#[case::once("src/a.rs", "fn two() {}", "fn 2() {}", Ok("fn one() {}\nfn 2() {}\n"))]
#[case::over_lines("src/a.rs", "{}\nfn two", "{}\n\nfn two", Ok("fn one() {}\n\nfn two() {}\n"))]
#[case::crlf("src/deep/b.rs", "{}\nfn three", "{ }\nfn 3", Ok("fn two() { }\r\nfn 3() {}\r\n"))]
#[case::twice("src/a.rs", "() {}", "", Err("2 times"))]
#[case::overlapping("aaa", "aa", "b", Err("2 times"))]
#[case::never("src/a.rs", "fn  two", "", Err("not in the file"))]
#[case::empty("src/a.rs", "", "x", Err("`old` is empty"))]
#[case::not_there("src/none.rs", "a", "b", Err("does not exist"))]
#[case::not_text("binary", "a", "b", Err("not UTF-8"))]
#[tokio::test]
async fn an_edit_needs_exactly_one_match(
    #[case] path: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] expected: Result<&str, &str>,
) {
    let folder = folder();
    fs::write(work(&folder).join("aaa"), "aaa").unwrap();
    fs::write(work(&folder).join("binary"), b"\xff\xfe a").unwrap();
    let answer = call(&tools(&folder), "edit", json!({ "path": path, "old": old, "new": new })).await;
    match expected {
        Ok(text) => {
            assert!(answer.ok, "{}", answer.text);
            assert_eq!(fs::read_to_string(work(&folder).join(path)).unwrap(), text);
        }
        Err(why) => assert!(!answer.ok && answer.text.contains(why), "{}", answer.text),
    }
}

#[tokio::test]
async fn sizes_are_limited() {
    let folder = folder();
    let work = work(&folder);
    fs::write(work.join("big"), "x".repeat(2001)).unwrap();
    fs::write(work.join("long"), "match\n".repeat(300)).unwrap();
    fs::write(work.join("wide"), "größe ".repeat(300)).unwrap();
    fs::create_dir(work.join("many")).unwrap();
    (0..20).for_each(|nth| fs::write(work.join(format!("many/{nth:02}")), "").unwrap());
    let limits = ToolLimits { file: 2000, answer: 1000, entries: 5, matches: 7, output: 5000, ..ToolLimits::default() };
    let tools = tools(&folder).limits(limits);
    assert!(call(&tools, "read", json!({ "path": "big" })).await.text.contains("2001 bytes"));
    let read = call(&tools, "read", json!({ "path": "long" })).await;
    let cut = "[cut here: 900 of 1800 bytes; to read on, `line` is 151]";
    assert!(read.ok && read.text.ends_with(cut), "{}", read.text);
    let listed = call(&tools, "list", json!({ "path": "many" })).await.text;
    assert_eq!(listed, "00\n01\n02\n03\n04\n[15 more]");
    let found = call(&tools, "grep", json!({ "pattern": "match", "path": "long" })).await.text;
    assert_eq!(found.lines().count(), 8, "{found}");
    assert!(!call(&tools, "write", json!({ "path": "new", "content": "x".repeat(2001) })).await.ok);
    assert!(!work.join("new").exists());
}

/// One command that a closed pipe would end, and one that ignores it.
#[rstest]
#[case("yes")]
#[case("trap '' PIPE; while :; do echo y; done 2>/dev/null")]
#[tokio::test]
async fn a_command_that_writes_endlessly_is_killed(#[case] command: &str) {
    let folder = folder();
    let limits = ToolLimits { answer: 1000, output: 5000, command: Duration::from_secs(60), ..ToolLimits::default() };
    let tools = tools(&folder).limits(limits);
    for _ in 0..20 {
        let answer = call(&tools, "shell", json!({ "command": command })).await;
        assert!(!answer.ok && answer.text.len() < 1100, "{}", answer.text);
        assert!(answer.text.contains("wrote more than 5000 bytes"), "{}", answer.text);
    }
}

#[rstest]
#[case(Access::default(), "read list grep")]
#[case(Access { write: true, shell: None }, "read list grep write edit")]
#[case(Access { write: false, shell: Some(Shell::default()) }, "read list grep shell")]
#[tokio::test]
async fn only_allowed_tools_are_offered_and_run(#[case] access: Access, #[case] names: &str) {
    let folder = folder();
    let tools = Toolbox::open(&work(&folder), access).unwrap();
    let offered: Vec<&str> = tools.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(offered.join(" "), names);
    for name in ["write", "edit", "shell"].iter().filter(|name| !offered.contains(name)) {
        let answer =
            tools.call(name, r#"{"path": "x", "content": "x", "old": "", "new": "", "command": "touch x"}"#).await;
        assert!(!answer.ok && answer.text.contains("there is no tool"), "{}", answer.text);
    }
    assert!(!work(&folder).join("x").exists());
}

#[test]
fn schemas_are_closed_objects_of_strings() {
    let tools = tools(&folder());
    for spec in tools.specs() {
        let fields = spec.schema["properties"].as_object().unwrap();
        let (free, needed): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| *name == "line");
        assert!(needed.iter().all(|(_, field)| field["type"] == "string"));
        assert_eq!(spec.schema["required"].as_array().unwrap().len(), needed.len());
        assert_eq!(free.len(), usize::from(spec.name == "read"));
        assert_eq!(spec.schema["additionalProperties"], false);
    }
}

#[tokio::test]
async fn a_command_runs_behind_the_prefix_in_the_folder() {
    let folder = folder();
    let sandbox = script(folder.path(), "sandbox", r#"printf '%s|' "$@"; shift; exec "$@""#);
    let prefix = vec![sandbox.to_str().unwrap().to_owned(), "--strict".to_owned()];
    let with =
        Toolbox::open(&work(&folder), Access { write: false, shell: Some(Shell { prefix, timeout: None }) }).unwrap();
    let answer = call(&with, "shell", json!({ "command": "ls -d src; echo \"$((1 + 1))\" >&2; exit 3" })).await;
    assert_eq!(
        answer.text,
        "error: exit code 3\n--strict|sh|-c|ls -d src; echo \"$((1 + 1))\" >&2; exit 3|src\nstandard error:\n2\n"
    );
    assert_eq!(with.warning(), None);
    assert!(tools(&folder).warning().unwrap().contains("command_prefix"));
}

#[tokio::test]
async fn a_command_gets_no_keys_and_no_terminal() {
    let folder = folder();
    let answer = call(&tools(&folder), "shell", json!({ "command": "env | cut -d= -f1 | sort; cat; ulimit -t" })).await;
    assert!(answer.ok && answer.text.ends_with("\n600\n"), "{}", answer.text);
    // Cargo sets these for tests; keys would be inherited in the same way.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    assert!(answer.text.contains("PATH") && !answer.text.contains("CARGO_MANIFEST_DIR"), "{}", answer.text);
}

#[tokio::test]
async fn a_command_is_killed_with_its_children() {
    let folder = folder();
    let pipe = Alive::in_folder(&work(&folder));
    let tools = tools(&folder).limits(ToolLimits { command: Duration::from_secs(2), ..ToolLimits::default() });
    let (answer, pipe) = tokio::join!(
        call(&tools, "shell", json!({ "command": "exec 3> alive; sleep 1000 & sleep 1000" })),
        pipe.opened()
    );
    assert!(!answer.ok && answer.text.contains("took longer than 2s"), "{}", answer.text);
    pipe.closed().await;
}

#[tokio::test]
async fn a_command_ends_at_its_cpu_time() {
    let folder = folder();
    let access = Access { write: true, shell: Some(Shell { prefix: vec![], timeout: Some(Duration::from_secs(1)) }) };
    let tools = Toolbox::open(&work(&folder), access).unwrap();
    let busy = call(&tools, "shell", json!({ "command": "while :; do :; done" })).await;
    assert!(!busy.ok && busy.text.starts_with("error: killed: it "), "{}", busy.text);
    let cpu = Duration::from_secs(1);
    let tools = self::tools(&folder).limits(ToolLimits { cpu, ..ToolLimits::default() });
    let busy = call(&tools, "shell", json!({ "command": "while :; do :; done" })).await;
    assert!(busy.text.starts_with("error: killed: it used more than 1s of CPU time"), "{}", busy.text);
}

#[tokio::test]
async fn children_of_a_command_end_with_it() {
    let folder = folder();
    let pipe = Alive::in_folder(&work(&folder));
    let tools = tools(&folder);
    let line = json!({ "command": "exec 3> alive; sleep 1000 & echo started" });
    let (answer, pipe) = tokio::join!(call(&tools, "shell", line), pipe.opened());
    assert_eq!(answer.text, "exit code 0\nstarted\n");
    pipe.closed().await;
}

#[tokio::test]
async fn a_dropped_command_ends() {
    let folder = folder();
    let pipe = Alive::in_folder(&work(&folder));
    let tools = tools(&folder);
    let pipe = tokio::select! {
        answer = call(&tools, "shell", json!({ "command": "exec 3> alive; sleep 1000" })) => panic!("{answer:?}"),
        pipe = pipe.opened() => pipe,
    };
    pipe.closed().await;
}
