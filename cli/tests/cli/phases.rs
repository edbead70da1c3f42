//! `superstep run phases` as scripts and people use it: exit codes, output, agents with a model server.

mod at_work;
mod codes;
mod model;
mod shown;

use crate::place::{Place, RunOutput};

/// Tasks 1 and 2 in parallel; 3 has a file in common with 2, 4 needs 1 and 2.
pub(crate) const PLAN: &str = "\
# Clock

**Goal:** A clock.

### Task 1: Hands
**Depends on:** none
**Files:** `hands.txt`
**Verify:** `test -e hands.txt`

### Task 2: Face
**Depends on:** none
**Files:** `face.txt`

### Task 3: Dial
**Depends on:** none
**Files:** `dial.txt`, `face.txt`

### Task 4: Case
**Depends on:** 1, 2
";

/// Each developer writes the file of the task.
const WORK: &str = "
  - {role: developer, task: '1', times: always, steps: [write: {path: hands.txt, content: x}, usage: {input: 90, output: 10, cost: 0.002}], submit: {status: done, summary: did}}
  - {role: developer, task: '2', times: always, steps: [write: {path: face.txt, content: x}, usage: {input: 90, output: 10, cost: 0.003}], submit: {status: done, summary: did}}
  - {role: developer, task: '3', times: always, steps: [write: {path: dial.txt, content: x}, usage: {input: 90, output: 10}], submit: {status: done, summary: did}}
  - {role: developer, task: '4', times: always, steps: [write: {path: case.txt, content: x}, usage: {input: 90, output: 10}], submit: {status: done, summary: did}}
";

impl Place {
    /// A place whose agents play these turns first.
    pub(crate) fn phased(turns: &str) -> Self {
        let place = Self::new(&format!("{turns}{WORK}"));
        place.write("PLAN.md", PLAN);
        place
    }

    pub(crate) fn phases(&self, more: &[&str]) -> RunOutput {
        let run = ["run", "phases", "--dir", "repo", "--profile", "p.toml", "--thread", "t", "--plan", "PLAN.md"];
        self.call(&[&run[..], more].concat())
    }

    /// Approves the plan, and returns the exit code.
    pub(crate) fn approved(&self) -> i32 {
        let start = self.phases(&[]);
        assert_eq!(start.code(), 10, "{}", start.text());
        let called = self.call(&["approve", "t"]);
        called.0.status.code().unwrap_or_else(|| panic!("{}", called.text()))
    }

    /// Checks that only the worktrees and branches are left that a run may leave.
    pub(crate) fn is_tidy(&self) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        let heads = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(heads, "main\nsuperstep/t\n");
        assert_eq!(self.git(&["status", "--porcelain"]), "");
    }
}
