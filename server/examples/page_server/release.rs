//! A graph that asks with a plan, a diff, findings and prose, which its schema marks as such.

use std::sync::Arc;

use schemars::JsonSchema;
use superstep::prelude::*;

const PLAN: &str = "# Tides

**Goal:** A script that prints the tides of a day.

### Task 1: Print the table

`tides.sh` prints what is in `tides.txt`.

**Verify:** `sh tides.sh | grep -q \"high 06:12\"`

### Task 2: Choose a day

With a day as its argument, `tides.sh` prints that day alone.

**Depends on:** Task 1

**Verify:** `test \"$(sh tides.sh 2026-03-02 | wc -l)\" -eq 2`
";

const CHANGES: &str = "diff --git a/src/tides.rs b/src/tides.rs
--- a/src/tides.rs
+++ b/src/tides.rs
@@ -1,4 +1,4 @@ fn read()
 use std::fs;
-fn read(path: &str) -> Vec<Tide> {
+fn read(path: &Path) -> Vec<Tide> {
     parse(path)
 }
diff --git a/notes.md b/notes.md
new file mode 100644
--- /dev/null
+++ b/notes.md
@@ -0,0 +1 @@
+# Notes
";

/// A release, and what people said of it.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
#[state(schema)]
pub(crate) struct Release {
    version: String,
    plan: String,
    note: String,
    outcome: String,
}

/// May the plan be carried out?
#[derive(Interrupt, Serialize, Deserialize, JsonSchema)]
#[interrupt(resume = PlanAnswer, schema, name = "plan")]
struct AskPlan {
    question: String,
    #[schemars(extend("format" = "plan"))]
    proposal: String,
}

/// The answer to a plan.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlanAnswer {
    /// Carry it out.
    Approve,
    /// Carry out this one.
    Edit {
        #[schemars(extend("format" = "plan"))]
        plan: String,
    },
    /// Do nothing.
    Reject,
}

/// May the changes be merged?
#[derive(Interrupt, Serialize, Deserialize, JsonSchema)]
#[interrupt(resume = MergeAnswer, schema, name = "merge")]
struct AskMerge {
    question: String,
    #[schemars(extend("format" = "markdown"))]
    about: String,
    #[schemars(extend("format" = "diff"))]
    patch: String,
    #[schemars(extend("format" = "findings"))]
    remarks: Vec<Remark>,
}

/// A finding of a reviewer.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Remark {
    issue: String,
    file: String,
    line: u32,
    severity: String,
}

/// The answer to changes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MergeAnswer {
    /// Merge them.
    Approve,
    /// Change them again.
    Revise {
        /// The changes to make.
        note: String,
    },
}

#[derive(NodeId)]
#[node(rename_all = "snake_case")]
pub(crate) enum Gate {
    Plan,
    Merge,
}

async fn plan(state: Arc<Release>, ctx: Ctx) -> Result<ReleaseUpdate, NodeError> {
    let question = format!("Is this the plan of {}?", state.version);
    let plan = match ctx.interrupt(AskPlan { question, proposal: PLAN.into() })? {
        PlanAnswer::Approve => PLAN.to_owned(),
        PlanAnswer::Edit { plan } => plan,
        PlanAnswer::Reject => return Ok(Release::update().outcome("rejected")),
    };
    Ok(Release::update().plan(plan))
}

async fn merge(state: Arc<Release>, ctx: Ctx) -> Result<ReleaseUpdate, NodeError> {
    if state.outcome == "rejected" {
        return Ok(Release::update());
    }
    let remark = Remark {
        issue: "A missing file is not <b>reported</b>.".into(),
        file: "src/tides.rs".into(),
        line: 3,
        severity: "major".into(),
    };
    let about = "It reads **paths** now:\n\n- of files\n- of folders\n".into();
    let asked =
        AskMerge { question: "May this be merged?".into(), about, patch: CHANGES.into(), remarks: vec![remark] };
    Ok(match ctx.interrupt(asked)? {
        MergeAnswer::Approve => Release::update().outcome("merged"),
        MergeAnswer::Revise { note } => Release::update().outcome("revised").note(note),
    })
}

/// Returns the graph `release`.
pub(crate) fn release() -> Result<CompiledGraph<Release, Gate>, CompileError> {
    StateGraph::new()
        .add_node(Gate::Plan, plan.asks::<AskPlan>())
        .add_node(Gate::Merge, merge.asks::<AskMerge>())
        .add_sequence([Gate::Plan, Gate::Merge])
        .compile()
}
