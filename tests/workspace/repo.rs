//! A git repository in a folder of its own, with its own home folder: the configuration of this machine is ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use superstep::workspace::{CommitId, CommitKey, CommitRequest, TreeId, Workspace, WorkspaceOptions};
use tempfile::TempDir;

pub(crate) struct Repo {
    folder: TempDir,
}

impl Repo {
    /// A repository without a commit.
    pub(crate) fn unborn() -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(repo.home()).unwrap();
        fs::create_dir_all(repo.root()).unwrap();
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.git(&["config", "--global", "user.name", "A Person"]);
        repo.git(&["config", "--global", "user.email", "person@example.org"]);
        repo
    }

    /// A repository with one commit of `a.txt` and `src/b.txt`.
    pub(crate) fn new() -> Self {
        let repo = Self::unborn();
        repo.write("a.txt", "one\ntwo\nthree\n").write("src/b.txt", "b\n").commit_all("begin");
        repo
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn options(&self) -> WorkspaceOptions {
        let options = WorkspaceOptions::new().env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        let options = options.without_env("XDG_CONFIG_HOME").without_env("GIT_CONFIG_GLOBAL");
        let who = ["NAME", "EMAIL", "DATE"].map(|what| [format!("GIT_AUTHOR_{what}"), format!("GIT_COMMITTER_{what}")]);
        who.into_iter().flatten().chain(["EMAIL".to_owned()]).fold(options, WorkspaceOptions::without_env)
    }

    pub(crate) async fn open(&self) -> Workspace {
        Workspace::open_with(self.root(), self.options()).await.unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root(), args)
    }

    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.command(folder, args).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "git {args:?}: {err}{out}");
        out.trim_end().to_owned()
    }

    /// Runs git and ignores a failure, such as a merge with conflicts.
    pub(crate) fn try_git(&self, args: &[&str]) {
        self.command(&self.root(), args).output().unwrap();
    }

    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(folder).env_clear();
        git.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_EDITOR", "true");
        git
    }

    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root().join(file)).unwrap()
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.root().join(file).symlink_metadata().is_ok()
    }

    pub(crate) fn remove(&self, file: &str) -> &Self {
        fs::remove_file(self.root().join(file)).unwrap();
        self
    }

    pub(crate) fn commit_all(&self, message: &str) -> CommitId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--no-verify", "--message", message]);
        self.tip()
    }

    pub(crate) fn tip(&self) -> CommitId {
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn count(&self) -> usize {
        self.git(&["rev-list", "--count", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    pub(crate) fn files(&self, tree: impl AsRef<str>) -> Vec<String> {
        let names = self.git(&["ls-tree", "-r", "--name-only", tree.as_ref()]);
        names.lines().map(str::to_owned).collect()
    }

    pub(crate) fn content(&self, tree: &TreeId, file: &str) -> String {
        self.git(&["cat-file", "blob", &format!("{tree}:{file}")])
    }

    pub(crate) fn hook(&self, name: &str, script: &str) -> &Self {
        let file = format!(".git/hooks/{name}");
        self.write(&file, format!("#!/bin/sh\n{script}\n"));
        crate::program::make_executable(self.root().join(file));
        self
    }
}

pub(crate) fn key(attempt: u32) -> CommitKey {
    CommitKey { thread: "t 1".into(), task: "2.1".into(), phase: None, attempt }
}

/// Returns the request for a commit of a tree on HEAD's branch.
pub(crate) async fn request(workspace: &Workspace, tree: &TreeId) -> CommitRequest {
    let head = workspace.head().await.unwrap();
    CommitRequest {
        branch: head.branch().map(str::to_owned),
        parent: head.commit().cloned(),
        tree: tree.clone(),
        message: "feat(X): complete task 2.1".to_owned(),
        key: key(1),
    }
}

/// Returns the request for a commit of all changes.
pub(crate) async fn request_now(workspace: &Workspace) -> CommitRequest {
    request(workspace, &workspace.snapshot().await.unwrap().tree).await
}
