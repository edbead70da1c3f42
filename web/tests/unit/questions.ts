// Questions as the server sends them: those of programs, and those of the agent workflows with the schemas that their types have.

import type { Ask, Json, Schema } from "../../src/api/types";

export function ask(response_schema: Schema | null, more: Partial<Ask> = {}): Ask {
  return {
    id: "00000001-1-0-0",
    value: {},
    superstep: { name: "question", node: "ask", expires: null, default: null, approvals: 1, approvers: [], votes: [] },
    response_schema,
    payload_schema: null,
    text: null,
    draft: null,
    people_only: false,
    replies: {},
    ...more,
  };
}

export function named(name: string, asked: Ask): Ask {
  return { ...asked, superstep: { ...asked.superstep, name } };
}

const word = (value: string, description: string): Schema => ({ type: "string", const: value, description });
const variant = (name: string, fields: Schema, required: string[], description: string): Schema => ({
  type: "object",
  properties: { [name]: { type: "object", properties: fields, required, additionalProperties: false } },
  required: [name],
  additionalProperties: false,
  description,
});
const text = (format?: string): Schema => (format === undefined ? { type: "string" } : { type: "string", format });

export const DECISION: Schema = {
  title: "Decision",
  oneOf: [
    word("approve", "The plan is executed."),
    variant("approve", { tasks: { type: "array", items: { type: "string" } } }, ["tasks"], "Only some tasks are executed; the others are skipped."),
    word("reject", "The plan is dropped, for no reason that is given."),
    variant("reject", { feedback: text("markdown") }, [], "The plan is dropped."),
    variant("revise", { feedback: text("markdown") }, ["feedback"], "The plan is sent back to be written again."),
    variant("edit_plan", { markdown: text("plan") }, ["markdown"], "Another plan is executed instead."),
  ],
};
export const DECISION_REPLIES = { approve: "approve", reject: { reject: { feedback: "" } }, revise: { revise: { feedback: "{feedback}" } } };

const RETRY = variant("retry", { attempts: { type: "integer", format: "uint32", minimum: 0, default: 1 }, note: { type: "string", default: "" } }, [], "Retry.");
const OVERRIDE: Schema = { type: "object", properties: { decision: text(), why: text(), by: { type: ["string", "null"], default: null } }, required: ["decision", "why"], additionalProperties: false };
const override: Schema = { type: "object", properties: { override: { $ref: "#/$defs/WrittenOverride" } }, required: ["override"], additionalProperties: false, description: "Decide in place of the rules." };

export const AFTER_HALT: Schema = {
  oneOf: [
    RETRY,
    word("accept", "Commit its work as it is."),
    word("skip", "Set its work aside, and start the next task."),
    variant("edit_plan", { markdown: text() }, ["markdown"], "Retry with another plan; finished tasks stay finished."),
    word("abort", "End the run."),
  ],
};
export const AFTER_HALT_REPLIES = { approve: "accept", reject: "abort", revise: { retry: { attempts: 1, note: "{feedback}" } } };
export const PLAN_CHOICE: Schema = { oneOf: [word("keep", "The approved one."), word("adopt", "The one in the file; finished tasks stay finished."), word("diff", "Ask again, and show the difference.")] };
export const AFTER_MOVE: Schema = { oneOf: [word("keep", "Continue on top of its new commits."), word("abort", "End the run, and leave the branch as it is.")] };
export const AGENT_REPLY: Schema = { oneOf: [variant("reply", { text: text() }, ["text"], "The answer.")] };
export const AFTER_MISSING_REVIEW: Schema = { oneOf: [word("retry", "Request a review again."), word("accept", "Approve it."), word("abort", "End the run.")] };
export const AFTER_REFUSAL: Schema = {
  oneOf: [
    word("fresh", "Continue in a new session."),
    { type: "object", properties: { model: text() }, required: ["model"], additionalProperties: false, description: "Continue the session with another model." },
    word("retry", "Send the same request again."),
    word("skip", "Set the task aside, and start the next."),
    word("abort", "End the run."),
  ],
};
export const AFTER_BUDGET: Schema = {
  oneOf: [
    { type: "object", properties: { raise: { $ref: "#/$defs/RaisedLimits" } }, required: ["raise"], additionalProperties: false, description: "Continue with new limits." },
    word("abort", "End the run."),
    override,
  ],
  $defs: {
    RaisedLimits: { type: "object", properties: { cost: { type: ["number", "null"] }, tokens: { type: ["integer", "null"], minimum: 0 }, wall: { type: ["string", "null"] } }, additionalProperties: false },
    WrittenOverride: OVERRIDE,
  },
};
export const AFTER_GIVING_UP: Schema = { oneOf: [RETRY, word("split", "Split it into children."), override, word("abort", "End the run.")], $defs: { WrittenOverride: OVERRIDE } };
export const AFTER_GIVING_UP_REPLIES = { approve: { override: { decision: "DONE", why: "{feedback}" } }, reject: "abort", revise: { retry: { attempts: 1, note: "{feedback}" } } };

export const PLAN = `# Tides

**Goal:** A script that prints the tides of a day.

### Task 1: Print the table

\`tides.sh\` prints what stands in \`tides.txt\`.

**Files:** \`tides.sh\`, \`tides.txt\`

**Acceptance:**

- It works from every folder.

**Verify:** \`sh tides.sh | grep -q "high 06:12"\`

### Task 2a: Choose a day

**Depends on:** 1

With a day as its argument, \`tides.sh\` prints that day alone.

**Verify:**

\`\`\`sh
test "$(sh tides.sh | wc -l)" -eq 4
test "$(sh tides.sh 2026-03-02 | wc -l)" -eq 2
\`\`\`

\`\`\`text
### Task 9: In a fence
\`\`\`
`;

export const APPROVE_PLAN: Json = {
  title: "Tides",
  goal: "A script that prints the tides of a day.",
  tasks: [
    { id: "1", title: "Print the table", verify: ['sh tides.sh | grep -q "high 06:12"'] },
    { id: "2a", title: "Choose a day", verify: ['test "$(sh tides.sh | wc -l)" -eq 4', 'test "$(sh tides.sh 2026-03-02 | wc -l)" -eq 2'] },
  ],
  phases: [["1"], ["2a"]],
  warnings: ["line 31: `- [ ] T001` was not read as a task"],
  problems: [],
  path: ".superstep/plans/tides.md",
};

export const HALTED: Json = {
  task: "1",
  title: "Print the table",
  reason: "it was not accepted after 1 attempt",
  attempts: 1,
  comments: [
    { id: "c2", severity: "minor", file: null, line: null, issue: "The header is missing.", why: "", fix: "" },
    { id: "c1", severity: "major", file: "tides.sh", line: 1, issue: "From another folder tides.txt is not found.", why: "The path is relative.", fix: 'Use "$(dirname "$0")".' },
  ],
  changes: "+1 -0 tides.sh (new)\n+3 -1 src/tides.rs",
  cost: 6000,
  salvage: "refs/superstep/tides/task-1/attempt-1",
  problem: null,
};

export const GIVEN_UP: Json = {
  task: "tides.1",
  title: "Print the table",
  decision: "GIVE_UP",
  rule: "no-progress",
  reason: "two attempts had the same errors",
  attempt: 2,
  findings: ["[build] error src/main.rs:3: mismatched types (0badcafe)", "[style] warning: a name of one letter (12345678)", "and 3 more"],
  salvage: null,
  may_split: true,
  cost: 1_250_000,
  problem: null,
};
