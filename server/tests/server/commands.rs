//! The commands of a program about its server: keys, and where it may listen.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use reqwest::StatusCode;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::{Process, program};

/// Calls the program in a folder.
fn call(folder: &TempDir, words: &[&str]) -> Output {
    in_folder(folder, words).output().unwrap()
}

fn in_folder(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = program();
    command.current_dir(folder.path()).args(words);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn add(folder: &TempDir, name: &str, role: &str) -> String {
    let added = call(folder, &["keys", "add", name, "--role", role, "--api-keys", "keys.json"]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    text(&added.stdout)
}

#[test]
fn a_key_is_printed_once_and_last() {
    let folder = TempDir::new().unwrap();
    let printed = add(&folder, "ci", "run");
    let key = printed.lines().last().unwrap();
    assert!(key.starts_with("superstep_") && printed.matches("superstep_").count() == 1, "{printed}");
    let listed = text(&call(&folder, &["keys", "list", "--api-keys", "keys.json"]).stdout);
    assert!(listed.starts_with("KEY  ROLE  ADDED\nci   run   20") && !listed.contains(&key[10..]), "{listed}");
    let json = call(&folder, &["keys", "add", "ann", "--role", "answer", "--api-keys", "keys.json", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["name"], &json["role"]), (&json!("ann"), &json!("answer")));
    assert!(json["key"].as_str().unwrap().starts_with("superstep_"));
    let listed = call(&folder, &["keys", "list", "--api-keys", "keys.json", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!((listed.as_array().unwrap().len(), &listed[1]["name"]), (2, &json!("ann")));
    assert!(!folder.path().join(".superstep").exists(), "no store is opened");
}

#[rstest]
#[case::taken(&["add", "ci", "--role", "read"], 1, "error: there is a key `ci` already\n help: choose another name, or `keys revoke ci` first\n")]
#[case::unknown(&["revoke", "bob"], 1, "error: there is no key `bob`\n help: `keys list` shows the names\n")]
#[case::no_name(&["add", "", "--role", "read"], 1, "error: `` cannot be the name of a key\n help: give a name of 1 to 64 characters, without control characters\n")]
fn a_command_about_keys_says_why_it_fails(#[case] words: &[&str], #[case] code: i32, #[case] expected: &str) {
    let folder = TempDir::new().unwrap();
    add(&folder, "ci", "run");
    let failed = call(&folder, &[&["keys"], words, &["--api-keys", "keys.json"]].concat());
    assert_eq!((failed.status.code(), text(&failed.stderr).as_str()), (Some(code), expected));
}

#[rstest]
#[case::all_addresses(&["--listen", "0.0.0.0:0"], 2, "other machines reach the server")]
#[case::no_file(&["--listen", "127.0.0.1:0", "--api-keys", "keys.json"], 1, "there is no file of keys at keys.json")]
#[case::no_origin(&["--allow-origin", "example.com"], 2, "write it as https://chat.example.com")]
fn a_server_that_would_be_open_does_not_start(#[case] words: &[&str], #[case] code: i32, #[case] expected: &str) {
    let folder = TempDir::new().unwrap();
    let failed = call(&folder, &[&["serve", "--store", "memory:"], words].concat());
    let said = text(&failed.stderr);
    assert!(failed.status.code() == Some(code) && said.contains(expected), "{:?} {said}", failed.status);
}

#[tokio::test]
async fn a_server_with_keys_listens_to_all_and_forgets_revoked_ones() {
    let folder = TempDir::new().unwrap();
    let key = add(&folder, "ci", "run").lines().last().unwrap().to_owned();
    let words = ["serve", "--listen", "0.0.0.0:0", "--api-keys", "keys.json", "--store", "memory:", "--log=info"];
    let mut command = in_folder(&folder, &words);
    let (mut process, api) = Process::of(command.stderr(Stdio::piped()));
    let address = api.address.replace("0.0.0.0", "127.0.0.1");
    let send = |key: String| api.client.get(format!("{address}/info")).header("x-api-key", key).send();
    assert_eq!(send(key.clone()).await.unwrap().status(), StatusCode::OK);
    assert_eq!(send("superstep_guess".into()).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let revoked = call(&folder, &["keys", "revoke", "ci", "--api-keys", "keys.json"]);
    assert_eq!(text(&revoked.stdout), "the key `ci` is revoked: it is refused from now on\n");
    assert_eq!(send(key.clone()).await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let mut log = String::new();
    process.end().stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(!log.contains(&key) && !log.contains("superstep_guess"), "{log}");
}
